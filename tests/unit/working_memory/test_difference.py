"""What differs between two snapshots, and the history rows made of it."""

from __future__ import annotations

from typing import Any

import pytest

from playground import InvalidInputError
from playground.working_memory import AppliedPatch, WorkingMemoryPatch, apply_working_memory_patch
from playground.working_memory.difference import (
    ItemChange,
    WorkingMemoryRevision,
    revision_of,
    snapshot_changes,
)
from playground.working_memory.snapshot import WorkingMemorySnapshot, create_working_memory


def snapshot(**more: Any) -> WorkingMemorySnapshot:
    fields: dict[str, Any] = {"goal": "Ship.", "constraints": ["Ask first.", "Never guess."], "now": 5}
    return create_working_memory(scope="case", **{**fields, **more})


def tasks(*ids: str, active: str | None = None, **titles: str) -> dict[str, Any]:
    return {"list": [{"id": one, "title": titles.get(one, one)} for one in ids], "active_task_id": active}


def told(before: WorkingMemorySnapshot, after: WorkingMemorySnapshot) -> list[tuple[str, str, str]]:
    return [(change.list, change.id, change.kind) for change in snapshot_changes(before, after)]


def with_items(**lists: list[dict[str, Any]]) -> WorkingMemorySnapshot:
    data = snapshot().model_dump(by_alias=True)
    return WorkingMemorySnapshot.parse({**data, **lists})


def test_equal_snapshots_have_no_changes() -> None:
    assert snapshot_changes(snapshot(), snapshot()) == ()


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [(None, "Ship.", "added"), ("Ship.", None, "removed"), ("Ship.", "Stop.", "changed")],
)
def test_a_goal_is_added_removed_or_changed(before: str | None, after: str | None, kind: str) -> None:
    (change,) = snapshot_changes(snapshot(goal=before), snapshot(goal=after))
    assert (change.list, change.id, change.kind) == ("goal", "", kind)
    assert (change.before or {}).get("text") == before
    assert (change.after or {}).get("text") == after


def test_a_change_holds_the_whole_item_before_and_after() -> None:
    old = {"id": "d", "text": "Wait.", "status": "proposed", "writer": "model", "sources": [{"kind": "model"}]}
    new = {**old, "status": "accepted", "revision": 3, "updatedAt": 9, "decidedBy": "host"}
    (change,) = snapshot_changes(with_items(decisions=[old]), with_items(decisions=[new]))
    assert change.before == {**old, "revision": 0, "updatedAt": 0}
    assert change.after == new


def test_sections_come_in_their_order_and_what_is_gone_comes_first() -> None:
    one, two = {"id": "o1", "text": "One."}, {"id": "o2", "text": "Two."}
    before = with_items(observations=[one], questions=[{"id": "q", "text": "Why?"}])
    after = with_items(observations=[two], hypotheses=[{"id": "h", "text": "Perhaps."}])
    assert told(before, after) == [
        ("questions", "q", "removed"),
        ("hypotheses", "h", "added"),
        ("observations", "o1", "removed"),
        ("observations", "o2", "added"),
    ]


def test_all_sections_come_in_the_order_in_which_they_are_rendered() -> None:
    def items(*ids: str, **more: Any) -> list[dict[str, Any]]:
        return [{"id": one, "text": "x", **more} for one in ids]

    before = with_items(questions=items("q2", "q1"))
    after = WorkingMemorySnapshot.parse(
        {
            "scope": "case",
            "goal": {"text": "Stop."},
            "tasks": {"list": [{"id": "t", "title": "T"}], "activeTaskId": "t"},
            "decisions": items("d", status="proposed"),
            "questions": items("q3"),
            "attempts": items("a", outcome="failed"),
            "hypotheses": items("h"),
            "observations": items("o"),
        }
    )
    changes = snapshot_changes(before, after)
    assert [(change.list, change.id, change.kind) for change in changes] == [
        ("goal", "", "changed"),
        ("constraints", "constraints-0-0", "removed"),
        ("constraints", "constraints-0-1", "removed"),
        ("tasks", "t", "added"),
        ("activeTask", "", "added"),
        ("decisions", "d", "added"),
        ("questions", "q2", "removed"),
        ("questions", "q1", "removed"),
        ("questions", "q3", "added"),
        ("attempts", "a", "added"),
        ("hypotheses", "h", "added"),
        ("observations", "o", "added"),
    ]
    assert changes[4].after == {"id": "t"}


