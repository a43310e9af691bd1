"""What the editor's buttons do to an item: each is one operation of a patch, marked where a role may not.

Pure. Nothing is hidden from a model: a forbidden button may be tried, so that its refusal can be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from playground.views.working_memory import DECIDED, ItemRow
from playground.working_memory.items import TaskList, Writer
from playground.working_memory.operations import HOST_ONLY

__all__ = [
    "HOST_ONLY_OPERATIONS",
    "ItemAction",
    "Operation",
    "hindrance",
    "item_actions",
    "labelled",
    "moved_task",
    "with_task",
    "without_task",
]

Operation = Mapping[str, Any]
"""One operation as JSON data."""
HOST_ONLY_OPERATIONS: frozenset[str] = frozenset(
    name for kind in HOST_ONLY for name in get_args(kind.model_fields["op"].annotation)
)
_DECISION = {"accepted": "Accept", "reverted": "Revert", "proposed": "Propose again"}
_HYPOTHESIS = {"confirmed": "Confirm", "rejected": "Reject", "proposed": "Propose again"}


@dataclass(frozen=True, slots=True)
class ItemAction:
    """A button."""

    label: str
    """Ends in why the role may not do it, where that is so: ``Accept (host only)``."""
    operation: Operation


def hindrance(role: Writer, operation: str, row: ItemRow | None = None) -> str:
    """Say why a role may not do an operation, in two to four words; empty when it may.

    ``host only``, ``not its own``, or ``decided by the host`` of what a model wrote and the host changed.

    Args:
        role: Who asks.
        operation: The operation's name.
        row: The item that it changes, if it changes one.
    """
    if role == "host":
        return ""
    if operation in HOST_ONLY_OPERATIONS:
        return "host only"
    if row is None or row.open_to_model:
        return ""
    return "not its own" if row.writer != "model" else DECIDED


def labelled(label: str, role: Writer, operation: str, row: ItemRow | None = None) -> str:
    """Return a button's label, with why the role may not press it: ``Accept (host only)``."""
    why = hindrance(role, operation, row)
    return f"{label} ({why})" if why else label


def item_actions(row: ItemRow, *, role: Writer, tasks: TaskList | None) -> tuple[ItemAction, ...]:
    """Return the buttons of one item that need no further words.

    Args:
        row: The item.
        role: Who would press them.
        tasks: The task list that it may stand in.
    """

    def action(label: str, operation: Operation) -> ItemAction:
        # Which task is active is nobody's own: a model may say so of any.
        own = None if operation["op"] == "set-active-task" else row
        return ItemAction(labelled(label, role, operation["op"], own), operation)

    return tuple(action(label, operation) for label, operation in _operations(row, tasks))


def with_task(
    tasks: TaskList | None, *, title: str, status: str, notes: str, task_id: str | None = None
) -> Operation:
    """Return the operation that puts a task into the list: a known one in its place, a new one at the end."""
    task: dict[str, Any] = {"title": title, "status": status, **({"notes": notes} if notes else {})}
    if task_id is None:
        return _set_tasks([*_listed(tasks), task])
    fresh = {**task, "id": task_id}
    return _set_tasks([fresh if old["id"] == task_id else old for old in _listed(tasks)])


def without_task(tasks: TaskList | None, task_id: str) -> Operation:
    """Return the operation that takes a task out of the list."""
    return _set_tasks([task for task in _listed(tasks) if task["id"] != task_id])


def moved_task(tasks: TaskList | None, task_id: str, by: int) -> Operation:
    """Return the operation that moves a task along the list, as far as the list goes."""
    listed = _listed(tasks)
    at = next((number for number, task in enumerate(listed) if task["id"] == task_id), None)
    if at is not None:
        listed.insert(max(0, at + by), listed.pop(at))
    return _set_tasks(listed)


def _operations(row: ItemRow, tasks: TaskList | None) -> Iterator[tuple[str, Operation]]:
    match row.list:
        case "goal":
            yield "Clear the goal", {"op": "set-goal", "text": None}
            return
        case "constraints":
            yield "Remove", {"op": "remove-constraint", "id": row.id}
            return
        case "tasks":
            yield from _task_operations(row, tasks)
            return
        case "decisions":
            for status, label in _DECISION.items():
                if status != row.status:
                    yield label, {"op": "set-decision-status", "id": row.id, "status": status}
        case "hypotheses":
            for status, label in _HYPOTHESIS.items():
                if status != row.status:
                    yield label, {"op": "set-hypothesis-status", "id": row.id, "status": status}
        case "questions":
            yield "Drop", {"op": "drop-question", "id": row.id}
    yield "Remove", {"op": "remove-item", "id": row.id}


def _task_operations(row: ItemRow, tasks: TaskList | None) -> Iterator[tuple[str, Operation]]:
    if row.active:
        yield "No active task", {"op": "set-active-task", "id": None}
    else:
        yield "Make active", {"op": "set-active-task", "id": row.id}
    listed = _listed(tasks)
    if len(listed) > 1 and listed[0]["id"] != row.id:
        yield "Move up", moved_task(tasks, row.id, -1)
    if len(listed) > 1 and listed[-1]["id"] != row.id:
        yield "Move down", moved_task(tasks, row.id, 1)
    yield "Remove", without_task(tasks, row.id)


def _set_tasks(listed: Sequence[Mapping[str, Any]]) -> Operation:
    return {"op": "set-tasks", "list": list(listed)}


def _listed(tasks: TaskList | None) -> list[dict[str, Any]]:
    return [
        task.model_dump(include={"id", "title", "status", "notes"}, exclude_none=True)
        for task in (tasks.list if tasks else ())
    ]
