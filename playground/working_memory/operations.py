"""The named operations by which a working memory changes, and their fields.

Pure. They are checked for their shape, whatever the snapshot holds; there is no free-form change. Texts of any
length pass: what is too long is refused when the operation is carried out.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import (
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from playground.errors import InvalidInputError
from playground.fields import LISTED, TextLength
from playground.scope import MemorySourceRef
from playground.values import RecordedValue
from playground.working_memory.items import (
    DecisionStatus,
    HypothesisStatus,
    Outcome,
    TaskInput,
)

__all__ = [
    "HOST_ONLY",
    "OPERATIONS",
    "AddConstraint",
    "AddDecision",
    "AddHypothesis",
    "AddObservation",
    "AddQuestion",
    "AnswerQuestion",
    "DropQuestion",
    "NamedOperation",
    "Operation",
    "RecordAttempt",
    "RemoveConstraint",
    "RemoveItem",
    "SetActiveTask",
    "SetDecisionStatus",
    "SetGoal",
    "SetHypothesisStatus",
    "SetTasks",
    "UpdateAttempt",
]

_Id = Annotated[str, TextLength(1)]
_Filled = Annotated[str, TextLength(1, blank=False)]
_Text = Annotated[str, TextLength()]
# What a text rests on; its writer where they are left out.
_Sources = Annotated[tuple[MemorySourceRef, ...], LISTED] | None


class NamedOperation(RecordedValue):
    """One named change."""

    @model_serializer(mode="wrap")
    def _keep_nulls(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Recorded JSON leaves absent fields out; where null is a value of its own it must stay.
        data: dict[str, Any] = handler(self)
        required = (name for name, field in type(self).model_fields.items() if field.is_required())
        return {**data, **{name: None for name in required if getattr(self, name) is None}}


class SetGoal(NamedOperation):
    """Set what the task is for, or clear it."""

    op: Literal["set-goal"]
    text: _Filled | None
    """The goal; null clears it."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class AddConstraint(NamedOperation):
    """Add a rule."""

    op: Literal["add-constraint"]
    text: _Filled
    """The rule."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class RemoveConstraint(NamedOperation):
    """Remove a rule."""

    op: Literal["remove-constraint"]
    id: _Id
    """The rule's id."""


class SetTasks(NamedOperation):
    """Replace the task list; the active task stays active if it is still listed."""

    op: Literal["set-tasks"]
    list: Annotated[tuple[TaskInput, ...], LISTED]
    """Titles, or ``{id?, title, status?, notes?}``, in the order in which they are shown."""

    @model_validator(mode="after")
    def _check_ids(self) -> SetTasks:
        stated = [task.id for task in self.list if task.id is not None]
        if len(set(stated)) != len(stated):
            raise InvalidInputError("a task id stands twice in the list")
        return self


class SetActiveTask(NamedOperation):
    """Say which task is being worked on."""

    op: Literal["set-active-task"]
    id: _Id | None
    """A task of the list; null for none."""


class SetHypothesisStatus(NamedOperation):
    """Confirm, reject or reopen a hypothesis."""

    op: Literal["set-hypothesis-status"]
    id: _Id
    """The hypothesis."""
    status: HypothesisStatus
    """What it becomes."""


class SetDecisionStatus(NamedOperation):
    """Accept, revert or reopen a decision."""

    op: Literal["set-decision-status"]
    id: _Id
    """The decision."""
    status: DecisionStatus
    """What it becomes."""


class AddObservation(NamedOperation):
    """Note what was seen."""

    op: Literal["add-observation"]
    text: _Filled
    """What was seen."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class AddHypothesis(NamedOperation):
    """Assume something; it starts as proposed."""

    op: Literal["add-hypothesis"]
    text: _Filled
    """What is assumed."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class AddDecision(NamedOperation):
    """Decide something; a model only proposes."""

    op: Literal["add-decision"]
    text: _Filled
    """What is decided."""
    rationale: _Text | None = None
    """Why."""
    status: DecisionStatus | None = None
    """``accepted`` by a host and ``proposed`` by a model unless stated."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class AddQuestion(NamedOperation):
    """Ask something; it starts as open."""

    op: Literal["add-question"]
    text: _Filled
    """What is asked."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class RecordAttempt(NamedOperation):
    """Note what is or was tried."""

    op: Literal["record-attempt"]
    text: _Filled
    """What is tried."""
    outcome: Outcome
    """How it went."""
    detail: _Text | None = None
    """More about it."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class AnswerQuestion(NamedOperation):
    """Answer a question, or answer it anew."""

    op: Literal["answer-question"]
    id: _Id
    """The question."""
    answer: _Filled
    """The answer."""


class DropQuestion(NamedOperation):
    """Drop a question; it is never shown again."""

    op: Literal["drop-question"]
    id: _Id
    """The question."""


class UpdateAttempt(NamedOperation):
    """Say how an attempt went, or more about it."""

    op: Literal["update-attempt"]
    id: _Id
    """The attempt."""
    outcome: Outcome | None = None
    """How it went; as before unless stated."""
    detail: _Text | None = None
    """More about it; as before unless stated."""

    @model_validator(mode="after")
    def _check_something(self) -> UpdateAttempt:
        if self.outcome is None and self.detail is None:
            raise InvalidInputError("neither an outcome nor a detail is given")
        return self


class RemoveItem(NamedOperation):
    """Remove a decision, question, attempt, hypothesis or observation."""

    op: Literal["remove-item"]
    id: _Id
    """The item."""


Operation = (
    SetGoal
    | AddConstraint
    | RemoveConstraint
    | SetTasks
    | SetActiveTask
    | SetHypothesisStatus
    | SetDecisionStatus
    | AddObservation
    | AddHypothesis
    | AddDecision
    | AddQuestion
    | RecordAttempt
    | AnswerQuestion
    | DropQuestion
    | UpdateAttempt
    | RemoveItem
)
OPERATIONS = frozenset(get_args(kind.model_fields["op"].annotation)[0] for kind in get_args(Operation))
HOST_ONLY = (SetGoal, AddConstraint, RemoveConstraint, SetTasks, SetHypothesisStatus, SetDecisionStatus)
