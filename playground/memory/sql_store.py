"""Memories in a database: an SQLite file, or PostgreSQL by URL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, insert, select, update
from sqlalchemy.exc import IntegrityError

from playground.concurrency import in_thread
from playground.database import Database
from playground.errors import StaleRevisionError
from playground.memory.arguments import checked_time
from playground.memory.records import MemoryRecord, MemoryRevision, MemoryTombstone, check_storable
from playground.memory.sql_engine import open_database
from playground.memory.sql_erasure import finish_erasure, is_pending, mark_pending
from playground.memory.sql_rows import memory_row, records, revision_row, tombstones
from playground.memory.sql_schema import MEMORIES, REVISIONS, row_key
from playground.memory.store import ErasedIds, id_taken, in_written_order, unknown_id
from playground.scope import MemoryScope

__all__ = ["SqlMemoryStore"]

_BATCH = 500  # ids a statement; databases bound the parameters of one


class SqlMemoryStore:
    """Keeps memories in a database; see ``MemoryStore`` for its methods.

    A write is acknowledged after it is committed and on disk. Calls run in threads; a caller that is cancelled
    no longer waits, but what it asked for may still be written. Threads and processes may share a database:
    writers take turns, and wait for one another at most half a minute.

    Forgetting erases text, digest and embedding of all revisions. On SQLite they are gone from the bytes of the
    file and its log as well; when a reader holds that up, the ids say ``pending``, and it is done with the next
    ``erase``, with ``finish_erasure``, or when the file is opened the next time. On PostgreSQL erasure is
    logical: no query gives the text any more, but dead rows stay until the server's vacuum has run, and its log
    and backups are the server's own.

    Args:
        url: The path of an SQLite file, which is made where it is missing, ``sqlite:///path``, or
            ``postgresql://user@host/database``.
        erasure_seconds: How long forgetting waits for readers of the SQLite file.
        create: Whether a store that is missing is made; else that is an error, and nothing is made.

    Raises:
        InvalidInputError: When the URL is malformed or of another kind of database.
        StoreError: When the database is damaged, another program's, of another version or out of reach.
    """

    def __init__(self, url: str | Path, *, erasure_seconds: float = 2.0, create: bool = True) -> None:
        self.database: Database = open_database(url, create=create)
        self._erasure_seconds = erasure_seconds
        finish_erasure(self.database, seconds=erasure_seconds)

    async def insert(self, record: MemoryRecord) -> None:
        """Keep a new record; see ``MemoryStore.insert``."""
        await in_thread(self._insert, record)

    async def append(self, record_id: str, revision: MemoryRevision, *, scope: MemoryScope) -> MemoryRecord:
        """Add a revision; see ``MemoryStore.append``. O(revisions of the record)."""
        check_storable(scope, record_id)
        return await in_thread(self._append, record_id, revision, scope)

    async def get(self, record_id: str, *, scope: MemoryScope) -> MemoryRecord | None:
        """Return the record, or None."""
        check_storable(scope, record_id)
        found = await in_thread(self._records, MEMORIES.c.key == row_key(record_id), *_alive(scope))
        return found[0] if found else None

    async def list(self, *, scope: MemoryScope) -> Sequence[MemoryRecord]:
        """Return the records of this scope; see ``MemoryStore.list``. O(n log n) in their revisions."""
        check_storable(scope)
        return in_written_order(await in_thread(self._records, *_alive(scope)))

    async def erase(self, record_ids: Iterable[str], *, scope: MemoryScope, at: int) -> ErasedIds:
        """Forget records; see ``MemoryStore.erase``. On SQLite the whole file is rewritten, O(size)."""
        chosen = sorted(set(record_ids))
        check_storable(scope, *chosen)
        return await in_thread(self._erase, chosen, scope, checked_time(at, "at"))

    async def tombstones(self, *, scope: MemoryScope) -> Sequence[MemoryTombstone]:
        """Return what is left of forgotten records, by id."""
        check_storable(scope)
        return await in_thread(self._tombstones, scope)

    async def erasure_pending(self) -> bool:
        """Say whether forgotten text may still be in the bytes of the SQLite file; never on PostgreSQL."""
        return await in_thread(is_pending, self.database)

    async def finish_erasure(self) -> bool:
        """Try again to erase what is pending, and say whether nothing is any more."""
        return await in_thread(lambda: finish_erasure(self.database, seconds=self._erasure_seconds))

    def close(self) -> None:
        """Close the connections; a later call opens them again."""
        self.database.close()

    def _insert(self, record: MemoryRecord) -> None:
        rows = [revision_row(record.id, revision) for revision in record.revisions]
        with self.database.writing() as connection:
            try:
                connection.execute(insert(MEMORIES).values(memory_row(record)))
            except IntegrityError:
                raise id_taken(record.id) from None
            connection.execute(insert(REVISIONS), rows)

    def _append(self, record_id: str, revision: MemoryRevision, scope: MemoryScope) -> MemoryRecord:
        row, key = revision_row(record_id, revision), row_key(record_id)
        with self.database.writing() as connection:
            # Locked first, so that what is read below is what the last writer has committed.
            wanted = select(MEMORIES.c.latest).where(MEMORIES.c.key == key, *_alive(scope))
            latest = connection.execute(wanted.with_for_update()).scalar()
            if latest is None:
                raise unknown_id(record_id)
            if revision.revision != latest + 1:
                raise StaleRevisionError(
                    record_id=record_id, expected_revision=revision.revision - 1, actual_revision=latest
                )
            connection.execute(insert(REVISIONS).values(row))
            connection.execute(update(MEMORIES).where(MEMORIES.c.key == key).values(latest=revision.revision))
            (grown,) = self._read(connection, MEMORIES.c.key == key)
        return grown

    def _records(self, *conditions: ColumnElement[bool]) -> Sequence[MemoryRecord]:
        with self.database.reading() as connection:
            return self._read(connection, *conditions)

    def _read(self, connection: Connection, *conditions: ColumnElement[bool]) -> Sequence[MemoryRecord]:
        return records(connection.execute(_joined(*conditions)).all(), store=self.database.name)

    def _erase(self, record_ids: Sequence[str], scope: MemoryScope, at: int) -> ErasedIds:
        with self.database.writing() as connection:
            found = list(_locked(connection, record_ids, scope))
            alive = [row.key for row in found if row.forgotten_at is None]
            for some in _batches(alive):
                # Text, digest and embedding; number and time stay.
                bodies = update(REVISIONS).where(REVISIONS.c.key.in_(some))
                connection.execute(bodies.values(body=None, embedding=None))
                connection.execute(update(MEMORIES).where(MEMORIES.c.key.in_(some)).values(forgotten_at=at))
            if alive and self.database.path is not None:
                mark_pending(connection)
        done = finish_erasure(self.database, seconds=self._erasure_seconds)
        return ErasedIds(sorted(row.id for row in found), pending=not done)

    def _tombstones(self, scope: MemoryScope) -> Sequence[MemoryTombstone]:
        with self.database.reading() as connection:
            query = _joined(MEMORIES.c.forgotten_at.is_not(None), *_matching(scope))
            found = tombstones(connection.execute(query).all())
        return sorted(found, key=lambda stone: stone.id)


def _matching(scope: MemoryScope) -> list[ColumnElement[bool]]:
    """Equality on every field that is asked for, as ``MemoryScope.matches``."""
    return [MEMORIES.c[name] == value for name, value in scope.fields().items()]


def _alive(scope: MemoryScope) -> list[ColumnElement[bool]]:
    return [MEMORIES.c.forgotten_at.is_(None), *_matching(scope)]


def _joined(*conditions: ColumnElement[bool]) -> Select[*tuple[Any, ...]]:
    # One statement, so that records and revisions are of the same moment.
    columns = (REVISIONS.c.number, REVISIONS.c.recorded_at, REVISIONS.c.body, REVISIONS.c.embedding)
    joined = select(MEMORIES, *columns).join(REVISIONS, REVISIONS.c.key == MEMORIES.c.key)
    return joined.where(*conditions).order_by(MEMORIES.c.key, REVISIONS.c.number)


def _locked(
    connection: Connection, record_ids: Sequence[str], scope: MemoryScope
) -> Iterator[Row[*tuple[Any, ...]]]:
    """Lock the rows of records in the order of their keys, so that two who forget never wait in a ring."""
    columns = select(MEMORIES.c.key, MEMORIES.c.id, MEMORIES.c.forgotten_at)
    for some in _batches(sorted(map(row_key, record_ids))):
        query = columns.where(MEMORIES.c.key.in_(some), *_matching(scope)).order_by(MEMORIES.c.key)
        yield from connection.execute(query.with_for_update())


def _batches(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    return (keys[start : start + _BATCH] for start in range(0, len(keys), _BATCH))
