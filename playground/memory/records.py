"""What a memory is: a record with numbered revisions, or the tombstone of a forgotten one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.scope import MemoryScope, MemorySourceRef
from playground.values import RecordedValue, shown

__all__ = [
    "MemoryKind",
    "MemoryOrigin",
    "MemoryRecord",
    "MemoryRevision",
    "MemoryTombstone",
    "StorableText",
    "check_storable",
]

MemoryKind = Literal["episodic", "semantic", "working", "procedural"]
MemoryOrigin = Literal["asserted", "observed", "extracted", "inferred", "imported"]

_NOT_STORABLE = re.compile("[\x00\ud800-\udfff]")


def _storable(value: Any) -> Any:
    if isinstance(value, str) and (found := _NOT_STORABLE.search(value)):
        raise InvalidInputError(
            f"a NUL or a lone surrogate stands at position {found.start()}",
            remedy="Replace it by U+FFFD; databases refuse it.",
        )
    return value


def check_storable(scope: MemoryScope, *ids: str) -> None:
    """Refuse a scope and ids that no database takes; every store asks before it reads or writes.

    Raises:
        InvalidInputError: When one holds a NUL or a lone surrogate.
    """
    for text in (*scope.fields().values(), *ids):
        if isinstance(text, str) and _NOT_STORABLE.search(text):
            raise InvalidInputError(
                f"{shown(text)} holds a NUL or a lone surrogate.",
                remedy="Replace it by U+FFFD; databases refuse it.",
            )


StorableText = Annotated[str, BeforeValidator(_storable)]
"""Text that every database takes: no NUL and no lone surrogate."""


class MemoryRevision(RecordedValue):
    """One version of a memory. Times are milliseconds since 1970 on the store's clock."""

    revision: int = Field(ge=1)
    """Number, from 1."""
    text: StorableText = Field(min_length=1)
    """What is remembered."""
    digest: str
    """``sha256:<hex>`` of the text."""
    origin: MemoryOrigin = "asserted"
    """How it became known."""
    sources: tuple[MemorySourceRef, ...] = ()
    """Who or what vouches for it."""
    recorded_at: int
    """When it was written down."""
    writer: StorableText = "host"
    """Who wrote it down."""
    kind: MemoryKind = "semantic"
    """Episodic: what happened; semantic: what is; working: for now; procedural: how to."""
    importance: float | None = Field(default=None, ge=0, le=1)
    """From 0 to 1; kept, never part of the score."""
    expires_at: int | None = None
    """From then on hidden from recall."""
    valid_from: int | None = None
    """Before that hidden from recall."""
    valid_to: int | None = None
    """From then on hidden from recall."""
    embedding: tuple[float, ...] | None = Field(default=None, repr=False)
    """Unit vector of the text, if one was made."""
    embedding_model_id: str | None = None
    """The model that made it; vectors of other models are never compared."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.digest != text_digest(self.text):
            raise InvalidInputError("the digest is not that of the text", remedy="Leave it to the session.")
        if not self.text.strip():
            raise InvalidInputError("the text is blank")
        if self.valid_from is not None and self.valid_to is not None and self.valid_from >= self.valid_to:
            raise InvalidInputError("valid_from is not before valid_to")
        return self

    def holds_at(self, time: int) -> bool:
        """Whether the revision is valid and has not expired at ``time``, in ms."""
        return not (
            (self.expires_at is not None and self.expires_at <= time)
            or (self.valid_from is not None and time < self.valid_from)
            or (self.valid_to is not None and self.valid_to <= time)
        )


class MemoryRecord(RecordedValue):
    """A memory with all its revisions, oldest first, numbered without gaps."""

    id: StorableText = Field(min_length=1)
    """Unique in a store."""
    scope: MemoryScope
    """Whose memory it is."""
    revisions: tuple[MemoryRevision, ...] = Field(min_length=1)
    """Oldest first."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        numbers = [revision.revision for revision in self.revisions]
        if numbers != list(range(1, len(numbers) + 1)):
            raise InvalidInputError(f"the revisions are numbered {numbers}", remedy="Number them from 1.")
        for text in self._short_texts():
            _storable(text)
        return self

    @property
    def latest(self) -> MemoryRevision:
        """The newest revision."""
        return self.revisions[-1]

    def as_of(self, recorded_as_of: int | None) -> MemoryRevision | None:
        """Return the newest revision recorded by that time in ms; the newest of all for ``None``."""
        if recorded_as_of is None:
            return self.latest
        known = (revision for revision in reversed(self.revisions) if revision.recorded_at <= recorded_as_of)
        return next(known, None)

    def _short_texts(self) -> Iterator[str]:
        yield from self.scope.fields().values()
        for revision in self.revisions:
            for source in revision.sources:
                yield from (value for _, value in source if isinstance(value, str))


class MemoryTombstone(RecordedValue):
    """What is left of a forgotten record: neither text nor digest of any revision."""

    id: str
    """The record's id; it is not given out again."""
    scope: MemoryScope
    """Whose record it was, so that nobody else learns of it."""
    revisions: tuple[int, ...]
    """The numbers of the erased revisions."""
    recorded_at: tuple[int, ...]
    """When they were written down, in ms."""
    forgotten_at: int
    """When they were erased, in ms."""
