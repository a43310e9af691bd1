"""Working memory as a plugin: notes outside the conversation, of which the request shows an index.

The model reads and writes them through the store tools; compaction moves large results of tools here. Not the
``playground.working_memory`` of typed items and revisions: this one is a scratch store that evicts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playground.errors import InvalidInputError, ToolExecutionError
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.memory_entries import TIERS, MemoryEntry, matches
from playground.preparation.memory_index import index_text
from playground.preparation.memory_scopes import PriorityRule, scope_data
from playground.preparation.memory_store import MAX_BYTES, MAX_ENTRIES, MemoryStore
from playground.preparation.ports import BasePlugin, Clock, StoreAction, StoreSchema
from playground.values import shown

__all__ = ["WorkingMemoryPlugin"]

KEY_LENGTH = 128  # code points of a key that a model writes: it is shown in every request
EVICTED_AT_ONCE = 3  # entries, when a strategy asks for room
REQUIRED = ("description", "value")
_OPTIONAL = ("tier", "scope", "priority", "pinned")
_FILTERS = ("pattern", "tier")

INSTRUCTIONS = (
    "You see only an index of your notes: keys and descriptions, never values. Large tool results are moved "
    "here. Read every source that an answer needs by store_get with its exact key, tier prefix and suffix "
    "included, before you answer: neither the index nor a listing without values has read a source. store_list "
    "also shows what the index leaves out. Write what you conclude with tier summary or findings; raw goes "
    "first when room is needed."
)
SCHEMA = StoreSchema(
    store_id="notes",
    display_name="Notes",
    description="Keeps values outside the conversation, by key.",
    usage_hint="For sources, results and findings. Set description (at most 150 characters) and value.",
    actions=(
        StoreAction("cleanup_raw", "Delete all raw entries."),
        StoreAction(
            "query",
            "List entries, with values and statistics if wanted.",
            {
                "pattern": "Key, * is any run.",
                "tier": "Tier.",
                "includeValues": "Whether values come too.",
                "includeStats": "Whether statistics come too.",
            },
        ),
    ),
)


class WorkingMemoryPlugin(BasePlugin):
    """The plugin ``working_memory`` and its store ``notes``.

    Args:
        clock: Returns milliseconds; without one all times are 0.
        max_entries: How many notes it holds.
        max_bytes: How many bytes their values have together.
        priority_rule: Ranks notes by something else than what was asked for, see ``task_priority``.
        estimator: Counts what ``compact`` frees.

    Attributes:
        store: The notes.
    """

    name = "working_memory"

    def __init__(
        self,
        *,
        clock: Clock | None = None,
        max_entries: int = MAX_ENTRIES,
        max_bytes: int = MAX_BYTES,
        priority_rule: PriorityRule | None = None,
        estimator: PreparationEstimator | None = None,
    ) -> None:
        self.store = MemoryStore(max_entries, max_bytes, clock, priority_rule)
        self._estimator = estimator or PreparationEstimator()

    def get_instructions(self) -> str:
        """Return how to use the notes."""
        return INSTRUCTIONS

    async def get_content(self) -> str | None:
        """Return the index, None without notes."""
        return self.index()

    def index(self) -> str | None:
        """Return the index as it is now, None without notes."""
        return index_text(self.store.list(), self.store.used_bytes, self.store.max_bytes)

    def get_contents(self) -> list[dict[str, Any]]:
        """Return all notes for inspection, without their values."""
        return [_inspected(entry) for entry in self.store.list()]

    def get_token_size(self) -> int:
        """Count the index."""
        return self._estimator.text(self.index())

    def get_instructions_token_size(self) -> int:
        """Count the instructions."""
        return self._estimator.text(INSTRUCTIONS)

    def is_compactable(self) -> bool:
        """Whether notes may be given up: yes."""
        return True

    async def compact(self, target: int) -> int:  # noqa: ARG002  # a step has one size
        """Evict three notes, the least recently used of the lowest priority; return the tokens freed."""
        before = self.get_token_size()
        self.store.evict(EVICTED_AT_ONCE)
        return max(0, before - self.get_token_size())

    def destroy(self) -> None:
        """Forget all notes."""
        self.store.clear()

    def get_state(self) -> dict[str, Any]:
        """Return the notes for ``restore_state``."""
        return self.store.state()

    def restore_state(self, state: Any) -> None:
        """Become what ``get_state`` returned.

        Raises:
            InvalidInputError: For malformed data; nothing was changed then.
        """
        self.store.restore(state)

    def get_store_schema(self) -> StoreSchema:
        """Return how the store presents itself."""
        return SCHEMA

    async def store_get(self, key: str | None = None) -> dict[str, Any]:
        """Return a note by its exact key; without a key metadata of all of them."""
        if not key:
            return {"found": True, "entries": [_listed(entry) for entry in self.store.list()]}
        entry = self.store.get(key)
        if entry is None:
            return {"found": False, "key": key}
        return {"found": True, "key": key, "entry": {"value": entry.value}}

    async def store_set(self, key: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """Write a note."""
        refused = _refused(key, data)
        if refused:
            return {"success": False, "key": key, "message": refused}
        given = {name: data[name] for name in _OPTIONAL if data.get(name) is not None}
        try:
            stored = self.store.set(key, data["description"], data["value"], **given)
        except InvalidInputError as error:
            return {"success": False, "key": key, "message": str(error)}
        message = f"Saved as {stored.key}."
        if stored.evicted:
            message += f" Evicted to make room: {', '.join(stored.evicted)}."
        return {"success": True, "key": stored.key, "message": message, "sizeBytes": stored.size_bytes}

    async def store_delete(self, key: str) -> dict[str, Any]:
        """Delete a note."""
        return {"deleted": self.store.delete(key), "key": key}

    async def store_list(self, filter: Mapping[str, Any] | None = None) -> dict[str, Any]:  # noqa: A002
        """List all notes, or those of a pattern or a tier.

        Raises:
            ToolExecutionError: For another filter; ``malformed``.
        """
        filters = filter or {}
        unknown = [name for name in filters if name not in _FILTERS]
        if unknown:
            raise ToolExecutionError(
                f"Notes have no filter {shown(unknown[0])}.",
                remedy="Filter by pattern or tier.",
                tool="store_list",
                reason="malformed",
            )
        try:
            found = [_listed(entry) for entry in _selected(self.store.list(), filters)]
        except InvalidInputError as error:
            raise ToolExecutionError(
                error.problem, remedy=error.remedy, tool="store_list", reason="malformed"
            ) from None
        return {"entries": found, "total": len(found)}

    async def store_action(self, action: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Clean up raw notes, or query notes."""
        if action == "cleanup_raw":
            keys = [entry.key for entry in self.store.list() if entry.tier == "raw"]
            for key in keys:
                self.store.delete(key)
            return {"success": True, "action": action, "deleted": len(keys), "keys": keys}
        if action == "query":
            try:
                found = _selected(self.store.list(), params)
            except InvalidInputError as error:
                return {"success": False, "action": action, "message": str(error)}
            return {"success": True, "action": action, **self._queried(found, params)}
        return {"success": False, "action": action, "message": "Notes have the actions cleanup_raw and query."}

    def _queried(self, found: list[MemoryEntry], params: Mapping[str, Any]) -> dict[str, Any]:
        entries = [_listed(entry) for entry in found]
        if params.get("includeValues") is True:
            for entry, line in zip(found, entries, strict=True):
                self.store.get(entry.key)  # a value that is handed out is an access
                line["value"] = entry.value
        answer: dict[str, Any] = {"entries": entries, "total": len(entries)}
        if params.get("includeStats") is True:
            answer["stats"] = self._statistics()
        return answer

    def _statistics(self) -> dict[str, Any]:
        tiers = [entry.tier or "none" for entry in self.store.list()]
        return {
            "entries": len(tiers),
            "maxEntries": self.store.max_entries,
            "bytes": self.store.used_bytes,
            "maxBytes": self.store.max_bytes,
            "tiers": {tier: tiers.count(tier) for tier in (*TIERS, "none") if tier in tiers},
        }


