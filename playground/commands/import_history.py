"""Memories that ``playground import`` finds with their whole history: in exported files, and in a store."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from playground.commands.import_files import Found, unreadable
from playground.concurrency import run_sync
from playground.errors import DocumentError, InvalidRequestError
from playground.memory import MemoryRecord, SqlMemoryStore
from playground.memory.exchange import LoadedMemories
from playground.memory.jsonl import read_memories_jsonl
from playground.memory.markdown_folder import HISTORY_FILE, read_memories_folder
from playground.retrieval.archives import checked_names
from playground.scope import MemoryScope

__all__ = ["Recorded", "read_recorded", "scope_of"]


@dataclass(frozen=True, slots=True)
class Recorded:
    """Memories with their whole history.

    Attributes:
        records: As they are.
        edited: Of files whose newest texts people may have edited.
        forgotten: Ids that the store has forgotten.
        errors: What could not be read, or not wholly.
    """

    records: tuple[MemoryRecord, ...] = ()
    edited: tuple[MemoryRecord, ...] = ()
    forgotten: tuple[str, ...] = ()
    errors: tuple[DocumentError, ...] = ()

    @property
    def scopes(self) -> frozenset[MemoryScope]:
        """Whose memories they are."""
        return frozenset(record.scope for record in (*self.records, *self.edited))


def read_recorded(found: Iterable[Found], *, store: str | None, scope: MemoryScope) -> Recorded:
    """Read memories that come with their history: of exported files, and of a store.

    Args:
        found: Files of any kind; the others are left alone.
        store: Path or URL of a store, which must be there.
        scope: Whose memories are read of the store.

    Raises:
        StoreError: When the store cannot be read.
    """
    records: list[MemoryRecord] = []
    edited: list[MemoryRecord] = []
    errors: list[DocumentError] = []
    forgotten: tuple[str, ...] = ()
    if store is not None:
        with closing(SqlMemoryStore(store, create=False)) as opened:
            records += run_sync(opened.list(scope=scope))
            forgotten = tuple(stone.id for stone in run_sync(opened.tombstones(scope=scope)))
    for one in found:
        if one.kind != "memories" or one.form not in _WITH_HISTORY:
            continue
        try:
            read = _WITH_HISTORY[one.form](one.path)
        except OSError as error:
            errors.append(unreadable(one.name, error))
            continue
        (records if one.form == "exported lines" else edited).extend(read.records)
        errors += read.problems
    return Recorded(tuple(records), tuple(edited), forgotten, tuple(errors))


def scope_of(recorded: Recorded, asked: MemoryScope, usual: MemoryScope) -> MemoryScope:
    """Return whose a new project is: as asked, else as its memories say, else the usual one.

    Raises:
        InvalidRequestError: When the memories are those of several.
    """
    if asked.fields():
        return asked
    scopes = sorted(recorded.scopes, key=lambda scope: sorted(scope.fields().items()))
    if len(scopes) > 1:
        named = "; ".join(_named(scope) for scope in scopes[:3])
        raise InvalidRequestError(
            f"These are the memories of {len(scopes):,}: {named}{'; …' if len(scopes) > 3 else ''}.",
            remedy="Choose whose the project is to be, for example --scope user_id=ada.",
        )
    return scopes[0] if scopes and scopes[0].fields() else usual


def _named(scope: MemoryScope) -> str:
    return ", ".join(f"{name}={value}" for name, value in scope.fields().items()) or "nobody in particular"


def _read_archive(path: Path) -> LoadedMemories:
    """Read the Markdown files of an archive; they lie in a temporary folder meanwhile, and only there."""
    data = path.read_bytes()
    try:
        checked_names(path.name, data)
    except DocumentError as error:
        return LoadedMemories(problems=(error,))
    with zipfile.ZipFile(io.BytesIO(data)) as archive, tempfile.TemporaryDirectory() as folder:
        for entry in archive.infolist():
            name = PurePosixPath(entry.filename).name
            # What lies in a folder of the archive is none of an export's files.
            if name == entry.filename and (name.endswith(".md") or name == HISTORY_FILE):
                Path(folder, name).write_bytes(archive.read(entry))
        return read_memories_folder(folder)


_WITH_HISTORY: Mapping[str, Callable[[Path], LoadedMemories]] = {
    "exported lines": read_memories_jsonl,
    "exported folder": read_memories_folder,
    "exported archive": _read_archive,
}
