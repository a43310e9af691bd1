"""The context of an agent: a conversation, plugins and tools, and the request that fits.

Its own part is small: settings, exclusion and diagnostics. What it does stands in the modules that it calls.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from playground.preparation.budget import PreparationBudget
from playground.preparation.capacity import (
    DEFAULT_CRITICAL_THRESHOLD,
    DEFAULT_RESPONSE_RESERVE,
)
from playground.preparation.consolidation import consolidate_context
from playground.preparation.context_conversation import ConversationMethods
from playground.preparation.context_properties import ContextProperties, named_strategy
from playground.preparation.context_sessions import SessionMethods
from playground.preparation.context_settings import ContextSettings
from playground.preparation.context_state import ContextState
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.events import BudgetEvent
from playground.preparation.inspection import ContextInspection, ContextView, inspection, view
from playground.preparation.items import Json
from playground.preparation.plugins import Features, feature_plugins
from playground.preparation.ports import Clock, CompactionStrategy, ContextStorage
from playground.preparation.preparing import prepare_context
from playground.preparation.rendering import render_anyway
from playground.preparation.results import (
    ConsolidationResult,
    ContextPrepareOptions,
    PreparedContext,
    RolloverResult,
)
from playground.preparation.rollover import RECENT_TURNS, Summarize, roll_over
from playground.preparation.validation import PreparedParts, check_fit, field_of, request_budget
from playground.preparation.zones import DateGranularity

__all__ = ["AgentContext"]


class AgentContext(ConversationMethods, ContextProperties, SessionMethods):
    """Keeps a conversation, and prepares requests that fit.

    Not for several threads at once; in one event loop, an operation that would disturb another is refused.

    Args:
        model: The id of the model that it prepares for.
        max_context_tokens: The window in tokens; an upper bound then. None takes the model's registered one.
        response_reserve: What is kept free for the answer, in tokens.
        features: Which plugins it brings along, see ``plugins.feature_plugins``.
        strategy: What compacts: a registered name, or an object.
        critical_compaction_threshold: Share of the content capacity above which it compacts.
        system_prompt: May name ``{{AGENT_ID}}``, ``{{MODEL}}`` and ``{{USER_ID}}``.
        storage: Where ``save`` and ``load`` keep sessions.
        clock: Returns milliseconds.
        timezone: Name of the date line's zone.
        estimator: Counts; characters unless a tokenizer is given.
        date_granularity: What the date line tells: ``minute``, ``hour`` or ``day``.
        agent_id: Names the agent.
        user_id: Names the user.

    Raises:
        InvalidInputError: When a setting is malformed, or names a strategy or feature that there is not.
    """

    def __init__(
        self,
        *,
        model: str,
        max_context_tokens: int | None = None,
        response_reserve: int = DEFAULT_RESPONSE_RESERVE,
        features: Features | None = None,
        strategy: str | CompactionStrategy = "algorithmic",
        critical_compaction_threshold: float = DEFAULT_CRITICAL_THRESHOLD,
        system_prompt: str | None = None,
        storage: ContextStorage | None = None,
        clock: Clock | None = None,
        timezone: str | None = None,
        estimator: PreparationEstimator | None = None,
        date_granularity: DateGranularity = "minute",
        agent_id: str | None = None,
        user_id: str | None = None,
    ) -> None:
        settings = ContextSettings(
            model=model,
            strategy=named_strategy(strategy),
            clock=_now if clock is None else clock,
            max_context_tokens=max_context_tokens,
            response_reserve=response_reserve,
            critical_compaction_threshold=critical_compaction_threshold,
            system_prompt=system_prompt,
            storage=storage,
            timezone=timezone,
            date_granularity=date_granularity,
            estimator=PreparationEstimator() if estimator is None else estimator,
            agent_id=agent_id,
            user_id=user_id,
        )
        self._state = ContextState(settings)
        for plugin in feature_plugins(features, clock=settings.clock, estimator=settings.estimator):
            self._state.register_plugin(plugin)

    async def prepare(
        self,
        *,
        instructions: str | None = None,
        get_tools: Callable[[], Sequence[Mapping[str, Any]]] | None = None,
        get_request_options: Callable[[list[Json]], Any] | None = None,
        model_max_context_tokens: object = None,
        signal: object = None,
        summarize: Callable[..., Awaitable[Any]] | None = None,
    ) -> PreparedContext:
        """Select a request that fits; compacts at most once. See ``ContextPrepareOptions`` for the arguments.

        Returns:
            The request. Nothing that happens to the context later changes it.

        Raises:
            ContextOverflowError: When nothing that fits can be selected. Revision, diagnostics and current
                input stay as they were, and the history as compaction left it; the error tells what it lost.
            ContextChangedError: When the host kept changing the context.
            ContextBusyError: When another operation holds the context.
            InvalidToolProtocolError: When an id of a call or of a result occurs twice.
            InvalidInputError: When a contribution is malformed.
            CallCancelledError: When the signal was set.
            InvalidRequestError: When the context was destroyed.
        """
        options = ContextPrepareOptions(
            instructions=instructions,
            get_tools=get_tools,
            get_request_options=get_request_options,
            model_max_context_tokens=model_max_context_tokens,
            signal=signal,
            summarize=summarize,
        )
        return await prepare_context(self._state, options)

    def validate_request_budget(
        self, request: Any, *, model_max_context_tokens: object = None, record_preparation: bool = True
    ) -> PreparationBudget:
        """Count a request right before it is sent. Runs no preparation, no compaction and no hook.

        Args:
            request: A mapping or an object: model, input, instructions, tools, response_format, native_tools.
            model_max_context_tokens: The provider's capacity for it.
            record_preparation: Whether the last preparation's budget, if there is one, becomes this one; False
                changes nothing.

        Returns:
            Its budget.

        Raises:
            ContextOverflowError: When it does not fit; nothing was recorded.
            InvalidToolProtocolError: When an id of a call or of a result occurs twice.
            InvalidInputError: When a field is malformed.
        """
        state = self._state
        state.ensure_alive()
        selected, model = state.selected, field_of(request, "model")
        budget = request_budget(
            request,
            prepared=PreparedParts(selected.developer, selected.input_items) if selected else PreparedParts(),
            window=state.window(
                request_model=model if isinstance(model, str) else None, provider=model_max_context_tokens
            ),
            reserve=state.settings.response_reserve,
            estimator=state.estimator,
        )
        check_fit(budget)
        if record_preparation and state.preparation is not None:
            changed, now = budget != state.preparation.budget, state.now()
            state.preparation = state.preparation.model_copy(update={"budget": budget})
            state.last_budget = budget
            if changed:
                state.events.emit("budget:updated", BudgetEvent(budget.model_copy(deep=True), now))
        return budget.model_copy(deep=True)

    async def consolidate(self) -> ConsolidationResult:
        """Tidy up after a run, if the context is over its critical line, counted anew.

        Tools and separate instructions are those that the last preparation saw. ``last_preparation`` stays.

        Raises:
            ContextBusyError: When another operation holds the context.
            ContextChangedError: When the host changed the context meanwhile.
            InvalidToolProtocolError: When an id of a call or of a result occurs twice.
        """
        return await consolidate_context(self._state)

    async def rollover(
        self, *, summarize: Summarize, preserve_recent_turns: int = RECENT_TURNS, reason: str | None = None
    ) -> RolloverResult:
        """Put a summary in the place of all but the recent turns; a group of calls and results stays whole.

        Args:
            summarize: Gets the older items, as copies; returns a text, or an awaitable of one.
            preserve_recent_turns: So many turns of the user stay as they are.
            reason: Told to the listeners of ``context:rolled_over``.

        Raises:
            ContextBusyError: When another operation holds the context.
            ContextChangedError: When the host changed the context meanwhile; nothing has changed then.
            InvalidRequestError: When an input waits for an answer.
            InvalidInputError: When the summary is empty or no text.
        """
        held = self._state.conversation
        before = set(held.history)
        result = await roll_over(
            self._state, summarize=summarize, preserve_recent_turns=preserve_recent_turns, reason=reason
        )
        if result.performed:
            self._state.record("summary", [item for item in held.history if item not in before])
        return result

    async def calculate_budget(self) -> PreparationBudget:
        """Return the cached budget, else an estimate of the context as it is; changes nothing.

        Raises:
            InvalidToolProtocolError: When nothing is cached and an id of a call or of a result occurs twice.
        """
        self._state.ensure_alive()
        if self._state.last_budget is None:
            return (await render_anyway(self._state, ContextPrepareOptions())).budget
        return self._state.last_budget.model_copy(deep=True)

    async def get_snapshot(self) -> ContextInspection:
        """Return what the context holds and what it costs; changes nothing. Raises as ``calculate_budget``."""
        if self._state.destroyed:
            return ContextInspection()
        return inspection(self._state, await self.calculate_budget())

    async def get_view_context(self) -> ContextView:
        """Prepare, so it may compact, and return what a model would see."""
        return ContextView() if self._state.destroyed else view(await self.prepare(), self._state.estimator)

    def destroy(self) -> None:
        """Let go of everything; every method raises from then on, but for the two views."""
        self._state.destroy()


def _now() -> int:
    return time.time_ns() // 1_000_000
