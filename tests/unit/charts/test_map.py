"""The map's specification and rows."""

from __future__ import annotations

import json

import pytest

from playground.charts import map as record_map
from playground.views.map import MapKind, MapPoint, MapView
from playground.views.palette import Theme, colours

HOSTILE = "<img src=x onerror=alert(1)>"


def point(
    slot: str, x: float, y: float, *, rank: int = 0, selected: bool = False, title: str = "t"
) -> MapPoint:
    return MapPoint(f"{slot}{x}", slot, x, y, title, rank, selected, f"{slot}: {title}")  # type: ignore[arg-type]


VIEW = MapView(
    points=(
        point("rag", 0.1, 0.2),
        point("rag", 0.3, 0.4, rank=4),
        point("memory", 1.2, 0.9, rank=2, selected=True, title=HOSTILE),
        point("skills", 0.5, 0.5, selected=True),
    ),
    question=point("ink", 0.7, 0.6, title="Which card?"),
    kinds=(MapKind("rag", "Documents", "2", "1", "0"),),
    total="4 records and the question",
    sentence=(("Near is alike.", False),),
    notes=(),
)


def test_the_specification_is_built_once_and_holds_neither_rows_nor_colours() -> None:
    assert record_map.spec() is record_map.spec()
    assert "#" not in json.dumps(record_map.spec())
    assert "data" not in record_map.spec()


def test_each_point_stands_at_its_place_in_the_colour_of_its_kind_faint_ones_below() -> None:
    rows = record_map.rows(VIEW)
    assert [(row["mark"], row["x"], row["y"], row["slot"]) for row in rows] == [
        ("point", 0.1, 0.2, "rag"),
        ("point", 0.3, 0.4, "rag"),
        ("point", 0.5, 0.5, "skills"),
        ("point", 1.2, 0.9, "memory"),
        ("question", 0.7, 0.6, "ink"),
    ]
    assert [(row["filled"], row["tone"]) for row in rows[:4]] == [(1, 0.28), (0, 1), (1, 1), (1, 1)]


def test_only_the_best_ranks_are_drawn_and_the_question_is_named() -> None:
    assert [row["label"] for row in record_map.rows(VIEW)] == ["", "", "", "2", "question"]


def test_a_click_answers_key_and_nonce_through_a_named_selection() -> None:
    (selection,) = record_map.spec()["params"]
    assert selection["name"] == record_map.SELECTION
    assert selection["select"]["fields"] == ["key", "nonce"]
    assert {row["nonce"] for row in record_map.rows(VIEW, nonce=7)} == {7}


def test_the_marked_record_is_outlined_where_its_point_stands() -> None:
    (outline,) = [row for row in record_map.rows(VIEW, selected="rag0.3") if row["mark"] == "outline"]
    assert (outline["x"], outline["y"], outline["slot"]) == (0.3, 0.4, "ink")
    assert not [row for row in record_map.rows(VIEW, selected="gone") if row["mark"] == "outline"]


def test_the_tooltip_is_plain_text_whatever_the_title() -> None:
    spec = json.dumps(record_map.spec())
    assert "description" in spec
    assert "href" not in spec
    assert "url" not in spec
    assert HOSTILE in record_map.rows(VIEW)[3]["description"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_notebook_gets_a_picture_in_the_palette_of_its_theme(theme: Theme) -> None:
    chart = record_map.chart(VIEW, theme=theme, width=400)
    svg = _svg(chart.to_json())
    assert colours(theme)["memory"].lower() in svg.lower()
    assert HOSTILE not in svg  # escaped
    assert ">question<" in svg


def _svg(spec: str) -> str:
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg
