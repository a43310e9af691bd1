"""Working memory in a database: one row that several processes change by compare-and-set."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from playground.concurrency import in_thread
from playground.database import Database
from playground.errors import InvalidInputError, InvalidRequestError, StoreError
from playground.memory.arguments import checked_id
from playground.memory.sql_engine import open_database
from playground.memory.sql_schema import WORKING_MEMORIES, WORKING_MEMORY_REVISIONS, row_key
from playground.memory.sql_store import SqlMemoryStore
from playground.values import shown, whole_number
from playground.working_memory.difference import WorkingMemoryRevision
from playground.working_memory.draft import GenerateId
from playground.working_memory.handle import PatchAttempts
from playground.working_memory.outcome import PatchOutcome
from playground.working_memory.patch import WorkingMemoryPatch
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["SqlWorkingMemory"]

_Read = TypeVar("_Read")


class SqlWorkingMemory:
    """A working memory in a database, shared by threads and processes; a ``WorkingMemoryHandle``.

    Args:
        store: The store of memories whose database it is in, or the database's path or URL.
        scope: Whose task it is; a database holds one working memory for each.
        start: Where it starts when the database holds none of this scope, as a value or its JSON data; without
            it there must be one.
        clock: Returns the time in whole ms since the epoch; the system's clock by default. A time before that
            of the last change counts as that time.
        generate_id: Names new items, see ``apply_working_memory_patch``; may be asked again for a patch whose
            first attempt another writer forestalled.
        history: How many revisions are kept, the newest ones.

    Raises:
        InvalidInputError: When an argument is malformed, or ``start`` is of another scope.
        StoreError: When the database cannot be used, see ``SqlMemoryStore``.
    """

    def __init__(
        self,
        store: SqlMemoryStore | str | Path,
        scope: str,
        *,
        start: WorkingMemorySnapshot | Mapping[str, Any] | None = None,
        clock: Callable[[], int] | None = None,
        generate_id: GenerateId | None = None,
        history: int = 100,
    ) -> None:
        self.scope = checked_id(scope, "scope")
        self._start = None if start is None else WorkingMemorySnapshot.recorded(start)
        if self._start is not None and self._start.scope != scope:
            raise InvalidInputError(
                f"The snapshot's scope is {shown(self._start.scope)}, not {shown(scope)}.",
                remedy="Start with a snapshot of the scope that is asked for.",
            )
        self._attempts = PatchAttempts(clock, generate_id)
        self._history = whole_number(history, "The history")
        self._key = row_key(scope)
        self.database: Database = store.database if isinstance(store, SqlMemoryStore) else open_database(store)

    async def current(self) -> WorkingMemorySnapshot:
        """Return the snapshot as it stands now.

        Raises:
            InvalidRequestError: When the database holds no working memory of this scope, and no ``start`` is
                given.
        """
        return await in_thread(self._current)

    async def apply(self, patch: WorkingMemoryPatch | Mapping[str, Any]) -> PatchOutcome:
        """Apply a patch to what stands now; see ``apply_working_memory_patch``.

        What is applied is on disk when this returns. A caller that did not get an answer sends the same patch
        again: it is applied once.

        Raises:
            InvalidInputError: When the patch is malformed, or what the clock or ``generate_id`` returned.
            InvalidRequestError: As for ``current``.
        """
        return await in_thread(self._apply, WorkingMemoryPatch.parse(patch))

    async def history(self) -> tuple[WorkingMemoryRevision, ...]:
        """Return what the newest patches changed, the newest last."""
        return await in_thread(self._revisions)

    def close(self) -> None:
        """Close the connections, also those of the store that was given; a later call opens them again."""
        self.database.close()

    def _current(self) -> WorkingMemorySnapshot:
        with self.database.reading() as connection:
            found = self._read(connection)
        return self._begun() if found is None else found

    def _read(self, connection: Connection) -> WorkingMemorySnapshot | None:
        query = select(WORKING_MEMORIES.c.body).where(WORKING_MEMORIES.c.key == self._key)
        body = connection.execute(query).scalar()
        return None if body is None else self._undamaged(WorkingMemorySnapshot.from_json, body)

    def _begun(self) -> WorkingMemorySnapshot:
        """Keep the snapshot to start with, unless another process just did."""
        if self._start is None:
            raise InvalidRequestError(
                f"{self.database.name} holds no working memory of the scope {shown(self.scope)}.",
                remedy="Pass the snapshot that it starts with.",
            )
        row = {"key": self._key, "revision": self._start.revision, "body": self._start.to_json()}
        with self.database.writing() as connection:
            try:
                with connection.begin_nested():
                    connection.execute(insert(WORKING_MEMORIES).values(row))
            except IntegrityError:
                found = self._read(connection)
                assert found is not None
                return found
        return self._start

    def _apply(self, patch: WorkingMemoryPatch) -> PatchOutcome:
        while True:
            before = self._current()
            outcome, revision = self._attempts.attempt(before, patch)
            if revision is None or self._kept(before, outcome.snapshot, revision):
                return outcome

    def _kept(
        self, before: WorkingMemorySnapshot, after: WorkingMemorySnapshot, revision: WorkingMemoryRevision
    ) -> bool:
        """Keep what came of a patch, if nobody else was faster, and say whether it is kept."""
        row, told = WORKING_MEMORIES.c, WORKING_MEMORY_REVISIONS.c
        with self.database.writing() as connection:
            change = update(WORKING_MEMORIES).where(row.key == self._key, row.revision == before.revision)
            if not connection.execute(change.values(revision=after.revision, body=after.to_json())).rowcount:
                return False
            news = {"key": self._key, "revision": after.revision, "body": revision.to_json()}
            connection.execute(insert(WORKING_MEMORY_REVISIONS).values(news))
            oldest = after.revision - self._history
            connection.execute(
                delete(WORKING_MEMORY_REVISIONS).where(told.key == self._key, told.revision <= oldest)
            )
        return True

    def _revisions(self) -> tuple[WorkingMemoryRevision, ...]:
        told = WORKING_MEMORY_REVISIONS.c
        query = select(told.body).where(told.key == self._key).order_by(told.revision.desc())
        with self.database.reading() as connection:
            bodies = connection.execute(query.limit(self._history)).scalars().all()
        return tuple(self._undamaged(WorkingMemoryRevision.from_json, body) for body in reversed(bodies))

    def _undamaged(self, read: Callable[[str], _Read], body: str) -> _Read:
        try:
            return read(body)
        except InvalidInputError as error:
            name = self.database.name
            raise StoreError(
                f"The working memory {shown(self.scope)} in {name} is damaged.",
                remedy="Go back to a copy.",
                store=name,
            ) from error
