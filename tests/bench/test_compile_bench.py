"""How fast a compile is, against a peer in the same run.

    python -m pytest tests/bench -m bench -s

Prints a table beside the figures of ``compile_results.json``; ``RECORD_BENCH=1`` writes the new ones there.
Gates are ratios, but for two figures that sweeps and scripts rest on. Times are processor time of this
process, all of it single-threaded; both sides of a ratio are timed in turns and the best of N runs counts, so
that what else the machine does matters little.
"""

from __future__ import annotations

import gc
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from playground import ContextBudget, SourceResult, compile_context
from playground.compiler.compile import compile_offers
from playground.compiler.offers import CompileInputs, prepare
from playground.compiler.selection import select
from tests.bench.recipe import answer, offers, texts

pytestmark = pytest.mark.bench

ROOT = Path(__file__).parents[2]
LIMIT = 8_192  # tokens, for the peer and for us


def best_of(runs: int, *functions: Callable[[], object]) -> list[float]:
    """Best milliseconds of each function, timed in turns."""
    best = [float("inf")] * len(functions)
    for _ in range(runs):
        for number, function in enumerate(functions):
            start = time.process_time()
            function()
            best[number] = min(best[number], (time.process_time() - start) * 1_000)
    return best


def compiling(result: SourceResult) -> Callable[[], object]:
    return lambda: compile_context(results=[result], messages=[], input_tokens=192_000, used_tokens=9)


def trimming(contents: list[str]) -> Callable[[], object]:
    from langchain_core.messages import HumanMessage, trim_messages
    from langchain_core.messages.utils import count_tokens_approximately

    messages = [HumanMessage(text) for text in contents]
    return lambda: trim_messages(
        messages, strategy="last", token_counter=count_tokens_approximately, max_tokens=LIMIT
    )


@pytest.mark.parametrize(("count", "runs"), [(200, 200), (20_000, 25)])
def test_a_compile_with_its_manifest_is_no_slower_than_trimming_the_same_texts(
    count: int, runs: int, record: dict[str, float]
) -> None:
    contents = texts(count)
    (construction,) = best_of(3, lambda: answer(offers(contents)))
    ours, theirs = best_of(runs, compiling(answer(offers(contents))), trimming(contents))
    record[f"compile {count:,} candidates, ms"] = ours
    record[f"LangChain trim_messages {count:,}, ms"] = theirs
    record[f"compile / trim_messages {count:,}, ratio"] = ours / theirs
    record[f"construct and sort {count:,} candidates, ms"] = construction
    # For 200 the documented bound is 1.5 ms where the peer takes about 0.5 ms.
    assert ours / theirs <= (3.0 if count == 200 else 1.0)


def test_time_grows_almost_linearly(record: dict[str, float]) -> None:
    small, large = compiling(answer(offers(texts(10_000)))), compiling(answer(offers(texts(100_000))))
    fast, slow = best_of(7, small, large)
    record["compile 10,000 candidates, ms"] = fast
    record["compile 100,000 candidates, ms"] = slow
    record["compile 100,000 / 10,000, ratio"] = slow / fast
    assert slow / fast <= 25


def test_a_sweep_selects_two_thousand_times_a_second(record: dict[str, float]) -> None:
    prepared = prepare(CompileInputs([answer(offers(texts(200)))], [], input_tokens=192_000, used_tokens=9))
    budgets = [ContextBudget(ratio=ratio / 100) for ratio in range(1, 101)]
    selecting, whole = best_of(
        20,
        lambda: [select(prepared, budget) for budget in budgets],
        lambda: [compile_offers(prepared, budget) for budget in budgets],
    )
    record["selections a second, 200 candidates"] = 100_000 / selecting
    record["selections with rendering and manifest a second"] = 100_000 / whole
    assert 100_000 / selecting >= 2_000


def test_peak_memory_grows_with_the_number_of_candidates(record: dict[str, float]) -> None:
    def peak(count: int) -> float:
        run = compiling(answer(offers(texts(count))))
        run()
        gc.collect()
        tracemalloc.start()
        run()
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest / 1e6

    small, large = peak(10_000), peak(40_000)
    record["peak memory of a compile, 10,000 candidates, MB"] = small
    record["peak memory of a compile, 40,000 candidates, MB"] = large
    record["peak memory 40,000 / 10,000, ratio"] = large / small
    assert large / small <= 5


def test_the_package_imports_in_half_a_second(record: dict[str, float]) -> None:
    code = "import time; s = time.process_time(); import playground; print(time.process_time() - s)"

    def seconds() -> float:
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
        )
        return float(done.stdout)

    fastest = min(seconds() for _ in range(5))
    record["import playground, ms"] = fastest * 1_000
    assert fastest < 0.5
