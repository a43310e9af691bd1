"""A look at an SQLite file before anything is written to it: is it ours, is it whole?"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from playground.database import BUSY_SECONDS, is_locked
from playground.errors import StoreBusyError, StoreError
from playground.memory.sql_schema import INFO

__all__ = ["check_file"]

_HEADER = b"SQLite format 3\x00"
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}


def check_file(path: Path) -> None:
    """Check that a file can become or is a store; folders above it are made. O(size), it is read whole.

    Nothing is written to a file that is another program's.

    Raises:
        StoreBusyError: When another program keeps it to itself.
        StoreError: When it is not SQLite's, another program's, damaged, or cannot be read.
    """
    name = path.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("rb") as file:
            header = file.read(len(_HEADER))
    except FileNotFoundError:
        return
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{name} cannot be opened: {getattr(error, 'strerror', None) or error}.",
            remedy="Choose a file that you may read and write.",
            store=name,
        ) from error
    if not header:
        return
    if header != _HEADER:
        raise StoreError(
            f"{name} is not an SQLite file.", remedy="Choose another file; this one was left alone.", store=name
        )
    try:
        problem = _problem(path)
    except sqlite3.Error as error:
        if is_locked(error):
            raise StoreBusyError(
                f"{name} is held by others for more than {BUSY_SECONDS} seconds.",
                remedy="Try again; end a program that keeps it to itself.",
                store=name,
            ) from error
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        problem = f"{'is damaged' if code in _DAMAGE else 'cannot be read'}: {error}"
    if problem:
        raise StoreError(
            f"{name} {problem}.",
            remedy="Choose another file or go back to a copy; this one was left alone.",
            store=name,
        )


def _problem(path: Path) -> str:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS)
    try:
        connection.text_factory = bytes  # a damaged file may claim that anything is text
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if tables and INFO.name.encode() not in tables:
            return "is another program's database"
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        return "" if found == b"ok" else f"is damaged: {found.decode(errors='replace')}"
    finally:
        connection.close()
