"""The entries of a manifest: one a candidate or working-memory item, kept as columns.

Identifiers, digests, queries and token counts, never the content of a record. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import Annotated, Any, Literal, NamedTuple, Self, overload

from pydantic import Field, model_validator

from playground.compiler.values import Digest, Kind
from playground.errors import InvalidInputError
from playground.values import RecordedValue

__all__ = [
    "SELECTED_REASONS",
    "EntryKind",
    "ManifestEntries",
    "ManifestEntry",
    "Reason",
    "read_entries",
    "written_entries",
]

EntryKind = Literal["working-memory", Kind]
Reason = Literal[
    "mandatory", "ranked", "reallocated", "already-placed", "budget", "duplicate", "superseded", "limit"
]
SELECTED_REASONS: frozenset[Reason] = frozenset({"mandatory", "ranked", "reallocated"})


class ManifestEntry(NamedTuple):
    """One candidate or working-memory item, selected or not."""

    source: str
    kind: EntryKind
    record_id: str
    revision: int | None
    digest: str
    query: str | None
    tokens: int
    selected: bool
    reason: Reason
    score: float | None


class ManifestEntries(Sequence[ManifestEntry]):
    """Entries as columns; rows are made when they are read.

    A compile of twenty thousand candidates would otherwise spend most of its time on rows nobody looks at.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: Sequence[Sequence[Any]]) -> None:
        self._columns = tuple(map(tuple, columns))

    @classmethod
    def of(cls, entries: Iterable[ManifestEntry]) -> ManifestEntries:
        """Return the columns of ``entries``."""
        return cls(list(zip(*entries, strict=True)) or [()] * len(ManifestEntry._fields))

    def column(self, name: str) -> Sequence[Any]:
        """Return one field of every entry; read only."""
        return self._columns[ManifestEntry._fields.index(name)]

    def selected_records(self) -> frozenset[tuple[str, str]]:
        """Return source and record id of every selected entry."""
        pairs = zip(self.column("source"), self.column("record_id"), strict=True)
        return frozenset(compress(pairs, self.column("selected")))

    def __len__(self) -> int:
        return len(self._columns[0])

    @overload
    def __getitem__(self, index: int) -> ManifestEntry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ManifestEntry, ...]: ...
    def __getitem__(self, index: int | slice) -> ManifestEntry | tuple[ManifestEntry, ...]:
        if isinstance(index, slice):
            return tuple(map(ManifestEntry, *(column[index] for column in self._columns)))
        return ManifestEntry(*(column[index] for column in self._columns))

    def __iter__(self) -> Iterator[ManifestEntry]:
        return map(ManifestEntry, *self._columns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ManifestEntries | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"ManifestEntries({list(self)!r})"


def read_entries(value: Any) -> ManifestEntries:
    """Return entries as they are, or those of a list of values and of their JSON data.

    Raises:
        InvalidInputError: When it is no list, or one of them is malformed.
    """
    if isinstance(value, ManifestEntries):
        return value
    if not isinstance(value, list | tuple):
        raise InvalidInputError("the entries are not a list")
    return ManifestEntries.of(
        item if isinstance(item, ManifestEntry) else _EntryRecord.parse(item).entry() for item in value
    )


def written_entries(entries: Iterable[ManifestEntry]) -> list[dict[str, Any]]:
    """Return entries as JSON data; absent fields are left out."""
    return [
        {key: value for key, value in zip(_ENTRY_KEYS.values(), entry, strict=True) if value is not None}
        for entry in entries
    ]


class _EntryRecord(RecordedValue):
    """The recorded form of an entry; checks what is read from outside."""

    source: str
    kind: EntryKind
    record_id: str
    revision: int | None = None
    digest: Digest
    query: str | None = None
    tokens: Annotated[int, Field(ge=0)]
    selected: bool
    reason: Reason
    score: float | None = None

    @model_validator(mode="after")
    def _reason_fits(self) -> Self:
        if self.selected != (self.reason in SELECTED_REASONS):
            raise InvalidInputError(
                f"an entry with the reason {self.reason} cannot have selected {self.selected}"
            )
        return self

    def entry(self) -> ManifestEntry:
        return ManifestEntry(*(getattr(self, name) for name in ManifestEntry._fields))


_ENTRY_KEYS: dict[str, str] = {
    name: _EntryRecord.model_fields[name].alias or name for name in ManifestEntry._fields
}
