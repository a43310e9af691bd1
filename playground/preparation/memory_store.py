"""A store of entries by key that stays within its limits: what matters least and was used longest ago goes.

Pure but for the clock that it is given. Entries are values; what is read cannot change what is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from playground.errors import InvalidInputError
from playground.preparation.memory_entries import (
    TIERS,
    MemoryEntry,
    byte_size,
    check_description,
    check_key,
    check_priority,
    priority_order,
    tiered_key,
    value_json,
)
from playground.preparation.memory_scopes import Priority, PriorityRule, read_scope, scope_data
from playground.preparation.plugin_state import state_entries, versioned
from playground.preparation.ports import Clock
from playground.values import shown, whole_number

__all__ = ["MAX_BYTES", "MAX_ENTRIES", "MemoryStore", "Stored"]

MAX_ENTRIES = 30
MAX_BYTES = 25 * 2**20
ROOM_SHARE = 0.8  # of the bytes are in use, at most, after room was made
_Entries = list[MemoryEntry]


@dataclass(frozen=True, slots=True)
class Stored:
    """What a write did.

    Attributes:
        key: The final key, tier prefix included.
        size_bytes: Bytes of the value's compact JSON in UTF-8.
        evicted: Keys of entries that made room, in the order in which they went.
    """

    key: str
    size_bytes: int
    evicted: tuple[str, ...]


class MemoryStore:
    """Entries by key.

    Before a new entry would be one too many, and before a write would be too large, entries of the lowest
    priority go, least recently used first; never pinned and critical ones. Where none can go, the write still
    happens.

    Args:
        max_entries: How many entries it holds, at least 1.
        max_bytes: How many bytes their values have together, at least 1.
        clock: Returns milliseconds; without one all times are 0. Order never depends on it.
        priority_rule: Replaces the priority that was asked for, see ``task_priority``.

    Raises:
        InvalidInputError: For a limit that is no whole number of 1 or more.
    """

    def __init__(
        self,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
        clock: Clock | None = None,
        priority_rule: PriorityRule | None = None,
    ) -> None:
        self.max_entries = whole_number(max_entries, "The number of entries", least=1)
        self.max_bytes = whole_number(max_bytes, "The number of bytes", least=1)
        self._clock = clock
        self._rule = priority_rule
        self._entries: dict[str, MemoryEntry] = {}
        self._accesses = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    @property
    def used_bytes(self) -> int:
        """Bytes of all values."""
        return sum(entry.size_bytes for entry in self._entries.values())

    def set(
        self,
        key: str,
        description: str,
        value: Any,
        *,
        tier: str | None = None,
        scope: Any = "session",
        priority: str | None = None,
        pinned: bool = False,
    ) -> Stored:
        """Write an entry, new or again.

        Args:
            key: Letters, digits, hyphens, underscores and single dots between them.
            description: One line of at most 150 code points.
            value: Anything that JSON can hold, None included.
            tier: ``raw``, ``summary`` or ``findings``: replaces the key's tier prefix, and sets the priority.
            scope: ``session``, ``plan``, ``persistent`` or the data of a task scope.
            priority: ``critical``, ``high``, ``normal`` or ``low``; without one normal.
            pinned: Whether it is never evicted; it is critical then.

        Raises:
            InvalidInputError: When something is malformed; nothing was changed then.
        """
        final = tiered_key(key, tier)
        wanted = TIERS[tier] if tier is not None else check_priority("normal" if priority is None else priority)
        if not isinstance(pinned, bool):
            raise InvalidInputError(f"The field pinned is {shown(pinned)}.", remedy="Use true or false.")
        text = value_json(value)
        entry = self._entry(final, check_description(description), text, scope, wanted, pinned=pinned)
        evicted = self._make_room(entry)
        self._put(entry)
        return Stored(final, entry.size_bytes, evicted)

    def get(self, key: str) -> MemoryEntry | None:
        """Return an entry by its exact key, and count that as an access."""
        found = self._entries.get(key)
        if found is None:
            return None
        count = found.access_count + 1
        read = replace(found, last_accessed_at=self._now(), access_count=count, access_order=self._next())
        self._put(read)
        return self._ranked(read)

    def peek(self, key: str) -> MemoryEntry | None:
        """Return an entry by its exact key; no time and no count of it changes."""
        found = self._entries.get(key)
        return None if found is None else self._ranked(found)

    def delete(self, key: str) -> bool:
        """Remove an entry; whether there was one."""
        return self._entries.pop(key, None) is not None

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()

    def keys(self) -> tuple[str, ...]:
        """Return the keys, those of the least recently used entries first."""
        return tuple(self._entries)

    def list(self) -> tuple[MemoryEntry, ...]:
        """Return all entries: highest priority first, then what was used last."""
        entries = map(self._ranked, self._entries.values())
        return tuple(sorted(entries, key=lambda entry: (priority_order(entry.priority), -entry.access_order)))

    def evict(self, count: int, by: Literal["lru", "size"] = "lru") -> tuple[str, ...]:
        """Remove up to ``count`` entries of the lowest priority, never pinned or critical ones.

        Args:
            count: How many, 0 or more.
            by: Among equals, what was used longest ago goes first, or else what is largest.

        Returns:
            Their keys, in the order in which they went.

        Raises:
            InvalidInputError: When an argument is malformed.
        """
        wanted = whole_number(count, "The number of entries to evict")
        if by not in {"lru", "size"}:
            raise InvalidInputError(f"Entries are evicted by {shown(by)}.", remedy="Use lru or size.")
        order = self._removable()
        if by == "size":
            order.sort(key=lambda entry: (-priority_order(entry.priority), -entry.size_bytes))  # stable
        return self._remove(order[:wanted])

    def room_for(self, sizes: Sequence[int]) -> bool:
        """Whether a batch of new raw entries fits together: writing them displaces none of them.

        At most other entries of low priority make room for them. Not so where a priority rule ranks the new
        ones by something else than their tier.

        Args:
            sizes: Bytes of each value, see ``Stored.size_bytes``.
        """
        if not sizes:
            return True
        kept = [entry for entry in map(self._ranked, self._entries.values()) if entry.priority != "low"]
        if len(kept) + len(sizes) > self.max_entries:
            return False
        needed = sum(sizes)
        if self.used_bytes + needed <= self.max_bytes:
            return True
        return sum(entry.size_bytes for entry in kept) + needed <= ROOM_SHARE * self.max_bytes

    def state(self) -> dict[str, Any]:
        """Return JSON-ready data for ``restore``, the least recently used entry first."""
        return versioned("entries", [_recorded(entry) for entry in self._entries.values()])

    def restore(self, state: Any) -> None:
        """Become what ``state`` returned, in place of all that is there.

        Raises:
            InvalidInputError: For malformed data or another version; nothing was changed then.
        """
        entries = [self._restored(data) for data in state_entries(state, "entries", "a memory store")]
        if len({entry.key for entry in entries}) < len(entries):
            raise InvalidInputError("The state of a memory store has a key twice.", remedy="Keep one of them.")
        self._entries = {entry.key: entry for entry in entries}

    def _restored(self, data: Any) -> MemoryEntry:
        if not isinstance(data, Mapping) or "value" not in data:
            raise InvalidInputError(f"An entry is {shown(data)}.", remedy="Pass what state() returned.")
        key = check_key(data.get("key"))
        pinned = data.get("pinned", False)
        if not isinstance(pinned, bool):
            raise InvalidInputError(f"pinned of {key} is {shown(pinned)}.", remedy="Use true or false.")
        priority = check_priority(data.get("basePriority", "normal"))
        text = value_json(data["value"])
        scope = data.get("scope", "session")
        return self._entry(
            key, check_description(data.get("description")), text, scope, priority, pinned=pinned
        )

    def _entry(
        self, key: str, description: str, text: str, scope: Any, priority: Priority, *, pinned: bool
    ) -> MemoryEntry:
        now = self._now()
        return MemoryEntry(
            key=key,
            description=description,
            json=text,
            scope=read_scope(scope),
            size_bytes=byte_size(text),
            priority="critical" if pinned else priority,
            base_priority=priority,
            pinned=pinned,
            updated_at=now,
            last_accessed_at=now,
            access_count=0,
            access_order=self._next(),
        )

    def _make_room(self, entry: MemoryEntry) -> tuple[str, ...]:
        before = self._entries.get(entry.key)
        growth = entry.size_bytes - (before.size_bytes if before else 0)
        others = [other for other in self._removable() if other.key != entry.key]
        used, going = self.used_bytes, 0
        if used + growth > self.max_bytes:
            excess = used + growth - ROOM_SHARE * self.max_bytes
            while going < len(others) and excess > 0:
                excess -= others[going].size_bytes
                going += 1
        if before is None:
            going = max(going, len(self._entries) - self.max_entries + 1)
        return self._remove(others[:going])

    def _removable(self) -> _Entries:
        """Return what may go: lowest priority first, then the least recently used."""
        entries = [entry for entry in map(self._ranked, self._entries.values()) if entry.removable]
        return sorted(entries, key=lambda entry: (-priority_order(entry.priority), entry.access_order))

    def _remove(self, entries: Sequence[MemoryEntry]) -> tuple[str, ...]:
        for entry in entries:
            del self._entries[entry.key]
        return tuple(entry.key for entry in entries)

    def _ranked(self, entry: MemoryEntry) -> MemoryEntry:
        if self._rule is None or entry.pinned:
            return entry
        return replace(entry, priority=check_priority(self._rule(entry.scope, entry.base_priority)))

    def _put(self, entry: MemoryEntry) -> None:
        self._entries.pop(entry.key, None)  # what was used last stands last
        self._entries[entry.key] = entry

    def _now(self) -> int:
        return self._clock() if self._clock is not None else 0

    def _next(self) -> int:
        self._accesses += 1
        return self._accesses


def _recorded(entry: MemoryEntry) -> dict[str, Any]:
    data = {
        "key": entry.key,
        "description": entry.description,
        "value": entry.value,
        "scope": scope_data(entry.scope),
        "sizeBytes": entry.size_bytes,
        "basePriority": entry.base_priority,
    }
    return {**data, "pinned": True} if entry.pinned else data
