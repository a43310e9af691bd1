"""What every working-memory handle must do; each implementation runs all of it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playground.concurrency import run_sync
from playground.errors import InvalidInputError
from playground.memory import SqlWorkingMemory
from playground.working_memory import (
    AppliedPatch,
    DuplicatePatch,
    InMemoryWorkingMemory,
    PatchOutcome,
    RejectedPatch,
    WorkingMemoryHandle,
    apply_working_memory_patch,
    working_memory_tools,
)
from tests.unit.working_memory.helpers import NOTE, call, in_threads, noted, started

Made = InMemoryWorkingMemory | SqlWorkingMemory
Make = Callable[..., Made]

START = started()


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes handles, also from another ``start``; those on a database share it."""
    if request.param == "memory":
        yield lambda start=START, **more: InMemoryWorkingMemory(start, **more)
        return
    if request.param == "sqlite":
        url = str(tmp_path / "memories.db")
    else:
        url = request.getfixturevalue("postgres").new_url()
    with ExitStack() as stack:

        def made(start: Any = START, **more: Any) -> Made:
            memory = SqlWorkingMemory(url, START.scope, start=start, **more)
            stack.callback(memory.close)
            return memory

        yield made


def told(answer: Any) -> Any:
    """What a method returns, whether it is plain or async."""
    return run_sync(answer) if inspect.iscoroutine(answer) else answer


def test_a_patch_is_applied_to_what_stands_now_at_the_clocks_time(make: Make) -> None:
    memory = make(clock=lambda: 5_000)
    assert isinstance(memory, WorkingMemoryHandle)
    assert told(memory.current()) == started()
    outcome = told(memory.apply(noted("The build is red.", 0)))
    assert outcome == apply_working_memory_patch(started(), noted("The build is red.", 0), now=5_000)
    assert told(memory.current()) == outcome.snapshot


def test_a_patch_that_is_not_applied_changes_nothing(make: Make) -> None:
    memory = make()
    first = told(memory.apply(noted("a", 0)))
    stale = told(memory.apply(noted("b", 0)))
    assert isinstance(stale, RejectedPatch)
    assert stale.reason == "stale-revision"
    assert told(memory.apply(noted("a", 7))) == DuplicatePatch(first.snapshot, 1)
    with pytest.raises(InvalidInputError):
        told(memory.apply({"operationId": "c"}))
    assert told(memory.current()) == first.snapshot
    assert [one.revision for one in told(memory.history())] == [1]


@pytest.mark.parametrize("text", ["\ud800", "\x00", "漢 \ud83d\ude00", "\u2028'\"\\"])
def test_what_json_can_hold_is_kept(make: Make, text: str) -> None:
    memory = make()
    assert told(memory.apply(noted(text, 0))).status == "applied"
    assert told(memory.current()).observations[0].text == text
    (revision,) = told(memory.history())
    assert revision.operation_id == text
    assert revision.changes[0].after["text"] == text


def test_the_history_tells_of_the_newest_patches_the_newest_last(make: Make) -> None:
    memory = make(clock=lambda: 5_000, history=2)
    assert told(memory.history()) == ()
    for revision, text in enumerate("abc"):
        told(memory.apply(noted(text, revision)))
    assert [one.operation_id for one in told(memory.history())] == ["b", "c"]
    third = told(memory.history())[-1]
    assert (third.revision, third.writer, third.changed_at) == (3, "model", 5_000)
    assert third.operations == ("add-observation",)
    (change,) = third.changes
    assert (change.list, change.kind, change.id, change.before) == (
        "observations", "added", "observations-3-0", None
    )  # fmt: skip


def test_the_newest_hundred_patches_are_told_of_unless_fewer_are_asked_for(make: Make) -> None:
    memory, forgetful = make(), make(history=0)
    for revision in range(103):
        patch = {
            "operation_id": f"o{revision}",
            "expected_revision": revision,
            "writer": "host",
            "operations": [{"op": "set-goal", "text": f"Goal {revision}."}],
        }
        assert told(memory.apply(patch)).status == "applied"
    assert [one.revision for one in told(memory.history())] == list(range(4, 104))
    told(forgetful.apply(noted("a", told(forgetful.current()).revision)))
    assert told(forgetful.history()) == ()


def test_a_clock_that_goes_back_does_not_take_a_change_back_in_time(make: Make) -> None:
    times = iter([9_000, 2_000, 500, 9_001])
    memory = make(clock=lambda: next(times))
    changed_at = [told(memory.apply(noted(str(n), n))).snapshot.updated_at for n in range(4)]
    assert changed_at == [9_000, 9_000, 9_000, 9_001]
    assert [item.updated_at for item in told(memory.current()).observations] == changed_at
    assert [one.changed_at for one in told(memory.history())] == changed_at


