"""One pass of a strategy, with everything around it: events, the host's callback, and what is told of it.

A strategy may be an older one: its methods may be synchronous, and its answer may be a mapping in either
spelling, or nothing. What it removed is told even if it raises.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from playground.preparation.compaction_context import CompactionContext
from playground.preparation.compaction_log import NAME_LENGTH
from playground.preparation.context_state import ContextState
from playground.preparation.events import CompactionStarting, ContextCompacted
from playground.preparation.items import detached
from playground.preparation.listing import listed, shortened
from playground.preparation.ports import CompactionStrategy, raise_if_cancelled
from playground.preparation.rendering import Rendering
from playground.preparation.results import CompactionResult, ConsolidationResult, ContextPrepareOptions
from playground.values import LARGEST_WHOLE_NUMBER

__all__ = ["CompactionContext", "as_consolidation", "run_strategy"]


async def run_strategy(
    state: ContextState,
    strategy: CompactionStrategy,
    rendering: Rendering,
    target: int,
    options: ContextPrepareOptions | None = None,
) -> CompactionResult:
    """Run a strategy once.

    The snapshot is taken before anybody is told: whatever listeners, the callback or anything else that runs
    meanwhile changes in the context makes the strategy's next removal raise. ``compaction:starting`` comes
    first, then the callback, then the strategy, then ``context:compacted`` if anything was freed.

    Args:
        state: The context.
        strategy: The strategy.
        rendering: The request before compaction, as it is now.
        target: Tokens to free.
        options: Those of the preparation; its signal stops the pass, ``summarize`` is passed on.

    Returns:
        What the strategy reports, completed by what the context itself counted and told. Its log is whole.

    Raises:
        ContextChangedError: When the strategy wanted to change a context that the host had changed.
        CallCancelledError: When the signal is set.
        Exception: Whatever the strategy raises. Its attribute ``degradation_log`` tells what was lost before.
    """
    budget = rendering.budget
    held = state.conversation
    same = held.history is rendering.history and held.current_input is rendering.current_input
    groups = rendering.groups if same else None  # host code may have changed the context since it was rendered
    context = CompactionContext(
        state, budget=budget, strategy_name=strategy.name, groups=groups, options=options
    )
    _tell_missing_plugins(context, strategy)
    starting = CompactionStarting(budget.model_copy(deep=True), target, state.now())
    state.events.emit("compaction:starting", starting)
    await _call_back(context, state, starting)
    result = None
    try:
        raise_if_cancelled(context.signal)
        answer: Any = strategy.compact(context, target)
        result = _as_result(await answer if inspect.isawaitable(answer) else answer, context)
    except BaseException as error:  # one that was cancelled may have removed something too
        with contextlib.suppress(AttributeError, TypeError):  # a foreign error may allow no attributes
            error.degradation_log = context.log  # type: ignore[attr-defined]
        raise
    finally:
        freed = context.tokens_freed if result is None else result.tokens_freed
        log = context.log if result is None else result.log
        if freed > 0 or context.messages_removed:
            state.events.emit("context:compacted", ContextCompacted(freed, log))
    return result


def as_consolidation(answer: Any, context: CompactionContext) -> ConsolidationResult:
    """Return what a consolidation did, from whatever shape a strategy answers in."""
    changed = _field(answer, "tokens_changed", "tokensChanged")
    performed = _field(answer, "performed", "performed")
    removed = context.tokens_freed > 0 or context.messages_removed > 0
    told = [*context.log, *_more_lines(context, _field(answer, "actions", "actions"))]
    return ConsolidationResult(
        performed=removed or performed is True,
        tokens_changed=changed if _whole(changed) else -context.tokens_freed,
        actions=tuple(told),
    )


async def _call_back(context: CompactionContext, state: ContextState, starting: CompactionStarting) -> None:
    callback = state.before_compaction
    if callback is None:
        return
    try:
        answer = callback(starting)
        if inspect.isawaitable(answer):
            await answer
    except Exception as error:  # noqa: BLE001  # a host's function may raise anything; compaction goes on
        context.note(f"the callback before compaction raised {type(error).__name__}")


def _tell_missing_plugins(context: CompactionContext, strategy: CompactionStrategy) -> None:
    there = {plugin.name for plugin in context.plugins}
    for name in _texts(getattr(strategy, "required_plugins", None)):
        if name not in there:
            by = shortened(strategy.name, NAME_LENGTH)
            context.note(
                f"the strategy {by} works best with {shortened(name, NAME_LENGTH)}, which is not there"
            )


def _as_result(answer: Any, context: CompactionContext) -> CompactionResult:
    freed = _field(answer, "tokens_freed", "tokensFreed")
    removed = _field(answer, "messages_removed", "messagesRemoved")
    plugins = _field(answer, "plugins_compacted", "pluginsCompacted")
    return CompactionResult(
        # Who says nothing, or 0 although something went, is answered for by the context's own count.
        tokens_freed=freed if _whole(freed) and freed > 0 else context.tokens_freed,
        messages_removed=removed if _whole(removed) and removed > 0 else context.messages_removed,
        plugins_compacted=tuple(_texts(plugins)) or context.plugins_compacted,
        log=(*context.log, *_more_lines(context, _field(answer, "log", "log"))),
        report=detached(_field(answer, "report", "report")),
    )


def _more_lines(context: CompactionContext, lines: Any) -> list[str]:
    """Return a strategy's own lines that the context's log does not have yet."""
    known = set(context.log)
    return [line for line in map(listed, _texts(lines)) if line not in known]


def _texts(values: Any) -> list[str]:
    if isinstance(values, str):
        return [values]
    return [value for value in values if isinstance(value, str)] if isinstance(values, Iterable) else []


def _field(answer: Any, name: str, wire_name: str) -> Any:
    if isinstance(answer, Mapping):
        return answer.get(name, answer.get(wire_name))
    return getattr(answer, name, None)


def _whole(value: Any) -> bool:
    return type(value) is int and -LARGEST_WHOLE_NUMBER <= value <= LARGEST_WHOLE_NUMBER
