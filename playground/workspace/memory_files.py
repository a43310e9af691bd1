"""Files of memories: JSON records or plain lines, read as hostile input."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from playground.errors import DocumentError, InvalidInputError, PlaygroundError
from playground.memory import MemoryRecord
from playground.retrieval.decoding import decode, replace_unstorable
from playground.retrieval.documents import LoadWarning
from playground.retrieval.free_names import FreeNames
from playground.retrieval.json_records import looks_like_records, read_json_records
from playground.retrieval.notes import few_notes
from playground.scope import MemoryScope
from playground.values import shown
from playground.workspace.records import memory_from_json

__all__ = ["MEMORY_SIZE_LIMIT", "MemoryLoad", "load_memories"]

MEMORY_SIZE_LIMIT = 10 * 1024 * 1024  # bytes of one file of memories; each is a sentence or two
_VECTOR_FIELDS = ("embedding", "embedding_model_id", "embeddingModelId")


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


def load_memories(
    files: Iterable[tuple[str, bytes]], *, scope: MemoryScope, size_limit: int = MEMORY_SIZE_LIMIT
) -> MemoryLoad:
    """Read memories: JSON records with ``text``, or plain lines of one memory each. O(bytes).

    Args:
        files: Pairs of file name and content.
        scope: Whose memories they become. A record that names another scope becomes theirs too, with a warning:
            a file never chooses whose memory it is.
        size_limit: Largest file that is read, in bytes.

    Returns:
        Entries whose ids are unique among themselves; plain lines get ``<file name>-<line number>``. Vectors
        that a file brings are left out: nobody knows what text they were made of.
    """
    names = FreeNames()
    entries: dict[str, Mapping[str, Any]] = {}
    warnings: list[LoadWarning] = []
    errors: list[DocumentError] = []
    for given, data in files:
        notes: list[str] = []
        name = replace_unstorable(given, notes.append)  # it stands in ids
        try:
            read = [
                _checked(name, number, entry, scope, notes.append)
                for number, entry in enumerate(_read_memories(name, data, size_limit, notes.append), 1)
            ]
        except DocumentError as error:
            errors.append(error)
            continue
        for entry in read:
            identifier = names.take(entry["id"])
            if identifier != entry["id"]:
                taken, free = shown(entry["id"]), shown(identifier)
                notes.append(f"The id {taken} occurs more than once; a later one became {free}.")
            entries[identifier] = {**entry, "id": identifier}
        warnings.extend(LoadWarning(name, note) for note in few_notes(notes))
    return MemoryLoad(tuple(entries.values()), tuple(warnings), tuple(errors))


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
    name = name or "untitled"
    lines = enumerate(replace_unstorable(text, warn).splitlines(), 1)
    bare = ((number, line.strip().removeprefix("- ").strip()) for number, line in lines)
    return [{"id": f"{name}-{number}", "text": line} for number, line in bare if line]


def _checked(
    name: str, number: int, entry: Mapping[str, Any], scope: MemoryScope, warn: Callable[[str], None]
) -> Mapping[str, Any]:
    """Return the entry as it may join a project of this scope, or raise what is wrong with it."""
    try:
        if "scope" in entry and MemoryScope.parse(entry["scope"]) != scope:
            warn(f"Memory {number} ({shown(entry['id'])}) names another scope; it becomes this project's.")
        if any(field in entry for field in _VECTOR_FIELDS):
            warn(f"Memory {number} ({shown(entry['id'])}) brings a vector; it is left out.")
        own = {key: value for key, value in entry.items() if key != "scope" and key not in _VECTOR_FIELDS}
        record = memory_from_json({"recordedAt": 0, **own}, scope)
        _check_revisions(own, record)
    except PlaygroundError as error:
        raise DocumentError(
            f"{name}: memory {number}, {shown(entry['id'])}, is malformed. {error.problem.rstrip('.')}.",
            remedy='A memory has "text" and, if you like, "id", "kind", "origin" and "importance".',
            name=name,
        ) from None
    return own


def _check_revisions(entry: Mapping[str, Any], record: MemoryRecord) -> None:
    if "revisions" not in entry:
        return
    if record.latest.text != entry["text"]:
        raise InvalidInputError('"text" is not that of the last of its "revisions"', remedy="Leave out one.")
    if any(field in revision for revision in entry["revisions"] for field in _VECTOR_FIELDS):
        raise InvalidInputError("a revision brings a vector", remedy="Leave it out.")