@pytest.mark.parametrize("time", [None, 1.5, True, "now", -1, float("nan")])
def test_a_clock_that_gives_no_time_is_refused_and_nothing_is_written(make: Make, time: Any) -> None:
    memory = make(clock=lambda: time)
    with pytest.raises(InvalidInputError, match="clock"):
        told(memory.apply(noted("a", 0)))
    assert told(memory.current()) == started()


@pytest.mark.parametrize(
    "wrong",
    [
        {"history": -1},
        {"history": "all"},
        {"history": 1.5},
        {"start": {}},
        {"start": {"scope": "acme"}},
        {"start": started().to_json()},
        {"clock": 5_000},
        {"generate_id": "observations-1-0"},
    ],
    ids=repr,
)
def test_a_handle_that_is_described_wrongly_is_refused(make: Make, wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        make(**wrong)


def test_a_handle_starts_from_json_and_takes_patches_as_json(make: Make) -> None:
    goal = "Ship \ud83d\ude00."  # two halves, which JSON holds in pieces
    memory = make(start=json.loads(started(goal=goal).to_json()))
    assert told(memory.current()) == started(goal=goal)
    patch = {
        "operationId": "review-1",
        "expectedRevision": 0,
        "writer": "host",
        "operations": [{"op": "set-goal", "text": None}],
    }
    assert told(memory.apply(patch)).status == "applied"
    assert told(memory.current()).goal is None
    assert told(memory.current()).updated_at > 1_600_000_000_000, "the system's clock, in ms"


def test_the_clock_and_the_maker_of_ids_may_use_the_handle_that_asks_them(make: Make) -> None:
    asked: list[str] = []

    def generate_id(of: str, revision: int, index: int) -> str:
        asked.append(of)
        if len(asked) == 1:
            # A patch comes in between; the one that asks is late then.
            assert told(memory.apply(noted("inner", 0))).status == "applied"
        return f"{of}/{revision}/{index}"

    memory: Made = make(clock=lambda: told(memory.current()).updated_at + 1, generate_id=generate_id)
    outcomes: list[PatchOutcome] = []
    in_threads(lambda: outcomes.append(told(memory.apply(noted("outer", 0)))))
    (outer,) = outcomes
    assert isinstance(outer, RejectedPatch)
    assert outer.reason == "stale-revision"
    (item,) = told(memory.current()).observations
    assert (item.id, item.text, item.updated_at) == ("observations/1/0", "inner", 1_001)


def test_an_id_that_cannot_be_kept_leaves_the_memory_as_it_was(make: Make) -> None:
    memory = make(generate_id=lambda *_: "")
    with pytest.raises(InvalidInputError, match="generate_id"):
        told(memory.apply(noted("a", 0)))
    assert told(memory.current()) == started()


def test_writers_that_race_lose_no_patch_and_apply_none_twice(make: Make) -> None:
    memory = make()

    def write(worker: int) -> None:
        for turn in range(6):
            while True:
                patch = noted(f"{worker}/{turn}", told(memory.current()).revision)
                outcome = told(memory.apply(patch))
                if isinstance(outcome, AppliedPatch):
                    assert told(memory.apply(patch)).status == "duplicate"
                    break
                assert isinstance(outcome, RejectedPatch)
                assert outcome.reason == "stale-revision"

    in_threads(*(partial(write, worker) for worker in range(4)))
    snapshot, history = told(memory.current()), told(memory.history())
    assert [one.revision for one in history] == list(range(1, 25))
    for worker in range(4):
        mine = [one.operation_id for one in history if one.operation_id.startswith(str(worker))]
        assert mine == [f"{worker}/{turn}" for turn in range(6)]
    assert [item.text for item in snapshot.observations] == [one.operation_id for one in history]
    assert snapshot.revision == 24


def test_the_same_patch_from_several_threads_is_applied_once(make: Make) -> None:
    memory, statuses = make(), list[str]()
    in_threads(*[lambda: statuses.append(told(memory.apply(noted("a", 0))).status)] * 4)
    assert sorted(statuses) == ["applied", "duplicate", "duplicate", "duplicate"]


def test_the_models_tools_read_and_write_it(make: Make) -> None:
    read, add, _ = working_memory_tools(memory=make())
    assert call(add, {"items": [NOTE]})["status"] == "applied"
    assert NOTE["text"] in json.dumps(call(read, {}))
