"""Sessions in a database, beside the memories: SQLite or PostgreSQL."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    delete,
    insert,
    inspect,
    select,
    text,
    update,
)

from playground.concurrency import in_thread
from playground.errors import InvalidInputError, StoreError
from playground.memory.sql_engine import open_database
from playground.memory.sql_schema import INFO, PREFIX, row_key
from playground.preparation.results import SessionSummary
from playground.preparation.stored_session import checked_lines, checked_session, checked_session_id
from playground.values import RecordedValue, shown

__all__ = ["SqlContextStorage"]

_logger = logging.getLogger(__name__)

SCHEMA_VERSION = 1
_VERSION = "context_schema_version"
_SCHEMA_LOCK = 0x636F6E74  # "cont", for PostgreSQL's advisory lock: two processes may open at once
_METADATA = MetaData()
_KEY = String(64)  # hexadecimal SHA-256 of the id, which may be of any length and hold any character

SESSIONS = Table(
    f"{PREFIX}context_sessions",
    _METADATA,
    Column("key", _KEY, primary_key=True),
    Column("head", Text, nullable=False),
    Column("body", Text, nullable=False),
)
"""One row a session: what a list tells of it, and the session, both as JSON."""

JOURNAL = Table(
    f"{PREFIX}context_journal",
    _METADATA,
    # SQLite counts by itself only in a column of this very type.
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("key", _KEY, nullable=False),
    Column("body", Text, nullable=False),
)
"""One row a line; numbers grow in the order in which lines came."""

Index(f"{JOURNAL.name}_key", JOURNAL.c.key)


class _Head(RecordedValue):
    """What a list tells of a session; JSON holds ids that the database's texts do not."""

    session_id: str
    last_saved_at: str


class SqlContextStorage:
    """A ``ContextStorage`` in a database, shared by threads and processes; the last writer wins.

    What is acknowledged is committed. The tables stand beside those of ``SqlMemoryStore``, with a version of
    their own.

    Args:
        url: The path of an SQLite file, ``sqlite:///path`` or ``postgresql://…``; made where it is new.

    Raises:
        InvalidInputError: When the URL is malformed or of another kind.
        StoreBusyError: When others hold the database for too long; any call may raise it.
        StoreError: When the database cannot be used, or the tables are of another version.
    """

    def __init__(self, url: str | Path) -> None:
        self.database = open_database(url)
        try:
            with self.database.reading() as connection:
                ready = _has_tables(connection, self.database.name)
            if not ready:
                with self.database.writing() as connection:
                    _make_tables(connection, self.database.name)
        except BaseException:
            self.database.close()
            raise

    async def save(self, session_id: str, text: str) -> None:
        """Write a session whole, in place of the former one.

        Raises:
            InvalidInputError: When the text is no session of that id.
        """
        summary = checked_session(session_id, text)
        head = _Head(session_id=summary.session_id, last_saved_at=summary.last_saved_at)
        await in_thread(self._save, row_key(session_id), head.to_json(), text)

    async def load(self, session_id: str) -> str | None:
        """Return a session's text, None where there is none."""
        return await in_thread(self._load, row_key(checked_session_id(session_id)))

    async def delete(self, session_id: str) -> bool:
        """Remove a session with its journal; whether there was either."""
        return await in_thread(self._delete, row_key(checked_session_id(session_id)))

    async def list(self) -> tuple[SessionSummary, ...]:
        """List the sessions, by id; a row that tells of none is logged and left out."""
        return await in_thread(self._list)

    async def append_journal(self, session_id: str, lines: Sequence[str]) -> None:
        """Append lines to a session's journal, all or none.

        Raises:
            InvalidInputError: When a line is none.
        """
        key = row_key(checked_session_id(session_id))
        rows = [{"key": key, "body": line} for line in checked_lines(lines)]
        if rows:
            await in_thread(self._append, rows)

    async def read_journal(self, session_id: str) -> tuple[str, ...]:
        """Return the lines of a session's journal, oldest first."""
        return await in_thread(self._lines, row_key(checked_session_id(session_id)))

    def close(self) -> None:
        """Close the connections; a later call opens them again."""
        self.database.close()

    def _save(self, key: str, head: str, body: str) -> None:
        with self.database.writing() as connection:
            if connection.dialect.name == "postgresql":
                # Two who save a new session at once: the second one finds the first one's row.
                connection.execute(text("SELECT pg_advisory_xact_lock(hashtext(:key))"), {"key": key})
            values = {"head": head, "body": body}
            if not connection.execute(update(SESSIONS).where(SESSIONS.c.key == key).values(values)).rowcount:
                connection.execute(insert(SESSIONS).values(key=key, **values))

    def _load(self, key: str) -> str | None:
        with self.database.reading() as connection:
            found: str | None = connection.execute(
                select(SESSIONS.c.body).where(SESSIONS.c.key == key)
            ).scalar()
        return found

    def _delete(self, key: str) -> bool:
        with self.database.writing() as connection:
            gone = [
                connection.execute(delete(table).where(table.c.key == key)) for table in (SESSIONS, JOURNAL)
            ]
        return any(one.rowcount for one in gone)

    def _list(self) -> tuple[SessionSummary, ...]:
        with self.database.reading() as connection:
            rows = connection.execute(select(SESSIONS.c.key, SESSIONS.c.head)).all()
        found: list[SessionSummary] = []
        for key, told in rows:
            try:
                head = _Head.from_json(told)
            except InvalidInputError as error:
                _logger.warning("The row %s holds no session: %s", shown(key), error)
                continue
            found.append(SessionSummary(head.session_id, head.last_saved_at))
        return tuple(sorted(found, key=lambda summary: summary.session_id))

    def _append(self, rows: Sequence[dict[str, str]]) -> None:
        with self.database.writing() as connection:
            connection.execute(insert(JOURNAL), rows)

    def _lines(self, key: str) -> tuple[str, ...]:
        with self.database.reading() as connection:
            query = select(JOURNAL.c.body).where(JOURNAL.c.key == key).order_by(JOURNAL.c.number)
            return tuple(connection.execute(query).scalars())


def _has_tables(connection: Connection, name: str) -> bool:
    if not inspect(connection).has_table(SESSIONS.name):
        return False
    found = connection.execute(select(INFO.c.value).where(INFO.c.name == _VERSION)).scalar()
    if found != str(SCHEMA_VERSION):
        raise StoreError(
            f"{name} holds sessions in version {found!r} of the schema, this release knows {SCHEMA_VERSION}.",
            remedy="Open it with the release that wrote it.",
            store=name,
        )
    return True


def _make_tables(connection: Connection, name: str) -> None:
    """Make the tables where they are missing. Safe in several processes."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SCHEMA_LOCK})
    if not _has_tables(connection, name):
        _METADATA.create_all(connection)
        connection.execute(insert(INFO).values(name=_VERSION, value=str(SCHEMA_VERSION)))
