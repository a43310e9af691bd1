"""Bases of the project's values: frozen, closed, and with our own error instead of pydantic's."""

from __future__ import annotations

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from playground.errors import InvalidInputError

__all__ = ["RecordedValue", "Value"]


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
            raise invalid_input(type(self).__name__, error) from None

    @classmethod
    def parse(cls, data: Any) -> Self:
        """Check a mapping or an instance and return the value."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise invalid_input(cls.__name__, error) from None

    @classmethod
    def parse_json(cls, text: str | bytes) -> Self:
        """Check JSON text and return the value."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise invalid_input(cls.__name__, error) from None


class RecordedValue(Value):
    """A value of a recorded format: camelCase in JSON, either spelling accepted when read."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)


def invalid_input(name: str, error: ValidationError) -> InvalidInputError:
    """Turn pydantic's report into one sentence per bad field; values are left out, they may be content."""
    problems = []
    for item in error.errors(include_url=False, include_input=False, include_context=True):
        where = ".".join(str(part) for part in item["loc"])
        cause = item.get("ctx", {}).get("error")
        text = getattr(cause, "problem", None) or (str(cause) if cause else item["msg"])
        problems.append(f"{where}: {text}" if where else text)
    return InvalidInputError(f"{name} is not valid: {'; '.join(problems)}.".replace("..", "."))
