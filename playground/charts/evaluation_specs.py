"""Building the specifications of the evaluation's charts; see ``build_specs``."""

from __future__ import annotations

from typing import Any

import altair as alt

from playground.charts import evaluation_grid, evaluation_steps, recall
from playground.charts.spec_parts import (
    descriptions,
    framed,
    only,
    pixel_y,
    ringed,
    rows_chart,
    slot,
    text,
    unit_x,
)

__all__ = ["evaluation_grid_spec", "evaluation_steps_spec", "recall_spec"]


def evaluation_steps_spec() -> dict[str, Any]:
    """Build the bars of a long task's requests."""
    base = rows_chart()
    x, x2, y = unit_x(), alt.X2("x1:Q"), pixel_y(evaluation_steps.HEIGHT)
    described = descriptions()
    grid = base.transform_filter(only("grid"))
    lines = grid.mark_rule(strokeWidth=1).encode(x=x, x2=x2, y=y, color=slot("slot"))
    numbers = text(grid, "name", align="right", dx=-evaluation_steps.GUTTER).encode(
        x=alt.value(0), y=y, color=slot("quiet")
    )
    bars = (
        base.transform_filter(only("bar"))
        .mark_rect()
        .encode(x=x, x2=x2, y=y, y2="y1:Q", color=slot("slot"), **described)
    )
    ticks = (
        base.transform_filter(only("tick"))
        .mark_tick(orient="vertical", thickness=3, size=evaluation_steps.TICK_SIZE, opacity=1)
        .encode(x=x, y=y, color=slot("slot"), **described)
    )
    names = text(base.transform_filter(only("name")), "name", align="left", size=evaluation_steps.NAME_SIZE)
    return framed(
        lines,
        bars,
        ticks,
        numbers,
        names.encode(x=x, y=y, color=slot("quiet")),
        height=evaluation_steps.HEIGHT,
    )


def evaluation_grid_spec() -> dict[str, Any]:
    """Build the cells of strategies by subtasks."""
    base = rows_chart()
    x, y = unit_x(), pixel_y(evaluation_grid.HEIGHT)
    cells = (
        base.transform_filter(only("cell"))
        .mark_rect(cornerRadius=2)
        .encode(
            x=x,
            x2="x1:Q",
            y=y,
            y2="y1:Q",
            color=slot("slot"),
            opacity=alt.Opacity("tone:Q", scale=None, legend=None),
            **descriptions(),
        )
    )
    numbers = text(base.transform_filter(only("number")), "name", align="center")
    names = text(base.transform_filter(only("row")), "name", align="right", dx=-evaluation_grid.GUTTER)
    return framed(
        cells,
        numbers.encode(x=x, y=y, color=slot("slot")),
        names.encode(x=alt.value(0), y=y, color=slot("slot")),
        height=evaluation_grid.HEIGHT,
    )


def recall_spec() -> dict[str, Any]:
    """Build the curves of evidence recall: solid, dashed and dotted, with a mark of its own for each search."""
    base = rows_chart()
    room = {"expr": f"width-{recall.NAMES}"}
    x = alt.X("x0:Q", axis=None, scale=alt.Scale(domain=[0, 1], range=[0, room]))
    y = pixel_y(recall.HEIGHT)
    modes = [*recall.MODES]
    shape = alt.Shape(
        "mode:N", scale=alt.Scale(domain=modes, range=["circle", "square", "triangle-up"]), legend=None
    )
    dashes = alt.StrokeDash(
        "mode:N", scale=alt.Scale(domain=modes, range=[[1, 0], [7, 4], [2, 3]]), legend=None
    )
    grid = base.transform_filter(only("grid"))
    lines = grid.mark_rule(strokeWidth=1).encode(x=x, x2=alt.value(room), y=y, color=slot("slot"))
    shares, unit = (
        text(marks, "name", align="right", dx=-recall.GUTTER, size=recall.NUMBER_SIZE)
        for marks in (grid, base.transform_filter(only("unit")))
    )
    limits = text(base.transform_filter(only("tick")), "name", align="center", size=recall.NUMBER_SIZE)
    measured = base.transform_filter(only("point"))
    curves = measured.mark_line(strokeWidth=2).encode(
        x=x, y=y, color=slot("slot"), strokeDash=dashes, detail="mode:N"
    )
    points = measured.mark_point(size=recall.SIZE, strokeWidth=1.5, opacity=1).encode(
        x=x,
        y=y,
        **ringed(),
        shape=shape,
        **descriptions(),
    )
    named = base.transform_filter(only("name"))
    keys = named.mark_point(size=recall.SIZE, filled=True, opacity=1, xOffset=recall.LABEL_OFFSET).encode(
        x=x, y=y, color=slot("slot"), shape=shape
    )
    names = text(named, "name", align="left", dx=recall.TEXT_OFFSET)
    return framed(
        lines,
        curves,
        points,
        keys,
        names.encode(x=x, y=y, color=slot("quiet")),
        *(words.encode(x=alt.value(0), y=y, color=slot("quiet")) for words in (shares, unit)),
        limits.encode(x=x, y=y, color=slot("quiet")),
        height=recall.HEIGHT,
    )
