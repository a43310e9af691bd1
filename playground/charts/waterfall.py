"""The waterfall's two panels: horizontal bars, each row from where the one above ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playground.charts.frame import Row, side_by_side, stored_spec
from playground.views.palette import Theme
from playground.views.waterfall import WaterfallPanel, WaterfallRow, WaterfallView

if TYPE_CHECKING:
    import altair as alt

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


def spec() -> dict[str, Any]:
    """Return the specification of one panel, without data."""
    return stored_spec("waterfall")


def chart(view: WaterfallView, *, theme: Theme = "light", width: int = 420) -> alt.HConcatChart:
    """Return both panels beside each other, for a notebook.

    Args:
        view: The panels.
        theme: Which colours to use.
        width: Of one panel's bars and numbers, in px.
    """
    panels = [(panel.title, f"{panel.caption}, in tokens", rows(panel)) for panel in (view.window, view.pool)]
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
