"""Tables of the SQL stores, one schema for SQLite and PostgreSQL, and the version that a database records.

Ids and scopes may be of any length, and a B-tree of PostgreSQL takes no key above a third of a page: so rows
are found by the SHA-256 of the id, and scopes through hash indexes there.
"""

from __future__ import annotations

import hashlib

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
)

from playground.errors import StoreError

__all__ = [
    "INFO",
    "MEMORIES",
    "PREFIX",
    "REVISIONS",
    "SCOPE_COLUMNS",
    "WORKING_MEMORIES",
    "WORKING_MEMORY_REVISIONS",
    "create_schema",
    "has_schema",
    "row_key",
]

SCHEMA_VERSION = 1
PREFIX = "playground_"  # a PostgreSQL database may hold other programs' tables too
SCOPE_COLUMNS = ("user_id", "agent_id", "run_id", "actor_id", "chat_id")
_VERSION = "schema_version"
_SCHEMA_LOCK = 0x706C6179  # "play", for PostgreSQL's advisory lock: two processes may open at once

_METADATA = MetaData()
_KEY = String(64)  # hexadecimal SHA-256

INFO = Table(
    f"{PREFIX}info", _METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False)
)
"""What is known of the database as a whole: the version of its schema, and whether an erasure is unfinished."""

MEMORIES = Table(
    f"{PREFIX}memories",
    _METADATA,
    Column("key", _KEY, primary_key=True),
    Column("id", Text, nullable=False),
    *(Column(name, Text) for name in SCOPE_COLUMNS),
    Column("latest", Integer, nullable=False),
    Column("forgotten_at", BigInteger),
)
"""One row a memory, and one a tombstone: there ``forgotten_at`` is set."""

REVISIONS = Table(
    f"{PREFIX}memory_revisions",
    _METADATA,
    Column("key", _KEY, ForeignKey(MEMORIES.c.key), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("body", Text),
    Column("embedding", LargeBinary),
)
"""One row a revision; ``body`` is its JSON without the embedding, and both are NULL once it is forgotten."""

WORKING_MEMORIES = Table(
    f"{PREFIX}working_memories",
    _METADATA,
    Column("key", _KEY, primary_key=True),
    Column("revision", BigInteger, nullable=False),
    Column("body", Text, nullable=False),
)
"""One row a working memory: its newest snapshot as JSON."""

WORKING_MEMORY_REVISIONS = Table(
    f"{PREFIX}working_memory_revisions",
    _METADATA,
    Column("key", _KEY, ForeignKey(WORKING_MEMORIES.c.key), primary_key=True),
    Column("revision", BigInteger, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
)
"""What the newest patches changed, as JSON."""

for _name in SCOPE_COLUMNS:
    Index(f"{MEMORIES.name}_{_name}", MEMORIES.c[_name], postgresql_using="hash")


def row_key(name: str) -> str:
    """Return the key of the row that an id or a name has."""
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def has_schema(connection: Connection, *, name: str) -> bool:
    """Say whether the tables are there, in this release's version.

    Raises:
        StoreError: When they are of another version.
    """
    if not inspect(connection).has_table(INFO.name):
        return False
    found = connection.execute(select(INFO.c.value).where(INFO.c.name == _VERSION)).scalar()
    if found != str(SCHEMA_VERSION):
        raise StoreError(
            f"{name} holds memories in version {found!r} of the schema, this release knows {SCHEMA_VERSION}.",
            remedy="Open it with the release that wrote it, and export and import the memories.",
            store=name,
        )
    return True


def create_schema(connection: Connection, *, name: str) -> None:
    """Make the tables where they are missing; the connection must be writing. Safe in several processes."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _SCHEMA_LOCK})
    if not has_schema(connection, name=name):
        _METADATA.create_all(connection)
        connection.execute(insert(INFO).values(name=_VERSION, value=str(SCHEMA_VERSION)))
