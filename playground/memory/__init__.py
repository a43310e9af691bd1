"""Versioned memory: records with revisions, kept apart by scope, recalled by meaning or by words.

``SqlMemoryStore`` and ``SqlWorkingMemory`` are loaded when they are asked for: SQLAlchemy takes its time.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from playground.memory.recalled import RecalledMemory, RecallResult
from playground.memory.records import MemoryKind, MemoryOrigin, MemoryRecord, MemoryRevision, MemoryTombstone
from playground.memory.session import MemorySession
from playground.memory.store import ErasedIds, InMemoryMemoryStore, MemoryStore
from playground.scope import MemoryScope, MemorySourceRef

if TYPE_CHECKING:
    from playground.memory.sql_store import SqlMemoryStore
    from playground.memory.sql_working_memory import SqlWorkingMemory

__all__ = [
    "ErasedIds",
    "InMemoryMemoryStore",
    "MemoryKind",
    "MemoryOrigin",
    "MemoryRecord",
    "MemoryRevision",
    "MemoryScope",
    "MemorySession",
    "MemorySourceRef",
    "MemoryStore",
    "MemoryTombstone",
    "RecallResult",
    "RecalledMemory",
    "SqlMemoryStore",
    "SqlWorkingMemory",
]

_LATER = {
    "SqlMemoryStore": "playground.memory.sql_store",
    "SqlWorkingMemory": "playground.memory.sql_working_memory",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
