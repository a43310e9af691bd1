"""The requests of a long task as bars: what repeats the request before, and what is new."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from playground.charts.frame import Row, standalone, stored_spec
from playground.views.evaluation import StepBar, StepsView
from playground.views.palette import Theme

if TYPE_CHECKING:
    import altair as alt

__all__ = ["HEIGHT", "chart", "rows", "spec"]

BARS = 130  # px for a request that fills the window
TOP = 8  # px above it
TICKS = 14  # px for the ticks below
NAMES = 18  # px for the names of the subtasks
HEIGHT = TOP + BARS + TICKS + NAMES
GUTTER = 8  # px between numbers and bars
GAP = 0.15  # of a bar's width, left free on its right
TICK_SIZE = 9  # px
NAME_SIZE = 11  # px of a subtask's name; twelve of them stand in a row


def rows(view: StepsView) -> list[Row]:
    """Return the chart's rows."""
    found = [row for bar in view.bars for row in _rows_of(bar)]
    found += [_row("grid", y0=_height(part), name=text) for part, text in ((0.0, "0"), (1.0, view.window))]
    found += [_row("name", x0=at, y0=HEIGHT - NAMES / 2, name=name) for at, name in view.subtasks]
    return found


def spec() -> dict[str, Any]:
    """Return the specification without data."""
    return stored_spec("evaluation_steps")


def chart(view: StepsView, *, theme: Theme = "light", width: int = 780) -> alt.LayerChart:
    """Return the chart for a notebook, bars ``width`` px wide."""
    return standalone(spec(), rows(view), title=view.title, caption=view.caption, theme=theme, width=width)


def _rows_of(bar: StepBar) -> Iterator[Row]:
    end = bar.end - GAP * (bar.end - bar.start)
    spans = ((0.0, bar.unchanged, "total"), (bar.unchanged, bar.total, "working-memory"))
    for low, high, slot in spans:
        if high > low:
            yield _row(
                "bar",
                x0=bar.start,
                x1=end,
                y0=_height(high),
                y1=_height(low),
                slot=slot,
                description=bar.description,
            )
    if bar.retrieved or bar.shortened:
        yield _row(
            "tick",
            x0=(bar.start + end) / 2,
            y0=TOP + BARS + TICKS / 2,
            slot="mandatory" if bar.shortened else "secondary",
            description=bar.description,
        )


def _height(part: float) -> float:
    return TOP + BARS * (1 - part)


def _row(mark: str, **values: Any) -> Row:
    blank = {"x0": 0.0, "x1": 1.0, "y0": 0.0, "y1": 0.0, "slot": "hairline", "name": "", "description": ""}
    return {"mark": mark, **blank, **values, "quiet": "secondary"}
