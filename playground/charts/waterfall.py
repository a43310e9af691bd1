"""The waterfall's two panels: horizontal bars, each row from where the one above ended."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import altair as alt

from playground.charts.frame import Row, framed, only, rows_of_page, side_by_side, slot_colour, text_mark
from playground.views.palette import Theme
from playground.views.waterfall import WaterfallPanel, WaterfallRow, WaterfallView

__all__ = ["HEIGHT", "chart", "rows", "spec"]

ROWS = 6
ROW_HEIGHT = 23  # px
HEIGHT = ROWS * ROW_HEIGHT
BAR_HEIGHT = 12  # px
GUTTER = 112  # px for row names, left of the bars
NUMBERS = 76  # px for the numbers, right of the bars
# A bar that goes on beyond the scale ends early and in two short stubs, in parts of the scale.
CUT_END = 0.92
STUBS = ((0.932, 0.954), (0.966, 1.0))


def rows(panel: WaterfallPanel) -> list[Row]:
    """Return one panel as chart rows."""
    return [row for index, item in enumerate(panel.rows) for row in _rows_of(index, item)]


@lru_cache(maxsize=1)
def spec() -> dict[str, Any]:
    """Return the specification of one panel, without data."""
    base = rows_of_page()
    x = alt.X("x0:Q", axis=None, scale=alt.Scale(domain=[0, 1], range=[0, {"expr": f"width-{NUMBERS}"}]))
    y = alt.Y("y0:Q", axis=None, scale=alt.Scale(domain=[0, ROWS], range=[0, HEIGHT]))
    described = alt.Description("description:N")
    links = (
        base.transform_filter(only("link"))
        .mark_rule(strokeWidth=1)
        .encode(x=x, y=y, y2="y1:Q", color=slot_colour("slot"))
    )
    bars = (
        base.transform_filter(only("bar"))
        .mark_bar(size=BAR_HEIGHT, cornerRadius=2, orient="horizontal")
        .encode(
            x=x,
            x2="x1:Q",
            y=y,
            color=slot_colour("slot"),
            description=described,
            tooltip=alt.Tooltip("description:N", title=" "),
        )
    )
    named = base.transform_filter(only("row"))
    names = text_mark(named, "name", align="left").encode(x=alt.value(-GUTTER), y=y, color=slot_colour("quiet"))
    numbers = text_mark(named, "number", align="right").encode(
        x=alt.value("width"), y=y, color=slot_colour("slot")
    )
    return framed(links, bars, names, numbers, height=HEIGHT)


def chart(view: WaterfallView, *, theme: Theme = "light", width: int = 420) -> alt.HConcatChart:
    """Return both panels beside each other, for a notebook.

    Args:
        view: The panels.
        theme: Which colours to use.
        width: Of one panel's bars and numbers, in px.
    """
    panels = {panel.title: rows(panel) for panel in (view.window, view.pool)}
    return side_by_side(spec(), panels, theme=theme, width=width)


def _rows_of(index: int, item: WaterfallRow) -> list[Row]:
    middle = index + 0.5
    out = [
        _row(
            "row",
            middle,
            name=item.name,
            number=item.number,
            slot="ink" if item.strong else "secondary",
        )
    ]
    if item.edge is not None:
        half = BAR_HEIGHT / ROW_HEIGHT / 2
        out.append(_row("link", middle - half, y1=middle + 1 + half, x0=item.edge, slot="total"))
    for bar in item.bars:
        spans = [(bar.start, bar.end)]
        if item.cut:
            spans = [(bar.start, CUT_END), *STUBS]
        out += [
            _row("bar", middle, x0=start, x1=end, slot=bar.slot, description=bar.description)
            for start, end in spans
            if end > start
        ]
    return out


def _row(mark: str, y0: float, **values: Any) -> Row:
    blank = {"x0": 0.0, "x1": 0.0, "y1": 0.0, "slot": "ink", "name": "", "number": "", "description": ""}
    return {"mark": mark, "y0": y0, **blank, **values, "quiet": "secondary"}
