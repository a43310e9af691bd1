"""Demand, granted and used tokens of each kind as bullet bars, one segment a selected record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from playground.charts.frame import Row, standalone, stored_spec
from playground.views.palette import Theme
from playground.views.sources import SourceRow, SourcesView

if TYPE_CHECKING:
    import altair as alt

__all__ = ["HEIGHT", "SELECTION", "chart", "rows", "spec"]

SELECTION = "record"
"""Name of the selection; a picked segment answers its key and the nonce the rows carry."""
KINDS = 5
HEAD = 22  # px for the column heads
ROW_HEIGHT = 32  # px
HEIGHT = HEAD + KINDS * ROW_HEIGHT
DEMAND_HEIGHT = 20  # px
USED_HEIGHT = 10  # px
OUTLINE_HEIGHT = 17  # px
TICK_HEIGHT = 22  # px
GUTTER = 104  # px for row names, left of the bars
COLUMNS = (("used", 186), ("granted", 128), ("demand", 66), ("moved", 0))
"""Number columns and their distance from the right edge, in px."""
NUMBERS = 246  # px for all of them
CUT_END = 0.95
STUBS = ((0.96, 0.976), (0.984, 1.0))
GAP = 0.0014  # between two segments, in parts of the scale
OUTLINE_MARGIN = 0.003  # by which the outline of a record stands out on either side, in parts of the scale
DEMAND_OPACITY = 0.2
HALF_TONE = 0.5


def rows(view: SourcesView, *, selected: str | None = None, nonce: int = 0) -> list[Row]:
    """Return the chart's rows.

    Args:
        view: What to show.
        selected: Key of the record that is outlined.
        nonce: Rises with every pick; without it a second click on the same segment would send nothing.
    """
    heads = [_row("head", HEAD / 2, nonce, **{name: name for name, _ in COLUMNS})]
    return heads + [
        row
        for index, item in enumerate(view.rows)
        for row in _rows_of(item, HEAD + (index + 0.5) * ROW_HEIGHT, selected, nonce)
    ]


def spec() -> dict[str, Any]:
    """Return the specification without data."""
    return stored_spec("sources")


def chart(
    view: SourcesView, *, selected: str | None = None, theme: Theme = "light", width: int = 640
) -> alt.LayerChart:
    """Return the chart for a notebook, bars and numbers ``width`` px wide; see ``rows`` for ``selected``."""
    return standalone(
        spec(),
        rows(view, selected=selected),
        title="Sources",
        caption="tokens: demand pale, granted a tick, used solid, used and reallocated in half tone",
        theme=theme,
        width=width,
    )


def _rows_of(item: SourceRow, y: float, selected: str | None, nonce: int) -> Iterator[Row]:
    numbers = {
        "used": f"{item.used:,}",
        "granted": f"{item.granted:,}",
        "demand": f"{item.demand:,}",
        "moved": item.moved,
    }
    yield _row("row", y, nonce, name=item.name, strong="ink", **numbers)
    spans = [(0.0, CUT_END), *STUBS] if item.cut else [(0.0, item.demand_end)]
    for start, end in spans:
        if end > start:
            yield _row("demand", y, nonce, x0=start, x1=end, slot=item.kind, description=item.description)
    for segment in item.segments:
        inner = max(segment.start + GAP / 2, segment.end - GAP)
        text = f"{segment.title}: {segment.tokens:,} tokens, {segment.reason}"
        yield _row(
            "segment",
            y,
            nonce,
            x0=segment.start,
            x1=inner,
            slot=segment.slot,
            tone=HALF_TONE if segment.reallocated else 1.0,
            key=segment.key,
            description=text,
        )
        if segment.key == selected:
            ends = {"x0": segment.start - OUTLINE_MARGIN, "x1": inner + OUTLINE_MARGIN}
            yield _row("outline", y, nonce, **ends, key=segment.key, description=f"Selected: {text}")
    if item.granted_at is not None:
        text = f"{item.name}: {item.granted:,} tokens granted"
        yield _row("granted", y, nonce, x0=item.granted_at, description=text)


def _row(mark: str, y: float, nonce: int, **values: Any) -> Row:
    blank = {"x0": 0.0, "x1": 0.0, "slot": "ink", "tone": 1.0, "key": "", "name": "", "description": ""}
    columns = {name: "" for name, _ in COLUMNS}
    inks = {"quiet": "secondary", "strong": "secondary"}
    return {"mark": mark, "y": y, "nonce": nonce, **blank, **columns, **inks, **values}
