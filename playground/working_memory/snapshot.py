"""The working-memory snapshot: goal, rules, tasks and what a long task decided and tried.

Plain JSON, format version 1. A snapshot never changes; a later revision is a new value. Pure: the clock is
an argument.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from playground.errors import InvalidInputError
from playground.fields import LISTED, TextLength
from playground.scope import MemorySourceRef
from playground.values import RecordedValue, whole_number
from playground.working_memory.items import (
    ATTEMPTS,
    CONSTRAINTS,
    DECISIONS,
    HYPOTHESES,
    ID_LENGTH,
    OBSERVATIONS,
    QUESTIONS,
    AttemptItem,
    Count,
    DecisionItem,
    Goal,
    HypothesisItem,
    MemoryItem,
    Milliseconds,
    OperationRecord,
    QuestionItem,
    Task,
    TaskInput,
    TaskList,
    free_id,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["WorkingMemorySnapshot", "create_working_memory"]

SNAPSHOT_BYTES = 256 * 1024  # UTF-8 bytes of a snapshot's JSON
JOURNAL = 256  # applied patches that are remembered
HOST_SOURCES = (MemorySourceRef(kind="host"),)


class WorkingMemorySnapshot(RecordedValue):
    """Working memory at one revision, format version 1.

    Raises:
        InvalidInputError: When a limit is passed, an id stands twice where it must be unique, the active task
            is not in the list, or the JSON is larger than 256 KiB.
    """

    version: Literal[1] = 1
    """Version of the recorded format."""
    scope: Annotated[str, TextLength(1, ID_LENGTH)]
    """Whose task this is, 1 to 256 characters."""
    revision: Count = 0
    """Raised by one with every applied patch."""
    goal: Goal | None = None
    """What the task is for."""
    goal_ref: Annotated[str, TextLength(0, ID_LENGTH)] | None = None
    """Reference to a supervised goal, at most 256 characters."""
    constraints: Annotated[tuple[MemoryItem, ...], LISTED, Field(max_length=CONSTRAINTS)] = ()
    """The host's rules, at most 32."""
    tasks: TaskList | None = None
    """The task list."""
    decisions: Annotated[tuple[DecisionItem, ...], LISTED, Field(max_length=DECISIONS)] = ()
    """At most 64."""
    questions: Annotated[tuple[QuestionItem, ...], LISTED, Field(max_length=QUESTIONS)] = ()
    """At most 32."""
    attempts: Annotated[tuple[AttemptItem, ...], LISTED, Field(max_length=ATTEMPTS)] = ()
    """At most 64."""
    hypotheses: Annotated[tuple[HypothesisItem, ...], LISTED, Field(max_length=HYPOTHESES)] = ()
    """At most 32."""
    observations: Annotated[tuple[MemoryItem, ...], LISTED, Field(max_length=OBSERVATIONS)] = ()
    """At most 128."""
    operations: Annotated[tuple[OperationRecord, ...], LISTED, Field(max_length=JOURNAL)] = ()
    """The newest 256 applied patches, the oldest first; fewer where the snapshot would be too large."""
    created_at: Milliseconds = 0
    """In ms since the epoch."""
    updated_at: Milliseconds = 0
    """In ms since the epoch."""

    @model_validator(mode="after")
    def _check_whole(self) -> WorkingMemorySnapshot:
        tasks = self.tasks.list if self.tasks else ()
        written = (self.decisions, self.questions, self.attempts, self.hypotheses, self.observations)
        lists: list[list[MemoryItem | Task]] = [list(self.constraints), list(tasks), list(chain(*written))]
        for items in lists:
            if len({item.id for item in items}) != len(items):
                raise InvalidInputError("an item id stands twice")
        if len({record.operation_id for record in self.operations}) != len(self.operations):
            raise InvalidInputError("an operation id stands twice")
        if self.tasks and self.tasks.active_task_id is not None and self.active_task is None:
            raise InvalidInputError("the active task is not in the task list")
        size = len(self.to_json().encode())
        if size > SNAPSHOT_BYTES:
            raise InvalidInputError(f"the snapshot has {size:,} bytes of JSON, above {SNAPSHOT_BYTES:,}")
        return self

    @classmethod
    def recorded(cls, data: Any) -> Self:
        """Check a snapshot, or the plain data that JSON gives of one, and return it.

        Raises:
            InvalidInputError: For anything else; says what to pass instead.
        """
        if isinstance(data, str | bytes):
            raise InvalidInputError(
                "The working memory is JSON text.", remedy="Read it with WorkingMemorySnapshot.from_json."
            )
        if callable(getattr(data, "current", None)):
            raise InvalidInputError(
                f"The working memory is a {type(data).__name__}, which changes.", remedy="Pass its current()."
            )
        return super().recorded(data)

    @property
    def active_task(self) -> Task | None:
        """The task being worked on, if there is one."""
        if self.tasks is None:
            return None
        return next((task for task in self.tasks.list if task.id == self.tasks.active_task_id), None)

    def to_frame(self) -> pd.DataFrame:
        """Return the items as a data frame, one row an item, columns as the fields of ``MemoryRow``."""
        import pandas as pd  # noqa: PLC0415  # the package must import without pandas

        from playground.working_memory.table import MemoryRow, memory_rows  # noqa: PLC0415  # needs this module

        return pd.DataFrame(memory_rows(self), columns=list(MemoryRow._fields))

    def _repr_html_(self) -> str:
        from playground.working_memory.table import table_html  # noqa: PLC0415  # needs this module

        return table_html(self)


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
    # As a patch refuses it; a snapshot that was kept is read whatever it says.
    if any(isinstance(text, str) and not text.strip() for text in (goal, *constraints)):
        raise InvalidInputError("The goal or a constraint is blank.", remedy="Leave out what says nothing.")
    now = whole_number(now, "The time in ms")
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
    if "active_task_id" in tasks and "activeTaskId" in tasks:
        raise InvalidInputError("The active task is stated twice.", remedy="Leave out activeTaskId.")
    listing = tasks.get("list")
    if isinstance(listing, str) or not isinstance(listing, Sequence):
        raise InvalidInputError("The task list is not a list.", remedy='Pass {"list": [...]}.')
    stated = [TaskInput.parse(task) for task in listing]
    taken = {task.id for task in stated if task.id is not None}
    listed = []
    for position, task in enumerate(stated):
        task_id = free_id("tasks", 0, position, taken)[0] if task.id is None else task.id
        taken.add(task_id)
        listed.append({**stamp, "id": task_id, "title": task.title, "status": task.status, "notes": task.notes})
    return TaskList(
        list=listed,
        active_task_id=tasks.get("active_task_id", tasks.get("activeTaskId")),
        list_revision=1,
    )
