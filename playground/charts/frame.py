"""What all charts share: colour slots, text, the plot's frame and the way into a notebook."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import altair as alt

from playground.views.palette import CHART_SLOTS, Theme, colours

__all__ = [
    "FONT_SIZE",
    "Row",
    "framed",
    "only",
    "rows_of_page",
    "side_by_side",
    "slot_colour",
    "standalone",
    "text_mark",
]

FONT_SIZE = 12.5  # px
Row = dict[str, Any]


def rows_of_page() -> alt.Chart:
    """Return the chart that all layers of one specification start from; its rows come later."""
    return alt.Chart(alt.NamedData("rows"))


def slot_colour(field: str) -> alt.Color:
    """Colour by slot name; no range, so that the page's theme fills it and recolours it live."""
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=CHART_SLOTS), legend=None)


def only(mark: str) -> str:
    """Return the filter that keeps the rows of one mark."""
    return f"datum.mark === '{mark}'"


def text_mark(chart: alt.Chart, field: str, *, align: Literal["left", "right"], dx: float = 0) -> alt.Chart:
    """Draw a text field, vertically centred on its row."""
    text: alt.Chart = chart.mark_text(align=align, baseline="middle", dx=dx, fontSize=FONT_SIZE)
    return text.encode(text=alt.Text(f"{field}:N"))


def framed(*layers: alt.Chart, height: int) -> dict[str, Any]:
    """Layer charts without axes or border and return the specification without data."""
    chart = alt.layer(*layers).properties(height=height).configure_view(strokeWidth=0)
    spec: dict[str, Any] = chart.to_dict()
    return {
        **{name: spec[name] for name in ("$schema", "layer", "height", "params") if name in spec},
        "config": {"view": spec["config"]["view"]},
    }


def standalone(spec: Mapping[str, Any], rows: Sequence[Row], *, theme: Theme, width: int) -> alt.LayerChart:
    """Return an Altair chart that carries its rows and the palette, as a notebook shows it."""
    return alt.LayerChart.from_dict(
        {
            **_filled(spec, rows, width),
            **_look(spec, theme),
            "autosize": {"type": "fit-x", "contains": "padding"},
        }
    )


def side_by_side(
    spec: Mapping[str, Any], panels: Mapping[str, Sequence[Row]], *, theme: Theme, width: int
) -> alt.HConcatChart:
    """Return one chart per title, all of the same structure, in a row."""
    charts = [
        {**_filled(spec, rows, width), "title": {"text": title, "anchor": "start"}}
        for title, rows in panels.items()
    ]
    for part in charts:
        del part["config"], part["$schema"]
    return alt.HConcatChart.from_dict({"hconcat": charts, **_look(spec, theme)})


def _filled(spec: Mapping[str, Any], rows: Sequence[Row], width: int) -> dict[str, Any]:
    # Inside a row of charts no signal is called "width": each chart has its own.
    full: dict[str, Any] = json.loads(
        json.dumps(dict(spec)).replace('"value": "width"', f'"value": {width}').replace('"width-', f'"{width}-')
    )
    return {**full, "data": {"values": [dict(row) for row in rows]}, "width": width}


def _look(spec: Mapping[str, Any], theme: Theme) -> dict[str, Any]:
    palette = colours(theme)
    config = {
        **spec.get("config", {}),
        "font": "Source Sans Pro, Source Sans 3, sans-serif",
        "range": {"category": [palette[slot] for slot in CHART_SLOTS]},
        "title": {"color": palette["ink"], "fontSize": 14, "fontWeight": 600},
    }
    return {"background": palette["page"], "padding": 12, "config": config}
