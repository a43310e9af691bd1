"""Marks for the fields of values: bounded texts and lists, checked more strictly than pydantic does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import BeforeValidator, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from playground.errors import InvalidInputError

__all__ = ["LISTED", "TextLength"]


@dataclass(frozen=True, slots=True)
class TextLength:
    """Marks a field of type ``str`` and bounds it: ``Annotated[str, TextLength(1, 1000)]``; bytes are no text.

    Pydantic's own bounds refuse a text with half of a character in it, which JSON can carry and texts of models
    do hold.

    Attributes:
        at_least: Smallest number of code points.
        at_most: Largest number of code points; unbounded unless given.
        blank: Whether a text of white space alone will do.
    """

    at_least: int = 0
    at_most: int | None = None
    blank: bool = True

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._check, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        bounds = {"minLength": self.at_least or None, "maxLength": self.at_most}
        return {**handler(schema), **{name: bound for name, bound in bounds.items() if bound is not None}}

    def _check(self, text: str) -> str:
        if len(text) < self.at_least:
            raise InvalidInputError(f"{len(text):,} characters, at least {self.at_least:,} are needed")
        if not self.blank and not text.strip():
            raise InvalidInputError("the text is blank")
        if self.at_most is not None and len(text) > self.at_most:
            raise InvalidInputError(f"{len(text):,} characters, at most {self.at_most:,} are kept")
        return text


def _only_lists(value: object) -> object:
    if isinstance(value, list | tuple):
        return [*value]  # a subclass may say what it likes of its length
    raise InvalidInputError(f"a {type(value).__name__} is no list")


LISTED = BeforeValidator(_only_lists)
"""Marks a field of type ``tuple``: a list or a tuple, not all that can be iterated, in no order or once."""
