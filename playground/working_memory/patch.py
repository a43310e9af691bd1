"""Patches: the named operations by which a working memory changes.

Pure. A patch is checked for its shape here, whatever the snapshot holds; there is no free-form change. Texts of
any length pass: what is too long is refused when the patch is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.fields import LISTED, TextLength
from playground.scope import MemorySourceRef
from playground.values import RecordedValue, shown
from playground.working_memory.items import (
    ID_LENGTH,
    Count,
    DecisionStatus,
    HypothesisStatus,
    Outcome,
    TaskInput,
    Writer,
)

__all__ = [
    "HOST_ONLY",
    "AddConstraint",
    "AddDecision",
    "AddHypothesis",
    "AddObservation",
    "AddQuestion",
    "AnswerQuestion",
    "DropQuestion",
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
    "WorkingMemoryPatch",
]

MOST_OPERATIONS = 16  # of one patch

_Id = Annotated[str, TextLength(1)]
_Filled = Annotated[str, TextLength(1, blank=False)]
_Text = Annotated[str, TextLength()]
# What a text rests on; its writer where they are left out.
_Sources = Annotated[tuple[MemorySourceRef, ...], LISTED] | None


class _Operation(RecordedValue):
    """One named change."""

    @model_serializer(mode="wrap")
    def _keep_nulls(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # Recorded JSON leaves absent fields out; where null is a value of its own it must stay.
        data: dict[str, Any] = handler(self)
        required = (name for name, field in type(self).model_fields.items() if field.is_required())
        return {**data, **{name: None for name in required if getattr(self, name) is None}}


class SetGoal(_Operation):
    """Set what the task is for, or clear it."""

    op: Literal["set-goal"]
    text: _Filled | None
    """The goal; null clears it."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class AddConstraint(_Operation):
    """Add a rule."""

    op: Literal["add-constraint"]
    text: _Filled
    """The rule."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class RemoveConstraint(_Operation):
    """Remove a rule."""

    op: Literal["remove-constraint"]
    id: _Id
    """The rule's id."""


class SetTasks(_Operation):
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


class SetActiveTask(_Operation):
    """Say which task is being worked on."""

    op: Literal["set-active-task"]
    id: _Id | None
    """A task of the list; null for none."""


class SetHypothesisStatus(_Operation):
    """Confirm, reject or reopen a hypothesis."""

    op: Literal["set-hypothesis-status"]
    id: _Id
    """The hypothesis."""
    status: HypothesisStatus
    """What it becomes."""


class SetDecisionStatus(_Operation):
    """Accept, revert or reopen a decision."""

    op: Literal["set-decision-status"]
    id: _Id
    """The decision."""
    status: DecisionStatus
    """What it becomes."""


class AddObservation(_Operation):
    """Note what was seen."""

    op: Literal["add-observation"]
    text: _Filled
    """What was seen."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class AddHypothesis(_Operation):
    """Assume something; it starts as proposed."""

    op: Literal["add-hypothesis"]
    text: _Filled
    """What is assumed."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class AddDecision(_Operation):
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


class AddQuestion(_Operation):
    """Ask something; it starts as open."""

    op: Literal["add-question"]
    text: _Filled
    """What is asked."""
    sources: _Sources = None
    """What it rests on; the writer unless stated."""


class RecordAttempt(_Operation):
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


class AnswerQuestion(_Operation):
    """Answer a question, or answer it anew."""

    op: Literal["answer-question"]
    id: _Id
    """The question."""
    answer: _Filled
    """The answer."""


class DropQuestion(_Operation):
    """Drop a question; it is never shown again."""

    op: Literal["drop-question"]
    id: _Id
    """The question."""


class UpdateAttempt(_Operation):
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


class RemoveItem(_Operation):
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
_NAMES = frozenset(get_args(kind.model_fields["op"].annotation)[0] for kind in get_args(Operation))
HOST_ONLY = (SetGoal, AddConstraint, RemoveConstraint, SetTasks, SetHypothesisStatus, SetDecisionStatus)


class WorkingMemoryPatch(RecordedValue):
    """A list of operations that are applied together or not at all.

    Raises:
        InvalidInputError: When it is malformed: an unknown operation or field, a wrong type, an empty text.
    """

    operation_id: Annotated[str, TextLength(1, ID_LENGTH)]
    """Recognises a repetition, 1 to 256 characters."""
    expected_revision: Count
    """The snapshot revision that the writer has read."""
    writer: Writer
    """Who asks for the change: ``host`` or ``model``."""
    operations: tuple[Annotated[Operation, Field(discriminator="op")], ...]
    """1 to 16 operations, in their order."""

    @field_validator("operations", mode="before")
    @classmethod
    def _check_operations(cls, value: Any) -> Any:
        # Before the fields are looked at: the message must not hold a foreign value whole, nor list all ops.
        if not isinstance(value, list | tuple):
            raise InvalidInputError("the operations are not a list")
        value = [*value]  # a subclass may say what it likes of its length
        if not 1 <= len(value) <= MOST_OPERATIONS:
            raise InvalidInputError(f"{len(value)} operations, not 1 to {MOST_OPERATIONS}")
        for number, operation in enumerate(value):
            if isinstance(operation, _Operation):
                continue
            name = operation.get("op") if isinstance(operation, Mapping) else None
            if not isinstance(name, str) or name not in _NAMES:
                raise InvalidInputError(f"operation {number} has the unknown op {shown(name)}")
        return value

    @property
    def digest(self) -> str:
        """``sha256:<hex>`` of the writer and the operations.

        Operation id and revision are left out, and digests of sources: they say what could be read of a source
        at the time, and the same patch may be sent again when less can be read.
        """
        operations = tuple(map(_without_source_digests, self.operations))
        same = {"operation_id": "", "expected_revision": 0, "operations": operations}
        return text_digest(self.model_copy(update=same).to_json())


def _without_source_digests(operation: Operation) -> Operation:
    sources = getattr(operation, "sources", None)
    if not sources:
        return operation
    return operation.model_copy(
        update={"sources": tuple(source.model_copy(update={"digest": None}) for source in sources)}
    )
