"""A session as storages keep it, and what each of them checks before it writes.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from playground.errors import InvalidInputError
from playground.preparation.items import Json
from playground.preparation.results import SessionSummary
from playground.values import RecordedValue, shown

__all__ = [
    "SessionState",
    "StoredSession",
    "checked_lines",
    "checked_session",
    "checked_session_id",
]


class SessionState(RecordedValue):
    """What a context holds, detached from it."""

    conversation: tuple[Json, ...] = ()
    """The history, oldest first; the current input is not kept."""
    plugin_states: Mapping[str, Any] = {}
    """The state of each plugin that has one, by name."""
    system_prompt: str | None = None
    """The system prompt, its variables unresolved."""
    metadata: Mapping[str, Any] = {}
    """``savedAt`` (ISO 8601, UTC), ``agentId``, ``userId``, ``model``, and what the host adds."""
    agent_state: Any = None
    """What an agent keeps beside its context."""


class StoredSession(RecordedValue):
    """A session as a storage keeps it."""

    version: Literal[1] = 1
    """The format's version."""
    session_id: str
    """Its id."""
    created_at: str
    """When it was first saved: ISO 8601, UTC."""
    last_saved_at: str
    """When it was last saved."""
    state: SessionState
    """What the context held then."""
    metadata: Mapping[str, Any] = {}
    """What the host adds about the session as a whole."""


def checked_session(session_id: object, text: object) -> SessionSummary:
    """Return what a list tells of a session that is to be written.

    Raises:
        InvalidInputError: When the id is none, or the text is no session of that id, in this version.
    """
    checked = checked_session_id(session_id)
    session = StoredSession.from_json(_encodable(text, "The session"))
    if session.session_id != checked:
        raise InvalidInputError(
            f"The session's id is {shown(session.session_id)}, not {shown(checked)}.",
            remedy="Save it under its own id.",
        )
    return SessionSummary(session.session_id, session.last_saved_at)


def checked_session_id(session_id: object) -> str:
    """Return an id that any storage keeps: any text but an empty one.

    Raises:
        InvalidInputError: For anything else.
    """
    if not isinstance(session_id, str) or not session_id:
        raise InvalidInputError(f"The session id is {shown(session_id)}.", remedy="Pass a text.")
    return session_id


def checked_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines of a journal.

    Raises:
        InvalidInputError: When one is empty, no text, or holds a line break or what UTF-8 does not.
    """
    if isinstance(lines, str):
        raise InvalidInputError("The lines are one text.", remedy="Pass a list of lines.")
    for line in lines:
        if not _encodable(line, "A line") or "\n" in line or "\x00" in line:
            raise InvalidInputError(f"A line of a journal is {shown(line)}.", remedy="Pass JSON in one line.")
    return tuple(lines)


def _encodable(text: object, subject: str) -> str:
    if not isinstance(text, str):
        raise InvalidInputError(f"{subject} is a {type(text).__name__}.", remedy="Pass a text.")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInputError(
            f"{subject} does not encode as UTF-8.", remedy="Write it with to_json."
        ) from None
    return text
