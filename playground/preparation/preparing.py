"""Preparing a request: render, compact at most once, render again, and return what fits or raise."""

from __future__ import annotations

import contextlib
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.budget import overflow
from playground.preparation.capacity import over_critical, reclaim_target
from playground.preparation.compaction import run_strategy
from playground.preparation.context_state import ContextState, Selected
from playground.preparation.events import BudgetEvent, ContextPrepared
from playground.preparation.hooks import run_hooks
from playground.preparation.input_fit import InputFit
from playground.preparation.items import detached
from playground.preparation.ports import CompactionStrategy, raise_if_cancelled
from playground.preparation.rendering import Rendering, render
from playground.preparation.results import (
    CompactionResult,
    ContextPreparation,
    ContextPrepareOptions,
    PreparedContext,
)
from playground.values import shown

__all__ = ["prepare_context"]

CRITICAL_PERCENT = 90.0  # of the limit; from here on ``budget:critical`` follows ``budget:updated``
WARNING_PERCENT = 70.0  # of the limit; below that ``budget:warning``


async def prepare_context(state: ContextState, options: ContextPrepareOptions) -> PreparedContext:
    """Select a request that fits. Whatever is raised, revision and diagnostics stay as they were.

    What a compaction took before an error stands in the error's ``degradation_log``.

    Raises:
        ContextOverflowError: When nothing that fits can be selected; history stays as compaction left it.
        ContextChangedError: When the host kept changing the context.
        ContextBusyError: When another operation holds the context.
        InvalidToolProtocolError: When an id of a call or of a result occurs twice.
        CallCancelledError: When the signal was set.
    """
    with state.exclusive("prepare"):
        state.conversation.last_thinking = None
        raise_if_cancelled(options.signal)
        run_hooks(tuple(state.plugins.values()), state.snapshot, state.hook_tasks)
        current_input = InputFit(state)
        compaction = CompactionResult()
        try:
            rendering = current_input.fit(await render(state, options))
            if _is_critical(state, rendering):
                compaction = await _compacted(state, rendering, options)
                rendering = current_input.fit(await render(state, options), compaction.log)
            log = (*current_input.log, *compaction.log)
            _check_fit(rendering, log)
            now = state.now()
            raise_if_cancelled(options.signal)
            # Nothing is awaited and no host code runs from here until the result stands.
            prepared = _prepared(rendering, compaction, log)
            _record(state, options, rendering, compaction, now)
        except BaseException as error:
            current_input.undo()
            _tell_losses(error, compaction)
            raise
        _tell(state, prepared, now)
    return prepared


def _tell_losses(error: BaseException, compaction: CompactionResult) -> None:
    """Have any error that comes after a compaction tell what that took, as one of its strategy does."""
    if compaction.log:
        with contextlib.suppress(AttributeError, TypeError):  # a foreign error may allow no attributes
            error.degradation_log = compaction.log  # type: ignore[attr-defined]


def _check_fit(rendering: Rendering, log: tuple[str, ...]) -> None:
    if rendering.budget.total_used > rendering.budget.limit:
        raise overflow(rendering.budget, log=log)


def _is_critical(state: ContextState, rendering: Rendering) -> bool:
    budget = rendering.budget
    critical = state.settings.critical_compaction_threshold
    return over_critical(budget.content_used, budget.content_capacity, critical)


async def _compacted(
    state: ContextState, rendering: Rendering, options: ContextPrepareOptions
) -> CompactionResult:
    strategy, budget = state.strategy, rendering.budget
    target = reclaim_target(
        budget.content_used,
        budget.content_capacity,
        threshold=_threshold(strategy),
        critical=state.settings.critical_compaction_threshold,
    )
    return await run_strategy(state, strategy, rendering, target, options)


def _threshold(strategy: CompactionStrategy) -> float:
    threshold: Any = strategy.threshold
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold <= 1:
        raise InvalidInputError(
            f"The threshold of the strategy {strategy.name} is {shown(threshold)}.",
            remedy="Give a share from 0 to 1.",
        )
    return threshold


def _prepared(rendering: Rendering, compaction: CompactionResult, log: tuple[str, ...]) -> PreparedContext:
    """Copy a rendering, so that nothing that happens later changes what is returned."""
    history, current_input = rendering.items()
    return PreparedContext(
        input=[rendering.developer.message(), *history, *current_input],
        budget=rendering.budget.model_copy(deep=True),
        compacted=compaction.tokens_freed > 0,
        compaction_log=log,
        tools=detached(rendering.tools),
    )


def _record(
    state: ContextState,
    options: ContextPrepareOptions,
    rendering: Rendering,
    compaction: CompactionResult,
    now: int,
) -> None:
    earlier = state.preparation
    state.revision += 1
    state.preparation = ContextPreparation(
        revision=state.revision,
        prepared_at=max(now, earlier.prepared_at) if earlier else now,
        budget=rendering.budget,
        compaction=compaction.report,
    )
    state.last_budget = rendering.budget
    tools, request = rendering.tools, rendering.request
    state.selected = Selected(
        developer=rendering.developer,
        input_items=rendering.input_count(),
        options=ContextPrepareOptions(
            get_tools=lambda: tools,
            get_request_options=lambda _: request,
            model_max_context_tokens=options.model_max_context_tokens,
        ),
    )


def _tell(state: ContextState, prepared: PreparedContext, now: int) -> None:
    """Tell the listeners; each event has a budget of its own, and the result stands already."""
    budget = prepared.budget
    names = ["budget:updated"]
    if budget.utilization_percent >= CRITICAL_PERCENT:
        names.append("budget:critical")
    elif budget.utilization_percent >= WARNING_PERCENT:
        names.append("budget:warning")
    for name in names:
        state.events.emit(name, BudgetEvent(budget.model_copy(deep=True), now))
    state.events.emit("context:prepared", ContextPrepared(budget.model_copy(deep=True), prepared.compacted))
