"""Adding material to a project: each addition gives a new project value under a new digest.

Pure. The project it started from stays as it is, so that nothing that was loaded can be lost by adding to it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from playground.compiler.values import text_digest
from playground.errors import DocumentError, PlaygroundError
from playground.memory import MemoryRecord, MemoryRevision
from playground.retrieval.decoding import decode, replace_unstorable
from playground.retrieval.documents import Document, LoadWarning
from playground.retrieval.json_records import looks_like_records, read_json_records
from playground.scope import MemoryScope
from playground.workspace.project import Project
from playground.workspace.records import memory_from_json
from playground.workspace.vectors import VectorTable

__all__ = ["Addition", "MemoryLoad", "load_memories", "with_documents", "with_memories", "with_vectors"]

MEMORY_SIZE_LIMIT = 10 * 1024 * 1024  # bytes of one file of memories; each is a sentence or two
Change = Literal["added", "replaced", "unchanged"]


@dataclass(frozen=True, slots=True)
class MemoryLoad:
    """Everything a load of memories gave; a scope and times are set when they join a project.

    Attributes:
        entries: Fields of one memory each, ``id`` and ``text`` among them.
        warnings: What a person should know about files that were read all the same.
        errors: One for each file that could not be read.
    """

    entries: tuple[Mapping[str, Any], ...]
    warnings: tuple[LoadWarning, ...] = ()
    errors: tuple[DocumentError, ...] = ()


@dataclass(frozen=True, slots=True)
class Addition:
    """A project after something was added to it.

    Attributes:
        project: The new project.
        added: How many items are new.
        replaced: How many replace the text of an item with the same id.
        unchanged: How many were there already.
    """

    project: Project
    added: int = 0
    replaced: int = 0
    unchanged: int = 0


def load_memories(
    files: Iterable[tuple[str, bytes]], *, scope: MemoryScope, size_limit: int = MEMORY_SIZE_LIMIT
) -> MemoryLoad:
    """Read memories: JSON records with ``text``, or plain lines of one memory each. O(bytes).

    Args:
        files: Pairs of file name and content.
        scope: Whose memories they become; each entry is checked under it.
        size_limit: Largest file that is read, in bytes.

    Returns:
        Entries whose ids are unique among themselves; plain lines get ``<file name>-<line number>``.
    """
    entries: dict[str, Mapping[str, Any]] = {}
    warnings: list[LoadWarning] = []
    errors: list[DocumentError] = []
    for name, data in files:
        notes: list[str] = []
        try:
            read = _read_memories(name, data, size_limit, notes.append)
            for entry in read:
                _checked(name, entry, scope)
        except DocumentError as error:
            errors.append(error)
            continue
        for entry in read:
            identifier = _unique(entry["id"], entries)
            if identifier != entry["id"]:
                notes.append(
                    f"The id {entry['id']!r} occurs more than once; a later one became {identifier!r}."
                )
            entries[identifier] = {**entry, "id": identifier}
        warnings.extend(LoadWarning(name, note) for note in notes)
    return MemoryLoad(tuple(entries.values()), tuple(warnings), tuple(errors))


def with_documents(project: Project, documents: Sequence[Document]) -> Addition:
    """Cut documents as the project says and add them; one with a known id replaces the older text.

    Chunks of other documents keep their numbers.
    """
    present = {document.id: document for document in project.documents}
    changes: list[Change] = [_change(present.get(document.id), document) for document in documents]
    corpus = project.corpus.with_documents(documents, project.chunking.chunker)
    return _addition(replace(project, corpus=corpus), changes)


def with_memories(project: Project, entries: Sequence[Mapping[str, Any]], *, now: int) -> Addition:
    """Add memories; one with a known id and another text becomes that memory's next revision.

    Args:
        project: Its scope becomes the scope of the memories.
        entries: As ``load_memories`` gives them.
        now: When they are written down, in ms, where an entry does not say.

    Raises:
        InvalidInputError: When an entry is malformed.
    """
    records = {record.id: record for record in project.memories}
    changes: list[Change] = []
    for entry in entries:
        fresh = memory_from_json({"recordedAt": now, "origin": "imported", **entry}, project.scope)
        known = records.get(fresh.id)
        changes.append(_change(known and known.latest.text, fresh.latest.text))
        if known is None:
            records[fresh.id] = fresh
        elif changes[-1] == "replaced":
            records[fresh.id] = _revised(known, fresh.latest)
    return _addition(replace(project, memories=tuple(records.values())), changes)


def with_vectors(project: Project, vectors: VectorTable) -> Project:
    """Give a project vectors; those of another model take the place of what it had."""
    return _with_digest(replace(project, vectors=vectors))


def _read_memories(
    name: str, data: bytes, size_limit: int, warn: Callable[[str], None]
) -> list[Mapping[str, Any]]:
    if len(data) > size_limit:
        raise DocumentError(
            f"{name} has {len(data):,} bytes, the limit for memories is {size_limit:,}.",
            remedy="Split the file, or load it as a document.",
            name=name,
        )
    text = decode(name, data, warn)
    media_type = looks_like_records(text)
    if media_type is not None:
        records = read_json_records(name, text, media_type, warn)
        return [
            {**record.meta, "id": record.id or f"{name}-{record.position + 1}", "text": record.text}
            for record in records
        ]
    lines = enumerate(replace_unstorable(text, warn).splitlines(), 1)
    bare = ((number, line.strip().removeprefix("- ").strip()) for number, line in lines)
    return [{"id": f"{name}-{number}", "text": line} for number, line in bare if line]


def _checked(name: str, entry: Mapping[str, Any], scope: MemoryScope) -> None:
    try:
        memory_from_json({"recordedAt": 0, **entry}, scope)
    except PlaygroundError as error:
        raise DocumentError(
            f"{name}: the memory {entry['id']!r} is malformed. {error.problem}",
            remedy='A memory has "text" and, if you like, "id", "kind", "origin" and "importance".',
            name=name,
        ) from None


def _unique(identifier: str, taken: Mapping[str, object]) -> str:
    number, candidate = 1, identifier
    while candidate in taken:
        number += 1
        candidate = f"{identifier}~{number}"
    return candidate


def _change(known: object, fresh: object) -> Change:
    if known is None:
        return "added"
    return "unchanged" if known == fresh else "replaced"


def _revised(known: MemoryRecord, fresh: MemoryRevision) -> MemoryRecord:
    following = fresh.model_copy(update={"revision": known.latest.revision + 1})
    return known.model_copy(update={"revisions": (*known.revisions, following)})


def _addition(project: Project, changes: Sequence[Change]) -> Addition:
    counts = {change: changes.count(change) for change in ("added", "replaced", "unchanged")}
    return Addition(_with_digest(project), **counts)


def _with_digest(project: Project) -> Project:
    """Give a changed project a digest of its own, made of everything that additions can change."""
    state = hashlib.sha256(project.digest.encode())
    for document in project.documents:
        state.update(repr((document.id, document.title, text_digest(document.text))).encode())
    for record in project.memories:
        state.update(repr((record.id, [revision.digest for revision in record.revisions])).encode())
    state.update(repr((project.vectors.model_id, project.vectors.weights_digest)).encode())
    for digest in project.vectors.digests:
        state.update(digest)
    return replace(project, digest=f"sha256:{state.hexdigest()}")
