"""Records as rows, and rows as records. Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Row

from playground.errors import InvalidInputError, StoreError
from playground.memory.arguments import checked_time
from playground.memory.records import MemoryRecord, MemoryRevision, MemoryTombstone
from playground.memory.sql_schema import SCOPE_COLUMNS, row_key
from playground.scope import MemoryScope
from playground.values import shown

__all__ = ["memory_row", "records", "revision_row", "tombstones"]


def memory_row(record: MemoryRecord) -> dict[str, Any]:
    """Return the row of a record; its revisions have rows of their own."""
    scope = {name: getattr(record.scope, name) for name in SCOPE_COLUMNS}
    return {"key": row_key(record.id), "id": record.id, **scope, "latest": record.latest.revision}


def revision_row(record_id: str, revision: MemoryRevision) -> dict[str, Any]:
    """Return the row of a revision.

    Raises:
        InvalidInputError: When its time is no number of milliseconds that a database keeps.
    """
    vector = revision.embedding
    return {
        "key": row_key(record_id),
        "number": revision.revision,
        "recorded_at": checked_time(revision.recorded_at, "recorded_at"),
        "body": revision.model_copy(update={"embedding": None}).to_json(),
        "embedding": None if vector is None else struct.pack(f"<{len(vector)}d", *vector),
    }


def records(rows: Iterable[Row[Any]], *, store: str) -> list[MemoryRecord]:
    """Return the records of joined rows, which must be sorted by key and number.

    Raises:
        StoreError: When a row is damaged.
    """
    return [_record(rows_of_one, store) for rows_of_one in _by_key(rows)]


def tombstones(rows: Iterable[Row[Any]]) -> list[MemoryTombstone]:
    """Return the tombstones of joined rows, which must be sorted by key and number."""
    return [
        MemoryTombstone(
            id=some[0].id,
            scope=_scope(some[0]),
            revisions=tuple(row.number for row in some),
            recorded_at=tuple(row.recorded_at for row in some),
            forgotten_at=some[0].forgotten_at,
        )
        for some in _by_key(rows)
    ]


def _by_key(rows: Iterable[Row[Any]]) -> list[Sequence[Row[Any]]]:
    return [tuple(some) for _, some in groupby(rows, key=lambda row: row.key)]


def _record(rows: Sequence[Row[Any]], store: str) -> MemoryRecord:
    try:
        return MemoryRecord(
            id=rows[0].id,
            scope=_scope(rows[0]),
            revisions=tuple(_revision(row.body, row.embedding) for row in rows),
        )
    except (InvalidInputError, struct.error) as error:
        raise StoreError(
            f"The memory {shown(rows[0].id)} in {store} is damaged.", remedy="Go back to a copy.", store=store
        ) from error


def _revision(body: str, embedding: bytes | None) -> MemoryRevision:
    revision = MemoryRevision.from_json(body)
    if embedding is None:
        return revision
    return revision.model_copy(update={"embedding": struct.unpack(f"<{len(embedding) // 8}d", embedding)})


def _scope(row: Row[Any]) -> MemoryScope:
    return MemoryScope(**{name: getattr(row, name) for name in SCOPE_COLUMNS})
