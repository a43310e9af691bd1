from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import pytest

from playground import InvalidInputError
from playground.fields import LISTED, TextLength
from playground.values import RecordedValue


class Label(RecordedValue):
    """A bounded text, for these tests."""

    text: Annotated[str, TextLength(2, 3)]
    more: Annotated[str, TextLength()] | None = None


@pytest.mark.parametrize("text", ["ab", "abc", "\ud83d!", "\ud83d\ude00", "\U0001f600\U0001f600\U0001f600"])
def test_a_text_of_bounded_length_may_hold_halves_of_characters(text: str) -> None:
    label = Label(text=text, more="\ud800")
    assert label.text == text
    assert Label.from_json(label.to_json()) == label


@pytest.mark.parametrize("text", ["", "a", "abcd", b"ab", bytearray(b"ab"), 12, True, None, ["ab"]], ids=repr)
def test_a_text_of_another_length_or_type_is_refused(text: Any) -> None:
    with pytest.raises(InvalidInputError, match="text"):
        Label(text=text)


def test_the_schema_of_a_bounded_text_states_its_bounds() -> None:
    properties = Label.model_json_schema()["properties"]
    assert properties["text"] == {"title": "Text", "type": "string", "minLength": 2, "maxLength": 3}
    assert properties["more"]["anyOf"][0] == {"type": "string"}


class Row(RecordedValue):
    """A list, for these tests."""

    cells: Annotated[tuple[str, ...], LISTED]


def test_a_list_is_a_list_or_a_tuple_and_nothing_else_that_can_be_iterated() -> None:
    assert Row.parse({"cells": ["b", "a"]}) == Row(cells=("b", "a"))
    others: list[Iterable[str]] = [{"b", "a"}, {"b": 1}, {"b": 1}.keys(), iter(["b"]), "ba", frozenset("b")]
    for other in others:
        with pytest.raises(InvalidInputError, match="no list"):
            Row.parse({"cells": other})
