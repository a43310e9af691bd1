"""Bases of the project's values: frozen, closed, and with our own error instead of pydantic's."""

from __future__ import annotations

import json
import math
import operator
import re
from collections.abc import Mapping
from typing import Any, Self, SupportsFloat, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from playground.errors import InvalidInputError

__all__ = [
    "LARGEST_WHOLE_NUMBER",
    "RecordedValue",
    "Value",
    "as_float",
    "canonical_json",
    "invalid_input",
    "of_type",
    "shown",
    "whole_number",
]

LARGEST_WHOLE_NUMBER = 2**53  # above it floats, and JSON readers that use them, no longer count by one

SHOWN_LENGTH = 50  # code points of a value in a message

TEXT_KEY = "$deuzText"  # an object with this single key holds the pieces of a text that JSON would change

Wanted = TypeVar("Wanted")

_NOT_VALID = " is not valid: "
_SURROGATE = re.compile("[\ud800-\udfff]")
_BETWEEN_HALVES = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")


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
        except TypeError:
            _check_keys(type(self), data)
            raise

    @classmethod
    def parse(cls, data: Any) -> Self:
        """Check a mapping or an instance and return the value.

        Raises:
            InvalidInputError: For anything else, an unknown field or a malformed one; names it.
        """
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise invalid_input(cls, error) from None
        except TypeError:
            _check_keys(cls, data)
            raise

    @classmethod
    def parse_json(cls, text: str | bytes) -> Self:
        """Check JSON text and return the value.

        Raises:
            InvalidInputError: For text that is no JSON, an unknown field or a malformed one; names it.
        """
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            raise invalid_input(cls, error) from None


