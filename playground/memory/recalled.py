"""What a recall found: memories with their scores, best first. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, overload

from playground.memory.records import MemoryRecord, MemoryRevision

__all__ = ["Ranking", "RecallResult", "RecalledMemory"]

Ranking = Literal["cosine", "lexical"]


@dataclass(frozen=True, slots=True)
class RecalledMemory:
    """One memory that answers a query.

    Attributes:
        record: The whole record.
        revision: The revision that was known at the time asked about.
        score: From 0 (left out) to 1, six decimals.
    """

    record: MemoryRecord
    revision: MemoryRevision
    score: float

    @property
    def id(self) -> str:
        """The record's id."""
        return self.record.id

    @property
    def text(self) -> str:
        """The revision's text."""
        return self.revision.text


@dataclass(frozen=True, slots=True)
class RecallResult(Sequence[RecalledMemory]):
    """What a recall found, best first, and how it was ranked.

    Attributes:
        hits: Best first; equal scores by id.
        ranking: ``cosine`` (clipped at 0) or ``lexical`` (BM25 divided by the query's best); lexical too when
            the embedding model could not be loaded.
    """

    hits: tuple[RecalledMemory, ...]
    ranking: Ranking

    @overload
    def __getitem__(self, index: int) -> RecalledMemory: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[RecalledMemory, ...]: ...

    def __getitem__(self, index: int | slice) -> RecalledMemory | tuple[RecalledMemory, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[RecalledMemory]:
        return iter(self.hits)
