"""Building the charts' specifications with Altair, once per change of their structure.

Importing Altair and checking its schema takes about half a second, a quarter of the time a first page has.
Pages therefore read the specifications from files beside this module; a test builds them again and compares.
Run ``python -m playground.charts.build_specs`` after changing one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import altair as alt

from playground.charts import evaluation_grid, evaluation_steps, recall, sources, waterfall
from playground.charts import map as record_map
from playground.views.palette import CHART_SLOTS

__all__ = ["BUILDERS", "main"]

FONT_SIZE = 12.5  # px


def waterfall_spec() -> dict[str, Any]:
    """Build one panel of the waterfall."""
    base = _base()
    x = alt.X(
        "x0:Q", axis=None, scale=alt.Scale(domain=[0, 1], range=[0, {"expr": f"width-{waterfall.NUMBERS}"}])
    )
    y = alt.Y("y0:Q", axis=None, scale=alt.Scale(domain=[0, waterfall.ROWS], range=[0, waterfall.HEIGHT]))
    described = alt.Description("description:N")
    links = (
        base.transform_filter(_only("link"))
        .mark_rule(strokeWidth=1)
        .encode(x=x, y=y, y2="y1:Q", color=_slot("slot"))
    )
    bars = (
        base.transform_filter(_only("bar"))
        .mark_bar(size=waterfall.BAR_HEIGHT, cornerRadius=2, orient="horizontal")
        .encode(
            x=x,
            x2="x1:Q",
            y=y,
            color=_slot("slot"),
            description=described,
            tooltip=alt.Tooltip("description:N", title=" "),
        )
    )
    named = base.transform_filter(_only("row"))
    names = _text(named, "name", align="left").encode(x=alt.value(-waterfall.GUTTER), y=y, color=_slot("quiet"))
    numbers = _text(named, "number", align="right").encode(x=alt.value("width"), y=y, color=_slot("slot"))
    return _framed(links, bars, names, numbers, height=waterfall.HEIGHT)


def sources_spec() -> dict[str, Any]:
    """Build the bullet bars of the sources."""
    base = _base()
    x = alt.X(
        "x0:Q", axis=None, scale=alt.Scale(domain=[0, 1], range=[0, {"expr": f"width-{sources.NUMBERS}"}])
    )
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, sources.HEIGHT], range=[0, sources.HEIGHT]))
    described = _described()
    demand = (
        base.transform_filter(_only("demand"))
        .mark_bar(
            size=sources.DEMAND_HEIGHT, cornerRadius=2, orient="horizontal", opacity=sources.DEMAND_OPACITY
        )
        .encode(x=x, x2="x1:Q", y=y, color=_slot("slot"), **described)
    )
    pick = alt.selection_point(name=sources.SELECTION, fields=["key", "nonce"], on="click", clear=False)
    segments = (
        base.transform_filter(_only("segment"))
        .mark_bar(size=sources.USED_HEIGHT, orient="horizontal", cursor="pointer")
        .encode(
            x=x,
            x2="x1:Q",
            y=y,
            color=_slot("slot"),
            opacity=alt.Opacity("tone:Q", scale=None, legend=None),
            **described,
        )
        .add_params(pick)
    )
    granted = (
        base.transform_filter(_only("granted"))
        .mark_tick(orient="vertical", thickness=2, size=sources.TICK_HEIGHT, opacity=1)
        .encode(x=x, y=y, color=_slot("slot"), **described)
    )
    outline = (
        base.transform_filter(_only("outline"))
        .mark_bar(size=sources.OUTLINE_HEIGHT, cornerRadius=3, orient="horizontal", filled=False, strokeWidth=2)
        .encode(x=x, x2="x1:Q", y=y, color=_slot("slot"), description=alt.Description("description:N"))
    )
    named = base.transform_filter("datum.mark === 'row' || datum.mark === 'head'")
    names = _text(named, "name", align="left").encode(x=alt.value(-sources.GUTTER), y=y, color=_slot("quiet"))
    numbers = [
        _text(named, name, align="right", dx=-distance).encode(
            x=alt.value("width"), y=y, color=_slot("strong" if name == "used" else "quiet")
        )
        for name, distance in sources.COLUMNS
    ]
    return _framed(demand, segments, granted, outline, names, *numbers, height=sources.HEIGHT)


def evaluation_steps_spec() -> dict[str, Any]:
    """Build the bars of a long task's requests."""
    base = _base()
    x, x2, y = _unit_x(), alt.X2("x1:Q"), _pixel_y(evaluation_steps.HEIGHT)
    described = _described()
    grid = base.transform_filter(_only("grid"))
    lines = grid.mark_rule(strokeWidth=1).encode(x=x, x2=x2, y=y, color=_slot("slot"))
    numbers = _text(grid, "name", align="right", dx=-evaluation_steps.GUTTER).encode(
        x=alt.value(0), y=y, color=_slot("quiet")
    )
    bars = (
        base.transform_filter(_only("bar"))
        .mark_rect()
        .encode(x=x, x2=x2, y=y, y2="y1:Q", color=_slot("slot"), **described)
    )
    ticks = (
        base.transform_filter(_only("tick"))
        .mark_tick(orient="vertical", thickness=3, size=evaluation_steps.TICK_SIZE, opacity=1)
        .encode(x=x, y=y, color=_slot("slot"), **described)
    )
    names = _text(base.transform_filter(_only("name")), "name", align="left", size=evaluation_steps.NAME_SIZE)
    return _framed(
        lines,
        bars,
        ticks,
        numbers,
        names.encode(x=x, y=y, color=_slot("quiet")),
        height=evaluation_steps.HEIGHT,
    )


