"""What working memory holds: a goal, rules, tasks, and items that say what was decided, asked, tried and seen.

Pure values of the recorded format, with the limits that they keep.
"""

from __future__ import annotations

from collections.abc import Container
from itertools import count
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from playground.fields import LISTED, TextLength
from playground.scope import MemorySourceRef
from playground.values import LARGEST_WHOLE_NUMBER, RecordedValue

__all__ = [
    "MOST",
    "SECTIONS",
    "WRITTEN_LISTS",
    "AttemptItem",
    "Count",
    "DecisionItem",
    "DecisionStatus",
    "Goal",
    "HypothesisItem",
    "HypothesisStatus",
    "ItemList",
    "MemoryItem",
    "Milliseconds",
    "OperationRecord",
    "Outcome",
    "QuestionItem",
    "Section",
    "Task",
    "TaskInput",
    "TaskList",
    "TaskStatus",
    "Writer",
    "free_id",
]

# Code points of one text.
GOAL_LENGTH = 4000
TEXT_LENGTH = 1000  # an item's text and what is said about it
TITLE_LENGTH = 500  # a task's
ID_LENGTH = 256
# Entries of one list.
CONSTRAINTS, TASKS, DECISIONS, QUESTIONS, ATTEMPTS, HYPOTHESES, OBSERVATIONS = 32, 64, 64, 32, 64, 32, 128
SOURCES = 16  # references of one item

_WrittenList = Literal["decisions", "questions", "attempts", "hypotheses", "observations"]
ItemList = Literal["constraints", "tasks", _WrittenList]
Section = Literal["goal", ItemList]
WRITTEN_LISTS: tuple[ItemList, ...] = get_args(_WrittenList)
"""The lists that a model writes to too."""
SECTIONS: tuple[Section, ...] = get_args(Section)
"""In the order in which they are shown."""
MOST: dict[ItemList, int] = {
    "constraints": CONSTRAINTS,
    "tasks": TASKS,
    "decisions": DECISIONS,
    "questions": QUESTIONS,
    "attempts": ATTEMPTS,
    "hypotheses": HYPOTHESES,
    "observations": OBSERVATIONS,
}
"""Items that each list holds at most."""

Writer = Literal["host", "model"]
TaskStatus = Literal["pending", "in_progress", "done", "failed"]
DecisionStatus = Literal["proposed", "accepted", "reverted"]
HypothesisStatus = Literal["proposed", "confirmed", "rejected"]
Outcome = Literal["in_progress", "failed", "abandoned", "succeeded"]

Count = Annotated[int, Field(strict=True, ge=0, le=LARGEST_WHOLE_NUMBER)]
Milliseconds = Annotated[int, Field(strict=True, ge=0, le=LARGEST_WHOLE_NUMBER)]
_Id = Annotated[str, TextLength(1, ID_LENGTH)]
_Text = Annotated[str, TextLength(1, TEXT_LENGTH)]
_More = Annotated[str, TextLength(0, TEXT_LENGTH)]
# As stated, before a limit is looked at.
_StatedId = Annotated[str, TextLength(1)]
_Stated = Annotated[str, TextLength(1, blank=False)]
_Unbounded = Annotated[str, TextLength()]


def free_id(of: ItemList, revision: int, number: int, taken: Container[str]) -> tuple[str, int]:
    """Return an id for an item that nobody named, ``<list>-<revision>-<number>``, and its number.

    Args:
        of: The list that the item comes into.
        revision: The snapshot revision that brings it.
        number: The least number; one whose id is taken is passed over.
        taken: Ids that may not be given again.
    """
    return next((made, index) for index in count(number) if (made := f"{of}-{revision}-{index}") not in taken)


