"""The default strategy: large and old results of tools move to working memory, then the history rolls.

Every step takes whole groups. Results are moved only once all of their group are safe in the store; without
working memory nothing can move, and only the number of pairs and the rolling window count.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from playground.preparation.compaction_context import CompactionContext, held_items
from playground.preparation.compaction_log import companion_lines, group_line
from playground.preparation.compaction_plan import checked_threshold, fitting, plan_algorithmic, rolling
from playground.preparation.items import Item
from playground.preparation.memory_store import MemoryStore
from playground.preparation.plugins import content_of
from playground.preparation.ports import ContextPlugin
from playground.preparation.protocol import Group
from playground.preparation.results import CompactionResult, ConsolidationResult
from playground.preparation.spill import allocate, inventory
from playground.preparation.spill_writing import write_spills
from playground.values import whole_number

__all__ = ["AlgorithmicStrategy"]

THRESHOLD = 0.75  # share of the capacity that sets how far to reclaim
RESULT_BYTES = 1024  # bytes of a result's compact JSON in UTF-8; a larger one moves
MAX_PAIRS = 10  # complete pairs of call and result that stay in the history
MEMORY = "working_memory"


@dataclass(frozen=True, slots=True)
class _Tidied:
    """What the first two steps did.

    Attributes:
        freed: Tokens of the history.
        growth: Tokens that the index has more than before.
        retained: Items of the groups that may not go in this pass.
    """

    freed: int
    growth: int
    retained: frozenset[Item]


class AlgorithmicStrategy:
    """Move large results and the oldest pairs above the cap; then drop from the front until the target is met.

    Args:
        threshold: Share of the capacity, 0 to 1; sets how far to reclaim, not when.
        result_bytes: A result is large above so many bytes.
        max_pairs: So many complete pairs stay.

    Raises:
        InvalidInputError: When a number is malformed.
    """

    name = "algorithmic"
    display_name = "Algorithmic"
    description = "Moves large and old tool results to working memory, then drops the oldest items."
    required_plugins = (MEMORY,)

    def __init__(
        self, threshold: float = THRESHOLD, result_bytes: int = RESULT_BYTES, max_pairs: int = MAX_PAIRS
    ) -> None:
        self.threshold = checked_threshold(threshold)
        self.result_bytes = whole_number(result_bytes, "The size of a large result in bytes")
        self.max_pairs = whole_number(max_pairs, "The number of pairs that stay")

    async def compact(self, context: CompactionContext, target_to_free: int) -> CompactionResult:
        """Free about so many tokens; the index of what was moved counts against them."""
        context.note(f"{self.name}: {target_to_free:,} tokens to free")
        tidied = await self._tidy(context)
        freed = tidied.freed
        missing = target_to_free - freed + tidied.growth
        if missing > 0:
            context.note(f"rolling window: {missing:,} tokens still to free")
            freed += await _roll(context, missing, tidied.retained)
        context.note(f"{self.name}: {freed:,} tokens freed")
        return CompactionResult(freed, context.messages_removed, (), context.log)

    async def consolidate(self, context: CompactionContext) -> ConsolidationResult:
        """Move large results and the oldest pairs above the cap; without working memory those pairs go."""
        tidied = await self._tidy(context)
        if not context.messages_removed:
            context.note(f"{self.name}: nothing to consolidate")
        return ConsolidationResult(bool(context.messages_removed), -tidied.freed, context.log)

    async def _tidy(self, context: CompactionContext) -> _Tidied:
        plugin = context.plugin(MEMORY)
        store = getattr(plugin, "store", None)
        if plugin is None or not isinstance(store, MemoryStore):
            return await self._drop_above_cap(context)
        return await self._spill(context, plugin, store)

    async def _drop_above_cap(self, context: CompactionContext) -> _Tidied:
        plan = plan_algorithmic(
            context.groups(), largest={}, result_bytes=self.result_bytes, max_pairs=self.max_pairs
        )
        freed = await context.remove_messages([group.members[0] for group in plan.capped])
        return _Tidied(freed, 0, frozenset())

    async def _spill(self, context: CompactionContext, plugin: ContextPlugin, store: MemoryStore) -> _Tidied:
        groups, items = context.groups(), held_items(context)
        found = {
            group: inventory(group, items) for group in groups if group.results and group.protection is None
        }
        unwritable = [group for group, results in found.items() if any(one.json is None for one in results)]
        plan = plan_algorithmic(
            groups,
            largest={group: max(one.size_bytes for one in results) for group, results in found.items()},
            result_bytes=self.result_bytes,
            max_pairs=self.max_pairs,
            retained=unwritable,
        )
        sizes = {group: [one.size_bytes for one in results] for group, results in found.items()}
        chosen, left_out = fitting([*plan.large, *plan.capped], sizes, store.room_for)
        for group in unwritable:
            context.note(f"{group_line('kept', group, items)}: a result has no JSON form")
        if left_out:
            many = "1 older group" if len(left_out) == 1 else f"{len(left_out)} older groups"
            context.note(f"notes have no room for the results of {many}")
        if not chosen:
            return _Tidied(0, 0, _items_of(unwritable, items))
        before = await _index_tokens(context, plugin)
        results = [one for group in chosen for one in found[group]]
        spills = allocate(results, store.keys(), context.describe_tool_call)
        # Nothing is awaited from here until the groups are removed, so that nobody comes between.
        context.ensure_current()
        safe = write_spills(spills, store, context.note)
        companions = [line for group in chosen if group in safe for line in companion_lines(group, items)]
        freed = await context.remove_messages(
            [group.members[0] for group in chosen if group in safe], verb=None
        )
        for line in companions:
            context.note(line)
        growth = await _index_tokens(context, plugin) - before
        unsafe = [group for group in chosen if group not in safe]
        return _Tidied(freed, growth, _items_of([*unwritable, *unsafe], items))


async def _roll(context: CompactionContext, missing: int, retained: frozenset[Item]) -> int:
    """Drop plain items and then tool groups, oldest first, until ``missing`` tokens are free."""
    items = held_items(context)
    kept = [group for group in context.groups() if items[group.members[0]] in retained]
    going = rolling(context.groups(), missing, retained=kept)
    return await context.remove_messages(
        [group.members[0] for group in going],
        verb=lambda group: "aged out" if group.is_tool else "dropped",
    )


async def _index_tokens(context: CompactionContext, plugin: ContextPlugin) -> int:
    return context.count_text(await content_of(plugin))


def _items_of(groups: Iterable[Group], items: Sequence[Item]) -> frozenset[Item]:
    return frozenset(items[member] for group in groups for member in group.members)
