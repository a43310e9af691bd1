"""The plain strategy: plugins give something up first, then the oldest items go, whole groups at a time."""

from __future__ import annotations

from playground.preparation.compaction_context import CompactionContext
from playground.preparation.compaction_plan import checked_threshold, oldest
from playground.preparation.results import CompactionResult, ConsolidationResult

__all__ = ["DefaultStrategy"]

THRESHOLD = 0.70  # share of the capacity that sets how far to reclaim
FIRST_PLUGINS = ("in_context_memory", "working_memory")


class DefaultStrategy:
    """Compact plugins in a fixed order, then drop the oldest groups, until the target is met.

    Args:
        threshold: Share of the capacity, 0 to 1; sets how far to reclaim, not when.

    Raises:
        InvalidInputError: When it is no such number.
    """

    name = "default"
    display_name = "Default"
    description = "Lets plugins give entries up, then drops the oldest items."

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self.threshold = checked_threshold(threshold)

    async def compact(self, context: CompactionContext, target_to_free: int) -> CompactionResult:
        """Free about so many tokens."""
        context.note(f"{self.name}: {target_to_free:,} tokens to free")
        freed = 0
        names = [plugin.name for plugin in context.plugins]
        first = [name for name in FIRST_PLUGINS if name in names]
        for name in [*first, *(name for name in names if name not in FIRST_PLUGINS)]:
            if freed >= target_to_free:
                break
            given = await context.compact_plugin(name, target_to_free - freed)
            if given:
                context.note(f"the plugin {name} gave up {given:,} tokens")
            freed += given
        going = oldest(context.groups(), target_to_free - freed)
        if going:
            freed += await context.remove_messages([group.members[0] for group in going])
        context.note(f"{self.name}: {freed:,} tokens freed")
        return CompactionResult(freed, context.messages_removed, context.plugins_compacted, context.log)

    async def consolidate(self, context: CompactionContext) -> ConsolidationResult:
        """Do nothing."""
        context.note(f"{self.name}: nothing to consolidate")
        return ConsolidationResult(performed=False, tokens_changed=0, actions=context.log)