class RecordedValue(Value):
    """A value of a recorded format: camelCase in JSON, either spelling accepted when read."""

    model_config = ConfigDict(alias_generator=to_camel, validate_by_name=True, validate_by_alias=True)

    def to_json(self) -> str:
        """Return canonical JSON: declared key order, no spaces, absent fields left out; encodes to UTF-8.

        A lone surrogate is written as its escape. Two that JSON would join to one character on reading, as no
        escape prevents, stand as the pieces of ``{"$deuzText": [...]}``; ``recorded`` puts them together.

        Raises:
            InvalidInputError: When free data in it has no JSON form.
        """
        data = self.model_dump(mode="python", by_alias=True, exclude_none=True)
        try:
            return canonical_json(data)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"{type(self).__name__} has no JSON form: {error}.", remedy="Hold plain JSON data in it."
            ) from None

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what ``to_json`` wrote, without loss.

        Raises:
            InvalidInputError: For text that is no JSON, an unknown version or a malformed field.
        """
        try:
            data = json.loads(text)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(
                f"{cls.__name__} is not JSON: {error}.", remedy="Pass the text that to_json wrote."
            ) from None
        return cls.recorded(data)

    @classmethod
    def recorded(cls, data: Any) -> Self:
        """Check a value, or the plain data that JSON gives of its recorded form, and return the value.

        Raises:
            InvalidInputError: For malformed data; where the format has a version, also for data that names
                none or another one: data that lacks it was never recorded.
        """
        if isinstance(data, cls):
            return cls.parse(data)
        data = _with_whole_texts(data)
        version = cls.model_fields.get("version")
        if version is not None:
            found = data.get("version") if isinstance(data, Mapping) else None
            if found != version.default or isinstance(found, bool):
                raise InvalidInputError(
                    f"{cls.__name__} has version {shown(found)}.",
                    remedy=f"This release reads version {version.default}.",
                )
        return cls.parse(data)


def canonical_json(data: Any) -> str:
    """Return JSON in the given key order, without spaces; encodes to UTF-8. See ``RecordedValue.to_json``.

    Raises:
        TypeError: When data has no JSON form.
        ValueError: When a number is not finite, or a key cannot be written.
        RecursionError: When data is nested too deeply.
    """
    text = _json(data)
    try:
        text.encode()
    except UnicodeEncodeError:
        if TEXT_KEY in text or _BETWEEN_HALVES.search(text):
            text = _json(_in_pieces(data))
        return _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
    return text


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
        # What stands deeper in a field is not what the field's own description tells of.
        field = value.model_fields.get(str(item["loc"][0])) if len(item["loc"]) == 1 else None
        if field is not None and field.description and not remedies.get(where):
            remedies[where] = f"{where} is: {field.description.replace('``', '')}"
    remedy = " ".join(text for text in remedies.values() if text)
    return InvalidInputError(f"{value.__name__}{_NOT_VALID}{'; '.join(problems)}.", remedy=remedy)


def whole_number(value: object, subject: str, *, least: int = 0) -> int:
    """Return ``value`` as an int of at least ``least``, 0 or more, and at most 2**53.

    Raises:
        InvalidInputError: For bools, fractions, strings, too small and huge numbers; names the subject.
    """
    if not isinstance(value, bool):
        try:
            number = operator.index(value)  # type: ignore[arg-type]  # TypeError is the answer for the rest
        except Exception:  # noqa: BLE001  # a foreign __index__ may raise anything
            number = -1
        if least <= number <= LARGEST_WHOLE_NUMBER:
            return number
        if number > LARGEST_WHOLE_NUMBER:
            raise InvalidInputError(
                f"{subject} is {shown(value)}.", remedy=f"Give at most {LARGEST_WHOLE_NUMBER:,}."
            )
    raise InvalidInputError(
        f"{subject} is {shown(value)}.", remedy=f"Give a whole number of {least:,} or more."
    )


def of_type(value: object, wanted: type[Wanted], subject: str) -> Wanted:
    """Return ``value``, which must be an instance of a type.

    Raises:
        InvalidInputError: For anything else; names the subject and the type.
    """
    if not isinstance(value, wanted):
        raise InvalidInputError(f"{subject} is a {type(value).__name__}.", remedy=f"Pass a {wanted.__name__}.")
    return value


def shown(value: object) -> str:
    """Return any value in at most 50 code points, for a message; never raises.

    What has no text of its own, an integer of thousands of digits or an object whose ``repr`` raises, is named
    by its type.
    """
    try:
        return str.__getitem__(repr(value), slice(SHOWN_LENGTH))
    except Exception:  # noqa: BLE001  # a foreign repr may raise anything
        kind = f"{type(value).__name__:.30}"
        return f"a huge {kind}" if type(value) is int else f"a {kind} without a text"


def as_float(number: SupportsFloat) -> float:
    """Return a number as a float; one too large for it gives infinity."""
    try:
        return float(number)
    except OverflowError:
        return math.inf


def _check_keys(value: type[BaseModel], data: Any) -> None:
    """Refuse a key that is no text, at any depth; Python itself stumbles over one that should name a field."""
    waiting, seen = [data], set[int]()
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Mapping):
            if not all(isinstance(key, str) for key in item):
                raise InvalidInputError(f"{value.__name__}{_NOT_VALID}a key is no text.")
            waiting += item.values()
        elif isinstance(item, list | tuple):
            waiting += item


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _in_pieces(value: Any) -> Any:
    if isinstance(value, str):
        pieces = _BETWEEN_HALVES.split(value)
        return {TEXT_KEY: pieces} if len(pieces) > 1 else value
    if isinstance(value, Mapping):
        if any(isinstance(key, str) and _BETWEEN_HALVES.search(key) for key in value):
            raise ValueError("a key holds two halves of a character as if they were two")
        if _whole_text(value) is not value:
            raise ValueError(f"{TEXT_KEY} stands for a text in pieces")
        return {key: _in_pieces(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_in_pieces(item) for item in value]
    return value


def _with_whole_texts(data: Any) -> Any:
    """Return a copy of what JSON gives in which no text is in pieces. Without recursion; data may be deep."""
    whole = [data]
    copies: dict[int, Any] = {}  # by the id of what is copied, also where data holds itself
    waiting: list[Any] = [whole]
    while waiting:
        copy = waiting.pop()
        for place, item in copy.items() if isinstance(copy, dict) else enumerate(copy):
            if not isinstance(item, dict | list):
                continue
            if id(item) not in copies:
                joined = _whole_text(item) if isinstance(item, dict) else item
                if joined is item:
                    joined = item.copy()
                    waiting.append(joined)
                copies[id(item)] = joined
            copy[place] = copies[id(item)]
    return whole[0]


def _whole_text(data: Mapping[str, Any]) -> Any:
    """Undo ``_in_pieces``; what only looks like it stays plain data."""
    pieces = data.get(TEXT_KEY)
    if len(data) == 1 and isinstance(pieces, list | tuple) and all(isinstance(piece, str) for piece in pieces):
        text = "".join(pieces)
        if len(pieces) > 1 and _BETWEEN_HALVES.split(text) == list(pieces):
            return text
    return data
