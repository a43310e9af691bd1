"""What the specifications of all charts are put together from."""

from __future__ import annotations

from typing import Any, Literal

import altair as alt

from playground.views.palette import CHART_SLOTS

__all__ = [
    "FONT_SIZE",
    "descriptions",
    "framed",
    "only",
    "pixel_y",
    "ringed",
    "rows_chart",
    "slot",
    "text",
    "unit_x",
]

FONT_SIZE = 12.5  # px


def rows_chart() -> alt.Chart:
    """Return the chart that all layers of one specification start from; its rows come later."""
    return alt.Chart(alt.NamedData("rows"))


def unit_x() -> alt.X:
    """Place by parts of the whole width."""
    return alt.X("x0:Q", axis=None, scale=alt.Scale(domain=[0, 1]))


def pixel_y(height: int) -> alt.Y:
    """Place by px from the top."""
    return alt.Y("y0:Q", axis=None, scale=alt.Scale(domain=[0, height], range=[0, height]))


def descriptions() -> dict[str, Any]:
    """Say what a mark is, to those who hover over it and to those who cannot see it."""
    return {
        "description": alt.Description("description:N"),
        "tooltip": alt.Tooltip("description:N", title=" "),
    }


def slot(field: str) -> alt.Color:
    """Colour by slot name; no range, so that the page's theme fills it and recolours it live."""
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=CHART_SLOTS), legend=None)


def ringed() -> dict[str, Any]:
    """Colour a ring by its row's slot, and fill it as far as the row says."""
    colours = alt.Scale(domain=CHART_SLOTS)
    return {
        "stroke": alt.Stroke("slot:N", scale=colours, legend=None),
        "fill": alt.Fill("slot:N", scale=colours, legend=None),
        "fillOpacity": alt.FillOpacity("filled:Q", scale=None, legend=None),
    }


def only(mark: str) -> str:
    """Return the filter that keeps the rows of one mark."""
    return f"datum.mark === '{mark}'"


def text(
    chart: alt.Chart,
    field: str,
    *,
    align: Literal["left", "center", "right"],
    dx: float = 0,
    size: float = FONT_SIZE,
) -> alt.Chart:
    """Draw a text field, vertically centred on its row."""
    marks: alt.Chart = chart.mark_text(align=align, baseline="middle", dx=dx, fontSize=size)
    return marks.encode(text=alt.Text(f"{field}:N"))


def framed(*layers: alt.Chart, height: int) -> dict[str, Any]:
    """Layer charts without axes or border and return the specification without data."""
    chart = alt.layer(*layers).properties(height=height).configure_view(strokeWidth=0)
    spec: dict[str, Any] = chart.to_dict()
    return {
        **{name: spec[name] for name in ("layer", "height", "params") if name in spec},
        "config": {"view": spec["config"]["view"]},
    }
