"""Entries of the whiteboard, and which of them go first.

Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.listing import listed
from playground.preparation.memory_entries import (
    DESCRIPTION_LENGTH,
    check_key,
    check_priority,
    priority_order,
    value_json,
)
from playground.preparation.memory_scopes import Priority
from playground.values import shown

__all__ = ["WhiteboardEntry", "removable", "whiteboard_entry"]

# What JSON leaves as it is, though it ends a line for some readers or has no UTF-8 form.
_UNSHOWN = re.compile("[\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class WhiteboardEntry:
    """One entry of the whiteboard.

    Attributes:
        key: Its key.
        description: What it is, at most 150 code points; may be empty.
        json: The value as compact JSON; ``value`` is a copy of it.
        priority: Critical ones are never evicted.
        updated_at: When it was last written, in milliseconds.
    """

    key: str
    description: str
    json: str
    priority: Priority
    updated_at: int

    @property
    def value(self) -> Any:
        """A copy of the value."""
        return json.loads(self.json)

    @property
    def line(self) -> str:
        """The entry in one line, as the request shows it."""
        described = f" ({listed(self.description)})" if self.description.strip() else ""
        flag = "" if self.priority == "normal" else f" [{self.priority}]"
        value = _UNSHOWN.sub(lambda found: f"\\u{ord(found.group()):04x}", self.json)
        return f"- {self.key}{described}{flag}: {value}"

    def listing(self) -> dict[str, Any]:
        """Return what lists show of it: everything but the value."""
        return {"key": self.key, "description": self.description, "priority": self.priority}

    def data(self) -> dict[str, Any]:
        """Return all of it but the time."""
        return {**self.listing(), "value": self.value}


def whiteboard_entry(key: Any, value: Any, *, description: Any, priority: Any, now: int) -> WhiteboardEntry:
    """Check and return an entry.

    Raises:
        InvalidInputError: When a field is malformed.
    """
    if not isinstance(description, str) or len(description) > DESCRIPTION_LENGTH:
        raise InvalidInputError(
            f"The description is {shown(description)}.",
            remedy=f"Give a text of at most {DESCRIPTION_LENGTH} characters.",
        )
    return WhiteboardEntry(check_key(key), description, value_json(value), check_priority(priority), now)


def removable(entries: Iterable[WhiteboardEntry]) -> Sequence[WhiteboardEntry]:
    """Return what may go of entries in the order of their writing: lowest priority first, then oldest."""
    found = [entry for entry in entries if entry.priority != "critical"]
    return sorted(found, key=lambda entry: -priority_order(entry.priority))  # stable
