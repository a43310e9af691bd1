"""Entries of a memory store: keys, tiers, priorities, sizes and patterns.

Pure. A value is held as its compact JSON, so that nobody can change what is stored, and what is read is exactly
what was written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from playground.errors import InvalidInputError
from playground.preparation.items import detached
from playground.preparation.memory_scopes import Priority, Scope
from playground.values import shown

__all__ = [
    "DESCRIPTION_LENGTH",
    "PRIORITIES",
    "TIERS",
    "MemoryEntry",
    "Tier",
    "byte_size",
    "check_description",
    "check_key",
    "check_priority",
    "matches",
    "priority_order",
    "size_text",
    "tier_of",
    "tiered_key",
    "value_json",
]

DESCRIPTION_LENGTH = 150  # code points; it is a line of the index
UNIT = 1024  # bytes in a kilobyte, and so on

Tier = Literal["raw", "summary", "findings"]

TIERS: Mapping[str, Priority] = {"raw": "low", "summary": "normal", "findings": "high"}
"""The tiers, each with the priority that its entries have."""

PRIORITIES: tuple[Priority, ...] = get_args(Priority)
"""From what is kept longest to what goes first."""

_ORDER = {priority: place for place, priority in enumerate(PRIORITIES)}
_KEY = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_UNITS = ("B", "KB", "MB", "GB")
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """One entry of a store, as it stands.

    Attributes:
        key: Its exact key, tier prefix included.
        description: One line of at most 150 code points.
        json: The value as compact JSON; ``value`` is a copy of it.
        scope: How long it matters.
        size_bytes: Bytes of ``json`` in UTF-8.
        priority: What counts for order and eviction; critical when pinned.
        base_priority: What was asked for when it was written.
        pinned: Whether it is never evicted.
        updated_at: When it was last written, in milliseconds.
        last_accessed_at: When it was last written or read, in milliseconds.
        access_count: How often it was read.
        access_order: Rises with every access in its store; tells what was used last when times are equal.
    """

    key: str
    description: str
    json: str
    scope: Scope
    size_bytes: int
    priority: Priority
    base_priority: Priority
    pinned: bool
    updated_at: int
    last_accessed_at: int
    access_count: int
    access_order: int

    @property
    def value(self) -> Any:
        """A copy of the value."""
        return json.loads(self.json)

    @property
    def tier(self) -> Tier | None:
        """The tier that the key's prefix names."""
        return tier_of(self.key)

    @property
    def removable(self) -> bool:
        """Whether it may be evicted: neither pinned nor critical."""
        return not self.pinned and self.priority != "critical"


def check_key(key: object) -> str:
    """Return a key.

    Raises:
        InvalidInputError: When it is empty, has other characters than letters, digits, dots, hyphens and
            underscores, or a dot at an end or beside another.
    """
    if isinstance(key, str) and _KEY.fullmatch(key):
        return key
    raise InvalidInputError(
        f"The key is {shown(key)}.",
        remedy="Use letters, digits, hyphens and underscores, with single dots between them.",
    )


def check_description(description: object) -> str:
    """Return a description.

    Raises:
        InvalidInputError: When it is no text, blank or longer than 150 code points.
    """
    if not isinstance(description, str) or not description.strip():
        raise InvalidInputError(
            f"The description is {shown(description)}.", remedy="Say in one line what the value is."
        )
    if len(description) > DESCRIPTION_LENGTH:
        raise InvalidInputError(
            f"The description has {len(description):,} characters.",
            remedy=f"Use at most {DESCRIPTION_LENGTH}; the value itself may be long.",
        )
    return description


def check_priority(priority: object) -> Priority:
    """Return a priority.

    Raises:
        InvalidInputError: For any other value.
    """
    for known in PRIORITIES:
        if priority == known:
            return known
    raise InvalidInputError(f"The priority is {shown(priority)}.", remedy=f"Use one of {list(PRIORITIES)}.")


def priority_order(priority: Priority) -> int:
    """Return 0 for critical, 1 for high, 2 for normal, 3 for low."""
    return _ORDER[priority]


def tier_of(key: str) -> Tier | None:
    """Return the tier that a key's prefix names, None for any other key."""
    prefix, dot, _rest = key.partition(".")
    return prefix if dot and prefix in TIERS else None  # type: ignore[return-value]  # TIERS has just those


def tiered_key(key: str, tier: str | None) -> str:
    """Return the key under which an entry of a tier is kept; a tier replaces the prefix of another.

    Raises:
        InvalidInputError: For a key or a tier that there cannot be.
    """
    checked = check_key(key)
    if tier is None:
        return checked
    if not isinstance(tier, str) or tier not in TIERS:
        raise InvalidInputError(f"The tier is {shown(tier)}.", remedy=f"Use one of {list(TIERS)}.")
    plain = checked.partition(".")[2] if tier_of(checked) else checked
    return f"{tier}.{plain}"


def value_json(value: Any) -> str:
    """Return the compact JSON of a value, non-ASCII characters kept.

    Raises:
        InvalidInputError: When it has no JSON form, or loses an entry there: two keys that are spelled alike.
    """
    try:
        copy = detached(value)
        text = _encode(copy)
    except InvalidInputError:
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"The value has no JSON form: {error}.", remedy="Store plain JSON data."
        ) from None
    if not isinstance(copy, str) and _spells_two_keys_alike(copy):
        raise InvalidInputError(
            "The value has two keys that are the same text in JSON.", remedy="Use texts as keys."
        )
    return text


def _spells_two_keys_alike(value: Any) -> bool:
    """Whether an object somewhere in plain data loses an entry as JSON; only keys that are no texts can."""
    waiting = [value]
    while waiting:
        held = waiting.pop()
        if isinstance(held, dict):
            if not all(isinstance(key, str) for key in held):
                spelled = json.loads(_encode(dict.fromkeys(held, 0)))
                if len(spelled) < len(held):
                    return True
            waiting += held.values()
        elif isinstance(held, list | tuple):
            waiting += held
    return False


def byte_size(text: str) -> int:
    """Return the bytes of a text in UTF-8; half of a character has three."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def size_text(size: int) -> str:
    """Return a number of bytes for people: ``0B``, ``512B``, ``1KB``, ``1.5MB``."""
    if size < UNIT:
        return f"{max(0, size)}B"
    number, place = float(size), 0
    while number >= UNIT and place < len(_UNITS) - 1:
        number, place = number / UNIT, place + 1
    return f"{number:.1f}".removesuffix(".0") + _UNITS[place]


def matches(pattern: str, key: str) -> bool:
    """Whether a whole key fits a pattern in which ``*`` is any run, and everything else itself. O(n)."""
    start, *parts = pattern.split("*")
    if not parts:
        return key == start
    *middle, end = parts
    if not key.startswith(start):
        return False
    place = len(start)
    for part in middle:
        # The earliest place leaves most for what follows, so nothing is ever tried twice.
        place = key.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return key.endswith(end) and len(key) - len(end) >= place
