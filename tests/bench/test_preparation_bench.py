"""What a preparation costs over a long history, without and with compaction.

    python -m pytest tests/bench/test_preparation_bench.py -m bench -s

Prints a table beside the figures of ``preparation_results.json``; ``RECORD_BENCH=1`` writes the new ones there.
The history is ``recipe.history`` as items: 2,000 messages with 500 pairs of call and result. The documented
bounds, 50 ms without compaction and 200 ms with it, hold on the machine of the recorded figures when nobody
else works there; elsewhere the gate is the ratio to writing the same messages as JSON in the same run. Times
are processor time of this process, best of N, all in turns; a context that compacts is made anew for every run,
outside the measured time.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from playground.preparation import AgentContext
from tests.bench.recipe import history
from tests.bench.test_compile_bench import best_of
from tests.preparation import FixedClock, call, message, result

pytestmark = pytest.mark.bench

WRITTEN = 3.7  # ms; json.dumps of 2,000 messages on the machine of the recorded figures, at its quickest
PLAIN_LIMIT, COMPACTING_LIMIT = 50 / WRITTEN, 200 / WRITTEN
LARGE = 10_000_000  # tokens; a window that needs no compaction
RUNS = 9


def items(count: int) -> list[dict[str, Any]]:
    """The bench's history as items of a context."""
    made = []
    for entry in history(count):
        content = entry["content"]
        blocks = [content] if isinstance(content, str) else [block(part) for part in content]
        made.append(message("assistant" if entry["role"] == "assistant" else "user", *blocks))
    return made


def block(part: dict[str, Any]) -> Any:
    match part["type"]:
        case "tool_use":
            return call(part["id"], part["name"], arguments=json.dumps(part["input"]))
        case "tool_result":
            return result(part["toolUseId"], part["result"])
    return part["text"]


def context(history: list[dict[str, Any]], window: int, *, features: bool) -> AgentContext:
    made = AgentContext(
        model="no-such-model", max_context_tokens=window, features=None if features else {}, clock=FixedClock()
    )
    made.add_input_items(history)
    made.add_user_message("And now?")
    return made


def preparing(history: list[dict[str, Any]], *, features: bool) -> Callable[[], object]:
    held = context(history, LARGE, features=features)
    return lambda: asyncio.run(held.prepare())


def compacting(history: list[dict[str, Any]], window: int, *, features: bool) -> Callable[[], object]:
    """A function that compacts a context that nobody compacted before, ``RUNS`` times."""
    fresh = iter([context(history, window, features=features) for _ in range(RUNS)])

    def prepare() -> None:
        prepared = asyncio.run(next(fresh).prepare())
        assert prepared.compacted

    return prepare


@pytest.mark.parametrize("features", [False, True], ids=["features off", "features on"])
def test_a_preparation_is_quick_and_linear(features: bool, record: dict[str, float]) -> None:
    name = "features on" if features else "features off"
    small, large = items(2_000), items(4_000)
    short, long, written = best_of(
        RUNS,
        preparing(small, features=features),
        preparing(large, features=features),
        lambda: json.dumps(small),
    )
    record[f"prepare, 2,000 messages, {name}, ms"] = short
    record[f"prepare, 2,000 messages, {name} / json.dumps, ratio"] = short / written
    record[f"prepare, {name} 4,000 / 2,000, ratio"] = long / short
    assert short / written <= PLAIN_LIMIT
    assert long / short <= 2.6


@pytest.mark.parametrize("features", [False, True], ids=["features off", "features on"])
def test_a_preparation_that_compacts_is_quick_and_linear(features: bool, record: dict[str, float]) -> None:
    name = "features on" if features else "features off"
    small, large = items(2_000), items(4_000)
    window = 100_000  # tokens; the small history has about 170,000
    short, long, written = best_of(
        RUNS,
        compacting(small, window, features=features),
        compacting(large, 2 * window, features=features),
        lambda: json.dumps(small),
    )
    record[f"compact, 2,000 messages, {name}, ms"] = short
    record[f"compact, 2,000 messages, {name} / json.dumps, ratio"] = short / written
    record[f"compact, {name} 4,000 / 2,000, ratio"] = long / short
    assert short / written <= COMPACTING_LIMIT
    assert long / short <= 2.6


def test_taking_items_in_is_linear_too(record: dict[str, float]) -> None:
    small, large = items(2_000), items(4_000)
    short, long = best_of(
        RUNS,
        lambda: context(small, LARGE, features=False),
        lambda: context(large, LARGE, features=False),
    )
    record["take in 2,000 messages, ms"] = short
    record["take in 4,000 / 2,000, ratio"] = long / short
    assert long / short <= 2.6