def evaluation_grid_spec() -> dict[str, Any]:
    """Build the cells of strategies by subtasks."""
    base = _base()
    x, y = _unit_x(), _pixel_y(evaluation_grid.HEIGHT)
    cells = (
        base.transform_filter(_only("cell"))
        .mark_rect(cornerRadius=2)
        .encode(
            x=x,
            x2="x1:Q",
            y=y,
            y2="y1:Q",
            color=_slot("slot"),
            opacity=alt.Opacity("tone:Q", scale=None, legend=None),
            **_described(),
        )
    )
    numbers = _text(base.transform_filter(_only("number")), "name", align="center")
    names = _text(base.transform_filter(_only("row")), "name", align="right", dx=-evaluation_grid.GUTTER)
    return _framed(
        cells,
        numbers.encode(x=x, y=y, color=_slot("slot")),
        names.encode(x=alt.value(0), y=y, color=_slot("slot")),
        height=evaluation_grid.HEIGHT,
    )


def map_spec() -> dict[str, Any]:
    """Build the map: faint points, rings for what is offered, filled ones for what is in the request."""
    base = _base()
    height, aspect = record_map.HEIGHT, record_map.ASPECT
    unit = f"min({height}, width / {aspect})"  # px for 1; the same both ways
    x = alt.X("x:Q", axis=None, scale=_centred(aspect, "width", unit))
    y = alt.Y("y:Q", axis=None, scale=_centred(-1, f"{height}", unit))
    pick = alt.selection_point(name=record_map.SELECTION, fields=["key", "nonce"], on="click", clear=False)
    points = (
        base.transform_filter(_only("point"))
        .mark_point(shape="circle", strokeWidth=1.5, cursor="pointer")
        .encode(
            x=x,
            y=y,
            stroke=alt.Stroke("slot:N", scale=alt.Scale(domain=CHART_SLOTS), legend=None),
            fill=alt.Fill("slot:N", scale=alt.Scale(domain=CHART_SLOTS), legend=None),
            fillOpacity=alt.FillOpacity("filled:Q", scale=None, legend=None),
            opacity=alt.Opacity("tone:Q", scale=None, legend=None),
            size=alt.Size("size:Q", scale=None, legend=None),
            **_described(),
        )
        .add_params(pick)
    )
    outlined = base.transform_filter(_only("outline")).mark_point(
        shape="circle", size=record_map.OUTLINE_SIZE, strokeWidth=2, opacity=1
    )
    asked = base.transform_filter(_only("question"))
    question = asked.mark_point(filled=True, shape="diamond", size=record_map.QUESTION_SIZE, opacity=1)
    marks = [mark.encode(x=x, y=y, color=_slot("slot"), **_described()) for mark in (outlined, question)]
    ranked = base.transform_filter(_only("point"))
    size = record_map.LABEL_SIZE
    ranks = ranked.mark_text(align="left", dx=record_map.RANK_OFFSET, fontSize=size, fontWeight=600)
    name = asked.mark_text(dy=record_map.NAME_OFFSET, fontSize=size, fontWeight=600)
    labels = [text.encode(x=x, y=y, text=alt.Text("label:N"), color=_slot("slot")) for text in (ranks, name)]
    return _framed(points, *marks, *labels, height=height)


