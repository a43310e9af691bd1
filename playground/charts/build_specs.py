"""Building the charts' specifications with Altair, once per change of their structure.

Importing Altair and checking its schema takes about half a second, a quarter of the time a first page has.
Pages therefore read the specifications from files beside this module; a test builds them again and compares.
Run ``python -m playground.charts.build_specs`` after changing one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt

from playground.charts import blocks, sources, waterfall
from playground.charts import map as record_map
from playground.charts.evaluation_specs import evaluation_grid_spec, evaluation_steps_spec, recall_spec
from playground.charts.spec_parts import descriptions, framed, only, ringed, rows_chart, slot, text

__all__ = ["BUILDERS", "main"]


def waterfall_spec() -> dict[str, Any]:
    """Build one panel of the waterfall."""
    base = rows_chart()
    x = alt.X(
        "x0:Q", axis=None, scale=alt.Scale(domain=[0, 1], range=[0, {"expr": f"width-{waterfall.NUMBERS}"}])
    )
    y = alt.Y("y0:Q", axis=None, scale=alt.Scale(domain=[0, waterfall.ROWS], range=[0, waterfall.HEIGHT]))
    links = (
        base.transform_filter(only("link"))
        .mark_rule(strokeWidth=1)
        .encode(x=x, y=y, y2="y1:Q", color=slot("slot"))
    )
    bars = (
        base.transform_filter(only("bar"))
        .mark_bar(size=waterfall.BAR_HEIGHT, cornerRadius=2, orient="horizontal")
        .encode(x=x, x2="x1:Q", y=y, color=slot("slot"), **descriptions())
    )
    named = base.transform_filter(only("row"))
    names = text(named, "name", align="left").encode(x=alt.value(-waterfall.GUTTER), y=y, color=slot("quiet"))
    numbers = text(named, "number", align="right").encode(x=alt.value("width"), y=y, color=slot("slot"))
    return framed(links, bars, names, numbers, height=waterfall.HEIGHT)


def sources_spec() -> dict[str, Any]:
    """Build the bullet bars of the sources."""
    base = rows_chart()
    x = alt.X(
        "x0:Q", axis=None, scale=alt.Scale(domain=[0, 1], range=[0, {"expr": f"width-{sources.NUMBERS}"}])
    )
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, sources.HEIGHT], range=[0, sources.HEIGHT]))
    described = descriptions()
    demand = (
        base.transform_filter(only("demand"))
        .mark_bar(
            size=sources.DEMAND_HEIGHT, cornerRadius=2, orient="horizontal", opacity=sources.DEMAND_OPACITY
        )
        .encode(x=x, x2="x1:Q", y=y, color=slot("slot"), **described)
    )
    pick = alt.selection_point(name=sources.SELECTION, fields=["key", "nonce"], on="click", clear=False)
    segments = (
        base.transform_filter(only("segment"))
        .mark_bar(size=sources.USED_HEIGHT, orient="horizontal", cursor="pointer")
        .encode(
            x=x,
            x2="x1:Q",
            y=y,
            color=slot("slot"),
            opacity=alt.Opacity("tone:Q", scale=None, legend=None),
            **described,
        )
        .add_params(pick)
    )
    granted = (
        base.transform_filter(only("granted"))
        .mark_tick(orient="vertical", thickness=2, size=sources.TICK_HEIGHT, opacity=1)
        .encode(x=x, y=y, color=slot("slot"), **described)
    )
    outline = (
        base.transform_filter(only("outline"))
        .mark_bar(size=sources.OUTLINE_HEIGHT, cornerRadius=3, orient="horizontal", filled=False, strokeWidth=2)
        .encode(x=x, x2="x1:Q", y=y, color=slot("slot"), description=alt.Description("description:N"))
    )
    named = base.transform_filter("datum.mark === 'row' || datum.mark === 'head'")
    names = text(named, "name", align="left").encode(x=alt.value(-sources.GUTTER), y=y, color=slot("quiet"))
    numbers = [
        text(named, name, align="right", dx=-distance).encode(
            x=alt.value("width"), y=y, color=slot("strong" if name == "used" else "quiet")
        )
        for name, distance in sources.COLUMNS
    ]
    return framed(demand, segments, granted, outline, names, *numbers, height=sources.HEIGHT)


def blocks_spec() -> dict[str, Any]:
    """Build the bars of blocks by kind."""
    base = rows_chart()
    x = alt.X("x0:Q", axis=None, scale=alt.Scale(domain=[0, 1], range=[0, {"expr": f"width-{blocks.NUMBERS}"}]))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[0, blocks.HEIGHT], range=[0, blocks.HEIGHT]))
    bars = (
        base.transform_filter(only("bar"))
        .mark_bar(size=blocks.BAR_HEIGHT, cornerRadius=2, orient="horizontal")
        .encode(x=x, x2="x1:Q", y=y, color=slot("slot"), **descriptions())
    )
    named = base.transform_filter(only("row"))
    names = text(named, "name", align="left").encode(x=alt.value(-blocks.GUTTER), y=y, color=slot("quiet"))
    numbers = [
        text(named, name, align="right", dx=-distance).encode(
            x=alt.value("width"), y=y, color=slot("strong" if name.startswith("included") else "quiet")
        )
        for name, distance in blocks.COLUMNS
    ]
    return framed(bars, names, *numbers, height=blocks.HEIGHT)


def map_spec() -> dict[str, Any]:
    """Build the map: faint points, rings for what is offered, filled ones for what is in the request."""
    base = rows_chart()
    height, aspect = record_map.HEIGHT, record_map.ASPECT
    unit = f"min({height}, width / {aspect})"  # px for 1; the same both ways
    x = alt.X("x:Q", axis=None, scale=_centred(aspect, "width", unit))
    y = alt.Y("y:Q", axis=None, scale=_centred(-1, f"{height}", unit))
    pick = alt.selection_point(name=record_map.SELECTION, fields=["key", "nonce"], on="click", clear=False)
    points = (
        base.transform_filter(only("point"))
        .mark_point(shape="circle", strokeWidth=1.5, cursor="pointer")
        .encode(
            x=x,
            y=y,
            **ringed(),
            opacity=alt.Opacity("tone:Q", scale=None, legend=None),
            size=alt.Size("size:Q", scale=None, legend=None),
            **descriptions(),
        )
        .add_params(pick)
    )
    outlined = base.transform_filter(only("outline")).mark_point(
        shape="circle", size=record_map.OUTLINE_SIZE, strokeWidth=2, opacity=1
    )
    asked = base.transform_filter(only("question"))
    question = asked.mark_point(filled=True, shape="diamond", size=record_map.QUESTION_SIZE, opacity=1)
    marks = [mark.encode(x=x, y=y, color=slot("slot"), **descriptions()) for mark in (outlined, question)]
    ranked = base.transform_filter(only("point"))
    size = record_map.LABEL_SIZE
    ranks = ranked.mark_text(align="left", dx=record_map.RANK_OFFSET, fontSize=size, fontWeight=600)
    name = asked.mark_text(dy=record_map.NAME_OFFSET, fontSize=size, fontWeight=600)
    labels = [words.encode(x=x, y=y, text=alt.Text("label:N"), color=slot("slot")) for words in (ranks, name)]
    return framed(points, *marks, *labels, height=height)


BUILDERS: dict[str, Callable[[], dict[str, Any]]] = {
    "waterfall": waterfall_spec,
    "sources": sources_spec,
    "blocks": blocks_spec,
    "evaluation_steps": evaluation_steps_spec,
    "evaluation_grid": evaluation_grid_spec,
    "map": map_spec,
    "recall": recall_spec,
}


def main() -> None:
    """Write every specification beside this module."""
    for name, build in BUILDERS.items():
        spec = json.dumps(build(), ensure_ascii=False, indent=1)
        Path(__file__).with_name(f"{name}.vl.json").write_text(spec + "\n", encoding="utf-8")


def _centred(length: float, room: str, unit: str) -> alt.Scale:
    """Place 0 to ``length`` times ``unit`` px in the middle of the room; a negative length runs upwards."""
    ends = [{"expr": f"{room} / 2 {sign} {length / 2} * {unit}"} for sign in "-+"]
    return alt.Scale(domain=[0, abs(length)], range=ends)


if __name__ == "__main__":
    main()
