"""Records and the question as points of a plane; what is near is alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playground.charts.frame import Row, standalone, stored_spec
from playground.views.map import ASPECT, MapPoint, MapView
from playground.views.palette import Theme

if TYPE_CHECKING:
    import altair as alt

__all__ = ["ASPECT", "HEIGHT", "chart", "rows", "spec"]

HEIGHT = 420  # px; a narrow page makes the picture smaller, never its shape
FAINT = 0.28  # opacity of what is not offered
FAINT_SIZE = 22  # square px
SIZE = 56  # square px of what is offered
QUESTION_SIZE = 190  # square px
LABEL_SIZE = 11.5  # px
RANK_OFFSET = 7  # px right of a point's middle
NAME_OFFSET = -16  # px, above the question's
QUESTION = "question"


def rows(view: MapView) -> list[Row]:
    """Return the chart's rows, the faint ones first."""
    found = [_row(_mark(point), point, point.label) for point in view.points]
    if view.question is not None:
        found.append(_row("question", view.question, QUESTION))
    return found


def spec() -> dict[str, Any]:
    """Return the specification without data."""
    return stored_spec("map")


def chart(view: MapView, *, theme: Theme = "light", width: int = 640) -> alt.LayerChart:
    """Return the chart for a notebook, ``width`` px wide."""
    caption = "filled: in the request; rings: offered, the best with their rank; faint: the others"
    return standalone(spec(), rows(view), title="Map", caption=caption, theme=theme, width=width)


def _mark(point: MapPoint) -> str:
    if point.selected:
        return "selected"
    return "offered" if point.rank else "record"


def _row(mark: str, point: MapPoint, label: str) -> Row:
    return {
        "mark": mark,
        "x": point.x,
        "y": point.y,
        "slot": point.slot,
        "label": label,
        "description": point.description,
    }
