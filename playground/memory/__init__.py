"""Versioned memory: records with revisions, kept apart by scope, recalled by meaning or by words."""

from playground.memory.records import MemoryKind, MemoryOrigin, MemoryRecord, MemoryRevision, MemoryTombstone
from playground.memory.session import MemorySession, RecalledMemory, RecallResult
from playground.memory.store import InMemoryMemoryStore, MemoryStore
from playground.scope import MemoryScope, MemorySourceRef

__all__ = [
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
]
