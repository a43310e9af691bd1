"""Bases of the project's values: frozen, closed, and with our own error instead of pydantic's."""

from __future__ import annotations

import math
import operator
from typing import Any, Self, SupportsFloat

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from playground.errors import InvalidInputError

__all__ = ["RecordedValue", "Value", "as_float", "whole_number"]

LARGEST_WHOLE_NUMBER = 2**53  # above it floats, and JSON readers that use them, no longer count by one

_NOT_VALID = " is not valid: "


class Value(BaseModel):
    """A frozen value that refuses unknown fields.

    Raises:
        InvalidInputError: On construction, ``parse`` and ``parse_json``; names every bad field.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False)

    def __init__(self, /, **data: Any) -> None:
        try:
            super().__init__(**data)
        except ValidationError as error:
            raise invalid_input(type(self), error) from None

    @classmethod
    def parse(cls, data: Any) -> Self:
        """Check a mapping or an instance and return the value."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise invalid_input(cls, error) from None

    @classmethod
    def parse_json(cls, text: str | bytes) -> Self:
        """Check JSON text and return the value."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise invalid_input(cls, error) from None


class RecordedValue(Value):
    """A value of a recorded format: camelCase in JSON, either spelling accepted when read."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


def invalid_input(value: type[BaseModel], error: ValidationError) -> InvalidInputError:
    """Turn pydantic's report into one sentence: each bad field, then what the field is.

    The values themselves are left out; they may be content.
    """
    problems: list[str] = []
    remedies: dict[str, str] = {}
    for item in error.errors(include_url=False, include_input=False):
        where = ".".join(str(part) for part in item["loc"])
        cause = item.get("ctx", {}).get("error")
        if isinstance(cause, InvalidInputError):
            # A value inside this one: its own sentence, without saying twice that it is not valid.
            problem = cause.problem.partition(_NOT_VALID)[2] or cause.problem
            remedies[where] = cause.remedy
        else:
            problem = str(cause) if cause else item["msg"]
        problem = problem.removesuffix(".")
        problems.append(f"{where}: {problem}" if where else problem)
        field = value.model_fields.get(str(item["loc"][0])) if item["loc"] else None
        if field is not None and field.description and not remedies.get(where):
            remedies[where] = f"{where} is: {field.description}"
    remedy = " ".join(text for text in remedies.values() if text)
    return InvalidInputError(f"{value.__name__}{_NOT_VALID}{'; '.join(problems)}.", remedy=remedy)


def whole_number(value: object, subject: str) -> int:
    """Return ``value`` as an int of at least 0 and at most 2**53.

    Raises:
        InvalidInputError: For bools, fractions, strings, negative and huge numbers; names the subject.
    """
    if not isinstance(value, bool):
        try:
            number = operator.index(value)  # type: ignore[arg-type]  # TypeError is the answer for the rest
        except TypeError:
            number = -1
        if 0 <= number <= LARGEST_WHOLE_NUMBER:
            return number
    raise InvalidInputError(f"{subject} is {value!r:.50}.", remedy="Give a whole number of 0 or more.")


def as_float(number: SupportsFloat) -> float:
    """Return a number as a float; one too large for it gives infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf
