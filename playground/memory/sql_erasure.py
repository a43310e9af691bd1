"""Erasing forgotten text from the bytes of an SQLite file, and knowing when that is still to be done.

``secure_delete`` zeroes what a statement frees, but copies stay: in the write-ahead log until it is truncated,
and in pages that were moved before. So the file is rewritten without them, and then the log is emptied, which a
reader that still looks at an older state holds up.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, delete, insert, select

from playground.database import BUSY_SECONDS, Database
from playground.errors import StoreError
from playground.memory.sql_schema import INFO

__all__ = ["finish_erasure", "is_pending", "mark_pending"]

_PENDING = "erasure_pending"
_PAUSE_SECONDS = 0.05
_CHECKPOINT_MS = 100  # a checkpoint that waits keeps writers waiting too
_logger = logging.getLogger(__name__)


def mark_pending(connection: Connection) -> None:
    """Note, in the transaction that forgets, that bytes are to be erased: it is done even after a crash."""
    connection.execute(delete(INFO).where(INFO.c.name == _PENDING))
    connection.execute(insert(INFO).values(name=_PENDING, value=uuid.uuid4().hex))


def is_pending(database: Database) -> bool:
    """Say whether forgotten text may still be in the bytes of the file; never for PostgreSQL, see its store."""
    return _mark(database) is not None


def finish_erasure(database: Database, *, seconds: float) -> bool:
    """Erase what is pending, for as long as readers hold it up; say whether nothing is pending any more.

    Args:
        database: Where; PostgreSQL has nothing pending.
        seconds: How long to wait for readers.
    """
    mark = _mark(database)
    if mark is None:
        return True
    deadline = time.monotonic() + seconds
    try:
        with database.faults_told(), _plain_cursor(database) as cursor:
            # Before the log is emptied: what is rewritten goes through it.
            cursor.execute("VACUUM")
            cursor.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_MS}").fetchall()
            while cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]:
                if time.monotonic() >= deadline:
                    _logger.warning("Erasure in %s is pending: a reader keeps its log busy.", database.name)
                    return False
                time.sleep(_PAUSE_SECONDS)
        with database.writing() as connection:
            # Only this mark: whoever forgot meanwhile made another, whose bytes may still be there.
            connection.execute(delete(INFO).where(INFO.c.name == _PENDING, INFO.c.value == mark))
    except StoreError as error:
        _logger.warning("Erasure in %s is pending: %s", database.name, error)
        return False
    return _mark(database) is None


def _mark(database: Database) -> str | None:
    if database.path is None:
        return None
    with database.reading() as connection:
        return connection.execute(select(INFO.c.value).where(INFO.c.name == _PENDING)).scalar()


@contextmanager
def _plain_cursor(database: Database) -> Iterator[Any]:
    """Give a cursor outside any transaction, where alone a file can be rewritten."""
    connection = database.engine.raw_connection()
    try:
        cursor = connection.cursor()
        try:
            yield cursor
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_SECONDS * 1_000}")
            cursor.close()
    finally:
        connection.close()
