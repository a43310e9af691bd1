"""Evidence recall as curves: places, gaps, valleys and words."""

from __future__ import annotations

import pytest

from playground.evaluation.recall_report import GroupRecall, RecallReport
from playground.retrieval.search import SearchMode
from playground.views.recall import recall_view, recall_views

LIMITS = (250, 500, 1_000, 4_000)


def group(
    name: str,
    mode: SearchMode,
    *recall: float | None,
    project: str = "desk",
    by_words: int = 0,
    questions: int = 4,
) -> GroupRecall:
    return GroupRecall(
        project=project,
        group=name,
        mode=mode,
        questions=questions,
        evidence=2 * questions,
        material_tokens=5_000,
        searched_by_words=by_words,
        recall=recall,
    )


def report(*groups: GroupRecall, limits: tuple[int, ...] = LIMITS) -> RecallReport:
    return RecallReport(token_limits=limits, fusion="rrf", neighbour_weight=0.4, groups=groups)


def test_limits_stand_by_their_logarithm_from_the_smallest_to_the_largest() -> None:
    view = recall_view(report(group("", "hybrid", 0.25, 0.5, 0.75, 1.0)))
    (curve,) = view.curves
    assert [point.x for point in curve.points] == pytest.approx([0, 0.25, 0.5, 1])
    assert [point.y for point in curve.points] == [0.25, 0.5, 0.75, 1.0]
    assert [tick.x for tick in view.ticks] == [point.x for point in curve.points]
    assert [tick.text for tick in view.ticks] == ["250", "500", "1,000", "4,000"]


def test_a_single_limit_stands_in_the_middle() -> None:
    view = recall_view(report(group("", "dense", 0.5), limits=(800,)))
    assert [(tick.x, tick.text) for tick in view.ticks] == [(0.5, "800")]
    assert [point.x for point in view.curves[0].points] == [0.5]


def test_numbers_that_would_overlap_are_left_out_and_the_largest_is_kept() -> None:
    view = recall_view(report(group("", "lexical", 0.1, 0.2, 0.3, 0.4), limits=(100, 900, 950, 1_000)))
    assert [tick.text for tick in view.ticks] == ["100", "", "", "1,000"]
    assert len(view.curves[0].points) == 4


def test_every_search_is_a_curve_and_every_group_a_picture_before_their_mean() -> None:
    found = report(
        group("cards", "lexical", 0.2, 0.4, 0.6, 0.8),
        group("cards", "hybrid", 0.4, 0.6, 0.8, 1.0),
        group("loans", "lexical", 0.0, 0.2, 0.2, 0.4),
        group("loans", "hybrid", 0.2, 0.2, 0.4, 0.6),
    )
    views = recall_views(found)
    assert [view.title for view in views] == ["cards", "loans", "mean of 2 groups"]
    assert [[curve.mode for curve in view.curves] for view in views] == [["lexical", "hybrid"]] * 3
    assert [point.y for point in views[-1].curves[1].points] == pytest.approx([0.3, 0.4, 0.6, 0.8])
    assert views[-1].caption == "8 questions"
    assert recall_view(found) == views[-1]


def test_several_projects_are_told_apart_by_name() -> None:
    found = report(
        group("", "dense", 0.1, 0.2, 0.3, 0.4), group("a", "dense", 0.5, 0.6, 0.7, 0.8, project="docs")
    )
    assert [view.title for view in recall_views(found)] == ["desk", "docs: a"]
    assert recall_view(found).title == "desk"
    assert recall_view(found, "docs").curves[0].points[-1].y == 0.8


def test_what_fits_whole_ends_a_curve_and_the_caption_says_from_where_on() -> None:
    view = recall_view(report(group("", "hybrid", 0.5, 1.0, None, None, questions=1)))
    assert [point.y for point in view.curves[0].points] == [0.5, 1.0]
    assert view.caption == "1 question; all they search fits in 1,000 tokens"
    assert len(view.ticks) == 4  # groups beside each other keep one scale


def test_a_group_that_is_measured_nowhere_has_no_curve() -> None:
    assert recall_view(report(group("", "hybrid", None, None, None, None))).curves == ()


def test_a_point_below_one_of_fewer_tokens_is_a_valley_and_says_so() -> None:
    (curve,) = recall_view(report(group("", "lexical", 0.5, 0.25, 0.4, 0.5))).curves
    assert [point.valley for point in curve.points] == [False, True, True, False]
    assert (
        curve.points[1].description == "lexical, 500 tokens: 25.0% of the evidence; less than with fewer tokens"
    )


def test_questions_that_were_searched_by_words_are_told() -> None:
    (curve,) = recall_view(report(group("", "dense", 0.0, 0.5, 0.5, 0.5, by_words=1))).curves
    assert curve.points[0].description == (
        "dense, 250 tokens: 0.0% of the evidence; 1 question searched by words"
    )


def test_names_from_a_file_stay_in_one_line_and_turn_nothing_round() -> None:
    view = recall_view(report(group("a\nb\u202ec", "dense", 0.0, 0.5, 0.5, 0.5, project="p" * 500)))
    assert view.title == "a b\ufffdc"
    longer = recall_view(report(group("", "dense", 0.0, 0.5, 0.5, 0.5, project="p" * 500)))
    assert len(longer.title) < 200
