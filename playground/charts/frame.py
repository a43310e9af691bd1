"""What all charts share: their stored specification and the way into a notebook."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from playground.views.palette import CHART_SLOTS, Theme, colours

if TYPE_CHECKING:
    import altair as alt

__all__ = ["Row", "side_by_side", "standalone", "stored_spec"]

Row = dict[str, Any]


@lru_cache(maxsize=16)
def stored_spec(name: str) -> dict[str, Any]:
    """Return a chart's specification without data, as ``build_specs`` wrote it; not to be changed."""
    text = files("playground.charts").joinpath(f"{name}.vl.json").read_text("utf-8")
    spec: dict[str, Any] = json.loads(text)
    return spec


def standalone(
    spec: Mapping[str, Any], rows: Sequence[Row], *, title: str, caption: str, theme: Theme, width: int
) -> alt.LayerChart:
    """Return an Altair chart that carries its rows, its head and the palette, as a notebook shows it."""
    import altair as alt  # noqa: PLC0415  # pages must not pay for it

    return alt.LayerChart.from_dict(
        {**_filled(spec, rows, width), **_head(title, caption), **_look(spec, theme)}
    )


def side_by_side(
    spec: Mapping[str, Any], panels: Sequence[tuple[str, str, Sequence[Row]]], *, theme: Theme, width: int
) -> alt.HConcatChart:
    """Return one chart for each title, caption and rows, all of the same structure, in a row."""
    import altair as alt  # noqa: PLC0415  # pages must not pay for it

    charts = [{**_filled(spec, rows, width), **_head(title, caption)} for title, caption, rows in panels]
    for part in charts:
        del part["config"]
    return alt.HConcatChart.from_dict({"hconcat": charts, **_look(spec, theme)})


def _head(title: str, caption: str) -> dict[str, Any]:
    return {"title": {"text": title, "subtitle": caption, "anchor": "start"}}


def _filled(spec: Mapping[str, Any], rows: Sequence[Row], width: int) -> dict[str, Any]:
    # Inside a row of charts no signal is called "width": each chart has its own. Row names stand left of it.
    full: dict[str, Any] = json.loads(
        json.dumps(dict(spec)).replace('"value": "width"', f'"value": {width}').replace('"width-', f'"{width}-')
    )
    return {**full, "data": {"values": [dict(row) for row in rows]}, "width": width}


def _look(spec: Mapping[str, Any], theme: Theme) -> dict[str, Any]:
    palette = colours(theme)
    config = {
        **spec.get("config", {}),
        # One generic family: a list of families leaves every text out of PNG files.
        "font": "sans-serif",
        "range": {"category": [palette[slot] for slot in CHART_SLOTS]},
        "title": {
            "color": palette["ink"],
            "fontSize": 14,
            "fontWeight": 600,
            "subtitleColor": palette["secondary"],
            "subtitleFontSize": 12,
            "offset": 12,
        },
    }
    return {"background": palette["page"], "padding": 12, "config": config}
