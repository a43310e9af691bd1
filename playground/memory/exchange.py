"""Taking memories from one place to another: what was read of them, and adding it to a session."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from playground.errors import DocumentError, InvalidInputError, InvalidRequestError
from playground.memory.records import MemoryRecord
from playground.memory.session import MemorySession
from playground.values import RecordedValue, shown

__all__ = ["AddedMemories", "LoadedMemories", "add_memories", "read_lines", "replace_file"]

LINE_BYTES = 16_000_000  # longest line or text file that is read
_BOM = b"\xef\xbb\xbf"
_Line = TypeVar("_Line", bound=RecordedValue)


@dataclass(frozen=True, slots=True)
class LoadedMemories:
    """What was read.

    Attributes:
        records: In the order in which they were found, each id once.
        problems: What could not be read, or not wholly, in that order; each names file and line.
    """

    records: tuple[MemoryRecord, ...] = ()
    problems: tuple[DocumentError, ...] = ()


@dataclass(frozen=True, slots=True)
class AddedMemories:
    """What became of records that were to be added.

    Attributes:
        added: Ids that are new in the store.
        unchanged: Ids that the store held with the very same revisions.
        problems: What was not added, and why.
    """

    added: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    problems: tuple[DocumentError, ...] = ()


async def add_memories(session: MemorySession, records: Iterable[MemoryRecord]) -> AddedMemories:
    """Add records with all their revisions, as they are, to a session's store.

    A file does not choose whose memory it is: records of another scope than the session's are not added. Nor
    are those whose id was given out before, also to a record that was forgotten since.

    Args:
        session: Whose memory they become.
        records: What was read of a file, for example.
    """
    added, unchanged, problems = [], [], []
    for record in records:
        problem = ""
        if not record.scope.matches(session.scope):
            problem = f"The memory {shown(record.id)} is of another scope."
        elif await session.store.get(record.id, scope=session.scope) == record:
            unchanged.append(record.id)
        else:
            try:
                await session.store.insert(record)
                added.append(record.id)
            except InvalidRequestError as error:
                problem = error.problem
        if problem:
            remedy = "Change it in the file, and import it again."
            problems.append(DocumentError(problem, remedy=remedy, name=shown(record.id)))
    return AddedMemories(tuple(added), tuple(unchanged), tuple(problems))


def read_lines(path: Path, kind: type[_Line]) -> Iterator[tuple[int, _Line | str]]:
    """Yield the number, from 1, of each line that is not blank, and its value or what is wrong with it.

    Args:
        path: A file of JSON Lines; a byte order mark at its start is passed over.
        kind: What a line holds.

    Raises:
        OSError: When the file cannot be read.
    """
    for number, line in _bounded_lines(path):
        if line is None:
            yield number, f"it is longer than {LINE_BYTES:,} bytes"
        elif (content := line.removeprefix(_BOM) if number == 1 else line).strip():
            try:
                yield number, kind.from_json(content)
            except InvalidInputError as error:
                yield number, error.problem.rstrip(".")


def replace_file(path: Path, parts: Iterable[bytes]) -> None:
    """Write a file so that it holds either all of this, or what it held before; it is on disk then.

    Raises:
        OSError: When it cannot be written.
    """
    unfinished = path.with_name(f"{path.name}.part")
    try:
        with unfinished.open("wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _bounded_lines(path: Path) -> Iterator[tuple[int, bytes | None]]:
    """Yield line numbers from 1 and lines; None for a longer line than is read."""
    number = 0
    with path.open("rb") as file:
        while line := file.readline(LINE_BYTES + 1):
            number += 1
            if len(line) <= LINE_BYTES:
                yield number, line
                continue
            while line and not line.endswith(b"\n"):
                line = file.readline(LINE_BYTES)
            yield number, None
