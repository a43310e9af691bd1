"""Memories as JSONL: one record a line, with all its revisions. Nothing is lost on the way there and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal

from playground.errors import DocumentError
from playground.memory.exchange import LoadedMemories, read_lines, replace_file
from playground.memory.records import MemoryRecord
from playground.values import RecordedValue, shown

__all__ = ["MemoryLine", "memory_lines", "read_memories_jsonl", "write_memories_jsonl"]


class MemoryLine(RecordedValue):
    """One line, format version 1."""

    version: Literal[1] = 1
    """Version of the recorded format."""
    memory: MemoryRecord
    """The record."""


def write_memories_jsonl(records: Iterable[MemoryRecord], path: str | Path) -> None:
    """Write records, one a line, in their order; a file that is there is replaced as a whole.

    Raises:
        OSError: When the file cannot be written.
    """
    replace_file(Path(path), memory_lines(records))


def memory_lines(records: Iterable[MemoryRecord]) -> Iterator[bytes]:
    """Yield the lines of such a file, each with its end."""
    return (f"{MemoryLine(memory=record).to_json()}\n".encode() for record in records)


def read_memories_jsonl(path: str | Path) -> LoadedMemories:
    """Read what ``write_memories_jsonl`` wrote. A malformed line is a problem, the others are read. O(bytes).

    Raises:
        OSError: When the file cannot be read.
    """
    path = Path(path)
    records: dict[str, MemoryRecord] = {}
    problems: list[DocumentError] = []
    for number, line in read_lines(path, MemoryLine):
        if isinstance(line, MemoryLine) and line.memory.id not in records:
            records[line.memory.id] = line.memory
            continue
        problem = line if isinstance(line, str) else f"the id {shown(line.memory.id)} stands twice"
        problems.append(
            DocumentError(
                f"{path.name}, line {number}: {problem}.",
                remedy="Mend the line and import the file again; the others were read.",
                name=path.name,
            )
        )
    return LoadedMemories(tuple(records.values()), tuple(problems))
