"""Memories as a folder of Markdown files, one a record, to be read and edited by people.

A file holds the newest text; earlier revisions, and embeddings, are lines of ``history.jsonl`` beside the
files. Nothing is lost on the way there and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal

from playground.errors import DocumentError, InvalidInputError
from playground.memory.exchange import LINE_BYTES, LoadedMemories, read_lines, replace_file
from playground.memory.markdown_file import file_name, from_markdown, to_markdown
from playground.memory.records import MemoryRecord, MemoryRevision
from playground.scope import MemoryScope
from playground.values import RecordedValue, shown

__all__ = ["HISTORY_FILE", "read_memories_folder", "write_memories_folder"]

HISTORY_FILE = "history.jsonl"
_REMEDY = "Mend it and import the folder again; the others were read."
_History = Mapping[tuple[str, int], MemoryRevision]


class HistoryLine(RecordedValue):
    """A revision that is not, or not wholly, in its record's file; format version 1."""

    version: Literal[1] = 1
    """Version of the recorded format."""
    id: str
    """The record's id."""
    revision: MemoryRevision
    """An earlier revision, or the newest one when it has an embedding."""


def write_memories_folder(records: Iterable[MemoryRecord], folder: str | Path) -> tuple[Path, ...]:
    """Write each record to a file of its own, and return the files.

    Files of an earlier export whose records are not given any more are removed: what was forgotten must not
    stay in a folder that is kept. Other files are left alone.

    Raises:
        InvalidInputError: When a record cannot be written as Markdown, or an id is given twice; nothing is
            written then.
        OSError: When a file cannot be written.
    """
    folder, given = Path(folder), tuple(records)
    contents = {file_name(record.id): to_markdown(record) for record in given}
    if len(contents) != len(given):
        raise InvalidInputError("An id is given twice.", remedy="Give each record once.")
    folder.mkdir(parents=True, exist_ok=True)
    for path in _markdown_files(folder):
        if path.name not in contents and _is_export(path):
            path.unlink()
    replace_file(folder / HISTORY_FILE, (f"{line.to_json()}\n".encode() for line in _history_lines(given)))
    for name, content in contents.items():
        replace_file(folder / name, [content.encode()])
    return tuple(folder / name for name in contents)


def read_memories_folder(folder: str | Path) -> LoadedMemories:
    """Read the Markdown files of a folder, by name. What is malformed is a problem, the rest is read.

    Links are not followed. A file whose earlier revisions are missing is read as a first revision, and a
    problem says so. An embedding counts only for the very text that it was made of.

    Raises:
        OSError: When the folder cannot be read.
    """
    folder = Path(folder)
    problems: list[DocumentError] = []
    history = _history(folder / HISTORY_FILE, problems)
    records: dict[str, MemoryRecord] = {}
    for path in _markdown_files(folder):
        try:
            record_id, scope, newest = from_markdown(_content(path))
            record = _whole(record_id, scope, newest, history)
        except (InvalidInputError, OSError) as error:
            reason = error.problem.rstrip(".") if isinstance(error, InvalidInputError) else str(error.strerror)
            problems.append(_problem(path, reason))
            continue
        if records.setdefault(record_id, record) is not record:
            problems.append(_problem(path, f"the id {shown(record_id)} stands twice"))
        elif len(record.revisions) < newest.revision:
            lacking = f"the {newest.revision - 1:,} revisions before it are not in {HISTORY_FILE}"
            problems.append(_problem(path, f"{lacking}; it was read as the first"))
    return LoadedMemories(tuple(records.values()), tuple(problems))


def _whole(record_id: str, scope: MemoryScope, newest: MemoryRevision, history: _History) -> MemoryRecord:
    """Put a record together of its newest revision and those before it."""
    known = history.get((record_id, newest.revision))
    if known is not None and known.digest == newest.digest:
        newest = newest.model_copy(update={"embedding": known.embedding})
    before = []
    for number in range(1, newest.revision):
        earlier = history.get((record_id, number))
        if earlier is None:
            return MemoryRecord(
                id=record_id, scope=scope, revisions=(newest.model_copy(update={"revision": 1}),)
            )
        before.append(earlier)
    return MemoryRecord(id=record_id, scope=scope, revisions=(*before, newest))


def _history_lines(records: Iterable[MemoryRecord]) -> Iterator[HistoryLine]:
    for record in records:
        for revision in record.revisions:
            if revision is not record.latest or revision.embedding is not None:
                yield HistoryLine(id=record.id, revision=revision)


def _history(path: Path, problems: list[DocumentError]) -> _History:
    found: dict[tuple[str, int], MemoryRevision] = {}
    if path.is_symlink() or not path.is_file():
        return found
    for number, line in read_lines(path, HistoryLine):
        if isinstance(line, HistoryLine):
            found[line.id, line.revision.revision] = line.revision
        else:
            problems.append(_problem(path, f"line {number}: {line}"))
    return found


def _markdown_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix == ".md")


def _content(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        raise InvalidInputError("it is a link or no file")
    with path.open("rb") as file:
        content = file.read(LINE_BYTES + 1)
    if len(content) > LINE_BYTES:
        raise InvalidInputError(f"it is longer than {LINE_BYTES:,} bytes")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise InvalidInputError("it is not UTF-8") from None


def _is_export(path: Path) -> bool:
    """Whether a file is one that an export wrote, by the name that its id gives it."""
    try:
        return file_name(from_markdown(_content(path))[0]) == path.name
    except (InvalidInputError, OSError):
        return False


def _problem(path: Path, reason: str) -> DocumentError:
    return DocumentError(f"{path.name}: {reason}.", remedy=_REMEDY, name=path.name)