def _refused(key: str, data: Mapping[str, Any]) -> str | None:
    if len(key) > KEY_LENGTH:
        return f"The key has {len(key)} characters; use at most {KEY_LENGTH}."
    missing = [name for name in REQUIRED if name not in data or (name == "description" and not data[name])]
    if missing:
        return f"Description and value are required; missing: {', '.join(missing)}."
    unknown = [name for name in data if name not in REQUIRED and name not in _OPTIONAL]
    return f"Notes have no field {shown(unknown[0])}." if unknown else None


def _selected(entries: Iterable[MemoryEntry], filters: Mapping[str, Any]) -> list[MemoryEntry]:
    pattern, tier = filters.get("pattern"), filters.get("tier")
    if pattern is not None and not isinstance(pattern, str):
        raise InvalidInputError(f"The pattern is {shown(pattern)}.", remedy="Give a text.")
    if tier is not None and not (isinstance(tier, str) and tier in TIERS):
        raise InvalidInputError(f"The tier is {shown(tier)}.", remedy=f"Use one of {list(TIERS)}.")
    return [
        entry
        for entry in entries
        if (pattern is None or matches(pattern, entry.key)) and tier in (None, entry.tier)
    ]


def _listed(entry: MemoryEntry) -> dict[str, Any]:
    return {"key": entry.key, "description": entry.description, "tier": entry.tier}


def _inspected(entry: MemoryEntry) -> dict[str, Any]:
    return {
        **_listed(entry),
        "scope": scope_data(entry.scope),
        "priority": entry.priority,
        "pinned": entry.pinned,
        "sizeBytes": entry.size_bytes,
        "updatedAt": entry.updated_at,
        "lastAccessedAt": entry.last_accessed_at,
        "accessCount": entry.access_count,
    }
