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
    kinds=(MapKind("rag", "Documents", "2", "1", "0", ""),),
    total="4 records and the question",
    sentence=(("Near is alike.", False),),
    notes=(),
)


def test_the_specification_is_built_once_and_holds_neither_rows_nor_colours() -> None:
    assert record_map.spec() is record_map.spec()
    assert "#" not in json.dumps(record_map.spec())
    assert "data" not in record_map.spec()


def test_each_point_is_one_row_at_its_place_in_the_colour_of_its_kind() -> None:
    rows = record_map.rows(VIEW)
    assert [(row["mark"], row["x"], row["y"], row["slot"]) for row in rows] == [
        ("record", 0.1, 0.2, "rag"),
        ("offered", 0.3, 0.4, "rag"),
        ("selected", 1.2, 0.9, "memory"),
        ("selected", 0.5, 0.5, "skills"),
        ("question", 0.7, 0.6, "ink"),
    ]


def test_only_the_best_ranks_are_drawn_and_the_question_is_named() -> None:
    assert [row["label"] for row in record_map.rows(VIEW)] == ["", "", "2", "", "question"]


def test_the_tooltip_is_plain_text_whatever_the_title() -> None:
    spec = json.dumps(record_map.spec())
    assert "description" in spec
    assert "href" not in spec
    assert "url" not in spec
    assert HOSTILE in record_map.rows(VIEW)[2]["description"]


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
