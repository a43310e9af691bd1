from __future__ import annotations

from typing import Any, cast

import pytest

from playground import InvalidInputError
from playground.working_memory import (
    AppliedPatch,
    DuplicatePatch,
    RejectedPatch,
    apply_working_memory_patch,
)
from playground.working_memory.handle import InMemoryWorkingMemory, WorkingMemoryHandle
from tests.unit.working_memory.helpers import PATCHES, in_threads, noted, started


def test_a_patch_is_applied_to_what_stands_now_at_the_clocks_time() -> None:
    memory = InMemoryWorkingMemory(started(), clock=lambda: 5_000)
    assert isinstance(memory, WorkingMemoryHandle)
    assert memory.current() == started()
    patch = noted("The build is red.", 0)
    outcome = memory.apply(patch)
    assert outcome == apply_working_memory_patch(started(), patch, now=5_000)
    assert memory.current() is outcome.snapshot


def test_a_patch_that_is_not_applied_changes_nothing() -> None:
    memory = InMemoryWorkingMemory(started())
    first = memory.apply(noted("a", 0))
    stale = memory.apply(noted("b", 0))
    assert isinstance(stale, RejectedPatch)
    assert stale.reason == "stale-revision"
    again = memory.apply(noted("a", 7))
    assert again == DuplicatePatch(first.snapshot, 1)
    with pytest.raises(InvalidInputError):
        memory.apply({"operationId": "c"})
    assert memory.current() is first.snapshot
    assert len(memory.history()) == 1


def test_an_operation_id_may_hold_half_of_a_character() -> None:
    memory = InMemoryWorkingMemory(started())
    assert memory.apply(noted("\ud800", 0)).status == "applied"
    assert memory.history()[0].operation_id == "\ud800"


def test_the_history_tells_of_the_newest_patches() -> None:
    memory = InMemoryWorkingMemory(started(), clock=lambda: 5_000, history=2)
    assert memory.history() == ()
    for revision, text in enumerate("abc"):
        memory.apply(noted(text, revision))
    second, third = memory.history()
    assert [one.operation_id for one in (second, third)] == ["b", "c"]
    assert (third.revision, third.writer, third.changed_at) == (3, "model", 5_000)
    assert third.operations == ("add-observation",)
    (change,) = third.changes
    assert (change.list, change.kind, change.id, change.before) == (
        "observations", "added", "observations-3-0", None
    )  # fmt: skip


def test_a_handle_tells_of_100_patches_where_it_is_not_told_how_many() -> None:
    memory = InMemoryWorkingMemory(started())
    for revision in range(101):
        memory.apply(noted(str(revision), revision))
    assert [one.revision for one in memory.history()] == list(range(2, 102))


def test_a_handle_may_be_told_to_keep_no_history() -> None:
    memory = InMemoryWorkingMemory(started(), history=0)
    memory.apply(noted("a", 0))
    assert memory.history() == ()


def test_a_clock_that_goes_back_does_not_take_a_change_back_in_time() -> None:
    times = iter([9_000, 2_000, 500, 9_001])
    memory = InMemoryWorkingMemory(started(), clock=lambda: next(times))
    told = [memory.apply(noted(str(revision), revision)).snapshot.updated_at for revision in range(4)]
    assert told == [9_000, 9_000, 9_000, 9_001]
    assert [item.updated_at for item in memory.current().observations] == told
    assert [one.changed_at for one in memory.history()] == told


@pytest.mark.parametrize("missing", [None, "acme"])
def test_a_handle_in_this_process_needs_a_snapshot(missing: Any) -> None:
    with pytest.raises(InvalidInputError):
        InMemoryWorkingMemory(missing)


def test_two_writers_that_race_lose_no_patch_and_apply_none_twice() -> None:
    memory = InMemoryWorkingMemory(started(), history=3 * PATCHES)
    late: list[str] = []

    def write(writer: str) -> None:
        last: str | None = None
        for number in range(PATCHES):
            patch: dict[str, Any] = {
                "operation_id": f"{writer}-{number}",
                "writer": "model",
                "operations": [{"op": "add-observation", "text": f"{writer}-{number}"}],
            }
            if last is not None:
                patch["operations"].append({"op": "remove-item", "id": last})
            while True:
                outcome = memory.apply({**patch, "expected_revision": memory.current().revision})
                if isinstance(outcome, AppliedPatch):
                    break
                assert isinstance(outcome, RejectedPatch)
                assert outcome.reason == "stale-revision"
                late.append(patch["operation_id"])
            (last,) = outcome.ids
            if number % 10 == 0:
                again = memory.apply({**patch, "expected_revision": outcome.snapshot.revision - 1})
                # The other writer may have been so busy that the journal has forgotten this patch.
                assert not isinstance(again, AppliedPatch)

    in_threads(lambda: write("a"), lambda: write("b"))
    told = memory.history()
    assert memory.current().revision == 2 * PATCHES == len(told)
    assert [one.revision for one in told] == list(range(1, 2 * PATCHES + 1))
    for writer in "ab":
        mine = [one.operation_id for one in told if one.operation_id.startswith(writer)]
        assert mine == [f"{writer}-{number}" for number in range(PATCHES)]
    left = {item.text for item in memory.current().observations}
    assert left == {f"a-{PATCHES - 1}", f"b-{PATCHES - 1}"}
    assert late, "the writers never met"


def test_whoever_reads_the_history_cannot_change_it() -> None:
    found = InMemoryWorkingMemory(started())
    found.apply(noted("a", 0))
    change = found.history()[0].changes[0]
    assert change.after is not None
    cast("dict[str, Any]", change.after)["text"] = "FAKE"
    assert "FAKE" not in found.history()[0].to_json()
