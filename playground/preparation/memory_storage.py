"""Sessions in this process, for tests and for programs that keep none."""

from __future__ import annotations

from collections.abc import Sequence

from playground.preparation.results import SessionSummary
from playground.preparation.stored_session import checked_lines, checked_session, checked_session_id

__all__ = ["InMemoryContextStorage"]


class InMemoryContextStorage:
    """A ``ContextStorage`` that is gone with its process; the last writer wins."""

    def __init__(self) -> None:
        self._sessions: dict[str, tuple[SessionSummary, str]] = {}
        self._journals: dict[str, list[str]] = {}

    async def save(self, session_id: str, text: str) -> None:
        """Keep a session in place of what was there.

        Raises:
            InvalidInputError: When the text is no session of that id.
        """
        self._sessions[session_id] = (checked_session(session_id, text), text)

    async def load(self, session_id: str) -> str | None:
        """Return a session's text, None where there is none."""
        found = self._sessions.get(checked_session_id(session_id))
        return None if found is None else found[1]

    async def delete(self, session_id: str) -> bool:
        """Remove a session with its journal; whether there was either."""
        journal = self._journals.pop(checked_session_id(session_id), None)
        return self._sessions.pop(session_id, None) is not None or journal is not None

    async def list(self) -> tuple[SessionSummary, ...]:
        """List the sessions, by id."""
        return tuple(self._sessions[session_id][0] for session_id in sorted(self._sessions))

    async def append_journal(self, session_id: str, lines: Sequence[str]) -> None:
        """Append lines to a session's journal.

        Raises:
            InvalidInputError: When a line is none.
        """
        self._journals.setdefault(checked_session_id(session_id), []).extend(checked_lines(lines))

    async def read_journal(self, session_id: str) -> tuple[str, ...]:
        """Return the lines of a session's journal, oldest first."""
        return tuple(self._journals.get(checked_session_id(session_id), ()))
