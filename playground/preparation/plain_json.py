"""Data that JSON holds without a loss, copied and checked in one walk.

Pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from playground.errors import InvalidInputError
from playground.values import shown

__all__ = ["plain_json"]

DEEPEST = 200  # levels; far below the interpreter's recursion limit, so that it can be written and read again


def plain_json(value: Any, subject: str) -> Any:
    """Return a copy in which every object and list is new. O(its size).

    Raises:
        InvalidInputError: For what JSON would change or cannot write: keys that are no text, numbers that are
            not finite, other objects, more than 200 levels; names the subject.
    """
    try:
        return _plain(value, DEEPEST)
    except _NoJsonError as error:
        raise InvalidInputError(
            f"{subject} has no JSON form: {error}.", remedy="Hold plain data in it."
        ) from None


class _NoJsonError(Exception):
    """Says what JSON cannot hold."""


def _plain(value: Any, levels: int) -> Any:
    if isinstance(value, str) or value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _NoJsonError(f"{value} is no number there")
        return value
    if not levels:
        raise _NoJsonError(f"it is nested more than {DEEPEST} levels deep")
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise _NoJsonError(f"the key {shown(name)} is no text")
        return {name: _plain(item, levels - 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, levels - 1) for item in value]
    raise _NoJsonError(f"a {type(value).__name__} is no data")
