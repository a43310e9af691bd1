"""Opening a database and talking to it: URLs, what every connection is set to, transactions, faults.

SQLite and PostgreSQL differ here and nowhere else, but for erasure.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url

from playground.errors import InvalidInputError, StoreBusyError, StoreError
from playground.memory.sql_schema import create_schema, has_schema
from playground.memory.sqlite_file import BUSY_SECONDS, check_file, is_locked

__all__ = ["Database", "open_database"]

CONNECT_SECONDS = 10  # how long a server may take to answer
_WRITES = "playground_writes"
_POSTGRESQL = "postgresql+psycopg"
_DRIVERS = {"postgresql": _POSTGRESQL, "postgres": _POSTGRESQL, _POSTGRESQL: _POSTGRESQL}
_BUSY_STATES = {"55P03", "40P01", "40001"}  # lock not available, deadlock, serialization failure
_REFUSED_STATES = ("22", "23")  # PostgreSQL's classes of bad data and broken constraints


class Database:
    """An open database. Safe for threads; a forked child opens connections of its own.

    Attributes:
        name: The file's or the database's name, for messages; holds no secret.
        path: The SQLite file; None for PostgreSQL.
        engine: SQLAlchemy's.
    """

    def __init__(self, engine: sa.Engine, name: str, path: Path | None) -> None:
        self.engine, self.name, self.path = engine, name, path

    @contextlib.contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """Give a connection that sees one state of the database.

        Raises:
            StoreError: When the database cannot be read.
        """
        with self.faults_told(), self.engine.connect() as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Give a connection whose changes are committed, and on disk, when the block has ended.

        On SQLite there is one writer at a time, from the start of the block. On PostgreSQL rows must be locked
        before they are read.

        Raises:
            StoreBusyError: When others write for too long.
            StoreError: When the database cannot be written.
        """
        with self.faults_told(), self.engine.connect() as fresh:
            connection = fresh.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    @contextlib.contextmanager
    def faults_told(self) -> Iterator[None]:
        """Turn the faults of the drivers into typed errors."""
        try:
            yield
        except sa.exc.TimeoutError as error:
            raise self._busy() from error
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
            cause = getattr(error, "orig", None) or error
            if _is_busy(cause):
                raise self._busy() from error
            raise StoreError(
                f"{self.name} cannot be used: {_first_line(cause)}.",
                remedy="Check the database, its rights and the disk, or go back to a copy.",
                store=self.name,
            ) from error

    def close(self) -> None:
        """Close all connections; they are opened again when needed."""
        self.engine.dispose()

    def _busy(self) -> StoreBusyError:
        return StoreBusyError(
            f"{self.name} is held by others for more than {BUSY_SECONDS} seconds.",
            remedy="Try again; end a program that keeps a transaction open.",
            store=self.name,
        )


def open_database(url: str | Path) -> Database:
    """Open a database and make its tables where it is new.

    Args:
        url: The path of an SQLite file, ``sqlite:///path`` or ``postgresql://…``.

    Raises:
        InvalidInputError: When the URL is malformed or of another kind.
        StoreBusyError: When others hold the database for too long.
        StoreError: When the database is damaged, another program's, of another version or out of reach.
    """
    database = _database(url)
    try:
        with database.reading() as connection:
            ready = has_schema(connection, name=database.name)
            if database.path is None:
                _check_encoding(connection, database.name)
        if not ready:
            with database.writing() as connection:
                create_schema(connection, name=database.name)
    except BaseException:
        database.close()
        raise
    return database


def _database(url: str | Path) -> Database:
    parsed = _parsed(url)
    if parsed.drivername in {"sqlite", "sqlite+pysqlite"}:
        return _sqlite(parsed)
    if parsed.drivername in _DRIVERS:
        return _postgresql(parsed.set(drivername=_DRIVERS[parsed.drivername]))
    raise InvalidInputError(
        f"Memories cannot be kept in {parsed.drivername[:50]!r}.",
        remedy="Pass the path of an SQLite file, or a URL with sqlite or postgresql.",
    )


