"""A working copy of a snapshot, on which the operations of one patch are carried out.

Pure: the copy is thrown away when an operation fails, and nothing that was given changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from playground.errors import InvalidInputError
from playground.scope import MemorySourceRef
from playground.values import shown
from playground.working_memory.items import (
    ID_LENGTH,
    MOST,
    SOURCES,
    WRITTEN_LISTS,
    ItemList,
    MemoryItem,
    Task,
    TaskList,
    Writer,
    free_id,
)
from playground.working_memory.outcome import RejectionReason
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["Draft", "GenerateId", "Refusal"]

GenerateId = Callable[[ItemList, int, int], str]
"""Called with the list, the new revision and the number of the item: how many items of that list the patch has
made so far, or the position of a task in its list."""


class Refusal(Exception):  # noqa: N818  # an answer, not an error: it never leaves the patch
    """An operation that cannot be carried out."""

    def __init__(self, reason: RejectionReason, message: str) -> None:
        super().__init__(message)
        self.reason: RejectionReason = reason
        self.message = message


class Draft:
    """The lists of a snapshot, open to change.

    Args:
        snapshot: What is changed; it stays as it is.
        writer: Who changes it.
        now: The time, in whole ms since the epoch.
        generate_id: Names new items; ``<list>-<revision>-<index>`` unless given.

    Attributes:
        goal: The goal as it stands now.
        tasks: The task list as it stands now.
        ids: Ids of the items that were added, in their order.
    """

    def __init__(
        self, snapshot: WorkingMemorySnapshot, *, writer: Writer, now: int, generate_id: GenerateId | None
    ) -> None:
        self.goal = snapshot.goal
        self.tasks = snapshot.tasks
        self.ids: list[str] = []
        self._writer = writer
        self._now = now
        self._revision = snapshot.revision + 1
        self._generate_id = generate_id
        self._lists: dict[ItemList, list[Any]] = {
            "constraints": list(snapshot.constraints),
            **{name: list(getattr(snapshot, name)) for name in WRITTEN_LISTS},
        }
        self._made: dict[ItemList, int] = {}

    def contents(self) -> dict[str, Any]:
        """Return the fields of the new snapshot that operations may have changed."""
        lists: dict[str, Any] = {name: tuple(items) for name, items in self._lists.items()}
        return {"goal": self.goal, "tasks": self.tasks, **lists, "revision": self._revision}

    def stamp(self, sources: Sequence[MemorySourceRef] | None = None) -> dict[str, Any]:
        """Return what everything new carries: writer, revision, sources and time.

        Raises:
            Refusal: ``limit`` when there are too many sources.
        """
        kept = (MemorySourceRef(kind=self._writer),) if sources is None else tuple(sources)
        if len(kept) > SOURCES:
            raise Refusal("limit", f"{len(kept)} sources, at most {SOURCES} are kept.")
        return {"writer": self._writer, "revision": self._revision, "sources": kept, "updated_at": self._now}

    def add(
        self,
        to: ItemList,
        kind: type[MemoryItem],
        text: str,
        sources: Sequence[MemorySourceRef] | None,
        **more: Any,
    ) -> None:
        """Add an item at the end of a list.

        Raises:
            Refusal: ``limit`` when there are too many sources or items.
            InvalidInputError: When ``generate_id`` gives an id that is taken or malformed.
        """
        stamp = self.stamp(sources)
        self.check_room(to, len(self._lists[to]) + 1)
        item = kind(id=self.new_id(to, self._taken(to)), text=text, **more, **stamp)
        self._lists[to].append(item)
        self.ids.append(item.id)

    def find(self, item_id: str, *lists: ItemList) -> MemoryItem:
        """Return the item of an id in one of the lists, if the writer may change it.

        Raises:
            Refusal: ``not-found``; ``forbidden`` when a model asks for what is the host's.
        """
        item = next((item for name in lists for item in self._lists[name] if item.id == item_id), None)
        if item is None:
            raise Refusal("not-found", self._missing(item_id, lists))
        assert isinstance(item, MemoryItem)
        if self._writer == "model" and not item.open_to_model:
            whose = "was written by" if item.writer != "model" else "has been decided by"
            raise Refusal("forbidden", f"Item {shown(item_id)} {whose} the host; a model may not change it.")
        return item

    def change(self, item: MemoryItem, **fields: Any) -> None:
        """Put a changed item in the place of the one that ``find`` gave.

        It gets the new revision and, where the host changes what a model wrote, the mark that the host decided.
        """
        items, at = self._place(item)
        decided = "host" if self._writer == "host" and item.writer == "model" else item.decided_by
        stamp = {"revision": self._revision, "updated_at": self._now, "decided_by": decided}
        items[at] = item.model_copy(update={**fields, **stamp})

    def remove(self, item: MemoryItem) -> None:
        """Remove the item that ``find`` gave."""
        items, at = self._place(item)
        del items[at]

    def activate(self, task_id: str | None) -> None:
        """Make a task the active one, or none.

        Raises:
            Refusal: ``not-found``.
        """
        listed = () if self.tasks is None else self.tasks.list
        if task_id is not None and task_id not in {task.id for task in listed}:
            raise Refusal("not-found", f"No task has the id {shown(task_id)}.")
        if self.tasks is not None:
            self.tasks = self.tasks.model_copy(update={"active_task_id": task_id})

    def replace_tasks(self, tasks: Sequence[Task]) -> None:
        """Put another list of tasks in place; the active one stays so if it is still listed."""
        before = TaskList(list=()) if self.tasks is None else self.tasks
        kept = before.active_task_id if before.active_task_id in {task.id for task in tasks} else None
        revision = 1 if self.tasks is None else before.list_revision + 1
        self.tasks = TaskList(list=tuple(tasks), active_task_id=kept, list_revision=revision)

    def new_id(self, of: ItemList, taken: set[str], number: int | None = None) -> str:
        """Return an id for the next item of a list.

        Args:
            of: The list.
            taken: Ids that are passed over.
            number: Where the index starts: how many items of the list the patch has made, unless given.

        Raises:
            InvalidInputError: When ``generate_id`` gives one that is taken or malformed.
        """
        made = self._made.get(of, 0) if number is None else number
        if self._generate_id is None:
            found, made = free_id(of, self._revision, made, taken)
        else:
            found = self._generate_id(of, self._revision, made)
            if not isinstance(found, str) or not 1 <= len(found) <= ID_LENGTH or found in taken:
                raise InvalidInputError(
                    f"generate_id returned {shown(found)} for {of}.",
                    remedy=f"Return a string of 1 to {ID_LENGTH} characters that no other item has.",
                )
        self._made[of] = made + 1
        return found

    def check_room(self, of: ItemList, wanted: int) -> None:
        """Check that a list may hold as many items.

        Raises:
            Refusal: ``limit``.
        """
        if wanted > MOST[of]:
            raise Refusal("limit", f"{wanted} {of}, at most {MOST[of]} are kept.")

    def _missing(self, item_id: str, lists: Sequence[ItemList]) -> str:
        wanted = " or ".join(lists)
        everywhere: dict[ItemList, Sequence[MemoryItem | Task]] = {
            **self._lists, "tasks": self.tasks.list if self.tasks else ()
        }  # fmt: skip
        found = next((name for name, items in everywhere.items() if any(i.id == item_id for i in items)), None)
        if found is None:
            return f"No item of {wanted} has the id {shown(item_id)}."
        whose = (
            ", which are the host's" if self._writer == "model" and found in {"constraints", "tasks"} else ""
        )
        return f"Item {shown(item_id)} is one of {found}{whose}, not of {wanted}."

    def _taken(self, to: ItemList) -> set[str]:
        lists = WRITTEN_LISTS if to in WRITTEN_LISTS else (to,)
        return {item.id for name in lists for item in self._lists[name]}

    def _place(self, item: MemoryItem) -> tuple[list[Any], int]:
        for items in self._lists.values():
            for at, other in enumerate(items):
                if other is item:
                    return items, at
        raise AssertionError("the item was found in this draft")
