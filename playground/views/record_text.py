"""A record's text and names as people read them: flattened, cut, titled.

Pure. What comes in is untrusted text; what goes out is still plain text and never markup.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from playground.compiler.manifest import EntryKind, ManifestEntry
from playground.compiler.rendering import WORKING_MEMORY_SOURCE
from playground.compiler.values import SourceResult
from playground.retrieval.borders import cluster_border
from playground.working_memory.rendering import memory_lines
from playground.working_memory.snapshot import WorkingMemorySnapshot

if TYPE_CHECKING:
    from playground.workspace import RecordLabel

__all__ = ["PLAIN_KINDS", "Labels", "Texts", "flatten", "record_source", "record_texts", "record_title"]

Labels = Callable[[str, str], "RecordLabel"]
"""Title, origin and part of a record, by source and record id."""
Texts = Mapping[tuple[str, str], str]
BODY_LENGTH = 1_200  # code points of a card's text: twelve lines of the widest card
TITLE_LENGTH = 160  # code points of a text that stands in for a title
PLAIN_KINDS: frozenset[EntryKind] = frozenset({"working-memory", "memory", "transcript"})
"""Kinds whose records are a sentence or two: their cards have no title."""

_MARKS = re.compile(r"^\s*(?:#{1,6}\s+|>\s?)|\*\*|__|`", re.MULTILINE)


def record_texts(
    results: Sequence[SourceResult], working_memory: WorkingMemorySnapshot | None
) -> dict[tuple[str, str], str]:
    """Return every offered text by source and record id; the first of two equal ids stands."""
    texts: dict[tuple[str, str], str] = {}
    if working_memory is not None:
        for line in memory_lines(working_memory):
            texts[(WORKING_MEMORY_SOURCE, line.record_id)] = line.text
    for result in results:
        for candidate in result.candidates:
            texts.setdefault((result.source_id, candidate.record_id), candidate.text)
    return texts


def flatten(text: str, length: int = BODY_LENGTH) -> str:
    """Return text without Markdown marks, empty lines and runs of spaces, cut between characters."""
    cut = text[: 4 * length]  # marks and spaces fall away, so more than the length is read
    lines = (" ".join(line.split()) for line in _MARKS.sub("", cut).splitlines())
    flat = "\n".join(line for line in lines if line)
    if len(flat) <= length and len(text) <= len(cut):
        return flat
    return flat[: cluster_border(flat, min(length, len(flat)), 0)].rstrip() + "…"


def record_title(entry: ManifestEntry, texts: Texts, label: RecordLabel) -> str:
    """Name a record by its text where that is a sentence or two, else by its title, else by its id."""
    text = texts.get((entry.source, entry.record_id), "")
    if text and (entry.kind in PLAIN_KINDS or not label.title.strip()):
        return " ".join(flatten(text, TITLE_LENGTH).splitlines())
    return " ".join(label.title.split()) or entry.record_id


def record_source(label: RecordLabel) -> str:
    """Say where a record comes from: ``part 1 of <document>``."""
    return " of ".join(part for part in (label.part, label.origin) if part)
