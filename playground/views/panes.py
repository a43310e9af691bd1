"""Two of the panes that show one compile side by side: cards and manifest; the third is ``xml_pane``.

Each pane gets rows with finished words and numbers, joined by the record key, so that one selected record can
be marked in all of them. Pure; rows keep the manifest's order, excluded cards go by score.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from playground.compiler.manifest import ManifestEntry, Reason
from playground.compiler.values import ContextPackage
from playground.views.direction import without_overrides
from playground.views.palette import Slot
from playground.views.record_key import record_key
from playground.views.record_text import PLAIN_KINDS, RecordText, RecordTexts
from playground.views.words import KIND_LABELS, KIND_ORDER, count, entry_slot, plural, score

__all__ = [
    "Card",
    "CardGroup",
    "CardsView",
    "ManifestRow",
    "ManifestView",
    "Shown",
    "cards_view",
    "manifest_view",
    "missing_note",
]

Shown = Literal["all", "selected", "excluded"]
EXCLUDED_SHOWN = 100  # rows of the excluded list; the manifest holds all


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """One entry of the manifest; also a line of the excluded cards."""

    key: str
    slot: Slot
    title: str
    source: str
    """``part 1 of <document>``, or where else the record comes from."""
    score: str
    """Empty for working memory, which is not ranked."""
    tokens: str
    reason: Reason
    selected: bool


@dataclass(frozen=True, slots=True)
class ManifestView:
    """All entries, in the manifest's order."""

    rows: tuple[ManifestRow, ...]
    totals: dict[Shown, str]
    """How many entries each filter shows: ``110 entries``."""

    @property
    def total(self) -> str:
        """How many there are."""
        return self.totals["all"]

    def row(self, key: str | None) -> ManifestRow | None:
        """Return the row of a record, the selected one where its id occurs twice."""
        found = [row for row in self.rows if row.key == key]
        return next((row for row in found if row.selected), found[0] if found else None)


@dataclass(frozen=True, slots=True)
class Card:
    """One selected record."""

    key: str
    slot: Slot
    title: str
    """Empty where the text is its own title."""
    body: str
    """The text without markup and empty lines, at most ``BODY_LENGTH`` long."""
    source: str
    score: str
    """Empty for working memory, which is not ranked."""
    tokens: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class CardGroup:
    """The selected records of one kind."""

    name: str
    slot: Slot
    total: str
    """``16 of 46 · 4,810 tokens``."""
    cards: tuple[Card, ...]


@dataclass(frozen=True, slots=True)
class CardsView:
    """Selected records by kind, then what was left out."""

    groups: tuple[CardGroup, ...]
    excluded: tuple[ManifestRow, ...]
    """The first ``EXCLUDED_SHOWN``, best score first."""
    excluded_total: str
    """``31 records``; empty when nothing was left out."""
    excluded_more: str
    """Where the others are; empty when all are shown."""
    total: str
    """``79 records``."""


def manifest_view(package: ContextPackage, texts: RecordTexts) -> ManifestView:
    """Return one row an entry. O(n).

    Args:
        package: The compile.
        texts: Every offered record in words, as ``record_texts`` gives them.
    """
    rows = tuple(_row(entry, texts) for entry in package.manifest.entries)
    selected = sum(row.selected for row in rows)
    sizes: dict[Shown, int] = {"all": len(rows), "selected": selected, "excluded": len(rows) - selected}
    return ManifestView(rows, {shown: plural(size, ("entry", "entries")) for shown, size in sizes.items()})


def cards_view(package: ContextPackage, texts: RecordTexts) -> CardsView:
    """Return the selected records grouped by kind and the best of the excluded ones. O(n log n)."""
    entries = package.manifest.entries
    groups = []
    for kind in KIND_ORDER:
        offered = [entry for entry in entries if entry.kind == kind]
        chosen = [entry for entry in offered if entry.selected]
        if chosen:
            tokens = sum(entry.tokens for entry in chosen)
            total = f"{count(len(chosen))} of {count(len(offered))} · {plural(tokens, 'token')}"
            cards = tuple(_card(entry, texts) for entry in chosen)
            groups.append(CardGroup(KIND_LABELS[kind], kind, total, cards))
    excluded = sorted((entry for entry in entries if not entry.selected), key=_by_score)
    more = len(excluded) - EXCLUDED_SHOWN
    return CardsView(
        groups=tuple(groups),
        excluded=tuple(_row(entry, texts) for entry in excluded[:EXCLUDED_SHOWN]),
        excluded_total=plural(len(excluded), "record") if excluded else "",
        excluded_more=f"{count(more)} more on Explain" if more > 0 else "",
        total=plural(len(entries) - len(excluded), "record"),
    )


def missing_note(view: ManifestView, selected: str | None) -> tuple[str, str, str] | None:
    """Say why the selected record is not in the request; ``None`` when it is, or nothing is selected.

    Returns:
        What stands before the record's title, the title, and what follows: a title is foreign text, whose
        writing direction must not spread to the sentence around it.
    """
    row = view.row(selected)
    if row is None or row.selected:
        return None
    return (f"Not in the request ({row.reason}): ", row.title, f", {row.tokens} tokens")


def _row(entry: ManifestEntry, texts: RecordTexts) -> ManifestRow:
    text = _text(entry, texts)
    return ManifestRow(
        key=text.key,
        slot=entry_slot(entry),
        title=text.title,
        source=text.source,
        score="" if entry.score is None else score(entry.score),
        tokens=count(entry.tokens),
        reason=entry.reason,
        selected=entry.selected,
    )


def _card(entry: ManifestEntry, texts: RecordTexts) -> Card:
    text = _text(entry, texts)
    return Card(
        key=text.key,
        slot=entry_slot(entry),
        title="" if entry.kind in PLAIN_KINDS and text.body else text.title,
        body=text.body,
        source=text.source,
        score="" if entry.score is None else score(entry.score),
        tokens=count(entry.tokens),
        reason=entry.reason,
    )


def _text(entry: ManifestEntry, texts: RecordTexts) -> RecordText:
    # A manifest may outlive its texts (it is kept, they are forgotten): then the id is all there is.
    known = texts.get((entry.source, entry.record_id))
    return known or RecordText(
        record_key(entry.source, entry.record_id), without_overrides(entry.record_id), entry.source, ""
    )


def _by_score(entry: ManifestEntry) -> float:
    return 0.0 if entry.score is None else -entry.score
