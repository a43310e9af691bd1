"""In-context memory as a plugin: a whiteboard whose values stand in every request.

For little that changes often. What need not be in every request belongs to the notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playground.errors import InvalidInputError, ToolExecutionError
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.memory_entries import byte_size, matches
from playground.preparation.plugin_state import state_entries, versioned
from playground.preparation.ports import BasePlugin, Clock, StoreAction, StoreSchema
from playground.preparation.whiteboard_entries import WhiteboardEntry, removable, whiteboard_entry
from playground.values import shown, whole_number

__all__ = ["InContextMemoryPlugin"]

MAX_ENTRIES = 20
MAX_TOKENS = 40_000  # of all lines together
_FIELDS = ("description", "value", "priority")

INSTRUCTIONS = (
    "The whiteboard's values are always shown, so there is no need to read them. Keep it short: state, "
    "plans, open points."
)
SCHEMA = StoreSchema(
    store_id="whiteboard",
    display_name="Whiteboard",
    description="Shows its values in every request.",
    usage_hint="For little that changes often. Set value; description and priority are optional.",
    actions=(StoreAction("clear", "Delete all entries.", destructive=True),),
)


class InContextMemoryPlugin(BasePlugin):
    """The plugin ``in_context_memory`` and its store ``whiteboard``.

    A new entry that would be one too many, or a value that would be too large, makes entries of the lowest
    priority go, those first that were written longest ago; never critical ones, and never what is written. What
    finds no room that way is refused.

    Args:
        clock: Returns milliseconds; without one all times are 0. Order never depends on it.
        max_entries: How many entries it shows.
        max_tokens: How many tokens their lines have together.
        estimator: Counts them.
    """

    name = "in_context_memory"

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        max_entries: int = MAX_ENTRIES,
        max_tokens: int = MAX_TOKENS,
        estimator: PreparationEstimator | None = None,
    ) -> None:
        self.max_entries = whole_number(max_entries, "The number of entries", least=1)
        self.max_tokens = whole_number(max_tokens, "The number of tokens", least=1)
        self._clock = clock
        self._estimator = estimator or PreparationEstimator()
        self._entries: dict[str, WhiteboardEntry] = {}  # what was written last stands last

    def set(self, key: str, value: Any, *, description: str = "", priority: str = "normal") -> tuple[str, ...]:
        """Write an entry, new or again.

        Returns:
            The keys of entries that made room, in the order in which they went.

        Raises:
            InvalidInputError: When something is malformed or finds no room; nothing was changed then.
        """
        entry = whiteboard_entry(key, value, description=description, priority=priority, now=self._now())
        others = {name: other for name, other in self._entries.items() if name != key}
        evicted = self._evicted_for(entry, others)
        self._entries = {name: other for name, other in others.items() if name not in evicted} | {key: entry}
        return evicted

    def get(self, key: str) -> Any:
        """Return a copy of a value, None where there is no entry."""
        found = self._entries.get(key)
        return None if found is None else found.value

    def delete(self, key: str) -> bool:
        """Remove an entry; whether there was one."""
        return self._entries.pop(key, None) is not None

    def keys(self) -> tuple[str, ...]:
        """Return the keys, that of the entry that was written longest ago first."""
        return tuple(self._entries)

    def get_instructions(self) -> str:
        """Return how to use the whiteboard."""
        return INSTRUCTIONS

    async def get_content(self) -> str | None:
        """Return all entries, one line each; None without any."""
        return self._content(self._entries.values())

    def get_contents(self) -> list[dict[str, Any]]:
        """Return all entries for inspection."""
        return [entry.data() for entry in self._entries.values()]

    def get_token_size(self) -> int:
        """Count the content."""
        return self._tokens(self._entries.values())

    def get_instructions_token_size(self) -> int:
        """Count the instructions."""
        return self._estimator.text(INSTRUCTIONS)

    def is_compactable(self) -> bool:
        """Whether entries may be given up: yes."""
        return True

    async def compact(self, target: int) -> int:
        """Evict entries until ``target`` tokens are freed, never critical ones; return those freed."""
        before = self.get_token_size()
        for entry in removable(self._entries.values()):
            if before - self.get_token_size() >= target:
                break
            del self._entries[entry.key]
        return before - self.get_token_size()

    def destroy(self) -> None:
        """Forget all entries."""
        self._entries.clear()

    def get_state(self) -> dict[str, Any]:
        """Return the entries for ``restore_state``."""
        return versioned("entries", self.get_contents())

    def restore_state(self, state: Any) -> None:
        """Become what ``get_state`` returned.

        Raises:
            InvalidInputError: For malformed data or another version; nothing was changed then.
        """
        entries: dict[str, WhiteboardEntry] = {}
        for data in state_entries(state, "entries", "a whiteboard"):
            if not isinstance(data, Mapping) or "value" not in data:
                raise InvalidInputError(f"An entry is {shown(data)}.", remedy="Pass what get_state() returned.")
            priority = data.get("priority", "normal")
            entry = whiteboard_entry(
                data.get("key"),
                data["value"],
                description=data.get("description", ""),
                priority=priority,
                now=self._now(),
            )
            entries[entry.key] = entry
        self._entries = entries

    def get_store_schema(self) -> StoreSchema:
        """Return how the store presents itself."""
        return SCHEMA

    async def store_get(self, key: str | None = None) -> dict[str, Any]:
        """Return an entry by its exact key; without a key all of them, with their values."""
        if not key:
            return {"found": True, "entries": self.get_contents()}
        entry = self._entries.get(key)
        if entry is None:
            return {"found": False, "key": key}
        return {"found": True, "key": key, "entry": entry.data()}

    async def store_set(self, key: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Write an entry."""
        unknown = [name for name in data if name not in _FIELDS]
        refused = f"The whiteboard has no field {shown(unknown[0])}." if unknown else None
        if "value" not in data:
            refused = "A value is required."
        if refused:
            return {"success": False, "key": key, "message": refused}
        given = {name: data[name] for name in ("description", "priority") if data.get(name) is not None}
        try:
            evicted = self.set(key, data["value"], **given)
        except InvalidInputError as error:
            return {"success": False, "key": key, "message": str(error)}
        message = f"Evicted to make room: {', '.join(evicted)}." if evicted else "Saved."
        size = byte_size(self._entries[key].json)
        return {"success": True, "key": key, "message": message, "sizeBytes": size}

    async def store_delete(self, key: str) -> dict[str, Any]:
        """Delete an entry."""
        return {"deleted": self.delete(key), "key": key}

    async def store_list(self, filter: Mapping[str, Any] | None = None) -> dict[str, Any]:  # noqa: A002
        """List all entries, or those of a pattern, without their values.

        Raises:
            ToolExecutionError: For another filter; ``malformed``.
        """
        filters = dict(filter or {})
        pattern = filters.pop("pattern", None)
        if filters or not isinstance(pattern, str | None):
            raise ToolExecutionError(
                "The whiteboard is filtered by pattern alone, which is a text.",
                tool="store_list",
                reason="malformed",
            )
        entries = [e for e in self._entries.values() if pattern is None or matches(pattern, e.key)]
        return {"entries": [entry.listing() for entry in entries], "total": len(entries)}

    async def store_action(self, action: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Delete all entries."""
        if action != "clear" or params.get("confirm") is not True:
            return {"success": False, "action": action, "message": "There is clear, with confirm: true."}
        keys = list(self._entries)
        self._entries.clear()
        return {"success": True, "action": action, "deleted": len(keys), "keys": keys}

    def _evicted_for(self, entry: WhiteboardEntry, others: Mapping[str, WhiteboardEntry]) -> tuple[str, ...]:
        kept = dict(others)
        evicted: list[str] = []
        for candidate in [*removable(others.values()), None]:
            tokens = self._tokens([*kept.values(), entry])
            if len(kept) < self.max_entries and tokens <= self.max_tokens:
                return tuple(evicted)
            if candidate is not None:
                evicted.append(candidate.key)
                del kept[candidate.key]
        raise InvalidInputError(
            f"The whiteboard would have {len(kept) + 1} entries and {tokens:,} tokens.",
            remedy=f"It holds {self.max_entries} and {self.max_tokens:,}; keep large values in the notes.",
        )

    def _now(self) -> int:
        return self._clock() if self._clock is not None else 0

    def _tokens(self, entries: Iterable[WhiteboardEntry]) -> int:
        return self._estimator.text(self._content(entries))

    def _content(self, entries: Iterable[WhiteboardEntry]) -> str | None:
        return "\n".join(entry.line for entry in entries) or None
