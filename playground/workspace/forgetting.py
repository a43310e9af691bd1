"""Forgetting memories everywhere in a project's folder, in steps that a crash can delay but not undo.

The steps, each on the disk before the next begins:

1. The folder is exchanged for one without the memories, their vectors and texts, with their tombstones and with
   ``forgetting.json``, which holds what the next steps must find. From here on no reader sees the memories.
2. Their vectors are erased from the cache and from this process.
3. The folder is exchanged for one whose exports and notes are rewritten without them or deleted, and which has
   no ``forgetting.json``.

A crash before step 1 is done leaves everything as it was. After that ``forgetting.json`` is there until step 3
is done, and whoever next opens the project, or forgets in it, goes on from step 2. The same removes what an
exchange that was cut off leaves of the old folder. When the cache cannot be written, step 3 leaves
``forgetting.json`` with nothing but the digests that the cache must lose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from playground.errors import PlaygroundError
from playground.memory import MemoryRecord
from playground.retrieval.embedding_cache import EmbeddingCache, vector_key
from playground.values import RecordedValue
from playground.workspace.files import ProjectFolder
from playground.workspace.folder_exchange import swap_folder
from playground.workspace.folder_files import OWN_FILES, files_under, keep_all, write_file
from playground.workspace.loading import load_folder
from playground.workspace.memories import Forgetting, forget_memories
from playground.workspace.project import Project
from playground.workspace.redacting import Redaction
from playground.workspace.saving import write_held
from playground.workspace.texts import all_texts
from playground.workspace.traces import Traces

__all__ = ["EXPORTS", "finish_forgetting", "forget_everywhere", "is_unfinished"]

EXPORTS = "exports"  # the folder of kept exports, in a project's
JOURNAL = "forgetting.json"


class _Unfinished(RecordedValue):
    """A forget whose first step is done."""

    version: Literal[1] = 1
    """Version of the recorded format."""
    records: tuple[MemoryRecord, ...] = ()
    """Step 3 must find these in the folder's files; none once it is done."""
    keys: tuple[Annotated[str, Field(pattern="^[0-9a-f]{64}$")], ...] = Field(default=(), repr=False)
    """SHA-256 of each text, in hexadecimal digits, that the cache must lose; none when there is no cache."""


def is_unfinished(path: Path, *, has_cache: bool) -> bool:
    """Say whether a forget of a project is to be gone on with, by somebody who has the cache or has not."""
    if not (path / JOURNAL).is_file():
        return False
    waiting = _journal(path)
    return bool(waiting.records) or (has_cache and bool(waiting.keys))


def forget_everywhere(
    path: Path, record_ids: Iterable[str], *, now: int, cache: EmbeddingCache | None
) -> Forgetting:
    """Forget memories in a project's folder that the caller holds; see the steps above.

    Args:
        path: The folder.
        record_ids: Unknown ones are no error; those that were forgotten before are looked for again in exports.
        now: When they are forgotten, in ms.
        cache: What holds their vectors, too.

    Raises:
        ProjectError: When the project is damaged.
        OSError: When the disk refuses.
    """
    if is_unfinished(path, has_cache=cache is not None):
        finish_forgetting(path, cache)
    project = load_folder(path)
    done = forget_memories(project, record_ids, now=now)
    kept = {record.id for record in done.project.memories}
    gone = tuple(record for record in project.memories if record.id not in kept)
    keys = [key.hex() for key in done.vector_keys] if cache is not None else []
    # What an earlier forget still has to erase from the cache is not lost.
    waiting = _Unfinished(records=gone, keys=tuple(dict.fromkeys([*_journal(path).keys, *keys])))
    after = done.project
    if gone:
        after = write_held(path, after, more={JOURNAL: waiting.to_json().encode()})
    finished = _finished(path, after, waiting, cache, done.ids)
    return replace(finished, vector_keys=done.vector_keys)


def finish_forgetting(path: Path, cache: EmbeddingCache | None) -> Forgetting:
    """Go on with a forget that was cut off, in a folder that the caller holds.

    Raises:
        ProjectError: When the project or ``forgetting.json`` is damaged.
        OSError: When the disk refuses.
    """
    waiting = _journal(path)
    ids = sorted(record.id for record in waiting.records)
    return _finished(path, load_folder(path), waiting, cache, ids)


def _journal(path: Path) -> _Unfinished:
    folder = ProjectFolder(path)
    text = folder.text(JOURNAL)
    return _Unfinished() if text is None else folder.checked(JOURNAL, lambda: _Unfinished.from_json(text))


def _finished(
    path: Path, project: Project, waiting: _Unfinished, cache: EmbeddingCache | None, ids: Sequence[str]
) -> Forgetting:
    from playground.memory.ranking import forget_vectors  # noqa: PLC0415  # brings bm25s

    shared = {vector_key(text) for text in all_texts(project)}
    texts = [revision.text for record in waiting.records for revision in record.revisions]
    traces = Traces(text for text in texts if vector_key(text) not in shared)
    keys = tuple(key for key in map(bytes.fromhex, waiting.keys) if key not in shared)
    forget_vectors(f"sha256:{key.hex()}" for key in {*traces.keys, *keys})
    pending = not _erased(cache, keys)
    left_over = _Unfinished(keys=tuple(key.hex() for key in keys)) if pending else _Unfinished()
    chosen = frozenset(ids)
    redaction = Redaction((stone for stone in project.forgotten if stone.id in chosen), traces)
    changes = _changes(path, redaction)
    if changes or left_over != _journal(path):
        swap_folder(path, lambda fresh: _rewrite(path, fresh, changes, left_over))
    names = {name: data is None for name, data in changes.items()}
    return Forgetting(
        project=project,
        ids=tuple(ids),
        vector_keys=tuple(sorted(traces.keys)),
        rewritten=tuple(name for name, deleted in names.items() if not deleted),
        deleted=tuple(name for name, deleted in names.items() if deleted),
        left=_left(path, redaction),
        pending=pending,
    )


def _erased(cache: EmbeddingCache | None, keys: Sequence[bytes]) -> bool:
    if not keys:
        return True
    if cache is None:
        return False
    try:
        cache.forget(keys)
    except PlaygroundError:
        return False  # told as ``pending``
    return True


def _changes(path: Path, redaction: Redaction) -> dict[str, bytes | None]:
    """Return the new content of each file that is no part of the project and held some; ``None`` deletes it."""
    changes: dict[str, bytes | None] = {}
    for file, name in _others(path):
        data = file.read_bytes()
        clean = redaction.of(name, data)
        # Only exports are ours to delete; a note that cannot be rewritten is told as ``left``.
        if clean is not data and (clean is not None or name.startswith(f"{EXPORTS}/")):
            changes[name] = clean
    return changes


def _rewrite(path: Path, fresh: Path, changes: dict[str, bytes | None], left_over: _Unfinished) -> None:
    keep_all(path, fresh)
    journal = left_over.to_json().encode() if left_over.keys else None
    for name, data in {**changes, JOURNAL: journal}.items():
        if data is None:
            (fresh / name).unlink(missing_ok=True)
        else:
            write_file(fresh / name, data)


def _others(path: Path) -> Iterable[tuple[Path, str]]:
    for file in files_under(path):
        name = file.relative_to(path).as_posix()
        if name.partition("/")[0] not in {*OWN_FILES, JOURNAL}:
            yield file, name


def _left(path: Path, redaction: Redaction) -> tuple[str, ...]:
    return tuple(
        file.relative_to(path).as_posix()
        for file in files_under(path)
        if file.name != JOURNAL and redaction.found_in(file.name, file.read_bytes())
    )
