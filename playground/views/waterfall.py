"""From the model's window to the pool that the kinds share, as two panels of rows.

The window panel shrinks the window to the budget; the pool panel shrinks the budget to what the kinds divide.
Each panel has its own scale, positions run from 0 to 1: on one scale the pool would be a few pixels wide.
"""

from __future__ import annotations

from dataclasses import dataclass

from playground.compiler.manifest import BudgetSummary, ContextManifest
from playground.compiler.values import KINDS
from playground.views.palette import Slot
from playground.views.words import KIND_LABELS, count, percent

__all__ = ["WaterfallBar", "WaterfallPanel", "WaterfallRow", "WaterfallView", "waterfall_view"]

CUT = 1.7  # multiples of the budget at which the limit that does not bind is cut off
WINDOW_ROWS = ("Window", "Output reserve", "Usable input", "Used", "Free", "Budget")


@dataclass(frozen=True, slots=True)
class WaterfallBar:
    """One bar, from ``start`` to ``end`` in parts of the panel's scale."""

    start: float
    end: float
    slot: Slot
    description: str


@dataclass(frozen=True, slots=True)
class WaterfallRow:
    """One row: its name, its exact number and its bars."""

    name: str
    tokens: int
    number: str
    bars: tuple[WaterfallBar, ...]
    cut: bool = False
    """Whether the bar goes on beyond the scale; its number stays exact."""
    strong: bool = True
    """Totals are strong, deductions are not."""
    edge: float | None = None
    """Where the line to the next row stands; ``None`` for no line."""


@dataclass(frozen=True, slots=True)
class WaterfallPanel:
    """One panel."""

    title: str
    caption: str
    rows: tuple[WaterfallRow, ...]


@dataclass(frozen=True, slots=True)
class WaterfallView:
    """Both panels; numbers in tokens."""

    window: WaterfallPanel
    pool: WaterfallPanel


def waterfall_view(manifest: ContextManifest, *, context_window: int) -> WaterfallView:
    """Return both panels for one compile.

    Args:
        manifest: The compile.
        context_window: The model's window, in tokens; the reserve is what the input limit leaves of it.
    """
    return WaterfallView(
        window=_window_panel(manifest.budget, context_window), pool=_pool_panel(manifest, manifest.budget)
    )


def _window_panel(budget: BudgetSummary, window: int) -> WaterfallPanel:
    free = max(0, budget.input_tokens - budget.used_tokens)
    scale = max(window, 1)

    def total(name: str, tokens: int, slot: Slot = "total", edge: float | None = None) -> WaterfallRow:
        return _row(name, tokens, 0, tokens / scale, slot, edge=edge)

    def less(name: str, tokens: int, left: int) -> WaterfallRow:
        ends = (min(1.0, left / scale), min(1.0, (left + tokens) / scale))
        return _row(name, -tokens, *ends, "secondary", strong=False, edge=ends[0])

    names = WINDOW_ROWS
    return WaterfallPanel(
        title="Window",
        caption="what the model accepts, down to what this compile may add",
        rows=(
            total(names[0], window, edge=1.0),
            less(names[1], window - budget.input_tokens, budget.input_tokens),
            total(names[2], budget.input_tokens, edge=budget.input_tokens / scale),
            less(names[3], budget.used_tokens, free),
            total(names[4], free),
            total(names[5], budget.context_tokens, "ink"),
        ),
    )


def _pool_panel(manifest: ContextManifest, budget: BudgetSummary) -> WaterfallPanel:
    free = max(0, budget.input_tokens - budget.used_tokens)
    ratio_tokens = int(budget.ratio * free)
    scale = max(1.0, min(CUT * budget.context_tokens, max(ratio_tokens, budget.max_tokens)))
    lines = sum(
        entry.tokens
        for entry in manifest.entries
        if entry.kind == "working-memory" and entry.reason == "ranked"
    )
    start = budget.context_tokens
    limits = (
        (f"{percent(budget.ratio)} of free", ratio_tokens, ratio_tokens <= budget.max_tokens),
        ("Max tokens", budget.max_tokens, budget.max_tokens < ratio_tokens),
    )
    edge = start / scale
    rows = [
        _row(
            name,
            tokens,
            0,
            min(1.0, tokens / scale),
            "ink" if binds else "total",
            cut=tokens > scale,
            edge=edge,
        )
        for name, tokens, binds in limits
    ]
    deductions: tuple[tuple[str, int, Slot], ...] = (
        ("Mandatory", budget.required_tokens, "mandatory"),  # with the text of the blocks that hold it
        ("Other block text", budget.frame_tokens, "secondary"),
        ("Working memory", lines, "working-memory"),
    )
    for name, tokens, slot in deductions:
        left = max(0, start - tokens)
        rows.append(_row(name, -tokens, left / scale, start / scale, slot, strong=False, edge=left / scale))
        start = left
    rows.append(_pool_row(budget, scale))
    return WaterfallPanel(title="Pool", caption="what the budget leaves for the sources", rows=tuple(rows))


def _pool_row(budget: BudgetSummary, scale: float) -> WaterfallRow:
    bars = []
    start = 0
    for kind in KINDS:
        tokens = budget.shares[kind]
        if tokens:
            text = f"{KIND_LABELS[kind]} share: {count(tokens)} tokens"
            bars.append(WaterfallBar(start / scale, (start + tokens) / scale, kind, text))
            start += tokens
    if (spare := budget.rest_tokens - start) > 0:
        text = f"Given to no kind: {count(spare)} tokens"
        bars.append(WaterfallBar(start / scale, budget.rest_tokens / scale, "total", text))
    return WaterfallRow("Pool", budget.rest_tokens, count(budget.rest_tokens), tuple(bars))


def _row(
    name: str,
    tokens: int,
    start: float,
    end: float,
    slot: Slot,
    *,
    cut: bool = False,
    strong: bool = True,
    edge: float | None = None,
) -> WaterfallRow:
    bar = WaterfallBar(start, end, slot, f"{name}: {count(tokens)} tokens")
    return WaterfallRow(name, tokens, count(tokens), (bar,), cut=cut, strong=strong, edge=edge)
