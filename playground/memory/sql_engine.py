"""Opening the database of a store: an SQLite file with what each of its connections is set to, or PostgreSQL.

SQLite and PostgreSQL differ here and nowhere else, but for erasure.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL

from playground.database import (
    BUSY_SECONDS,
    WRITES,
    Database,
    check_encoding,
    is_locked,
    is_postgresql,
    keep_to_process,
    parsed_url,
    postgresql_database,
)
from playground.errors import InvalidInputError, StoreError
from playground.memory.sql_schema import create_schema, has_schema
from playground.memory.sqlite_file import check_file

__all__ = ["open_database"]


def open_database(url: str | Path, *, create: bool = True) -> Database:
    """Open a database and make its tables where it is new.

    Args:
        url: The path of an SQLite file, ``sqlite:///path`` or ``postgresql://…``.
        create: Whether file and tables are made where they are missing; else that is an error.

    Raises:
        InvalidInputError: When the URL is malformed or of another kind.
        StoreBusyError: When others hold the database for too long.
        StoreError: When the database is damaged, another program's, of another version, missing though it must
            be there, or out of reach.
    """
    database = _database(parsed_url(url), create=create)
    try:
        with database.reading() as connection:
            ready = has_schema(connection, name=database.name)
            if database.path is None:
                check_encoding(connection, name=database.name)
        if not (ready or create):
            raise _missing(database.name)  # noqa: TRY301  # closes it
        if not ready:
            with database.writing() as connection:
                create_schema(connection, name=database.name)
    except BaseException:
        database.close()
        raise
    return database


def _database(url: URL, *, create: bool) -> Database:
    if url.drivername in {"sqlite", "sqlite+pysqlite"}:
        return _sqlite(url, create=create)
    if is_postgresql(url):
        return postgresql_database(url)
    raise InvalidInputError(
        f"Memories cannot be kept in {url.drivername[:50]!r}.",
        remedy="Pass the path of an SQLite file, or a URL with sqlite or postgresql.",
    )


def _missing(name: str) -> StoreError:
    return StoreError(f"There is no memory store in {name}.", remedy="Check the path or the URL.", store=name)


def _is_missing(path: Path) -> bool:
    try:
        return not path.exists() or (path.is_file() and not path.stat().st_size)
    except OSError:  # too long a name, for example: opening it says so
        return False


def _sqlite(url: URL, *, create: bool) -> Database:
    if url.query or not url.database or url.database == ":memory:" or "\x00" in url.database:
        raise InvalidInputError(
            "An SQLite store needs the path of a file, without parameters.",
            remedy="InMemoryMemoryStore keeps memories in this process.",
        )
    path = Path(url.database)
    if not create and _is_missing(path):
        raise _missing(path.name)
    check_file(path)
    # Values of statements are content and ids: they never appear in an error.
    engine = sa.create_engine(url, hide_parameters=True)
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    keep_to_process(engine)
    return Database(engine, path.name, path)


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
            if not is_locked(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def _begin_sqlite(connection: sa.Connection) -> None:
    # A writer takes its turn at once: a reader that turns into one may find that another came first, and fail.
    writes = connection.get_execution_options().get(WRITES, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
