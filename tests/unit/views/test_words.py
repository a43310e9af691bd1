"""How numbers and words are written."""

from __future__ import annotations

from decimal import Decimal

import pytest

from playground.views.words import (
    count,
    entry_slot,
    joined,
    marked,
    money,
    percent,
    plural,
    score,
    shortened,
    signed,
    signed_percent,
)
from tests.unit.views.manifests import entry


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (count(8192), "8,192"),
        (count(-31412), "−31,412"),
        (signed(2181), "+2,181"),
        (signed(-416), "−416"),
        (signed(0), "0"),
        (percent(0.25), "25.0%"),
        (signed_percent(0.0411), "+4.1%"),
        (signed_percent(-0.003), "−0.3%"),
        (signed_percent(-0.0001), "0.0%"),
        (score(0.618), "0.62"),
        (score(-0.5), "−0.50"),
        (money(Decimal("0.19776")), "$0.1978"),
        (money(None), "–"),
        (plural(1, "candidate"), "1 candidate"),
        (plural(1096, "candidate"), "1,096 candidates"),
        (plural(0, ("memory", "memories")), "0 memories"),
        (joined(["a"]), "a"),
        (joined(["a", "b", "c"]), "a, b and c"),
        (joined([]), ""),
    ],
)
def test_numbers_have_separators_a_true_minus_and_their_unit(written: str, expected: str) -> None:
    assert written == expected


def test_excluded_and_mandatory_colours_win_over_the_kind() -> None:
    assert entry_slot(entry("rag", "1", 9, "ranked")) == "rag"
    assert entry_slot(entry("rag", "1", 9, "mandatory")) == "mandatory"
    assert entry_slot(entry("rag", "1", 9, "budget")) == "excluded"


@pytest.mark.parametrize(
    ("text", "length", "expected"),
    [
        ("abcd", 4, "abcd"),
        ("abcde", 4, "abcd…"),
        ("ab  cd", 4, "ab…"),
        ("abe\u0301cd", 3, "ab…"),
        ("", 0, ""),
    ],
)
def test_a_long_text_ends_between_two_characters_and_says_that_it_goes_on(
    text: str, length: int, expected: str
) -> None:
    assert shortened(text, length) == expected


def test_a_short_beginning_says_that_its_text_goes_on() -> None:
    assert shortened("ab ", 9, more=True) == "ab…"


def test_what_stands_between_double_stars_is_bold() -> None:
    assert marked("Has **12** of **40** left") == (
        ("Has ", False), ("12", True), (" of ", False), ("40", True), (" left", False),
    )  # fmt: skip
    assert marked("plain") == (("plain", False),)
