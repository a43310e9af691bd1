"""What a model sends to the tools of a working memory, and the operations that this stands for.

Pure. The JSON schemas of the tools are made of these values and their descriptions, which models read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from playground.scope import MemorySourceRef
from playground.tools import ToolInput
from playground.working_memory.items import ID_LENGTH, SECTIONS, SOURCES, TEXT_LENGTH, Outcome, Section
from playground.working_memory.patch import MOST_OPERATIONS

__all__ = ["AddInput", "Change", "NewItem", "ReadInput", "UpdateInput"]


def _not_blank(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("blank", "the text is blank")
    return text


# Its length is checked, and told, where the patch is applied.
_Text = Annotated[
    str,
    Field(strict=True, min_length=1, json_schema_extra={"maxLength": TEXT_LENGTH}),
    AfterValidator(_not_blank),
]
_Id = Annotated[str, Field(strict=True, min_length=1, max_length=ID_LENGTH)]

# The optional fields that only some kinds of items, and some actions, have.
_KIND_FIELDS = {"decision": {"rationale"}, "attempt": {"outcome", "detail"}}
_ACTION_FIELDS = {"answer": {"answer"}, "attempt": {"outcome", "detail"}}


class ReadInput(ToolInput):
    """What is to be read."""

    sections: Annotated[list[Section], Field(max_length=len(SECTIONS))] | None = None
    """The sections to read; all of them when left out or empty."""


class NewItem(ToolInput):
    """One thing to remember."""

    kind: Literal["observation", "hypothesis", "decision", "question", "attempt"]
    """observation: something seen. hypothesis: something assumed. decision: a choice, proposed to the host.
    question: something to find out. attempt: something that is or was tried."""
    text: _Text
    """What to remember: one short, self-contained statement in one line."""
    rationale: _Text | None = None
    """Why; of a decision only."""
    outcome: Outcome | None = None
    """How it went; of an attempt only, in_progress when left out."""
    detail: _Text | None = None
    """What came of it or went wrong; of an attempt only."""
    evidence: Annotated[list[_Id], Field(max_length=SOURCES)] | None = None
    """Ids of earlier tool calls whose results support this."""

    @model_validator(mode="after")
    def _check_fields(self) -> NewItem:
        own = {"evidence"} | _KIND_FIELDS.get(self.kind, set())
        _refuse_others(self, own, subject=f"an item of the kind {self.kind}")
        return self

    def operation(self, sources: tuple[MemorySourceRef, ...]) -> Mapping[str, Any]:
        """Return the operation of a patch that adds the item; no sources stand for the model itself."""
        name = "record-attempt" if self.kind == "attempt" else f"add-{self.kind}"
        operation: dict[str, Any] = {"op": name, "text": self.text}
        if self.kind == "attempt":
            operation |= {"outcome": self.outcome or "in_progress", "detail": self.detail}
        elif self.kind == "decision":
            operation["rationale"] = self.rationale
        if sources:
            operation["sources"] = sources
        return operation


class AddInput(ToolInput):
    """Items to add."""

    items: Annotated[list[NewItem], Field(min_length=1, max_length=MOST_OPERATIONS)]
    """All of them are added, or none."""


class Change(ToolInput):
    """One change of an item."""

    action: Literal["answer", "drop", "attempt", "remove"]
    """answer: answer a question, or answer it anew. drop: drop a question that no longer matters.
    attempt: say how an attempt went. remove: remove an item of any kind that no longer helps."""
    id: _Id
    """The item's id, as in the working memory."""
    answer: _Text | None = None
    """The answer; needed to answer."""
    outcome: Outcome | None = None
    """How the attempt went; of an attempt only, as before when left out."""
    detail: _Text | None = None
    """What came of it or went wrong; of an attempt only, as before when left out."""

    @model_validator(mode="after")
    def _check_fields(self) -> Change:
        if self.action == "answer" and self.answer is None:
            raise PydanticCustomError("lacks_fields", "the action answer needs an answer")
        if self.action == "attempt" and self.outcome is None and self.detail is None:
            raise PydanticCustomError("lacks_fields", "the action attempt needs an outcome or a detail")
        _refuse_others(self, _ACTION_FIELDS.get(self.action, set()), subject=f"the action {self.action}")
        return self

    def operation(self) -> Mapping[str, Any]:
        """Return the operation of a patch that makes the change."""
        match self.action:
            case "answer":
                return {"op": "answer-question", "id": self.id, "answer": self.answer}
            case "drop":
                return {"op": "drop-question", "id": self.id}
            case "attempt":
                return {
                    "op": "update-attempt", "id": self.id, "outcome": self.outcome, "detail": self.detail
                }  # fmt: skip
            case "remove":
                return {"op": "remove-item", "id": self.id}


class UpdateInput(ToolInput):
    """Changes to make."""

    changes: Annotated[list[Change], Field(min_length=1, max_length=MOST_OPERATIONS)]
    """All of them are made, or none."""


def _refuse_others(value: ToolInput, own: set[str], *, subject: str) -> None:
    for name, field in type(value).model_fields.items():
        if not field.is_required() and name not in own and getattr(value, name) is not None:
            raise PydanticCustomError(
                "foreign_field", "{name} does not belong to {subject}", {"name": name, "subject": subject}
            )
