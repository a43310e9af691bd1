"""The manifest as a table that can be filtered and sorted: one row an entry."""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from playground.compiler.manifest import ContextManifest, ManifestEntry, Reason
from playground.views.direction import without_overrides
from playground.views.palette import Slot
from playground.views.panes import Shown
from playground.views.record_text import RecordTexts
from playground.views.words import KIND_LABELS, entry_slot, plural, sentence_case

__all__ = ["EntriesTable", "entries_table"]


@dataclass(frozen=True, slots=True)
class EntriesTable:
    """The entries that a filter lets through."""

    frame: pd.DataFrame
    """Numbers stay numbers, so that the table sorts them; all else is finished text."""
    numbers: tuple[int, ...]
    """Which entry of the manifest each row is."""
    slots: tuple[Slot, ...]
    """The colour of each row: its kind's, and another one where it is mandatory or left out."""
    halves: tuple[bool, ...]
    """Whether each row was let in by reallocation, which half the tone tells."""
    total: str
    """``96 of 139 entries``."""


def entries_table(
    manifest: ContextManifest,
    texts: RecordTexts,
    *,
    shown: Shown = "all",
    reason: Reason | None = None,
    words: str = "",
) -> EntriesTable:
    """Return the entries that all filters let through, in the manifest's order.

    Args:
        manifest: The compile.
        texts: Every offered record in words.
        shown: All, selected or excluded ones.
        reason: Only those with this reason.
        words: Only those with all of these words in title, origin or id, upper and lower case alike.
    """
    wanted = words.casefold().split()
    numbers = []
    rows = []
    for number, entry in enumerate(manifest.entries):
        if shown != "all" and entry.selected != (shown == "selected"):
            continue
        if reason is not None and entry.reason != reason:
            continue
        title, origin = _words(entry, texts)
        if wanted and not all(word in f"{title} {origin} {entry.record_id}".casefold() for word in wanted):
            continue
        numbers.append(number)
        rows.append((title, KIND_LABELS[entry.kind], entry.score, entry.tokens, entry.reason, origin))
    frame = pd.DataFrame(rows, columns=["Record", "Kind", "Score", "Tokens", "Reason", "From"])
    total = plural(len(manifest.entries), ("entry", "entries"))
    entries = [manifest.entries[number] for number in numbers]
    return EntriesTable(
        frame=frame,
        numbers=tuple(numbers),
        slots=tuple(map(entry_slot, entries)),
        halves=tuple(entry.reason == "reallocated" for entry in entries),
        total=total if len(rows) == len(manifest.entries) else f"{len(rows):,} of {total}",
    )


def _words(entry: ManifestEntry, texts: RecordTexts) -> tuple[str, str]:
    text = texts.get((entry.source, entry.record_id))
    title, origin = (sentence_case(text.part_first), text.source) if text else (entry.record_id, entry.source)
    return without_overrides(title), without_overrides(origin)
