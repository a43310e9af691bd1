"""Tidying up after a run: the strategy's gentler half, behind the same gate as compaction."""

from __future__ import annotations

import inspect
from typing import Any

from playground.preparation.capacity import over_critical
from playground.preparation.compaction import as_consolidation
from playground.preparation.compaction_context import CompactionContext
from playground.preparation.context_state import ContextState
from playground.preparation.events import ContextCompacted
from playground.preparation.rendering import render
from playground.preparation.results import ConsolidationResult, ContextPrepareOptions

__all__ = ["consolidate_context"]


async def consolidate_context(state: ContextState) -> ConsolidationResult:
    """Consolidate if the context is over its critical line.

    Everything is counted anew, with the tools, separate instructions and window of the last preparation. That
    preparation's diagnostics and the cached budget stay as they are.

    Returns:
        What was done, with the tokens of the conversation after it minus those before; or one line that says
        why nothing was.

    Raises:
        ContextBusyError: When another operation holds the context.
        ContextChangedError: When the host changed the context meanwhile; what it added is still there.
        InvalidToolProtocolError: When an id of a call or of a result occurs twice.
        Exception: Whatever the strategy raises.
    """
    with state.exclusive("consolidate"):
        options = state.selected.options if state.selected else ContextPrepareOptions()
        rendering = await render(state, options)
        budget = rendering.budget
        used, capacity = budget.content_used, budget.content_capacity
        if not over_critical(used, capacity, state.settings.critical_compaction_threshold):
            why = f"nothing to do: {used:,} of {capacity:,} tokens are used"
            return ConsolidationResult(performed=False, tokens_changed=0, actions=(why,))
        strategy = state.strategy
        context = CompactionContext(state, budget=budget, strategy_name=strategy.name, groups=rendering.groups)
        try:
            answer: Any = strategy.consolidate(context)
            result = as_consolidation(await answer if inspect.isawaitable(answer) else answer, context)
        finally:
            if context.messages_removed or context.tokens_freed > 0:
                state.events.emit("context:compacted", ContextCompacted(context.tokens_freed, context.log))
        return result
