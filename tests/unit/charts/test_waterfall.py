"""The waterfall's specification and rows."""

from __future__ import annotations

import json

from playground.charts import waterfall
from playground.views.waterfall import waterfall_view
from tests.unit.views.manifests import manifest

VIEW = waterfall_view(manifest(), context_window=200_000)


def test_the_specification_is_built_once_and_holds_neither_numbers_nor_colours() -> None:
    assert waterfall.spec() is waterfall.spec()
    text = json.dumps(waterfall.spec())
    assert "#" not in text
    assert "data" not in waterfall.spec()
    assert "datasets" not in waterfall.spec()


def test_rows_of_any_panel_have_the_same_fields_so_that_the_chart_updates_in_place() -> None:
    fields = {tuple(row) for panel in (VIEW.window, VIEW.pool) for row in waterfall.rows(panel)}
    assert len(fields) == 1


def test_a_bar_beyond_the_scale_ends_in_two_stubs() -> None:
    first = [row for row in waterfall.rows(VIEW.pool) if row["mark"] == "bar" and row["y0"] == 0.5]
    assert len(first) == 3
    assert first[-1]["x1"] == 1.0


def test_every_row_has_a_name_and_a_number() -> None:
    labelled = [row for row in waterfall.rows(VIEW.window) if row["mark"] == "row"]
    assert [row["name"] for row in labelled] == [row.name for row in VIEW.window.rows]
    assert all(row["number"] for row in labelled)


def test_a_notebook_gets_both_panels_with_data_and_palette() -> None:
    data = waterfall.chart(VIEW, theme="dark").to_dict()
    assert [part["title"]["text"] for part in data["hconcat"]] == ["Window", "Pool"]
    assert data["config"]["range"]["category"][0] == "#617AF0"
    assert "width-" not in json.dumps(data["hconcat"]).replace("420-", "")
