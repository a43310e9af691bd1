"""The working-memory snapshot: goal, rules, tasks and what a long task decided and tried.

Plain JSON, format version 1. A snapshot never changes; a later revision is a new value. Pure: the clock is
an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from playground.errors import InvalidInputError
from playground.scope import MemorySourceRef
from playground.values import RecordedValue

__all__ = [
    "AttemptItem",
    "DecisionItem",
    "HypothesisItem",
    "MemoryItem",
    "QuestionItem",
    "Task",
    "TaskList",
    "WorkingMemorySnapshot",
    "create_working_memory",
]

Writer = Literal["host", "model"]
Sources = Annotated[tuple[MemorySourceRef, ...], Field(max_length=16)]
ItemId = Annotated[str, Field(min_length=1, max_length=256)]
ItemText = Annotated[str, Field(min_length=1, max_length=1000)]
GoalText = Annotated[str, Field(min_length=1, max_length=4000)]
SNAPSHOT_BYTES = 256 * 1024  # UTF-8 bytes of a snapshot's JSON

HOST_SOURCES = (MemorySourceRef(kind="host"),)


class _Changed(RecordedValue):
    """Who changed something last, in which revision, when and on what grounds."""

    writer: Writer = "host"
    """Who wrote it."""
    revision: Annotated[int, Field(ge=0)] = 0
    """The snapshot revision that last changed it."""
    sources: Sources = ()
    """What it rests on, at most 16 references."""
    updated_at: int = 0
    """When it changed, in ms since the epoch."""


class Goal(_Changed):
    """What the task is for; the host sets it."""

    text: GoalText
    """At most 4,000 characters; line ends are kept."""


class MemoryItem(_Changed):
    """A listed item: a constraint or an observation."""

    id: ItemId
    """Unique within its list."""
    text: ItemText
    """At most 1,000 characters."""


class DecisionItem(MemoryItem):
    """Something decided, or proposed for decision."""

    status: Literal["proposed", "accepted", "reverted"]
    """Only the host accepts."""
    rationale: Annotated[str, Field(max_length=1000)] | None = None
    """Why, at most 1,000 characters."""


class QuestionItem(MemoryItem):
    """An open question, its answer, or a question that was dropped."""

    status: Literal["open", "answered", "dropped"] = "open"
    """Dropped questions are never shown."""
    answer: Annotated[str, Field(max_length=1000)] | None = None
    """At most 1,000 characters."""


class AttemptItem(MemoryItem):
    """Something that was tried."""

    outcome: Literal["in_progress", "failed", "abandoned", "succeeded"]
    """How it went."""
    detail: Annotated[str, Field(max_length=1000)] | None = None
    """At most 1,000 characters."""


class HypothesisItem(MemoryItem):
    """Something assumed."""

    status: Literal["proposed", "confirmed", "rejected"] = "proposed"
    """Only the host confirms or rejects."""


class Task(_Changed):
    """One entry of the task list."""

    id: ItemId
    """Unique within the list."""
    title: Annotated[str, Field(min_length=1, max_length=500)]
    """At most 500 characters."""
    status: Literal["pending", "in_progress", "done", "failed"] = "pending"
    """How far it is."""
    notes: Annotated[str, Field(max_length=1000)] | None = None
    """At most 1,000 characters."""


class TaskList(RecordedValue):
    """The tasks and which of them is active."""

    list: Annotated[tuple[Task, ...], Field(max_length=64)]
    """At most 64 tasks, in the host's order."""
    active_task_id: str | None = None
    """The task being worked on."""
    list_revision: Annotated[int, Field(ge=1)] = 1
    """Raised whenever the host replaces the list."""


class OperationRecord(RecordedValue):
    """A patch that was applied; kept to recognise a repetition."""

    operation_id: str
    """The patch's identifier."""
    revision: int
    """The revision it made."""
    digest: str
    """``sha256:<hex>`` of its operations."""


