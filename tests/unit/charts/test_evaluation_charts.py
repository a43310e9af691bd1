"""The evaluation's charts: rows of one shape, specifications without numbers, palette in notebooks."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from playground.charts import evaluation_grid, evaluation_steps
from playground.evaluation import STRATEGIES, evaluate
from playground.views.evaluation import grid_view, steps_view

REPORT = evaluate(steps=18)
STEPS = steps_view(REPORT, "compiler")
GRID = grid_view(REPORT, "records")
CHARTS: list[tuple[ModuleType, Any]] = [(evaluation_steps, STEPS), (evaluation_grid, GRID)]


@pytest.mark.parametrize(("module", "view"), CHARTS)
def test_the_specification_is_built_once_and_holds_neither_numbers_nor_colours(
    module: ModuleType, view: Any
) -> None:
    assert module.spec() is module.spec()
    assert "#" not in json.dumps(module.spec())
    assert "data" not in module.spec()
    assert len({frozenset(row) for row in module.rows(view)}) == 1


@pytest.mark.parametrize(("module", "view"), CHARTS)
def test_a_notebook_gets_the_chart_with_data_and_palette(module: ModuleType, view: Any) -> None:
    light, dark = module.chart(view).to_dict(), module.chart(view, theme="dark", width=500).to_dict()
    assert (light["width"], dark["width"]) == (780, 500)
    assert light["title"]["text"] == view.title
    assert light["background"] != dark["background"]
    assert "," not in light["config"]["font"]  # a list of fonts loses all text in PNG files


def test_bars_stack_from_the_bottom_and_ticks_tell_why() -> None:
    rows = evaluation_steps.rows(STEPS)
    for bar in STEPS.bars:
        own = [row for row in rows if row["mark"] == "bar" and row["x0"] == bar.start]
        assert [row["slot"] for row in own] == (["total"] if bar.unchanged else []) + ["working-memory"]
        assert own[0]["y1"] == evaluation_steps.TOP + evaluation_steps.BARS
        assert own[-1]["y0"] == pytest.approx(evaluation_steps.TOP + evaluation_steps.BARS * (1 - bar.total))
    ticks = [row["slot"] for row in rows if row["mark"] == "tick"]
    assert len(ticks) == sum(bar.retrieved or bar.shortened for bar in STEPS.bars)
    assert ticks.count("mandatory") == sum(bar.shortened for bar in STEPS.bars) == 1


def test_every_cell_has_a_number_and_a_tone_for_its_share() -> None:
    rows = evaluation_grid.rows(GRID)
    cells = [row for row in rows if row["mark"] == "cell"]
    assert len(cells) == len(GRID.cells)
    for row, cell in zip(cells, GRID.cells, strict=True):
        assert row["tone"] == pytest.approx(evaluation_grid.FULL_TONE * (cell.share or 0))
    names = [row["name"] for row in rows if row["mark"] == "row"]
    assert names == list(GRID.rows)
    assert len(STRATEGIES) == evaluation_grid.STRATEGIES
