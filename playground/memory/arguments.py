"""Checks of what callers pass to memories and sources, so that a mistake is told where it is made."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from numbers import Real
from typing import Any, get_args

from playground.errors import InvalidInputError
from playground.memory.records import MemoryKind
from playground.scope import MemoryScope
from playground.values import LARGEST_WHOLE_NUMBER, as_float, shown

__all__ = [
    "checked_choices",
    "checked_flag",
    "checked_id",
    "checked_kinds",
    "checked_number",
    "checked_scope",
    "checked_text",
    "checked_time",
]

_KINDS: tuple[MemoryKind, ...] = get_args(MemoryKind)


def checked_text(value: Any, name: str) -> str:
    """Return a string as it is.

    Raises:
        InvalidInputError: For anything else.
    """
    if not isinstance(value, str):
        raise InvalidInputError(f"{name} is a {type(value).__name__}.", remedy="Pass a string.")
    return value


def checked_id(value: Any, name: str) -> str:
    """Return a string that is not empty.

    Raises:
        InvalidInputError: For anything else.
    """
    if not checked_text(value, name):
        raise InvalidInputError(f"{name} is empty.", remedy="Pass a non-empty string.")
    return str(value)


def checked_flag(value: Any, name: str) -> bool:
    """Return True or False as it is.

    Raises:
        InvalidInputError: For anything else; the text "false" would count as true.
    """
    if not isinstance(value, bool):
        raise InvalidInputError(f"{name} is {shown(value)}.", remedy="Pass True or False.")
    return value


def checked_number(value: Any, name: str, *, most: float = math.inf) -> float:
    """Return a finite number from 0 to ``most``.

    Raises:
        InvalidInputError: For strings, bools, NaN, infinity and what is out of the range.
    """
    number = math.nan if isinstance(value, bool) or not isinstance(value, Real) else as_float(value)
    if not (math.isfinite(number) and 0 <= number <= most):
        span = "of 0 or more" if most == math.inf else f"from 0 to {most:g}"
        raise InvalidInputError(f"{name} is {shown(value)}.", remedy=f"Pass a number {span}.")
    return number


def checked_time(value: Any, name: str) -> int:
    """Return a time in ms that a column of 64 bits and JSON keep exactly.

    Raises:
        InvalidInputError: For anything but a whole number.
    """
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) > LARGEST_WHOLE_NUMBER:
        raise InvalidInputError(f"{name} is {shown(value)}.", remedy="Pass milliseconds since 1970.")
    return value


def checked_scope(value: Any) -> MemoryScope:
    """Return a scope, given as one or as a mapping.

    Raises:
        InvalidInputError: For anything else.
    """
    if isinstance(value, MemoryScope | Mapping):
        return MemoryScope.parse(value)
    raise InvalidInputError(
        f"scope is a {type(value).__name__}.",
        remedy='Pass a MemoryScope, or a mapping like {"user_id": "ada"}.',
    )


def checked_kinds(value: Any) -> frozenset[MemoryKind] | None:
    """Return kinds of memories, or None for all.

    Raises:
        InvalidInputError: For a bare string, what cannot be iterated, and unknown kinds.
    """
    return None if value is None else checked_choices(value, "kinds", _KINDS)


def checked_choices(value: Any, name: str, choices: Collection[Any]) -> frozenset[Any]:
    """Return a set of some of ``choices``.

    Raises:
        InvalidInputError: For a bare string, what cannot be iterated, and anything that is no choice.
    """
    remedy = f"Pass a list of some of {', '.join(choices)}."
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInputError(f"{name} is {shown(value)}, not a list.", remedy=remedy)
    given = tuple(value)
    for one in given:
        if not isinstance(one, str) or one not in choices:
            raise InvalidInputError(f"{name} holds {shown(one)}.", remedy=remedy)
    return frozenset(given)
