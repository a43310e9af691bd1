"""Tables of vectors in PostgreSQL, and opening a database that can hold them.

The number in a table's name is the version of its columns: another version has tables of its own, since vectors
can be made again from their texts.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import NamedTuple

import sqlalchemy as sa

from playground.database import Database, check_encoding, is_postgresql, parsed_url, postgresql_database
from playground.errors import InvalidInputError, StoreError

__all__ = ["VectorTables", "key_of", "open_vectors", "vector_tables"]

_KEY = sa.String(64)  # hexadecimal SHA-256: a B-tree takes no key above a third of a page
_SCHEMA_LOCK = 0x766563746F72  # "vector", for an advisory lock: two processes may open at once


class VectorTables(NamedTuple):
    """The two tables.

    Attributes:
        spaces: One row for each corpus and model: how many numbers its vectors have.
        vectors: One row for each record of a space.
    """

    spaces: sa.Table
    vectors: sa.Table


def key_of(*names: str) -> str:
    """Return the key of a row that these names have together, whatever stands in them."""
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


@cache
def vector_tables() -> VectorTables:
    """Return the tables.

    Raises:
        StoreError: When the package pgvector is not installed.
    """
    try:
        from pgvector.sqlalchemy import VECTOR  # noqa: PLC0415  # an extra: whoever needs it is told
    except ImportError as error:
        raise StoreError(
            "Vectors in PostgreSQL need the package pgvector.", remedy="Install playground[postgresql]."
        ) from error
    metadata = sa.MetaData()
    spaces = sa.Table(
        "playground_vector_spaces_1",
        metadata,
        sa.Column("space", _KEY, primary_key=True),
        sa.Column("corpus", sa.Text, nullable=False),
        sa.Column("model_id", sa.Text, nullable=False),
        sa.Column("weights_digest", sa.Text, nullable=False),
        sa.Column("dims", sa.Integer, nullable=False),
    )
    vectors = sa.Table(
        "playground_vectors_1",
        metadata,
        sa.Column("space", _KEY, sa.ForeignKey(spaces.c.space), primary_key=True),
        sa.Column("key", _KEY, primary_key=True),
        sa.Column("id", sa.Text, nullable=False),
        # Of any length: what a space holds is checked against its row, and each model has its own.
        sa.Column("embedding", VECTOR(), nullable=False),
    )
    return VectorTables(spaces, vectors)


def open_vectors(url: str) -> Database:
    """Open a PostgreSQL database with pgvector and make its tables where it is new.

    Raises:
        InvalidInputError: When the URL is malformed or not of PostgreSQL.
        StoreBusyError: When others hold the database for too long.
        StoreError: When it is out of reach, lacks pgvector, or psycopg or pgvector is not installed here.
    """
    parsed = parsed_url(url)
    if not is_postgresql(parsed):
        raise InvalidInputError(
            f"Vectors cannot be kept in {parsed.drivername[:50]!r}.",
            remedy="Pass a URL like postgresql://user@host/database; ExactIndex keeps vectors in this process.",
        )
    tables = vector_tables()
    database = postgresql_database(parsed)
    try:
        with database.reading() as connection:
            check_encoding(connection, name=database.name)
            _check_extension(connection, database.name)
            inspector = sa.inspect(connection)
            ready = all(inspector.has_table(table.name) for table in tables)
        if not ready:
            with database.writing() as connection:
                connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_SCHEMA_LOCK)))
                tables.spaces.metadata.create_all(connection)
    except BaseException:
        database.close()
        raise
    return database


def _check_extension(connection: sa.Connection, name: str) -> None:
    # The type and not the extension: it may stand in a schema where this connection does not look.
    if connection.execute(sa.select(sa.func.to_regtype("vector"))).scalar() is None:
        raise StoreError(
            f"{name} does not know the type vector.",
            remedy="Install pgvector on the server, run CREATE EXTENSION vector in this database, and have its "
            "schema on the search path.",
            store=name,
        )
