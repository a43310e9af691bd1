"""The header strip: what a compile used, what limits it, what it selected, how it counted, what it costs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from playground.compiler.binding import Binding, Limit
from playground.compiler.manifest import ContextManifest, EntryKind, Reason
from playground.views.palette import Slot
from playground.views.words import (
    KIND_LABELS,
    KIND_ORDER,
    REASONS,
    count,
    entry_slot,
    money,
    plural,
    signed_percent,
)

__all__ = ["LIMIT_NAMES", "StripCell", "StripSegment", "StripView", "strip_view"]

LIMIT_NAMES: dict[Limit, str] = {
    "max_tokens": "Max tokens",
    "ratio": "Ratio",
    "working_memory_tokens": "Working memory",
    "candidates": "Candidate limit",
    "mandatory": "Mandatory content",
    "room": "Window",
    "nothing": "Nothing",
}
REASON_NAMES: dict[Reason, str] = {reason: reason.replace("-", " ") for reason in REASONS}


@dataclass(frozen=True, slots=True)
class StripSegment:
    """A part of the used bar, in parts of the budget."""

    slot: Slot
    width: float
    description: str


@dataclass(frozen=True, slots=True)
class StripCell:
    """One cell: label, value, and a note in full and in short words for narrow pages."""

    label: str
    short_label: str
    value: str
    rest: str = ""
    """Follows the value in a lighter weight."""
    note: str = ""
    short_note: str = ""
    over: str = ""
    """A mark beside numbers that went beyond their limit."""


@dataclass(frozen=True, slots=True)
class StripView:
    """The strip's cells; ``segments`` belong to the first, which has a bar in place of a note."""

    cells: tuple[StripCell, ...]
    segments: tuple[StripSegment, ...]


def strip_view(
    manifest: ContextManifest,
    binding: Binding,
    *,
    estimator: str,
    tokenizer: str | None,
    error: float | None,
    cost: Decimal | None,
) -> StripView:
    """Return the strip of one compile.

    Args:
        manifest: The compile.
        binding: What limits it.
        estimator: Name of what counted.
        tokenizer: Name of the tokenizer it is measured against; ``None`` when that counted itself.
        error: (estimated − counted) / counted against that tokenizer.
        cost: US dollars for the input of one call; ``None`` when no price is known.
    """
    budget = manifest.budget
    left_out = Counter(entry.reason for entry in manifest.entries if not entry.selected)
    reasons = [f"{count(number)} {REASON_NAMES[reason]}" for reason, number in left_out.most_common()]
    selected = len(manifest.entries) - left_out.total()
    total = budget.used_tokens + budget.selected_tokens
    cells = (
        StripCell(
            "Used / budget",
            "Used / budget",
            count(budget.selected_tokens),
            f" / {count(budget.context_tokens)}",
            over="over" if budget.selected_tokens > budget.context_tokens else "",
        ),
        StripCell("What binds", "What binds", LIMIT_NAMES[binding.limit], "", *_binding_note(binding)),
        StripCell(
            "Selected / excluded",
            "In / out",
            count(selected),
            f" / {count(left_out.total())}",
            ", ".join(reasons) or "nothing left out",
            reasons[0] if reasons else "all in",
        ),
        StripCell("Estimator", "Estimator", estimator, "", *_error_note(tokenizer, error)),
        StripCell(
            "Cost per call",
            "Cost per call",
            money(cost),
            "",
            f"{plural(total, 'input token')}{'' if cost is not None else ', no price known'}",
            f"{count(total)} in",
        ),
    )
    return StripView(cells=cells, segments=_segments(manifest))


def _binding_note(binding: Binding) -> tuple[str, str]:
    match binding.limit:
        case "max_tokens":
            number = count(binding.ratio_tokens)
            return f"ratio would allow {number}", f"ratio {number}"
        case "ratio":
            number = count(binding.max_tokens)
            return f"max tokens would allow {number}", f"max tokens {number}"
        case "working_memory_tokens":
            number = count(binding.left_out_for_budget.get("working-memory", 0))
            return f"{number} of its lines left out", f"{number} lines out"
        case "candidates":
            number = count(binding.left_out.get("limit", 0))
            return f"{number} records beyond it", f"{number} beyond"
        case "mandatory":
            return "takes the whole budget", "takes all"
        case "room":
            return "the request fills it", "is full"
    return "everything offered fits", "all fits"


def _error_note(tokenizer: str | None, error: float | None) -> tuple[str, str]:
    if tokenizer is None or error is None:
        return "counts real tokens", "real tokens"
    return f"{signed_percent(error)} against {tokenizer}", f"{signed_percent(error)} error"


def _segments(manifest: ContextManifest) -> tuple[StripSegment, ...]:
    budget = manifest.budget
    scale = max(1, budget.context_tokens, budget.selected_tokens)
    tokens: Counter[Slot] = Counter()
    for entry in manifest.entries:
        if entry.selected:
            tokens[entry_slot(entry)] += entry.tokens
    out = [
        StripSegment(slot, tokens[slot] / scale, f"{_name(slot)}: {count(tokens[slot])} tokens")
        for slot in _SEGMENT_ORDER
        if tokens[slot]
    ]
    frames = budget.selected_tokens - tokens.total()
    if frames > 0:
        out.append(StripSegment("total", frames / scale, f"Block text: {count(frames)} tokens"))
    return tuple(out)


def _name(slot: EntryKind | Literal["mandatory"]) -> str:
    return "Mandatory" if slot == "mandatory" else KIND_LABELS[slot]


_SEGMENT_ORDER: tuple[EntryKind | Literal["mandatory"], ...] = ("mandatory", *KIND_ORDER)
