"""The curves of evidence recall: specification and rows."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import pytest

from playground.charts import recall
from playground.retrieval.search import SearchMode
from playground.views.palette import Theme, colours
from playground.views.recall import RecallCurve, RecallPoint, RecallTick, RecallView

HOSTILE = "<img src=x onerror=alert(1)>"


def curve(mode: SearchMode, *shares: float, valley: int | None = None) -> RecallCurve:
    step = 1 / max(1, len(shares) - 1)
    return RecallCurve(
        mode,
        tuple(
            RecallPoint(at * step, share, at == valley, f"{mode} {share}") for at, share in enumerate(shares)
        ),
    )


VIEW = RecallView(
    title="cards",
    caption="4 questions",
    ticks=(RecallTick(0.0, "250"), RecallTick(0.5, ""), RecallTick(1.0, "1,000")),
    curves=(curve("lexical", 0.2, 0.1, 0.9, valley=1), curve("hybrid", 0.5, 0.75, 1.0)),
)


def test_the_specification_is_built_once_and_holds_neither_rows_nor_colours() -> None:
    assert recall.spec() is recall.spec()
    assert "#" not in json.dumps(recall.spec())
    assert "data" not in recall.spec()
    assert len({frozenset(row) for row in recall.rows(VIEW)}) == 1


def test_everything_stands_at_the_top_and_nothing_at_the_bottom_hybrid_above_the_others() -> None:
    points = [row for row in recall.rows(VIEW) if row["mark"] == "point"]
    assert [(row["mode"], row["slot"]) for row in points] == [("lexical", "total")] * 3 + [
        ("hybrid", "ink")
    ] * 3
    assert points[-1]["y0"] == recall.TOP
    assert points[-1]["x0"] == 1
    assert points[0]["x0"] == pytest.approx(recall.MARGIN)
    assert points[1]["y0"] == pytest.approx(recall.TOP + 0.9 * recall.CURVES)
    shares = [(row["name"], row["y0"]) for row in recall.rows(VIEW) if row["mark"] == "grid"]
    assert shares == [
        ("0%", recall.TOP + recall.CURVES),
        ("50%", recall.TOP + recall.CURVES / 2),
        ("100%", recall.TOP),
    ]


def test_a_limit_has_its_number_below_its_points() -> None:
    rows = recall.rows(VIEW)
    ticks = [row for row in rows if row["mark"] == "tick"]
    assert [row["name"] for row in ticks] == ["250", "", "1,000"]
    places = [row["x0"] for row in rows if row["mark"] == "point" and row["mode"] == "hybrid"]
    assert [row["x0"] for row in ticks] == places


def test_a_valley_is_hollow_and_the_caption_of_a_notebook_says_what_that_means() -> None:
    rows = recall.rows(VIEW)
    assert [row["filled"] for row in rows if row["mark"] == "point"] == [1, 0, 1, 1, 1, 1]
    subtitle = recall.chart(VIEW).to_dict()["title"]["subtitle"]
    assert subtitle == "4 questions; hollow: less than with fewer tokens"
    plain = replace(VIEW, curves=VIEW.curves[1:])
    assert recall.chart(plain).to_dict()["title"]["subtitle"] == "4 questions"


@pytest.mark.parametrize("end", [0.0, 0.02, 0.5, 1.0])
def test_names_never_overlap_and_never_leave_the_curves_heights(end: float) -> None:
    three = replace(
        VIEW, curves=(curve("lexical", 0.1, end), curve("dense", 0.2, end), curve("hybrid", 0.3, end))
    )
    names = [row for row in recall.rows(three) if row["mark"] == "name"]
    assert [row["name"] for row in names] == ["hybrid", "dense", "lexical"]  # as they stood before
    heights = [row["y0"] for row in names]
    assert all(below - above >= recall.LABEL_GAP for above, below in pairwise(heights))
    assert heights[0] >= recall.TOP
    assert heights[-1] <= recall.TOP + recall.CURVES


def test_a_name_stands_at_the_end_of_its_curve_where_there_is_room() -> None:
    apart = replace(VIEW, curves=(curve("lexical", 0.1, 0.2), curve("dense", 0.2, 0.8)))
    names = [(row["name"], row["y0"]) for row in recall.rows(apart) if row["mark"] == "name"]
    assert names == [
        ("dense", pytest.approx(recall.TOP + 0.2 * recall.CURVES)),
        ("lexical", pytest.approx(recall.TOP + 0.8 * recall.CURVES)),
    ]


def test_without_curves_the_frame_remains() -> None:
    marks = [row["mark"] for row in recall.rows(replace(VIEW, curves=()))]
    assert marks == ["grid"] * 3 + ["tick"] * 3 + ["unit"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_notebook_gets_a_picture_in_the_palette_of_its_theme(theme: Theme) -> None:
    view = replace(VIEW, title=HOSTILE)
    svg = _svg(recall.chart(view, theme=theme, width=400).to_json())
    assert colours(theme)["ink"].lower() in svg.lower()
    assert HOSTILE not in svg  # escaped
    assert ">hybrid<" in svg


def test_several_pictures_stand_beside_each_other_in_one_scale() -> None:
    both = recall.charts([VIEW, replace(VIEW, title="loans")], width=200)
    found = both.to_dict()
    assert [part["title"]["text"] for part in found["hconcat"]] == ["cards", "loans"]
    assert '"expr": "width-' not in json.dumps(found)
    assert ">loans<" in _svg(both.to_json())


def _svg(spec: str) -> str:
    import vl_convert

    svg: str = vl_convert.vegalite_to_svg(spec)
    return svg
