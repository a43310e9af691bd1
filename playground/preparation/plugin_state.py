"""What a plugin's saved state must look like before anything of it is taken over.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.errors import InvalidInputError
from playground.values import shown

__all__ = ["STATE_VERSION", "state_entries", "versioned"]

STATE_VERSION = 1


def versioned(field: str, entries: Sequence[Any]) -> dict[str, Any]:
    """Return the state that holds these entries."""
    return {"version": STATE_VERSION, field: list(entries)}


def state_entries(state: Any, field: str, subject: str) -> Sequence[Any]:
    """Return the entries of a state that ``versioned`` made.

    Raises:
        InvalidInputError: When it is something else, or of another version; names the subject.
    """
    version = state.get("version") if isinstance(state, Mapping) else None
    entries = state.get(field) if isinstance(state, Mapping) else None
    if version != STATE_VERSION or isinstance(version, bool) or not isinstance(entries, list | tuple):
        raise InvalidInputError(
            f"The state of {subject} is {shown(state)}.",
            remedy=f"Pass what was saved; this release reads version {STATE_VERSION}.",
        )
    return entries
