"""What strategies keep in sight, subtask by subtask: a number in each cell, and a tone for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playground.charts.frame import Row, standalone, stored_spec
from playground.views.evaluation import GridView
from playground.views.palette import Theme

if TYPE_CHECKING:
    import altair as alt

__all__ = ["HEIGHT", "chart", "rows", "spec"]

HEAD = 22  # px for the column heads
ROW_HEIGHT = 24  # px
STRATEGIES = 7  # rows
HEIGHT = HEAD + STRATEGIES * ROW_HEIGHT
GUTTER = 10  # px between the names and the cells
FULL_TONE = 0.4  # opacity of a cell that keeps everything, so that its number stays readable
GAP = 1.0  # px between two cells


def rows(view: GridView) -> list[Row]:
    """Return the chart's rows."""
    width = 1 / len(view.columns)
    found = []
    for cell in view.cells:
        top = HEAD + cell.row * ROW_HEIGHT
        place = {
            "x0": cell.column * width,
            "x1": (cell.column + 0.97) * width,
            "y0": top,
            "y1": top + ROW_HEIGHT - GAP,
        }
        middle = {"x0": (cell.column + 0.485) * width, "y0": top + ROW_HEIGHT / 2}
        tone = FULL_TONE * (cell.share or 0.0)
        found.append(_row("cell", **place, slot="rag", tone=tone, description=cell.description))
        found.append(_row("number", **middle, slot="ink", name=cell.text))
    found += [
        _row("number", x0=(column + 0.485) * width, y0=HEAD / 2, slot="secondary", name=name)
        for column, name in enumerate(view.columns)
    ]
    found += [
        _row("row", y0=HEAD + (row + 0.5) * ROW_HEIGHT, slot="secondary", name=name)
        for row, name in enumerate(view.rows)
    ]
    return found


def spec() -> dict[str, Any]:
    """Return the specification without data."""
    return stored_spec("evaluation_grid")


def chart(view: GridView, *, theme: Theme = "light", width: int = 780) -> alt.LayerChart:
    """Return the chart for a notebook, cells ``width`` px wide in all."""
    return standalone(spec(), rows(view), title=view.title, caption=view.caption, theme=theme, width=width)


def _row(mark: str, **values: Any) -> Row:
    blank = {
        "x0": 0.0,
        "x1": 0.0,
        "y0": 0.0,
        "y1": 0.0,
        "slot": "ink",
        "tone": 1.0,
        "name": "",
        "description": "",
    }
    return {"mark": mark, **blank, **values}