def recall_spec() -> dict[str, Any]:
    """Build the curves of evidence recall: solid, dashed and dotted, with a mark of its own for each search."""
    base = _base()
    room = {"expr": f"width-{recall.NAMES}"}
    x = alt.X("x0:Q", axis=None, scale=alt.Scale(domain=[0, 1], range=[0, room]))
    y = _pixel_y(recall.HEIGHT)
    modes = [*recall.MODES]
    shape = alt.Shape(
        "mode:N", scale=alt.Scale(domain=modes, range=["circle", "square", "triangle-up"]), legend=None
    )
    dashes = alt.StrokeDash(
        "mode:N", scale=alt.Scale(domain=modes, range=[[1, 0], [7, 4], [2, 3]]), legend=None
    )
    grid = base.transform_filter(_only("grid"))
    lines = grid.mark_rule(strokeWidth=1).encode(x=x, x2=alt.value(room), y=y, color=_slot("slot"))
    shares, unit = (
        _text(marks, "name", align="right", dx=-recall.GUTTER, size=recall.NUMBER_SIZE)
        for marks in (grid, base.transform_filter(_only("unit")))
    )
    limits = _text(base.transform_filter(_only("tick")), "name", align="center", size=recall.NUMBER_SIZE)
    measured = base.transform_filter(_only("point"))
    curves = measured.mark_line(strokeWidth=2).encode(
        x=x, y=y, color=_slot("slot"), strokeDash=dashes, detail="mode:N"
    )
    points = measured.mark_point(size=recall.SIZE, strokeWidth=1.5, opacity=1).encode(
        x=x,
        y=y,
        stroke=alt.Stroke("slot:N", scale=alt.Scale(domain=CHART_SLOTS), legend=None),
        fill=alt.Fill("slot:N", scale=alt.Scale(domain=CHART_SLOTS), legend=None),
        fillOpacity=alt.FillOpacity("filled:Q", scale=None, legend=None),
        shape=shape,
        **_described(),
    )
    named = base.transform_filter(_only("name"))
    keys = named.mark_point(size=recall.SIZE, filled=True, opacity=1, xOffset=recall.LABEL_OFFSET).encode(
        x=x, y=y, color=_slot("slot"), shape=shape
    )
    names = _text(named, "name", align="left", dx=recall.TEXT_OFFSET)
    return _framed(
        lines,
        curves,
        points,
        keys,
        names.encode(x=x, y=y, color=_slot("quiet")),
        *(text.encode(x=alt.value(0), y=y, color=_slot("quiet")) for text in (shares, unit)),
        limits.encode(x=x, y=y, color=_slot("quiet")),
        height=recall.HEIGHT,
    )


BUILDERS: dict[str, Callable[[], dict[str, Any]]] = {
    "waterfall": waterfall_spec,
    "sources": sources_spec,
    "evaluation_steps": evaluation_steps_spec,
    "evaluation_grid": evaluation_grid_spec,
    "map": map_spec,
    "recall": recall_spec,
}


def main() -> None:
    """Write every specification beside this module."""
    for name, build in BUILDERS.items():
        text = json.dumps(build(), ensure_ascii=False, indent=1)
        Path(__file__).with_name(f"{name}.vl.json").write_text(text + "\n", encoding="utf-8")


def _base() -> alt.Chart:
    """Return the chart that all layers of one specification start from; its rows come later."""
    return alt.Chart(alt.NamedData("rows"))


def _unit_x() -> alt.X:
    """Place by parts of the whole width."""
    return alt.X("x0:Q", axis=None, scale=alt.Scale(domain=[0, 1]))


def _pixel_y(height: int) -> alt.Y:
    """Place by px from the top."""
    return alt.Y("y0:Q", axis=None, scale=alt.Scale(domain=[0, height], range=[0, height]))


def _centred(length: float, room: str, unit: str) -> alt.Scale:
    """Place 0 to ``length`` times ``unit`` px in the middle of the room; a negative length runs upwards."""
    ends = [{"expr": f"{room} / 2 {sign} {length / 2} * {unit}"} for sign in "-+"]
    return alt.Scale(domain=[0, abs(length)], range=ends)


def _described() -> dict[str, Any]:
    """Say what a mark is, to those who hover over it and to those who cannot see it."""
    return {
        "description": alt.Description("description:N"),
        "tooltip": alt.Tooltip("description:N", title=" "),
    }


def _slot(field: str) -> alt.Color:
    """Colour by slot name; no range, so that the page's theme fills it and recolours it live."""
    return alt.Color(f"{field}:N", scale=alt.Scale(domain=CHART_SLOTS), legend=None)


def _only(mark: str) -> str:
    """Return the filter that keeps the rows of one mark."""
    return f"datum.mark === '{mark}'"


def _text(
    chart: alt.Chart,
    field: str,
    *,
    align: Literal["left", "center", "right"],
    dx: float = 0,
    size: float = FONT_SIZE,
) -> alt.Chart:
    """Draw a text field, vertically centred on its row."""
    text: alt.Chart = chart.mark_text(align=align, baseline="middle", dx=dx, fontSize=size)
    return text.encode(text=alt.Text(f"{field}:N"))


def _framed(*layers: alt.Chart, height: int) -> dict[str, Any]:
    """Layer charts without axes or border and return the specification without data."""
    chart = alt.layer(*layers).properties(height=height).configure_view(strokeWidth=0)
    spec: dict[str, Any] = chart.to_dict()
    return {
        **{name: spec[name] for name in ("layer", "height", "params") if name in spec},
        "config": {"view": spec["config"]["view"]},
    }


if __name__ == "__main__":
    main()
