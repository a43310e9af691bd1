"""Fusion of rankings."""

from __future__ import annotations

import pytest

from playground.errors import InvalidInputError
from playground.retrieval.fusion import convex, rrf, scaled_rrf
from playground.retrieval.hits import Hit, scaled_by_maximum


def test_reciprocal_ranks_are_the_golden_ones() -> None:
    assert rrf([["a"], ["a"]]) == [("a", 0.03278688524590164)]
    assert rrf([["a", "b"], ["b", "a"]]) == [("a", 0.03252247488101534), ("b", 0.03252247488101534)]


def test_a_repeated_id_counts_once_where_it_stands_first() -> None:
    assert rrf([["a", "b", "a"]]) == rrf([["a", "b"]])


def test_scaled_ranks_give_one_to_what_leads_every_list() -> None:
    assert scaled_rrf([["a", "b"], ["a", "c"]])[0] == ("a", 1.0)
    assert scaled_rrf([["a"], []]) == [("a", 0.5)]
    assert scaled_rrf([]) == []


def test_convex_halves_each_side_after_dividing_by_its_largest() -> None:
    fused = convex([Hit("a", 4.0), Hit("b", 2.0)], [Hit("b", 0.5), Hit("c", 0.25), Hit("d", -0.3)])
    assert fused == [("b", 0.75), ("a", 0.5), ("c", 0.25)]


def test_convex_with_one_side_only_keeps_its_order() -> None:
    assert convex([], [Hit("a", 0.2), Hit("b", 0.4)]) == [("b", 0.5), ("a", 0.25)]
    assert convex([], []) == []


def test_impossible_settings_are_refused() -> None:
    with pytest.raises(InvalidInputError):
        rrf([["a"]], k=-1)
    with pytest.raises(InvalidInputError):
        convex([], [], dense_weight=float("nan"))


def test_scaled_scores_are_rounded_to_six_decimals_before_they_are_ranked() -> None:
    third = Hit("a", 1 / 3), Hit("b", 1.0), Hit("c", 1 / 3 - 1e-8)
    assert scaled_by_maximum(third) == [("b", 1.0), ("a", 0.333333), ("c", 0.333333)]
    assert convex(third, []) == [("b", 0.5), ("a", 0.166666), ("c", 0.166666)]
    assert convex([Hit("a", 2.0), Hit("b", 1.0)], [Hit("b", 3.0), Hit("a", 1.0)], dense_weight=0.7) == [
        ("b", 0.85),
        ("a", 0.533333),
    ]
    assert {hit.score for hit in scaled_rrf([["a"], ["b"]])} == {0.5}
    assert scaled_rrf([["a", "b"], ["b"]])[1] == ("a", 0.5)
    assert scaled_rrf([["a", "b"]])[1] == ("b", 0.983871)
