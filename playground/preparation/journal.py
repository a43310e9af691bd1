"""The history journal: everything that ever came in, kept apart from what compaction leaves.

Entries wait here until their session is saved, and go to its storage after it: a journal never tells of a
session that is not there. Items never change, so what waits is no copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from playground.errors import InvalidInputError, StoreError
from playground.preparation.items import Item, Json
from playground.preparation.plain_json import plain_json
from playground.preparation.ports import ContextStorage
from playground.values import RecordedValue, shown

__all__ = ["EntryKind", "HistoryJournal", "JournalEntry", "last_turn", "read_journal"]

EntryKind = Literal["user", "assistant", "tool_results", "items", "summary"]
"""How an item came in; a summary came in place of the items before it."""


class JournalEntry(RecordedValue):
    """One item that came in."""

    turn: int
    """Which turn it belongs to; turns go on after a session is loaded."""
    at: int
    """When it came in, in ms."""
    kind: EntryKind
    """How it came in."""
    item: Mapping[str, Any] | None = None
    """The item; None where it has no JSON form."""


class HistoryJournal:
    """Entries of one context that its storage does not have yet."""

    def __init__(self) -> None:
        self._waiting: list[tuple[int, int, EntryKind, Item]] = []

    @property
    def waiting(self) -> int:
        """How many entries no storage has yet."""
        return len(self._waiting)

    def record(self, kind: EntryKind, items: Iterable[Item], *, turn: int, at: int) -> None:
        """Add items as they come in; ``at`` is in ms."""
        self._waiting += [(turn, at, kind, item) for item in items]

    async def flush(self, storage: ContextStorage, session_id: str) -> int:
        """Append what waits to a session that was just saved; return how many entries that are.

        Where that fails, or is cancelled, they wait on: what the storage had then written comes twice.

        Raises:
            StoreError: When the storage fails.
        """
        taken, self._waiting = self._waiting, []
        try:
            if taken:
                await storage.append_journal(session_id, [_line(*entry) for entry in taken])
        except BaseException:
            self._waiting[:0] = taken
            raise
        return len(taken)

    def restart(self) -> None:
        """Forget what waits: another session takes the place of the one that it belongs to."""
        self._waiting.clear()


async def read_journal(storage: ContextStorage, session_id: str) -> tuple[JournalEntry, ...]:
    """Return the entries of a session's journal, oldest first; none where there is no session.

    Raises:
        StoreError: When the storage fails, or an entry is damaged; names it.
    """
    entries: list[JournalEntry] = []
    for number, line in enumerate(await storage.read_journal(session_id), 1):
        try:
            entries.append(JournalEntry.from_json(line))
        except InvalidInputError as error:
            raise StoreError(
                f"Entry {number} in the journal of the session {shown(session_id)} is damaged.",
                remedy="Go back to a copy, or delete the session.",
                store=session_id,
            ) from error
    return tuple(entries)


def last_turn(entries: Sequence[JournalEntry]) -> int:
    """Return the turn after which a session goes on: the largest that is told of, 0 for none."""
    return max((entry.turn for entry in entries), default=0)


def _line(turn: int, at: int, kind: EntryKind, item: Item) -> str:
    return JournalEntry(turn=turn, at=at, kind=kind, item=_kept(item)).to_json()


def _kept(item: Item) -> Json | None:
    try:
        kept: Json = plain_json(item.data, "An item")
    except InvalidInputError:
        return None
    return kept
