"""Taking memories from one place to another: what was read of them, and adding it to a session."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from playground.errors import DocumentError, InvalidRequestError
from playground.memory.records import MemoryRecord
from playground.memory.session import MemorySession
from playground.values import shown

__all__ = ["AddedMemories", "LoadedMemories", "add_memories", "bounded_lines", "replace_file"]

LINE_BYTES = 16_000_000  # longest line or text file that is read


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


def bounded_lines(file: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Yield line numbers from 1 and lines without their end; None for a longer line than is read."""
    number = 0
    while line := file.readline(LINE_BYTES + 1):
        number += 1
        if len(line) <= LINE_BYTES:
            yield number, line.removesuffix(b"\n").removesuffix(b"\r")
            continue
        while line and not line.endswith(b"\n"):
            line = file.readline(LINE_BYTES)
        yield number, None


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
