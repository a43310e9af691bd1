"""A project's memories: written, revised and forgotten as a memory session does it.

Pure but for the ids of new memories. Each change gives another project under another digest; the one it started
from stays as it is. Times are milliseconds since 1970, given by the caller.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from playground.concurrency import run_sync
from playground.memory import InMemoryMemoryStore, MemoryRecord, MemorySession
from playground.retrieval.embedding_cache import vector_key
from playground.scope import MemoryScope
from playground.workspace.changing import changed
from playground.workspace.project import Project
from playground.workspace.texts import all_texts

__all__ = ["Forgetting", "forget_memories", "remember_memory", "revise_memory"]


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What a forget did.

    Attributes:
        project: The project without the memories, their vectors and their texts.
        ids: The ids that are forgotten, sorted; those that had been forgotten before are among them.
        vector_keys: SHA-256 of each text that is in no memory, chunk, chat or skill any more, 32 bytes each,
            sorted: whatever is kept under them elsewhere must go.
        rewritten: Kept exports and other files of the project's folder that are there without it now.
        deleted: Kept exports that could not be rewritten, or not be looked into, and so were deleted.
        left: Files that hold such a text for another reason: a document, a chat or the working memory has it.
        pending: Whether vectors may still be in the cache, because another process holds its file; the next
            use of the project tries again.
    """

    project: Project
    ids: tuple[str, ...]
    vector_keys: tuple[bytes, ...] = ()
    rewritten: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    pending: bool = False


def remember_memory(
    project: Project, text: str, *, now: int, scope: MemoryScope | None = None, **fields: Any
) -> Project:
    """Write down a new memory, at revision 1; it is the last of the project's.

    Args:
        project: What it is added to.
        text: Not blank; without NUL and lone surrogates.
        now: When it is written down, in ms.
        scope: Whose memory it is; the project's own scope by default.
        **fields: As ``MemorySession.remember`` takes them: ``id``, ``kind``, ``importance`` and so on.

    Raises:
        InvalidInputError: When a field is malformed.
        InvalidRequestError: When the id was given out before, to a forgotten memory for example, or when no
            field of the scope is set.
    """
    session = _session(project, project.scope if scope is None else scope, now)
    record = run_sync(session.remember(text, **fields))
    return changed(project, memories=(*project.memories, record))


def revise_memory(
    project: Project, record_id: str, text: str, *, expected_revision: int, now: int, **fields: Any
) -> Project:
    """Add a revision to a memory; what is left out stays as it was.

    Args:
        project: What holds it.
        record_id: Any memory of the project, whatever its scope: who holds the folder may edit it.
        text: Not blank; without NUL and lone surrogates.
        expected_revision: The revision that was seen.
        now: When it is written down, in ms.
        **fields: As ``MemorySession.revise`` takes them: ``kind``, ``importance`` and so on.

    Raises:
        StaleRevisionError: When the memory is no longer at ``expected_revision``.
        InvalidRequestError: When the project has no such memory, or its scope sets no field.
        InvalidInputError: When a field is malformed.
    """
    known = {record.id: record for record in project.memories}.get(record_id)
    session = _session(project, project.scope if known is None else known.scope, now)
    revised = run_sync(session.revise(record_id, text, expected_revision=expected_revision, **fields))
    return changed(
        project,
        memories=tuple(revised if record.id == record_id else record for record in project.memories),
    )


def forget_memories(
    project: Project, record_ids: Iterable[str], *, now: int, scope: MemoryScope | None = None
) -> Forgetting:
    """Erase memories from a project: every revision, and the vectors of their texts. Idempotent.

    What remains is a tombstone: the id is not given out again, and no import brings the memory back. The vector
    of a text stays where another memory, a chunk, a chat, a skill or a question of the project has that very
    text. This concerns the value only; ``ProjectLibrary.forget`` erases from a folder, its exports and the
    vector cache too.

    Args:
        project: What holds them.
        record_ids: Which ones; unknown ones are no error.
        now: When they are forgotten, in ms.
        scope: Only memories of this scope; all of the project's by default.

    Raises:
        InvalidInputError: When an id or the scope holds a NUL or a lone surrogate.
    """
    chosen = frozenset(record_ids)
    store = InMemoryMemoryStore(project.memories, project.forgotten)
    reach = MemoryScope() if scope is None else scope
    ids = run_sync(store.erase(chosen, scope=reach, at=now))
    erased = frozenset(ids)
    gone = [record for record in project.memories if record.id in erased]
    if not gone:
        return Forgetting(project, ids)
    left = project.with_parts(memories=tuple(record for record in project.memories if record.id not in erased))
    keys = _keys_of(gone) - {vector_key(text) for text in all_texts(left)}
    forgotten = tuple(run_sync(store.tombstones(scope=MemoryScope())))
    fresh = changed(project, memories=left.memories, forgotten=forgotten, vectors=project.vectors.without(keys))
    return Forgetting(fresh, ids, tuple(sorted(keys)))


def _session(project: Project, scope: MemoryScope | Mapping[str, Any], now: int) -> MemorySession:
    store = InMemoryMemoryStore(project.memories, project.forgotten)
    return MemorySession(store, scope, clock=lambda: now)


def _keys_of(records: Iterable[MemoryRecord]) -> set[bytes]:
    return {vector_key(revision.text) for record in records for revision in record.revisions}
