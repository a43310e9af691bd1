"""Evidence recall against tokens: one curve a search, named on the right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from playground.charts.frame import Row, side_by_side, standalone, stored_spec
from playground.retrieval.search import SearchMode
from playground.views.palette import Slot, Theme
from playground.views.recall import RecallCurve, RecallPoint, RecallView

if TYPE_CHECKING:
    import altair as alt

__all__ = ["HEIGHT", "MODES", "NAMES", "chart", "charts", "rows", "spec"]

MODES: dict[SearchMode, Slot] = {"hybrid": "ink", "dense": "secondary", "lexical": "total"}
"""The searches and their tones: hues belong to kinds of records."""
TOP = 10  # px above everything
CURVES = 170  # px from nothing to everything
NUMBERS = 24  # px for the limits' numbers below
HEIGHT = TOP + CURVES + NUMBERS
NAMES = 78  # px for the searches' names on the right
GUTTER = 10  # px between the numbers on the left and the curves
MARGIN = 0.05  # of the width, free before the smallest limit
LABEL_GAP = 16  # px between two names
LABEL_OFFSET = 16  # px between the largest limit and a name's mark
TEXT_OFFSET = 26  # px between the largest limit and a name
SIZE = 42  # square px of a point
NUMBER_SIZE = 11.5  # px
SHARES = ((0.0, "0%"), (0.5, "50%"), (1.0, "100%"))


def rows(view: RecallView) -> list[Row]:
    """Return the chart's rows, what lies below first."""
    found = [_row("grid", x0=0.0, y0=_height(part), slot="hairline", name=text) for part, text in SHARES]
    found += [_row("tick", x0=_across(tick.x), y0=HEIGHT - NUMBERS / 2, name=tick.text) for tick in view.ticks]
    found.append(_row("unit", y0=HEIGHT - NUMBERS / 2, name="tokens"))
    for curve in sorted(view.curves, key=lambda one: -[*MODES].index(one.mode)):  # the first lies on top
        found += [_point_row(curve, point) for point in curve.points]
    return found + list(_names(view.curves))


def spec() -> dict[str, Any]:
    """Return the specification without data."""
    return stored_spec("recall")


def chart(view: RecallView, *, theme: Theme = "light", width: int = 640) -> alt.LayerChart:
    """Return the chart for a notebook, curves and names ``width`` px wide."""
    title = f"Evidence that got in: {view.title}"
    return standalone(spec(), rows(view), title=title, caption=_caption(view), theme=theme, width=width)


def charts(views: Sequence[RecallView], *, theme: Theme = "light", width: int = 270) -> alt.HConcatChart:
    """Return several charts beside each other for a notebook, each ``width`` px wide."""
    panels = [(view.title, _caption(view), rows(view)) for view in views]
    return side_by_side(spec(), panels, theme=theme, width=width)


def _caption(view: RecallView) -> str:
    hollow = any(point.valley for curve in view.curves for point in curve.points)
    return f"{view.caption}; hollow: less than with fewer tokens" if hollow else view.caption


def _names(curves: Sequence[RecallCurve]) -> Iterator[Row]:
    """Name each curve at the height of its end; names that would overlap move down, or up at the bottom."""
    # Of curves that end alike the one that was ahead before stands first.
    ordered = sorted(
        curves, key=lambda one: ([-point.y for point in reversed(one.points)], [*MODES].index(one.mode))
    )
    heights: list[float] = []
    for curve in ordered:
        wanted = _height(curve.points[-1].y)
        heights.append(max(wanted, heights[-1] + LABEL_GAP) if heights else wanted)
    for at in reversed(range(len(heights))):
        lowest = heights[at + 1] - LABEL_GAP if at + 1 < len(heights) else float(TOP + CURVES)
        heights[at] = min(heights[at], lowest)
    for curve, height in zip(ordered, heights, strict=True):
        yield _row("name", x0=1.0, y0=height, mode=curve.mode, slot=MODES[curve.mode], name=curve.mode)


def _point_row(curve: RecallCurve, point: RecallPoint) -> Row:
    return _row(
        "point",
        x0=_across(point.x),
        y0=_height(point.y),
        mode=curve.mode,
        slot=MODES[curve.mode],
        filled=0.0 if point.valley else 1.0,
        description=point.description,
    )


def _height(part: float) -> float:
    return TOP + CURVES * (1 - part)


def _across(part: float) -> float:
    return MARGIN + part * (1 - MARGIN)


def _row(mark: str, **values: Any) -> Row:
    blank = {"x0": 0.0, "y0": 0.0, "mode": "hybrid", "slot": "secondary", "filled": 1.0}
    return {"mark": mark, **blank, "name": "", "description": "", **values, "quiet": "secondary"}
