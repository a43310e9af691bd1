"""What people read about a record whatever the budget: title, origin, flattened text.

Computed once per retrieval, so that a slider move only joins. Pure. What comes in is untrusted text; what goes
out is still plain text and never markup.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from playground.compiler.manifest import EntryKind
from playground.compiler.values import WORKING_MEMORY_SOURCE, SourceResult
from playground.escaping import replace_surrogates
from playground.views.record_key import record_key
from playground.views.words import shortened
from playground.working_memory.rendering import memory_lines
from playground.working_memory.snapshot import WorkingMemorySnapshot

if TYPE_CHECKING:
    from playground.workspace import RecordLabel

__all__ = ["PLAIN_KINDS", "Labels", "RecordText", "RecordTexts", "flatten", "record_texts", "title_line"]

Labels = Callable[[str, str], "RecordLabel"]
"""Title, origin and part of a record, by source and record id."""
BODY_LENGTH = 1_200  # code points of a card's text: twelve lines of the widest card
TITLE_LENGTH = 160  # code points of a text that stands in for a title
PLAIN_KINDS: frozenset[EntryKind] = frozenset({"working-memory", "memory", "transcript"})
"""Kinds whose records are a sentence or two: the text is its own title."""

_MARKS = re.compile(r"^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?)|\*\*|__|`", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RecordText:
    """One record in words."""

    key: str
    title: str
    """One line; a part of the text where the record has no title."""
    source: str
    """``part 1 of <document>``, or where else the record comes from."""
    body: str
    """The text without markup and empty lines, at most ``BODY_LENGTH`` long."""
    part: str = ""
    """``part 1``, where the title ends in it because several records have that title."""

    @property
    def part_first(self) -> str:
        """The title with the part in front, for narrow places that cut its end off."""
        return f"{self.part}: {self.title.removesuffix(f', {self.part}')}" if self.part else self.title


RecordTexts = Mapping[tuple[str, str], RecordText]
"""By source and record id."""


def record_texts(
    results: Sequence[SourceResult], working_memory: WorkingMemorySnapshot | None, labels: Labels
) -> dict[tuple[str, str], RecordText]:
    """Return every offered record in words; the first of two equal ids stands. O(characters)."""
    texts: dict[tuple[str, str], RecordText] = {}
    if working_memory is not None:
        for line in memory_lines(working_memory):
            pair = (WORKING_MEMORY_SOURCE, line.record_id)
            texts[pair] = _record_text(pair, "working-memory", line.text, labels(*pair))
    for result in results:
        for candidate in result.candidates:
            pair = (result.source_id, candidate.record_id)
            if pair not in texts:
                texts[pair] = _record_text(pair, result.kind, candidate.text, labels(*pair))
    return _told_apart(texts, labels)


def flatten(text: str, length: int = BODY_LENGTH) -> str:
    """Return text without Markdown marks, empty lines and runs of spaces, cut between characters."""
    cut = text[: 4 * length]  # marks and spaces fall away, so more than the length is read
    lines = (" ".join(line.split()) for line in _MARKS.sub("", cut).splitlines())
    return shortened("\n".join(line for line in lines if line), length, more=len(text) > len(cut))


def title_line(text: str) -> str:
    """Return a text as a title: one line of at most ``TITLE_LENGTH`` without Markdown marks."""
    return " ".join(flatten(replace_surrogates(text), TITLE_LENGTH).splitlines())


def _told_apart(texts: dict[tuple[str, str], RecordText], labels: Labels) -> dict[tuple[str, str], RecordText]:
    """Add the part to titles that several records have."""
    times = Counter(text.title for text in texts.values())
    return {
        pair: replace(text, title=f"{text.title}, {part}", part=part)
        if times[text.title] > 1 and (part := replace_surrogates(labels(*pair).part))
        else text
        for pair, text in texts.items()
    }


def _record_text(pair: tuple[str, str], kind: EntryKind, text: str, label: RecordLabel) -> RecordText:
    body = flatten(replace_surrogates(text))
    title, part, origin = map(replace_surrogates, (" ".join(label.title.split()), label.part, label.origin))
    if body and (kind in PLAIN_KINDS or not title):
        title = title_line(body)
    else:
        first, _, rest = body.partition("\n")
        body = rest if first.casefold() == title.casefold() and rest else body  # the card has it as its title
    source = " of ".join(name for name in (part, origin) if name)
    return RecordText(record_key(*pair), title or replace_surrogates(pair[1]), source, body)
