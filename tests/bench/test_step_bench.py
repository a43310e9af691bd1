"""What a step of a compiler costs over a long history when its sources are not asked again.

    python -m pytest tests/bench/test_step_bench.py -m bench -s

Prints a table beside the figures of ``step_results.json``; ``RECORD_BENCH=1`` writes the new ones there. The
history is ``recipe.history``: user texts, assistant texts with a tool call, results, answers. Frozen messages
are the same values in every step, as a host holds them that keeps what it sent; dictionaries are read, counted
and hashed anew. The documented bounds, 5 ms and 20 ms, hold on the machine of the recorded figures when nobody
else works there; elsewhere the gate is the ratio to writing the same 2,000 dictionaries as JSON in the same
run. Times are processor time of this process, best of N, all in turns.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from playground import ContextCandidate, ContextCompiler, create_working_memory
from playground.compiler.values import ContextSourceRequest, Kind
from playground.messages import Message, as_messages, message_to_json
from tests.bench.recipe import history
from tests.bench.test_compile_bench import best_of

pytestmark = pytest.mark.bench

MODEL = {
    "provider": "anthropic", "model_id": "a-model", "context_window": 1_000_000, "max_output_tokens": 8_000
}  # fmt: skip
WRITTEN = 3.7  # ms; json.dumps of 2,000 messages on the machine of the recorded figures, at its quickest
FROZEN_LIMIT, DICT_LIMIT = 5 / WRITTEN, 20 / WRITTEN
MEMORY = create_working_memory(
    scope="s", goal="Ship the release.", constraints=["No downtime."] * 5, tasks={"list": ["Deploy"]}, now=0
)


class Facts:
    """A source with five records."""

    id = "memory"
    kind: Kind = "memory"
    required = False

    async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
        return [ContextCandidate(str(number), f"fact {number}", 1 / (number + 1)) for number in range(5)]


@contextmanager
def reused_steps(count: int, *, frozen: bool) -> Iterator[Callable[[], Any]]:
    """A function that makes the next step over ``count`` messages, after the first has asked the source."""
    raw = history(count)
    messages: list[Any] = list(as_messages(raw)) if frozen else list(raw)
    compiler = ContextCompiler(sources=[Facts()])
    steps = itertools.count()
    with asyncio.Runner() as runner:

        def step() -> Any:
            return runner.run(
                compiler.before_model_call(
                    run_id="r", step=next(steps), messages=messages, model=MODEL, working_memory=MEMORY
                )
            )

        block: Message = step().blocks[0].messages[0]
        messages.append(block if frozen else message_to_json(block))
        manifest = step().manifest
        assert (manifest.refresh, manifest.cache_prefix_changed, manifest.placement.append) == (
            "reused", False, False
        )  # fmt: skip
        yield step


@pytest.mark.parametrize(("shape", "limit"), [("frozen messages", FROZEN_LIMIT), ("dictionaries", DICT_LIMIT)])
def test_a_reused_step_is_quick_and_grows_no_faster_than_its_history(
    shape: str, limit: float, record: dict[str, float]
) -> None:
    frozen = shape == "frozen messages"
    raw = history(2_000)
    with reused_steps(2_000, frozen=frozen) as small, reused_steps(4_000, frozen=frozen) as large:
        short, long, written = best_of(25, small, large, lambda: json.dumps(raw))
    record[f"reused step, 2,000 {shape} / json.dumps of them, ratio"] = short / written
    record[f"reused step, 2,000 {shape}, ms"] = short
    record[f"reused step, 4,000 {shape}, ms"] = long
    record[f"reused step, {shape} 4,000 / 2,000, ratio"] = long / short
    assert short / written <= limit
    assert long / short <= 2.6


def test_the_first_step_over_messages_it_has_not_seen_is_linear_too(record: dict[str, float]) -> None:
    def first(count: int) -> Callable[[], Any]:
        raw = history(count)

        def step() -> Any:
            compiler = ContextCompiler(sources=[Facts()])
            return compiler.before_model_call_sync(run_id="r", step=0, messages=as_messages(raw), model=MODEL)

        return step

    short, long = best_of(15, first(2_000), first(4_000))
    record["first step, 2,000 new messages, ms"] = short
    record["first step, 4,000 / 2,000, ratio"] = long / short
    assert long / short <= 2.6
