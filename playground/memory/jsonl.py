"""Memories as JSONL: one record a line, with all its revisions. Nothing is lost on the way there and back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Literal

from playground.errors import DocumentError, InvalidInputError
from playground.memory.exchange import LINE_BYTES, LoadedMemories, bounded_lines, replace_file
from playground.memory.records import MemoryRecord
from playground.values import RecordedValue, shown

__all__ = ["MemoryLine", "read_memories_jsonl", "write_memories_jsonl"]

_BOM = b"\xef\xbb\xbf"


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
    replace_file(Path(path), (f"{MemoryLine(memory=record).to_json()}\n".encode() for record in records))


def read_memories_jsonl(path: str | Path) -> LoadedMemories:
    """Read what ``write_memories_jsonl`` wrote. A malformed line is a problem, the others are read. O(bytes).

    Raises:
        OSError: When the file cannot be read.
    """
    path = Path(path)
    records: dict[str, MemoryRecord] = {}
    problems: list[DocumentError] = []
    with path.open("rb") as file:
        for number, record in _lines(file):
            if isinstance(record, MemoryRecord) and record.id not in records:
                records[record.id] = record
                continue
            problem = record if isinstance(record, str) else f"the id {shown(record.id)} stands twice"
            problems.append(
                DocumentError(
                    f"{path.name}, line {number}: {problem}.",
                    remedy="Mend the line and import the file again; the others were read.",
                    name=path.name,
                )
            )
    return LoadedMemories(tuple(records.values()), tuple(problems))


def _lines(file: BinaryIO) -> Iterator[tuple[int, MemoryRecord | str]]:
    """Yield the record of each line that is not blank, or what is wrong with it."""
    for number, line in bounded_lines(file):
        if line is None:
            yield number, f"it is longer than {LINE_BYTES:,} bytes"
            continue
        content = line.removeprefix(_BOM) if number == 1 else line
        if not content.strip():
            continue
        try:
            yield number, MemoryLine.from_json(content).memory
        except InvalidInputError as error:
            yield number, error.problem.rstrip(".")
