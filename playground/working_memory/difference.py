"""What one patch changed: the items before and after it, and who changed them.

Pure. Items are plain JSON data, as they stood at that revision, so that a history outlives what it tells of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from playground.fields import TextLength
from playground.values import RecordedValue
from playground.working_memory.items import (
    ID_LENGTH,
    WRITTEN_LISTS,
    Count,
    Goal,
    ItemList,
    MemoryItem,
    Milliseconds,
    Section,
    Task,
    Writer,
)
from playground.working_memory.patch import MOST_OPERATIONS, WorkingMemoryPatch

if TYPE_CHECKING:
    from playground.working_memory.outcome import AppliedPatch
    from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["ItemChange", "WorkingMemoryRevision", "revision_of", "snapshot_changes"]

CHANGES = 256  # of one patch: a new list of tasks takes 64 away and brings 64, the others change one or two

ChangedList = Literal[Section, "taskOrder", "activeTask"]


class ItemChange(RecordedValue):
    """One item that was added, removed or changed."""

    list: ChangedList
    """Where it stands; ``taskOrder`` and ``activeTask`` are no items but are told like one."""
    id: str = ""
    """The item's id; empty for the goal, the order of the tasks and the active task."""
    kind: Literal["added", "removed", "changed"]
    """What happened to it."""
    before: Mapping[str, Any] | None = None
    """The item as JSON data before the patch; absent when it was added."""
    after: Mapping[str, Any] | None = None
    """The item as JSON data after it; absent when it was removed."""


class WorkingMemoryRevision(RecordedValue):
    """One applied patch: who changed what, and when."""

    revision: Annotated[Count, Field(ge=1)]
    """The snapshot revision that it made."""
    writer: Writer
    """Who asked for it."""
    operation_id: Annotated[str, TextLength(1, ID_LENGTH)]
    """The patch's identifier."""
    changed_at: Milliseconds
    """When it was applied, in ms since the epoch."""
    operations: Annotated[tuple[str, ...], Field(max_length=MOST_OPERATIONS)]
    """Names of its operations, in their order."""
    changes: Annotated[tuple[ItemChange, ...], Field(max_length=CHANGES)]
    """What came of it, in the order of the sections."""


def snapshot_changes(before: WorkingMemorySnapshot, after: WorkingMemorySnapshot) -> tuple[ItemChange, ...]:
    """Return what differs between two snapshots, section by section. O(items).

    Within a section what is gone comes first, in the old order, then what is new or changed, in the new order.
    An item that was only touched, so that nothing but its revision and time differ, counts as changed. The
    order of the tasks is a change of its own when the tasks that stayed stand in another order.
    """
    return tuple(_changes(before, after))


def revision_of(
    before: WorkingMemorySnapshot, outcome: AppliedPatch, patch: WorkingMemoryPatch
) -> WorkingMemoryRevision:
    """Return what an applied patch did, for a history.

    Args:
        before: The snapshot that it was applied to.
        outcome: What came of it.
        patch: The patch.
    """
    return WorkingMemoryRevision(
        revision=outcome.snapshot.revision,
        writer=patch.writer,
        operation_id=patch.operation_id,
        changed_at=outcome.snapshot.updated_at,
        operations=tuple(operation.op for operation in patch.operations),
        changes=snapshot_changes(before, outcome.snapshot),
    )


def _changes(before: WorkingMemorySnapshot, after: WorkingMemorySnapshot) -> Iterator[ItemChange]:
    goals = [None if snapshot.goal is None else _data(snapshot.goal) for snapshot in (before, after)]
    yield from _change("goal", "", *goals)
    yield from _list_changes("constraints", before.constraints, after.constraints)
    old, new = (snapshot.tasks.list if snapshot.tasks else () for snapshot in (before, after))
    yield from _list_changes("tasks", old, new)
    stayed = {task.id for task in old} & {task.id for task in new}
    orders = [[task.id for task in tasks if task.id in stayed] for tasks in (old, new)]
    yield from _change("taskOrder", "", *({"order": order} for order in orders))
    active = [snapshot.active_task for snapshot in (before, after)]
    yield from _change("activeTask", "", *(None if task is None else {"id": task.id} for task in active))
    for name in WRITTEN_LISTS:
        yield from _list_changes(name, getattr(before, name), getattr(after, name))


def _list_changes(
    name: ItemList, old: Sequence[MemoryItem | Task], new: Sequence[MemoryItem | Task]
) -> Iterator[ItemChange]:
    by_id = {item.id: item for item in old}
    left = by_id.keys() - {item.id for item in new}
    for item in old:
        if item.id in left:
            yield from _change(name, item.id, _data(item), None)
    for item in new:
        was = by_id.get(item.id)
        if was != item:
            yield from _change(name, item.id, None if was is None else _data(was), _data(item))


def _change(
    name: ChangedList, item_id: str, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> Iterator[ItemChange]:
    if before != after:
        kind: Literal["added", "removed", "changed"] = "changed"
        if before is None or after is None:
            kind = "added" if before is None else "removed"
        yield ItemChange(list=name, id=item_id, kind=kind, before=before, after=after)


def _data(item: Goal | MemoryItem | Task) -> dict[str, Any]:
    data: dict[str, Any] = item.model_dump(by_alias=True, exclude_none=True)
    # A list, as JSON gives it back: what was saved and loaded equals what was made.
    return {name: list(value) if isinstance(value, tuple) else value for name, value in data.items()}
