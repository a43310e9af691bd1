"""A database and how to talk to it: URLs, transactions, a server's connections, faults as typed errors.

What an SQLite file is opened with stands with the stores that keep one.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.engine import URL, make_url

from playground.errors import InvalidInputError, StoreBusyError, StoreError

__all__ = [
    "BUSY_SECONDS",
    "WRITES",
    "Database",
    "check_encoding",
    "is_locked",
    "is_postgresql",
    "keep_to_process",
    "parsed_url",
    "postgresql_database",
]

BUSY_SECONDS = 30  # how long anybody waits for another one
CONNECT_SECONDS = 10  # how long a server may take to answer
WRITES = "playground_writes"  # the option of a connection that is going to write
_POSTGRESQL = "postgresql+psycopg"
_DRIVERS = frozenset({"postgresql", "postgres", _POSTGRESQL})
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
            connection = fresh.execution_options(**{WRITES: True})
            with connection.begin():
                yield connection

    @contextlib.contextmanager
    def faults_told(self) -> Iterator[None]:
        """Turn the faults of the drivers into typed errors."""
        try:
            yield
        except sa.exc.TimeoutError as error:
            raise self.busy() from error
        except (sa.exc.SQLAlchemyError, sqlite3.Error) as error:
            cause = getattr(error, "orig", None) or error
            if _is_busy(cause):
                raise self.busy() from error
            raise StoreError(
                f"{self.name} cannot be used: {_first_line(cause)}.",
                remedy="Check the database, its rights and the disk, or go back to a copy.",
                store=self.name,
            ) from error

    def busy(self) -> StoreBusyError:
        """Return the error of having waited for others for too long."""
        return StoreBusyError(
            f"{self.name} is held by others for more than {BUSY_SECONDS} seconds.",
            remedy="Try again; end a program that keeps a transaction open.",
            store=self.name,
        )

    def close(self) -> None:
        """Close all connections; they are opened again when needed."""
        self.engine.dispose()


def parsed_url(url: object) -> URL:
    """Read the URL of a database; a path is that of an SQLite file.

    Raises:
        InvalidInputError: When it is malformed; the message does not quote it, a password may stand in it.
    """
    if not isinstance(url, str | Path):
        raise InvalidInputError(f"The URL is a {type(url).__name__}.", remedy="Pass a path or a URL.")
    if isinstance(url, Path) or "://" not in url:
        return URL.create("sqlite", database=str(url))
    try:
        return make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise InvalidInputError(
            "The URL of the database is malformed.", remedy="Write it like postgresql://user@host/database."
        ) from None


def is_postgresql(url: URL) -> bool:
    """Say whether ``postgresql_database`` takes a URL."""
    return url.drivername in _DRIVERS


def postgresql_database(url: URL) -> Database:
    """Return a database of a PostgreSQL server; nothing is connected yet.

    Raises:
        StoreError: When psycopg is not installed.
    """
    name = f"PostgreSQL database {url.database or ''}".strip()
    given = url.query.get("options", "")
    options = f"{given if isinstance(given, str) else ' '.join(given)} -c lock_timeout={BUSY_SECONDS}s"
    try:
        engine = sa.create_engine(
            url.set(drivername=_POSTGRESQL),
            # Values of statements are content and ids: they never appear in an error.
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
    keep_to_process(engine)
    return Database(engine, name, None)


def check_encoding(connection: sa.Connection, *, name: str) -> None:
    """Make sure that a PostgreSQL database takes every text.

    Raises:
        StoreError: When it is not encoded in UTF-8.
    """
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise StoreError(
            f"{name} is encoded in {encoding}, which cannot hold every text.",
            remedy="Use a database made with ENCODING 'UTF8'.",
            store=name,
        )


def keep_to_process(engine: sa.Engine) -> None:
    """Let no forked child use a connection of its parent."""

    def connected(_connection: object, record: Any) -> None:
        record.info["pid"] = os.getpid()

    def checked_out(_connection: object, record: Any, proxy: Any) -> None:
        if record.info["pid"] != os.getpid():
            record.dbapi_connection = proxy.dbapi_connection = None
            raise sa.exc.DisconnectionError("the connection belongs to another process")

    event.listen(engine, "connect", connected)
    event.listen(engine, "checkout", checked_out)


def is_locked(error: sqlite3.Error) -> bool:
    """Say whether others hold an SQLite file, so that the same call may succeed later."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


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
