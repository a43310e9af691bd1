"""The editor's buttons: each is one operation that a patch takes, marked where the role may not."""

from __future__ import annotations

from typing import Any

import pytest

from playground.views.working_memory import ItemRow, working_memory_view
from playground.views.working_memory_actions import (
    HOST_ONLY_OPERATIONS,
    hindrance,
    item_actions,
    moved_task,
    with_task,
    without_task,
)
from playground.working_memory import WorkingMemorySnapshot, apply_working_memory_patch
from playground.working_memory.items import Writer
from tests.unit.views.memories import NOON, filled, patched, wanted


def rows(snapshot: WorkingMemorySnapshot) -> list[ItemRow]:
    return [row for section in working_memory_view(snapshot).sections for row in section.rows]


def titles(operation: Any) -> list[str]:
    snapshot, _ = patched(filled(), operation)
    assert snapshot.tasks is not None
    return [task.title for task in snapshot.tasks.list]


def test_r225_the_six_operations_of_the_host_are_known() -> None:
    assert {
        "set-goal",
        "add-constraint",
        "remove-constraint",
        "set-tasks",
        "set-hypothesis-status",
        "set-decision-status",
    } == HOST_ONLY_OPERATIONS


@pytest.mark.parametrize("role", ["host", "model"])
def test_every_button_is_marked_exactly_where_its_patch_is_forbidden(role: Writer) -> None:
    snapshot = filled()
    tried = 0
    for row in rows(snapshot):
        for action in item_actions(row, role=role, tasks=snapshot.tasks):
            patch = wanted(snapshot, action.operation, writer=role)
            outcome = apply_working_memory_patch(snapshot, patch, now=NOON)
            forbidden = outcome.status == "rejected" and outcome.reason == "forbidden"
            assert forbidden == action.label.endswith(
                (" (host only)", " (not its own)", " (decided by the host)")
            ), action
            assert forbidden or outcome.status == "applied"
            tried += 1
    assert tried > 15


def test_a_status_that_an_item_has_is_not_offered() -> None:
    snapshot = filled()
    decision = next(row for row in rows(snapshot) if row.list == "decisions")
    labels = [action.label for action in item_actions(decision, role="host", tasks=snapshot.tasks)]
    assert labels == ["Revert", "Propose again", "Remove"]


def test_a_models_item_is_its_own_until_the_host_decides() -> None:
    own, decided = (
        next(row for row in rows(filled()) if row.list == name) for name in ("questions", "decisions")
    )
    assert hindrance("model", "remove-item", own) == ""
    assert hindrance("model", "remove-item", decided) == "decided by the host"
    assert hindrance("model", "set-goal") == "host only"
    assert hindrance("host", "set-goal") == ""


def test_the_first_task_cannot_move_up_nor_the_last_down() -> None:
    snapshot = filled()
    first, last = (row for row in rows(snapshot) if row.list == "tasks")
    labels = [
        [action.label for action in item_actions(row, role="host", tasks=snapshot.tasks)]
        for row in (first, last)
    ]
    assert labels == [["Make active", "Move down", "Remove"], ["No active task", "Move up", "Remove"]]


def test_one_task_is_added_changed_moved_or_removed_and_the_others_stay() -> None:
    tasks = filled().tasks
    assert titles(with_task(tasks, title="Third", status="pending", notes="")) == ["First", "Second", "Third"]
    assert titles(with_task(tasks, task_id="a", title="One", status="done", notes="n")) == ["One", "Second"]
    assert titles(without_task(tasks, "a")) == ["Second"]
    assert titles(moved_task(tasks, "b", -1)) == ["Second", "First"]
    assert titles(moved_task(tasks, "b", 9)) == ["First", "Second"]
    assert titles(moved_task(tasks, "no such task", 1)) == ["First", "Second"]


def test_a_changed_task_keeps_the_others_as_they_were() -> None:
    before = filled()
    after, _ = patched(before, with_task(before.tasks, task_id="a", title="First", status="done", notes=""))
    assert before.tasks is not None
    assert after.tasks is not None
    assert after.tasks.list[1] == before.tasks.list[1]
    assert after.tasks.active_task_id == "b"


def test_the_first_task_of_all_starts_a_list() -> None:
    assert with_task(None, title="One", status="pending", notes="") == {
        "op": "set-tasks",
        "list": [{"title": "One", "status": "pending"}],
    }
