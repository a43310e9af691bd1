"""Where memories are kept: the protocol of every store, and the one that keeps them in this process."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Protocol, Self, runtime_checkable

from playground.errors import InvalidRequestError, StaleRevisionError
from playground.memory.records import MemoryRecord, MemoryRevision, MemoryTombstone, check_storable
from playground.scope import MemoryScope

__all__ = ["ErasedIds", "InMemoryMemoryStore", "MemoryStore", "id_taken", "in_written_order", "unknown_id"]


class ErasedIds(tuple[str, ...]):  # noqa: SLOT001  # Python allows none with content in a tuple
    """The ids of forgotten records, sorted.

    Attributes:
        pending: Whether the text is out of every read but may still be in the bytes of a file, because a reader
            holds up its rewriting; the store says when that is tried again.
    """

    pending: bool

    def __new__(cls, ids: Iterable[str] = (), *, pending: bool = False) -> Self:
        """Hold ids that are sorted."""
        erased = super().__new__(cls, ids)
        erased.pending = pending
        return erased


@runtime_checkable
class MemoryStore(Protocol):
    """Keeps records apart by scope. Every method is atomic and safe to call from several threads and loops.

    A record of another scope is not there: reads skip it and writes refuse it as unknown. The same holds for
    a forgotten one. A scope or an id with a NUL or a lone surrogate is refused by every method with
    ``InvalidInputError``.
    """

    async def insert(self, record: MemoryRecord) -> None:
        """Keep a new record.

        Raises:
            InvalidRequestError: When the id was given out before, forgotten records included.
        """

    async def append(self, record_id: str, revision: MemoryRevision, *, scope: MemoryScope) -> MemoryRecord:
        """Add ``revision`` to a record and return the record.

        Raises:
            StaleRevisionError: When ``revision.revision`` is not the next number.
            InvalidRequestError: When no record of this scope has the id.
        """

    async def get(self, record_id: str, *, scope: MemoryScope) -> MemoryRecord | None:
        """Return the record, or None."""

    async def list(self, *, scope: MemoryScope) -> Sequence[MemoryRecord]:
        """Return the records in the order they were first written, then by id."""

    async def erase(self, record_ids: Iterable[str], *, scope: MemoryScope, at: int) -> tuple[str, ...]:
        """Erase text and digest of every revision, leave tombstones, return the ids of this scope, sorted.

        Idempotent: the id of a record that was erased before is returned again, so that an interrupted
        redaction can be finished. A store whose bytes may keep the text for a while returns ``ErasedIds``.
        """

    async def tombstones(self, *, scope: MemoryScope) -> Sequence[MemoryTombstone]:
        """Return what is left of forgotten records, by id."""


class InMemoryMemoryStore:
    """Keeps memories in this process; they are gone with it.

    Args:
        records: What it holds at first.
        tombstones: What was forgotten before; those ids are not given out again.

    Raises:
        InvalidRequestError: When two of them have one id.
    """

    def __init__(
        self, records: Iterable[MemoryRecord] = (), tombstones: Iterable[MemoryTombstone] = ()
    ) -> None:
        self._records: dict[str, MemoryRecord] = {}
        self._tombstones: dict[str, MemoryTombstone] = {}
        self._lock = threading.Lock()
        for stone in tombstones:
            self._check_free(stone.id)
            self._tombstones[stone.id] = stone
        for record in records:
            self._check_free(record.id)
            self._records[record.id] = record

    async def insert(self, record: MemoryRecord) -> None:
        """Keep a new record; see ``MemoryStore.insert``."""
        with self._lock:
            self._check_free(record.id)
            self._records[record.id] = record

    async def append(self, record_id: str, revision: MemoryRevision, *, scope: MemoryScope) -> MemoryRecord:
        """Add a revision; see ``MemoryStore.append``."""
        check_storable(scope, record_id)
        with self._lock:
            record = self._found(record_id, scope)
            if record is None:
                raise unknown_id(record_id)
            if revision.revision != record.latest.revision + 1:
                raise StaleRevisionError(
                    record_id=record_id,
                    expected_revision=revision.revision - 1,
                    actual_revision=record.latest.revision,
                )
            grown = MemoryRecord(id=record.id, scope=record.scope, revisions=(*record.revisions, revision))
            self._records[record_id] = grown
            return grown

    async def get(self, record_id: str, *, scope: MemoryScope) -> MemoryRecord | None:
        """Return the record, or None."""
        check_storable(scope, record_id)
        with self._lock:
            return self._found(record_id, scope)

    async def list(self, *, scope: MemoryScope) -> Sequence[MemoryRecord]:
        """Return the records of this scope; see ``MemoryStore.list``. O(n log n) in the whole store."""
        check_storable(scope)
        with self._lock:
            found = [record for record in self._records.values() if record.scope.matches(scope)]
        return in_written_order(found)

    async def erase(self, record_ids: Iterable[str], *, scope: MemoryScope, at: int) -> tuple[str, ...]:
        """Forget records; see ``MemoryStore.erase``."""
        chosen, erased = sorted(set(record_ids)), []
        check_storable(scope, *chosen)
        with self._lock:
            for record_id in chosen:
                record = self._found(record_id, scope)
                if record is not None:
                    del self._records[record_id]
                    self._tombstones[record_id] = MemoryTombstone(
                        id=record.id,
                        scope=record.scope,
                        revisions=tuple(revision.revision for revision in record.revisions),
                        recorded_at=tuple(revision.recorded_at for revision in record.revisions),
                        forgotten_at=at,
                    )
                tombstone = self._tombstones.get(record_id)
                if tombstone is not None and tombstone.scope.matches(scope):
                    erased.append(record_id)
        return tuple(erased)

    async def tombstones(self, *, scope: MemoryScope) -> Sequence[MemoryTombstone]:
        """Return what is left of forgotten records, by id."""
        check_storable(scope)
        with self._lock:
            found = [stone for stone in self._tombstones.values() if stone.scope.matches(scope)]
        return sorted(found, key=lambda stone: stone.id)

    def _check_free(self, record_id: str) -> None:
        if record_id in self._records or record_id in self._tombstones:
            raise id_taken(record_id)

    def _found(self, record_id: str, scope: MemoryScope) -> MemoryRecord | None:
        record = self._records.get(record_id)
        return record if record is not None and record.scope.matches(scope) else None


def in_written_order(found: Iterable[MemoryRecord]) -> list[MemoryRecord]:
    """Return records in the order they were first written, then by id."""
    return sorted(found, key=lambda record: (record.revisions[0].recorded_at, record.id))


def id_taken(record_id: str) -> InvalidRequestError:
    """Return what a store raises for an id that was given out before."""
    return InvalidRequestError(
        f"A memory with the id {record_id!r} was already kept.",
        remedy="Choose another id, or revise the record.",
    )


def unknown_id(record_id: str) -> InvalidRequestError:
    """Return what a store or a session raises for an id that no record of the scope has."""
    return InvalidRequestError(
        f"No memory of this scope has the id {record_id!r}.", remedy="List the memories first."
    )
