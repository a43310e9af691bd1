from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, field_validator

from playground import InvalidInputError
from playground.values import RecordedValue, Value


class Size(Value):
    """A value for these tests."""

    width: Annotated[int, Field(ge=0)]
    name: str = ""

    @field_validator("name")
    @classmethod
    def _short(cls, name: str) -> str:
        if len(name) > 3:
            raise InvalidInputError("at most 3 characters", remedy="Cut it.")
        return name


class RecordedSize(RecordedValue):
    """A recorded value for these tests."""

    max_width: int = 1


def test_a_value_is_frozen_closed_and_hashable() -> None:
    size = Size(width=1)
    with pytest.raises(ValueError, match="frozen"):
        size.width = 2  # type: ignore[misc]  # that is the point
    assert size.width == 1
    assert hash(size) == hash(Size(width=1))
    with pytest.raises(InvalidInputError, match="depth"):
        Size(width=1, depth=2)  # type: ignore[call-arg]  # that is the point


@pytest.mark.parametrize(
    "build",
    [
        lambda: Size(width=-1),
        lambda: Size.parse({"width": -1}),
        lambda: Size.parse_json('{"width": -1}'),
        lambda: Size.parse_json("{"),
        lambda: Size.parse(5),
        lambda: Size.parse(None),
        Size,
    ],
)
def test_whatever_is_wrong_with_a_value_is_our_own_error(build: object) -> None:
    with pytest.raises(InvalidInputError, match="Size is not valid"):
        build()  # type: ignore[operator]  # lambdas of one type


def test_every_bad_field_is_named_and_no_content_is_repeated() -> None:
    with pytest.raises(InvalidInputError) as caught:
        Size.parse({"width": -7777, "name": "SECRET"})
    message = str(caught.value)
    assert "width" in message
    assert "name" in message
    assert "at most 3 characters" in message
    assert "7777" not in message
    assert "SECRET" not in message


def test_recorded_values_are_written_in_camel_case_and_read_in_both() -> None:
    value = RecordedSize(max_width=5)
    assert value.model_dump(by_alias=True) == {"maxWidth": 5}
    assert RecordedSize.parse({"maxWidth": 5}) == RecordedSize.parse({"max_width": 5}) == value


def test_numbers_that_are_not_finite_are_refused() -> None:
    class Ratio(Value):
        """A number."""

        value: float

    for bad in (float("nan"), float("inf")):
        with pytest.raises(InvalidInputError):
            Ratio(value=bad)