class _Changed(RecordedValue):
    """Who wrote something, in which revision and when it changed last, and on what grounds."""

    writer: Writer = "host"
    """Who wrote the text."""
    revision: Count = 0
    """The snapshot revision that last changed it."""
    sources: Annotated[tuple[MemorySourceRef, ...], LISTED, Field(max_length=SOURCES)] = ()
    """What it rests on, at most 16 references."""
    updated_at: Milliseconds = 0
    """When it changed last, in ms since the epoch."""
    decided_by: Literal["host"] | None = None
    """Set when the host changed what a model had written; from then on only the host may change it."""

    @property
    def open_to_model(self) -> bool:
        """Whether a model may change it: it wrote it, and the host has decided nothing about it."""
        return self.writer == "model" and self.decided_by is None


class Goal(_Changed):
    """What the task is for; the host sets it."""

    text: Annotated[str, TextLength(1, GOAL_LENGTH)]
    """At most 4,000 characters; line ends are kept."""


class MemoryItem(_Changed):
    """A listed item: a constraint or an observation."""

    # The fields of a kind that hold its state and its remark; empty where it has none.
    state_field: ClassVar[str] = ""
    remark_field: ClassVar[str] = ""

    id: _Id
    """Unique within its list; among the lists a model writes to, unique in all of them."""
    text: _Text
    """At most 1,000 characters."""

    @property
    def state(self) -> str:
        """Its status or outcome; empty where it has none."""
        return str(getattr(self, self.state_field)) if self.state_field else ""

    @property
    def remark(self) -> tuple[str, str]:
        """The field that says more than its text, and what it says; each empty where there is nothing."""
        name = self.remark_field
        return name, (name and getattr(self, name)) or ""


class DecisionItem(MemoryItem):
    """Something decided, or proposed for decision."""

    state_field = "status"
    remark_field = "rationale"

    status: DecisionStatus
    """Only the host accepts."""
    rationale: _More | None = None
    """Why, at most 1,000 characters."""


class QuestionItem(MemoryItem):
    """An open question, its answer, or a question that was dropped."""

    state_field = "status"
    remark_field = "answer"

    status: Literal["open", "answered", "dropped"] = "open"
    """Dropped questions are never shown."""
    answer: _More | None = None
    """At most 1,000 characters."""


class AttemptItem(MemoryItem):
    """Something that was tried."""

    state_field = "outcome"
    remark_field = "detail"

    outcome: Outcome
    """How it went."""
    detail: _More | None = None
    """At most 1,000 characters."""


class HypothesisItem(MemoryItem):
    """Something assumed."""

    state_field = "status"

    status: HypothesisStatus = "proposed"
    """Only the host confirms or rejects."""


class Task(_Changed):
    """One entry of the task list."""

    id: _Id
    """Unique within the list."""
    title: Annotated[str, TextLength(1, TITLE_LENGTH)]
    """At most 500 characters."""
    status: TaskStatus = "pending"
    """How far it is."""
    notes: _More | None = None
    """At most 1,000 characters."""


class TaskInput(RecordedValue):
    """A task as a host states it."""

    id: _StatedId | None = None
    """Unique in the list; ``tasks-<revision>-<index>`` unless stated."""
    title: _Stated
    """What is to be done."""
    status: TaskStatus = "pending"
    """How far it is."""
    notes: _Unbounded | None = None
    """Whatever else the model should know."""

    @model_validator(mode="before")
    @classmethod
    def _title_alone(cls, data: Any) -> Any:
        return {"title": data} if isinstance(data, str) else data


class TaskList(RecordedValue):
    """The tasks and which of them is active."""

    list: Annotated[tuple[Task, ...], LISTED, Field(max_length=TASKS)]
    """At most 64 tasks, in the host's order."""
    active_task_id: _Id | None = None
    """The task being worked on."""
    list_revision: Annotated[int, Field(strict=True, ge=1, le=LARGEST_WHOLE_NUMBER)] = 1
    """Raised whenever the host replaces the list."""


class OperationRecord(RecordedValue):
    """A patch that was applied; kept to recognise a repetition."""

    operation_id: _Id
    """The patch's identifier."""
    revision: Count
    """The revision it made."""
    digest: Annotated[str, TextLength()]
    """``sha256:<hex>`` of its writer and its operations."""
