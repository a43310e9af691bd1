"""How numbers, kinds and reasons are written, everywhere the same.

Whole tokens with thousands separators, a true minus sign, percentages with one decimal, scores with two.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Final, get_args

from playground.borders import cluster_border
from playground.compiler.manifest import EntryKind, ManifestEntry, Reason
from playground.views.palette import Slot

__all__ = [
    "KIND_LABELS",
    "KIND_NOUNS",
    "KIND_ORDER",
    "MINUS",
    "REASONS",
    "Sentence",
    "count",
    "entry_slot",
    "joined",
    "marked",
    "money",
    "percent",
    "plural",
    "score",
    "sentence_case",
    "shortened",
    "signed",
    "signed_percent",
]

Sentence = tuple[tuple[str, bool], ...]
"""Texts, and whether each is bold."""
MINUS: Final = "−"
KIND_ORDER: tuple[EntryKind, ...] = get_args(EntryKind)
"""Working memory first, then the kinds of sources; the order of every chart, group and legend."""
REASONS: tuple[Reason, ...] = get_args(Reason)
KIND_LABELS: dict[EntryKind, str] = {
    "working-memory": "Working memory",
    "memory": "Memory",
    "rag": "Documents",
    "transcript": "Past chats",
    "skills": "Skills",
}
KIND_NOUNS: dict[EntryKind, tuple[str, str]] = {
    "working-memory": ("working-memory line", "working-memory lines"),
    "memory": ("memory", "memories"),
    "rag": ("document", "documents"),
    "transcript": ("chat turn", "chat turns"),
    "skills": ("skill", "skills"),
}


def count(value: int) -> str:
    """Write a whole number: ``8,192`` or ``−31,412``."""
    return f"{MINUS}{-value:,}" if value < 0 else f"{value:,}"


def signed(value: int) -> str:
    """Write a change: ``+2,181``, ``−416`` or ``0``."""
    return f"+{value:,}" if value > 0 else count(value)


def percent(part: float) -> str:
    """Write a part of one as a percentage: ``25.0%``."""
    return f"{part:.1%}"


def signed_percent(part: float) -> str:
    """Write a relative change: ``+4.1%``, ``−0.3%`` or ``0.0%``."""
    text = f"{abs(part):.1%}"
    if text == "0.0%":
        return text
    return f"{'+' if part > 0 else MINUS}{text}"


def score(value: float) -> str:
    """Write a relevance: ``0.62``."""
    return f"{value:.2f}".replace("-", MINUS)


def money(dollars: Decimal | None) -> str:
    """Write what one call costs with four decimals, ``$0.1978``; an en dash where no price is known."""
    return "–" if dollars is None else f"${dollars:,.4f}"


def plural(number: int, noun: tuple[str, str] | str) -> str:
    """Write a number with its noun: ``1 candidate``, ``96 candidates``."""
    one, many = (noun, f"{noun}s") if isinstance(noun, str) else noun
    return f"{number:,} {one if number == 1 else many}"


def joined(names: Iterable[str]) -> str:
    """Join names for a sentence: ``a``, ``a and b``, ``a, b and c``."""
    *head, last = list(names) or [""]
    return f"{', '.join(head)} and {last}" if head else last


def sentence_case(text: str) -> str:
    """Return a text as it stands at the start of a sentence."""
    return text[:1].upper() + text[1:]


def shortened(text: str, length: int, *, more: bool = False) -> str:
    """Return a text, or its beginning and an ellipsis where it is longer than there is room for.

    Args:
        text: Any text; no character that people see as one is torn.
        length: Code points that are kept at most, without the ellipsis.
        more: Whether the text goes on behind what is given.
    """
    if len(text) <= length and not more:
        return text
    return text[: cluster_border(text, min(length, len(text)), 0)].rstrip() + "…"


def marked(text: str) -> Sentence:
    """Read a text of our own as a sentence: what stands between double stars is bold."""
    return tuple((part, number % 2 == 1) for number, part in enumerate(text.split("**")))


def entry_slot(entry: ManifestEntry) -> Slot:
    """Return an entry's colour: mandatory and excluded before its kind."""
    if not entry.selected:
        return "excluded"
    return "mandatory" if entry.reason == "mandatory" else entry.kind
