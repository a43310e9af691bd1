"""The SQLite file under the vector cache: opening it, telling its faults apart, setting it aside, removing it.

Nothing in the file is worth an error to the person who embeds, because everything in it can be computed again.
So a damaged file is set aside and begun anew, and one that cannot be used at all gives way to memory.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import re
import sqlite3
from collections.abc import Collection
from pathlib import Path

import numpy as np

from playground.retrieval.index import Vectors, are_unit

__all__ = [
    "cache_parts",
    "in_file",
    "in_memory",
    "is_cache",
    "is_damage",
    "is_unit",
    "opened",
    "remove",
    "remove_aside",
    "row_check",
    "set_aside",
]

ASIDE = ".damaged"  # behind the name of a file that was set aside
BUSY_SECONDS = 5  # how long another process may hold the file
_APPLICATION = 0x43505643  # "CPVC", in the file's header
_MARK = slice(68, 72)  # where that is, see "Database File Format" of SQLite
_PAGE = 4_096  # bytes of the first page, where the names of tables and columns are
_DAMAGE = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,  # a table or column that was there has gone
    sqlite3.SQLITE_TOOBIG,
}
_COLUMNS = ("model_id", "weights_digest", "text_digest", "vector")
_SCHEMA = """
CREATE TABLE vectors (
    model_id TEXT NOT NULL,
    weights_digest TEXT NOT NULL,
    text_digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    row_check BLOB NOT NULL,
    PRIMARY KEY (model_id, weights_digest, text_digest)
) WITHOUT ROWID
"""
_logger = logging.getLogger(__name__)


def opened(path: Path) -> sqlite3.Connection:
    """Open the file, or memory where it cannot be used; each such case is logged.

    A damaged file is set aside first. A database of another program is left alone.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            return _connected(path)
        except (sqlite3.DatabaseError, ValueError) as error:
            # A name in it that is no text, or not what it was: damage, if the file was ours.
            if not (is_damage(error) if isinstance(error, sqlite3.DatabaseError) else is_cache(path)):
                raise
            set_aside(path)
            return _connected(path)
    except (OSError, sqlite3.Error, ValueError) as error:
        _logger.warning("Vectors are kept in memory only, because the cache cannot be used: %s.", error)
        return in_memory()


def in_memory() -> sqlite3.Connection:
    """Open a database of the same shape that ends with the process."""
    return _prepared(sqlite3.connect(":memory:", check_same_thread=False))


def is_damage(error: sqlite3.Error) -> bool:
    """Say whether the file's content is at fault, and not the disk, its rights or another process."""
    code = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in _DAMAGE or code == sqlite3.SQLITE_IOERR_SHORT_READ


def set_aside(path: Path) -> None:
    """Rename the file and its log, so that a new one can begin.

    It takes the place of a cache that was set aside before, whose vectors can be computed again, but never of
    a foreign file: then it gets a number behind its name.
    """
    names = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    places = (path.with_name(f"{path.name}{ASIDE}{name}") for name in names)
    aside = next(place for place in places if _own(place) or not any(map(Path.exists, _with_logs(place))))
    _logger.warning("The vector cache is damaged and was set aside as %s.", aside.name)
    for part, kept in zip(_with_logs(path), _with_logs(aside), strict=True):
        if part.exists():
            part.replace(kept)


def cache_parts(path: Path) -> list[Path]:
    """Return what there is of the cache on disk: its file and those set aside, each with its logs.

    A foreign file that stands in the place of one of them is left out.

    Raises:
        OSError: When a file cannot be read, so that nobody can say whose it is.
    """
    return [*_own(path), *_own_asides(path)]


def remove(path: Path) -> None:
    """Delete the cache with what was set aside of it; see ``cache_parts`` for what stays.

    Raises:
        OSError: When a file cannot be read or deleted.
    """
    for part in cache_parts(path):
        part.unlink(missing_ok=True)


def remove_aside(path: Path, digests: Collection[bytes]) -> None:
    """Delete what was set aside, where it was a cache; a foreign file that stood in its place stays.

    A cache whose beginning is lost is known by the digests of texts in it. O(bytes that were set aside).

    Args:
        path: The cache's file.
        digests: What must not be left in a copy.

    Raises:
        OSError: When the file cannot be read or deleted.
    """
    for place in _asides(path):
        parts = [part for part in _with_logs(place) if part.is_file()]
        if _own(place) or any(_holds(part, digests) for part in parts):
            for part in parts:
                part.unlink(missing_ok=True)


def in_file(connection: sqlite3.Connection) -> bool:
    """Say whether a connection is to a file, and not to memory that took its place."""
    return any(row[2] for row in connection.execute("PRAGMA database_list"))


def is_cache(path: Path) -> bool:
    """Say whether a cache of ours lies there; a folder and a file of another program are none.

    Raises:
        OSError: When the file cannot be read.
    """
    return path.is_file() and bool(_own(path))


def row_check(model_id: str, weights_digest: str, digest: bytes, vector: bytes) -> bytes:
    """Return 8 bytes that change with any part of a row, so that damage is never taken for a vector."""
    state = hashlib.blake2b(digest_size=8)
    for part in (model_id.encode("utf-8", "surrogatepass"), weights_digest.encode(), digest, vector):
        state.update(len(part).to_bytes(8))
        state.update(part)
    return state.digest()


def is_unit(vector: Vectors) -> bool:
    """Say whether this is a finite vector of length 1."""
    return vector.ndim == 1 and are_unit(vector[np.newaxis])


def _own_asides(path: Path) -> list[Path]:
    return [part for place in _asides(path) for part in _own(place)]


def _asides(path: Path) -> list[Path]:
    numbered = re.compile(re.escape(f"{path.name}{ASIDE}") + r"(-\d+)?")
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    return [place for place in sorted(beside) if numbered.fullmatch(place.name)]


def _holds(path: Path, digests: Collection[bytes]) -> bool:
    data = path.read_bytes()
    return any(digest in data for digest in digests)


def _with_logs(path: Path) -> list[Path]:
    return [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]


def _own(path: Path) -> list[Path]:
    """Return the file and its logs, as far as they exist; nothing where the file is no cache."""
    try:
        with path.open("rb") as file:
            page = file.read(_PAGE)
        # Either may be damaged.
        ours = _COLUMNS[1].encode() in page or page[_MARK] == _APPLICATION.to_bytes(4)
    except FileNotFoundError:
        return []
    return [part for part in _with_logs(path) if part.exists()] if ours else []


def _connected(path: Path) -> sqlite3.Connection:
    return _prepared(sqlite3.connect(path, timeout=BUSY_SECONDS, check_same_thread=False))


def _prepared(connection: sqlite3.Connection) -> sqlite3.Connection:
    try:
        connection.text_factory = bytes  # a damaged row may claim to be text
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            columns = tuple(
                row[1].decode("utf-8", "replace") for row in connection.execute("PRAGMA table_info(vectors)")
            )
            if columns == _COLUMNS and len(tables) == 1:
                # Rows without a check: nothing in them can be trusted.
                connection.execute("DROP TABLE vectors")
                tables = []
            known = connection.execute("PRAGMA application_id").fetchone()[0] == _APPLICATION
            if tables and not (known and columns == (*_COLUMNS, "row_check")):
                raise ValueError("the file is another program's database")  # noqa: TRY301  # closes it
            if not tables:
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute(
            "PRAGMA wal_checkpoint(TRUNCATE)"
        ).fetchall()  # ends an erasure that a reader delayed
    except BaseException:
        connection.close()
        raise
    return connection
