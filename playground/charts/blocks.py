"""Included and omitted tokens of each kind of block: one bar a kind, its colour first and then grey."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from playground.charts.frame import Row, standalone, stored_spec
from playground.views.blocks import BlocksView, KindRow
from playground.views.palette import Theme

if TYPE_CHECKING:
    import altair as alt

__all__ = ["HEIGHT", "chart", "rows", "spec"]

KINDS = 9
HEAD = 22  # px for the column heads
ROW_HEIGHT = 24  # px
HEIGHT = HEAD + KINDS * ROW_HEIGHT  # px with every kind
BAR_HEIGHT = 12  # px
GUTTER = 104  # px for row names, left of the bars
COLUMNS = (("included", 178), ("included_tokens", 116), ("omitted", 66), ("omitted_tokens", 0))
"""Number columns and their distance from the right edge, in px."""
HEADS = {"included": "in", "included_tokens": "tokens", "omitted": "out", "omitted_tokens": "tokens"}
NUMBERS = 216  # px for all of them
GAP = 0.004  # between the two parts of a bar, in parts of the scale


def rows(view: BlocksView) -> list[Row]:
    """Return the chart's rows."""
    found = [_row("row", HEAD / 2, **HEADS)]
    for number, kind in enumerate(view.rows):
        found += _rows_of(kind, HEAD + (number + 0.5) * ROW_HEIGHT)
    return found


@lru_cache
def spec(kinds: int = KINDS) -> dict[str, Any]:
    """Return the specification without data, as high as this number of kinds needs; not to be changed."""
    return {**stored_spec("blocks"), "height": HEAD + kinds * ROW_HEIGHT}


def chart(view: BlocksView, *, theme: Theme = "light", width: int = 480) -> alt.LayerChart:
    """Return the chart for a notebook, bars and numbers ``width`` px wide."""
    return standalone(
        spec(len(view.rows)),
        rows(view),
        title="Blocks by kind",
        caption=f"{view.head}; omitted ones grey",
        theme=theme,
        width=width,
    )


def _rows_of(kind: KindRow, y: float) -> Iterator[Row]:
    numbers = {name: f"{getattr(kind, name):,}" for name, _ in COLUMNS}
    yield _row("row", y, name=kind.name, strong="ink", **numbers)
    if kind.included:
        text = f"{kind.name}: {kind.included:,} in, {kind.included_tokens:,} tokens"
        yield _row("bar", y, x1=kind.included_end, slot=kind.slot, description=text)
    if kind.omitted:
        start = kind.included_end + (GAP if kind.included else 0.0)
        text = f"{kind.name}: {kind.omitted:,} out, {kind.omitted_tokens:,} tokens"
        end = max(start, kind.omitted_end)
        yield _row("bar", y, x0=start, x1=end, slot="excluded", description=text)


def _row(mark: str, y: float, **values: Any) -> Row:
    blank = {"x0": 0.0, "x1": 0.0, "slot": "ink", "name": "", "description": ""}
    columns = {name: "" for name, _ in COLUMNS}
    return {"mark": mark, "y": y, **blank, **columns, "quiet": "secondary", "strong": "secondary", **values}
