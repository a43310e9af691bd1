"""Records and the question as points of a plane; what is near is alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from playground.charts.frame import Row, standalone, stored_spec
from playground.views.map import ASPECT, MapPoint, MapView
from playground.views.palette import Theme

if TYPE_CHECKING:
    import altair as alt

__all__ = ["ASPECT", "HEIGHT", "SELECTION", "chart", "rows", "spec"]

SELECTION = "record"
"""Name of the selection; a picked point answers its key and the nonce the rows carry."""
HEIGHT = 420  # px; a narrow page makes the picture smaller, never its shape
FAINT = 0.28  # opacity of what is not offered
FAINT_SIZE = 14  # square px
SIZE = 50  # square px of what is offered
OUTLINE_SIZE = 190  # square px, around the record that is marked everywhere
QUESTION_SIZE = 190  # square px
LABEL_SIZE = 11.5  # px
RANK_OFFSET = 7  # px right of a point's middle
NAME_OFFSET = -16  # px, above the question's
QUESTION = "question"


def rows(view: MapView, *, selected: str | None = None, nonce: int = 0) -> list[Row]:
    """Return the chart's rows, what lies below first.

    Args:
        view: What to show.
        selected: Key of the record that is outlined.
        nonce: Rises with every pick; without it a second click on the same point would send nothing.
    """
    ordered = sorted(view.points, key=lambda point: (point.selected, bool(point.rank)))
    found = [_point_row(point, nonce) for point in ordered]
    found += [
        {**_row("outline", point, nonce), "slot": "ink", "description": f"Selected: {point.description}"}
        for point in ordered
        if point.key == selected
    ]
    if view.question is not None:
        found.append({**_row("question", view.question, nonce), "label": QUESTION})
    return found


def spec() -> dict[str, Any]:
    """Return the specification without data."""
    return stored_spec("map")


def chart(view: MapView, *, theme: Theme = "light", width: int = 640) -> alt.LayerChart:
    """Return the chart for a notebook, ``width`` px wide."""
    caption = "filled: in the request; rings: offered, the best with their rank; faint: the others"
    return standalone(spec(), rows(view), title="Map", caption=caption, theme=theme, width=width)


def _point_row(point: MapPoint, nonce: int) -> Row:
    near = point.selected or point.rank > 0
    return {
        **_row("point", point, nonce),
        "label": point.label,
        "filled": 0.0 if near and not point.selected else 1.0,
        "tone": 1.0 if near else FAINT,
        "size": SIZE if near else FAINT_SIZE,
    }


def _row(mark: str, point: MapPoint, nonce: int) -> Row:
    place = {"x": point.x, "y": point.y, "slot": point.slot, "key": point.key, "nonce": nonce}
    looks = {"label": "", "filled": 0.0, "tone": 1.0, "size": SIZE}
    return {"mark": mark, **place, **looks, "description": point.description}
