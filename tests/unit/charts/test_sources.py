"""The sources chart's specification, rows and selection."""

from __future__ import annotations

import json

from playground.charts import sources
from playground.views.record_key import record_key
from playground.views.sources import sources_view
from tests.unit.views.manifests import manifest

HOSTILE = "<img src=x onerror=alert(1)>"
VIEW = sources_view(manifest(), title=lambda _, record_id: HOSTILE if record_id == "1" else record_id)


def test_the_specification_is_built_once_and_holds_neither_numbers_nor_colours() -> None:
    assert sources.spec() is sources.spec()
    assert "#" not in json.dumps(sources.spec())
    assert "data" not in sources.spec()


def test_a_click_answers_key_and_nonce_through_a_named_selection() -> None:
    (selection,) = sources.spec()["params"]
    assert selection["name"] == sources.SELECTION
    assert selection["select"]["fields"] == ["key", "nonce"]
    assert selection["select"]["clear"] is False
    assert {row["nonce"] for row in sources.rows(VIEW, nonce=7)} == {7}


def test_the_selected_record_is_outlined_where_its_segment_stands() -> None:
    key = record_key("rag", "2")
    rows = sources.rows(VIEW, selected=key)
    (outline,) = [row for row in rows if row["mark"] == "outline"]
    (segment,) = [row for row in rows if row["mark"] == "segment" and row["key"] == key]
    assert outline["y"] == segment["y"]
    assert 0 < segment["x0"] - outline["x0"] < 0.01
    assert 0 < outline["x1"] - segment["x1"] < 0.01


def test_nothing_is_outlined_when_the_selected_record_is_not_in_the_request() -> None:
    rows = sources.rows(VIEW, selected=record_key("rag", "3"))
    assert not [row for row in rows if row["mark"] == "outline"]


def test_reallocated_segments_are_half_tone() -> None:
    tones = {row["key"]: row["tone"] for row in sources.rows(VIEW) if row["mark"] == "segment"}
    assert tones[record_key("rag", "1")] == 1.0
    assert tones[record_key("rag", "2")] == 0.5


def test_a_title_is_data_and_never_part_of_the_specification() -> None:
    assert any(HOSTILE in row["description"] for row in sources.rows(VIEW))
    assert HOSTILE not in json.dumps(sources.spec())


def test_all_rows_have_the_same_fields() -> None:
    assert len({frozenset(row) for row in sources.rows(VIEW, selected=record_key("rag", "1"))}) == 1


def test_a_notebook_gets_the_chart_with_data_and_palette() -> None:
    data = sources.chart(VIEW).to_dict()
    assert data["width"] == 640
    assert data["config"]["range"]["category"][1] == "#1E6A4B"
    assert "half tone" in data["title"]["subtitle"]


def test_a_notebook_chart_names_one_font_because_lists_lose_all_text_in_png_files() -> None:
    assert "," not in sources.chart(VIEW).to_dict()["config"]["font"]
