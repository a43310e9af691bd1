"""Counting text, data and images (4.1)."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import InvalidInputError
from playground.preparation import ApproximateEstimator, PreparationEstimator

HEURISTIC = PreparationEstimator()


def words(text: str) -> int:
    """Count as a tokenizer may: longer texts never cost less."""
    return len(text.split())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 0), (None, 0), ("Hello world", 4), ("x" * 13, 4), ("a" * 1000, 286), ("x" * 7, 2), ("x" * 8, 3)],
)
def test_27_1_a_text_counts_its_code_points_by_three_and_a_half_rounded_up(
    text: str | None, tokens: int
) -> None:
    assert HEURISTIC.text(text) == tokens


@pytest.mark.parametrize(
    ("value", "tokens"),
    [
        ("x" * 7, 2),
        ({"type": "object", "properties": {}}, 10),
        ({"k": "ü" * 6}, 4),
        ([], 1),
        ({1: "a"}, 3),
        (object(), 100),
        ({"a": object()}, 100),
    ],
)
def test_data_counts_as_compact_json_and_what_json_cannot_write_as_a_hundred(value: Any, tokens: int) -> None:
    assert HEURISTIC.data(value) == tokens


@pytest.mark.parametrize(
    ("size", "detail", "tokens"),
    [
        ((None, None), "low", 85),
        ((4000, 4000), "low", 85),
        ((1920, 1080), None, 2125),
        ((256, 256), "high", 255),
        ((None, None), None, 1000),
        ((None, 256), "high", 1000),
        ((0, 256), None, 1000),
        ((True, True), None, 1000),
        ((math.nan, 5), None, 1000),
        (("100", 5), None, 1000),
    ],
)
def test_27_3_an_image_counts_its_tiles_or_a_flat_thousand(
    size: tuple[Any, Any], detail: str | None, tokens: int
) -> None:
    assert HEURISTIC.image(*size, detail) == tokens


@pytest.mark.parametrize(
    "count", [lambda text: -1, lambda text: math.nan, lambda text: 1 / 0, lambda text: "x"]
)
def test_a_tokenizer_that_gives_no_count_is_replaced_by_the_characters(count: Any) -> None:
    assert PreparationEstimator(count).text("Hello world") == 4


def test_a_tokenizer_counts_texts_and_data_when_it_can() -> None:
    estimator = PreparationEstimator(words, name="words")
    assert (estimator.text("one two three"), estimator.data("a b"), estimator.data({"a": "b c"})) == (3, 2, 2)
    assert (estimator.name, estimator.kind) == ("words", "tokenizer")
    assert (HEURISTIC.name, HEURISTIC.kind) == ("heuristic", "heuristic")
    assert PreparationEstimator(words).text("") == 0


@pytest.mark.parametrize("ratio", [0, -1, math.nan, math.inf, "3.5", True])
def test_a_ratio_that_is_no_positive_number_is_refused(ratio: Any) -> None:
    with pytest.raises(InvalidInputError, match="characters per token"):
        PreparationEstimator(characters_per_token=ratio)


@given(text=st.text("ab ü", max_size=60), tokens=st.integers(-2, 30), tokenizer=st.booleans())
def test_the_longest_beginning_fits_and_one_more_character_does_not(
    text: str, tokens: int, tokenizer: bool
) -> None:
    estimator = PreparationEstimator(words if tokenizer else None)
    length = estimator.longest(text, tokens)
    assert estimator.text(text[:length]) <= max(0, tokens)
    if tokens > 0 and length < len(text):
        assert estimator.text(text[: length + 1]) > tokens


def test_the_approximate_estimator_counts_by_kind_of_content() -> None:
    approximate = ApproximateEstimator()
    text = "x" * 12
    assert [approximate.tokens(text, kind) for kind in ("code", "prose", "mixed")] == [4, 3, 4]
    assert (approximate.tokens(""), approximate.tokens(None)) == (0, 0)
    assert [approximate.data_tokens(value) for value in (None, object(), "ab")] == [1, 100, 2]
    with pytest.raises(InvalidInputError, match="content"):
        approximate.tokens(text, "verse")  # type: ignore[arg-type]  # what a stranger passes