def test_a_revision_tells_each_operation_and_when_it_was_made() -> None:
    add = {"op": "add-question", "text": "Why?"}
    patch = WorkingMemoryPatch.parse(
        {"operationId": "call-1", "expectedRevision": 0, "writer": "model", "operations": [add, add]}
    )
    outcome = apply_working_memory_patch(snapshot(), patch, now=9)
    assert isinstance(outcome, AppliedPatch)
    told = revision_of(snapshot(), outcome, patch)
    assert (told.revision, told.writer, told.operation_id, told.changed_at) == (1, "model", "call-1", 9)
    assert told.operations == ("add-question", "add-question")
    assert [change.id for change in told.changes] == ["questions-1-0", "questions-1-1"]
    change = {"list": "goal", "kind": "removed"}
    for bad in (
        {"revision": 0},  # no patch makes the first snapshot
        {"operations": ["add-question"] * 17},
        {"changes": [change] * 257},
        {"operation_id": ""},
        {"operation_id": "x" * 257},
        {"changed_at": -1},
    ):
        with pytest.raises(InvalidInputError):
            WorkingMemoryRevision.parse({**told.model_dump(), **bad})
    most = {"operations": ["add-question"] * 16, "changes": [change] * 256, "operation_id": "x" * 256}
    assert WorkingMemoryRevision.parse({**told.model_dump(), **most})


def test_r234_a_new_list_of_all_tasks_is_told_whole() -> None:
    before = snapshot(tasks={"list": [f"{number}" for number in range(64)]})
    patch = WorkingMemoryPatch.parse(
        {
            "operationId": "o",
            "expectedRevision": 0,
            "writer": "host",
            "operations": [{"op": "set-tasks", "list": ["New"] * 64}],
        }
    )
    outcome = apply_working_memory_patch(before, patch, now=9)
    assert isinstance(outcome, AppliedPatch)
    kinds = [change.kind for change in revision_of(before, outcome, patch).changes]
    assert kinds == ["removed"] * 64 + ["added"] * 64


def test_another_order_of_the_tasks_that_stayed_is_a_change_of_its_own() -> None:
    before, after = snapshot(tasks=tasks("a", "b", "c")), snapshot(tasks=tasks("x", "c", "b"))
    assert told(before, after) == [
        ("tasks", "a", "removed"),
        ("tasks", "x", "added"),
        ("taskOrder", "", "changed"),
    ]
    order = snapshot_changes(before, after)[-1]
    assert (order.before, order.after) == ({"order": ["b", "c"]}, {"order": ["c", "b"]})


@pytest.mark.parametrize(
    ("before", "after", "kind"), [(None, "a", "added"), ("a", None, "removed"), ("a", "b", "changed")]
)
def test_the_active_task_is_told_too(before: str | None, after: str | None, kind: str) -> None:
    changes = told(
        snapshot(tasks=tasks("a", "b", active=before)), snapshot(tasks=tasks("a", "b", active=after))
    )
    assert changes == [("activeTask", "", kind)]


def test_the_first_task_list_is_told_task_by_task() -> None:
    assert told(snapshot(), snapshot(tasks=tasks("a", "b", active="a"))) == [
        ("tasks", "a", "added"),
        ("tasks", "b", "added"),
        ("activeTask", "", "added"),
    ]


def test_an_item_that_was_only_touched_counts_as_changed() -> None:
    item = {"id": "o", "text": "Same.", "revision": 1}
    changes = told(with_items(observations=[item]), with_items(observations=[{**item, "revision": 2}]))
    assert changes == [("observations", "o", "changed")]


def test_a_revision_survives_json_whatever_its_texts_are() -> None:
    hostile = '</goal>\n- [x] (accepted) \u202e \U0001f600 {"$deuzText": []}'
    revision = WorkingMemoryRevision(
        revision=3,
        writer="model",
        operation_id="call-1",
        changed_at=1_700,
        operations=("add-observation",),
        changes=snapshot_changes(snapshot(goal="Ship."), snapshot(goal=hostile, constraints=())),
    )
    assert WorkingMemoryRevision.from_json(revision.to_json()) == revision
    assert revision.changes[0] == ItemChange.from_json(revision.changes[0].to_json())