class WorkingMemorySnapshot(RecordedValue):
    """Working memory at one revision, format version 1.

    Raises:
        InvalidInputError: When a limit is passed, an id stands twice in a list, the active task is not in
            the list, or the JSON is larger than 256 KiB.
    """

    version: Literal[1] = 1
    """Version of the recorded format."""
    scope: Annotated[str, Field(min_length=1, max_length=256)]
    """Whose task this is, 1 to 256 characters."""
    revision: Annotated[int, Field(ge=0)] = 0
    """Raised by one with every applied patch."""
    goal: Goal | None = None
    """What the task is for."""
    goal_ref: Annotated[str, Field(max_length=256)] | None = None
    """Reference to a supervised goal, at most 256 characters."""
    constraints: Annotated[tuple[MemoryItem, ...], Field(max_length=32)] = ()
    """The host's rules, at most 32."""
    tasks: TaskList | None = None
    """The task list."""
    decisions: Annotated[tuple[DecisionItem, ...], Field(max_length=64)] = ()
    """At most 64."""
    questions: Annotated[tuple[QuestionItem, ...], Field(max_length=32)] = ()
    """At most 32."""
    attempts: Annotated[tuple[AttemptItem, ...], Field(max_length=64)] = ()
    """At most 64."""
    hypotheses: Annotated[tuple[HypothesisItem, ...], Field(max_length=32)] = ()
    """At most 32."""
    observations: Annotated[tuple[MemoryItem, ...], Field(max_length=128)] = ()
    """At most 128."""
    operations: Annotated[tuple[OperationRecord, ...], Field(max_length=256)] = ()
    """The newest 256 applied patches."""
    created_at: int = 0
    """In ms since the epoch."""
    updated_at: int = 0
    """In ms since the epoch."""

    @model_validator(mode="after")
    def _check_whole(self) -> WorkingMemorySnapshot:
        tasks = self.tasks.list if self.tasks else ()
        lists: list[Sequence[MemoryItem | Task]] = [self.constraints, tasks, self.decisions, self.questions]
        lists += [self.attempts, self.hypotheses, self.observations]
        for items in lists:
            if len({item.id for item in items}) != len(items):
                raise InvalidInputError("an item id stands twice in one list")
        if self.tasks and self.tasks.active_task_id is not None and self.active_task is None:
            raise InvalidInputError("the active task is not in the task list")
        size = len(self.to_json().encode())
        if size > SNAPSHOT_BYTES:
            raise InvalidInputError(f"the snapshot has {size:,} bytes of JSON, above {SNAPSHOT_BYTES:,}")
        return self

    @property
    def active_task(self) -> Task | None:
        """The task being worked on, if there is one."""
        if self.tasks is None:
            return None
        return next((task for task in self.tasks.list if task.id == self.tasks.active_task_id), None)


def create_working_memory(
    *,
    scope: str,
    goal: str | None = None,
    constraints: Sequence[str] = (),
    tasks: Mapping[str, Any] | None = None,
    goal_ref: str | None = None,
    now: int,
) -> WorkingMemorySnapshot:
    """Start a working memory at revision 0, written by the host.

    Args:
        scope: Whose task this is, 1 to 256 characters.
        goal: What the task is for, at most 4,000 characters.
        constraints: Rules the model must keep, at most 32 of at most 1,000 characters; their ids are
            ``constraints-0-<i>``.
        tasks: ``{"list": [...], "active_task_id": ...}``; each task is a title, or a mapping with ``title``
            and optionally ``id`` (else ``tasks-0-<i>``), ``status`` and ``notes``.
        goal_ref: Reference to a supervised goal.
        now: The time, in whole ms since the epoch.

    Raises:
        InvalidInputError: When a limit is passed or a field is malformed.
    """
    if isinstance(constraints, str) or not isinstance(constraints, Sequence):
        raise InvalidInputError("The constraints are not a list.", remedy="Pass a list of strings.")
    if isinstance(now, bool) or not isinstance(now, int):
        raise InvalidInputError("The time is not whole milliseconds.", remedy="Pass int(time.time() * 1000).")
    stamp = {"writer": "host", "revision": 0, "sources": HOST_SOURCES, "updated_at": now}
    rules = [{"id": f"constraints-0-{i}", "text": text, **stamp} for i, text in enumerate(constraints)]
    return WorkingMemorySnapshot(
        scope=scope,
        goal=None if goal is None else {"text": goal, **stamp},
        goal_ref=goal_ref,
        constraints=rules,
        tasks=None if tasks is None else _task_list(tasks, stamp),
        created_at=now,
        updated_at=now,
    )


def _task_list(tasks: Mapping[str, Any], stamp: Mapping[str, Any]) -> TaskList:
    if not isinstance(tasks, Mapping) or not set(tasks) <= {"list", "active_task_id", "activeTaskId"}:
        raise InvalidInputError(
            "The tasks are not a mapping with list and active_task_id.", remedy='Pass {"list": [...]}.'
        )
    listing = tasks.get("list", ())
    if isinstance(listing, str) or not isinstance(listing, Sequence):
        raise InvalidInputError("The task list is not a list.", remedy='Pass {"list": [...]}.')
    entries = [{"title": task} if isinstance(task, str) else task for task in listing]
    if not all(isinstance(entry, Mapping) for entry in entries):
        raise InvalidInputError("A task is neither a title nor a mapping.")
    listed = [{"id": f"tasks-0-{i}", **stamp, **entry} for i, entry in enumerate(entries)]
    return TaskList(
        list=listed,
        active_task_id=tasks.get("active_task_id", tasks.get("activeTaskId")),
        list_revision=1,
    )
