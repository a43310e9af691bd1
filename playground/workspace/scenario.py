"""Labelled questions: what is asked, about whom, and which records answer it."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from playground.errors import InvalidInputError
from playground.scope import MemoryScope
from playground.values import RecordedValue

__all__ = ["GoldRecord", "Scenario"]

HIGHEST_GRADE = 100


class GoldRecord(RecordedValue):
    """One record that a question needs."""

    source: str = Field(min_length=1)
    """Id of the source that offers it: ``transcript``, ``memory``, ``rag`` or ``skills``."""
    record_id: str = Field(min_length=1)
    """Its id in that source."""
    grade: int = Field(default=1, ge=1, le=HIGHEST_GRADE, strict=True)
    """How much it matters; the higher, the more."""


class Scenario(RecordedValue):
    """A question with the records that answer it."""

    id: str = Field(min_length=1)
    """Unique in a project."""
    question: str = Field(min_length=1)
    """What is asked."""
    gold_documents: tuple[str, ...] = ()
    """Ids of the documents needed to answer it."""
    gold: tuple[GoldRecord, ...] = ()
    """Other records needed to answer it; without these and documents it is not labelled."""
    group: str = ""
    """What it belongs together with, a conversation or a family of documents."""
    scope: MemoryScope | None = None
    """Whose memories and chats it is about; the project's own by default."""
    instructions: str = ""
    """The whole situation behind the question, where there is more to it."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        named = [(record.source, record.record_id) for record in self.gold]
        if len(set(named)) != len(named):
            raise InvalidInputError("gold names a record twice.", remedy="Name each record once.")
        if self.scope is not None and not self.scope.fields():
            raise InvalidInputError("scope sets no field.", remedy="Leave it out to ask in the project's own.")
        return self