def _parsed(url: object) -> URL:
    if not isinstance(url, str | Path):
        raise InvalidInputError(f"The URL is a {type(url).__name__}.", remedy="Pass a path or a URL.")
    if isinstance(url, Path) or "://" not in url:
        return URL.create("sqlite", database=str(url))
    try:
        return make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        # Without the cause and without the URL: a password may stand in it.
        raise InvalidInputError(
            "The URL of the database is malformed.", remedy="Write it like postgresql://user@host/database."
        ) from None


def _sqlite(url: URL) -> Database:
    if url.query or not url.database or url.database == ":memory:" or "\x00" in url.database:
        raise InvalidInputError(
            "An SQLite store needs the path of a file, without parameters.",
            remedy="InMemoryMemoryStore keeps memories in this process.",
        )
    path = Path(url.database)
    check_file(path)
    # Values of statements are content and ids: they never appear in an error.
    engine = sa.create_engine(url, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    _keep_to_process(engine)
    return Database(engine, path.name, path)


def _postgresql(url: URL) -> Database:
    name = f"PostgreSQL database {url.database or ''}".strip()
    given = url.query.get("options", "")
    options = f"{given if isinstance(given, str) else ' '.join(given)} -c lock_timeout={BUSY_SECONDS}s"
    try:
        engine = sa.create_engine(
            url,
            hide_parameters=True,
            pool_pre_ping=True,
            connect_args={
                "options": options.strip(),
                "connect_timeout": CONNECT_SECONDS,
                "client_encoding": "utf8",
            },
        )
    except ImportError as error:
        raise StoreError(
            "PostgreSQL needs the package psycopg.", remedy="Install playground[postgresql].", store=name
        ) from error
    _keep_to_process(engine)
    return Database(engine, name, None)


def _prepare_sqlite(connection: Any, _record: object) -> None:
    """Set what SQLite keeps for each connection, and make sure of it."""
    connection.isolation_level = None  # this module begins transactions itself
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1_000}")
    _switch_to_wal(cursor)
    wanted = {"synchronous": 2, "foreign_keys": 1, "secure_delete": 1, "temp_store": 2, "journal_mode": "wal"}
    for name, value in wanted.items():
        if name != "journal_mode":
            cursor.execute(f"PRAGMA {name} = {value}").fetchall()
        found = cursor.execute(f"PRAGMA {name}").fetchone()[0]
        if found != value:
            raise sqlite3.OperationalError(f"SQLite answers {name} = {found}, not {value}")
    cursor.close()


def _switch_to_wal(cursor: sqlite3.Cursor) -> None:
    """Switch to the write-ahead log; two processes that do so at once are not made to wait by SQLite itself."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute("PRAGMA journal_mode = WAL").fetchall()
        except sqlite3.OperationalError as error:
            if not _is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_sqlite(connection: sa.Connection) -> None:
    # A writer takes its turn at once: a reader that turns into one may find that another came first, and fail.
    writes = connection.get_execution_options().get(_WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _keep_to_process(engine: sa.Engine) -> None:
    """Let no forked child use a connection of its parent."""

    def connected(_connection: object, record: Any) -> None:
        record.info["pid"] = os.getpid()

    def checked_out(_connection: object, record: Any, proxy: Any) -> None:
        if record.info["pid"] != os.getpid():
            record.dbapi_connection = proxy.dbapi_connection = None
            raise sa.exc.DisconnectionError("the connection belongs to another process")

    event.listen(engine, "connect", connected)
    event.listen(engine, "checkout", checked_out)


def _check_encoding(connection: sa.Connection, name: str) -> None:
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise StoreError(
            f"{name} is encoded in {encoding}, which cannot hold every text.",
            remedy="Use a database made with ENCODING 'UTF8'.",
            store=name,
        )


def _is_busy(error: object) -> bool:
    if isinstance(error, sqlite3.Error):
        return is_locked(error)
    return getattr(error, "sqlstate", None) in _BUSY_STATES


def _first_line(error: object) -> str:
    # What a server says of bad data quotes the data.
    state = getattr(error, "sqlstate", None) or ""
    if state.startswith(_REFUSED_STATES):
        return f"it refused the data (SQLSTATE {state})"
    return str(error).partition("\n")[0].strip().rstrip(".") or type(error).__name__
