"""The compiler over the steps of a run: when to ask the sources, what already stands, what to place.

The stateful shell around the pure stages. One instance serves one run; calls are serialised.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from playground.cancel import CancelToken
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget
from playground.compiler.compile import compile_context
from playground.compiler.manifest import (
    EstimatorKind,
    EstimatorName,
    Fallback,
    Refresh,
    context_warnings,
    estimator_kind_of,
)
from playground.compiler.placement import history_digests, placed_entries, standing_placements
from playground.compiler.querying import (
    DEFAULT_TIME_LIMIT,
    budget_hints,
    check_sources,
    query_sources,
)
from playground.compiler.refresh import (
    DEFAULT_CONTEXT_REFRESH,
    ContextRefresh,
    LastRefresh,
    build_query,
    due_reason,
)
from playground.compiler.values import (
    ContextCandidate,
    ContextPackage,
    ContextSource,
    ContextSourceRequest,
    PlacedEntry,
    SourceResult,
)
from playground.concurrency import Turns, run_sync
from playground.errors import InvalidInputError, SourceError
from playground.messages import Message, as_messages
from playground.models import ModelSpec, keeps_tail
from playground.scope import MemoryScope
from playground.tokens import TokenEstimator
from playground.values import RecordedValue, whole_number
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["ContextCompiler", "ContextCompilerState"]


class ContextCompilerState(RecordedValue):
    """What a compiler knows between two steps, format version 1; plain data without any record text."""

    version: Literal[1] = 1
    """Version of the recorded format."""
    passes: int = 0
    """Retrievals so far."""
    last_refresh: LastRefresh | None = None
    """The last retrieval."""
    placed: tuple[PlacedEntry, ...] = ()
    """Every record that a package put into the history."""
    last_package: str | None = None
    """Reference of the last stored package, once a run store wrote it."""
    refresh_requested: bool = False
    """Whether the host asked for a refresh that has not run yet."""


@dataclass(frozen=True, slots=True)
class _Request:
    """Digests of the messages that one step's request held, its append block included."""

    step: int
    digests: tuple[str, ...]

    def begins(self, digests: tuple[str, ...]) -> bool:
        return digests[: len(self.digests)] == self.digests


@dataclass(frozen=True, slots=True)
class _Call:
    """The checked arguments of one ``before_model_call``."""

    run_id: str
    step: int
    history: tuple[Message, ...]
    model: ModelSpec
    overhead_tokens: int
    working_memory: WorkingMemorySnapshot | None
    refresh: bool
    estimator_kind: EstimatorKind | None
    signal: CancelToken

    @property
    def active_task_id(self) -> str | None:
        task = self.working_memory.active_task if self.working_memory else None
        return task.id if task else None


class ContextCompiler:
    """Prepares the context of each model call of one run.

    Calls on one instance are served one after the other, also from several threads and event loops.

    Args:
        sources: Asked in this order; ids are unique.
        scope: Narrows what every source may read.
        budget: The knobs of each compile; a mapping is merged over the defaults.
        refresh: When the sources are asked again; a mapping is merged over the defaults.
        estimator: Counts everything of this run.
        estimator_kind: What the counts rest on; recorded in the manifest.
        on_warning: Called once for each failed optional source; what it raises is ignored.
        time_limit: Seconds that one source may take, above 0.

    Raises:
        InvalidInputError: When an argument is malformed, or two sources share an id.
    """

    def __init__(
        self,
        *,
        sources: Sequence[ContextSource],
        scope: MemoryScope | Mapping[str, Any] | None = None,
        budget: ContextBudget | Mapping[str, Any] = DEFAULT_CONTEXT_BUDGET,
        refresh: ContextRefresh | Mapping[str, Any] = DEFAULT_CONTEXT_REFRESH,
        estimator: TokenEstimator | None = None,
        estimator_kind: EstimatorKind | EstimatorName | Mapping[str, Any] | None = None,
        on_warning: Callable[[Mapping[str, str]], None] | None = None,
        time_limit: float = DEFAULT_TIME_LIMIT,
    ) -> None:
        self._sources = check_sources(sources)
        self._scope = MemoryScope.parse({} if scope is None else scope)
        self._budget = ContextBudget.parse(budget)
        self._refresh = ContextRefresh.parse(refresh)
        self._estimator = TokenEstimator() if estimator is None else estimator
        if not isinstance(self._estimator, TokenEstimator):
            raise InvalidInputError("The estimator is not a TokenEstimator.", remedy="Wrap it in one.")
        self._estimator_kind = estimator_kind_of(estimator_kind)
        self._on_warning = on_warning
        if isinstance(time_limit, bool) or not isinstance(time_limit, int | float) or not time_limit > 0:
            raise InvalidInputError(f"The time limit is {time_limit!r:.50}.", remedy="Give seconds above 0.")
        self._time_limit = time_limit
        self._turns = Turns()
        self._state = ContextCompilerState()
        # Requests of the host, counted: one that comes while a step runs is not served by that step.
        self._requested = self._served = 0
        self._placed_texts: dict[tuple[str, str], ContextCandidate] = {}
        self._previous: _Request | None = None
        self._current: _Request | None = None

    def request_refresh(self) -> None:
        """Ask the sources again in the next step, whatever ``min_steps`` says."""
        self._requested += 1

    def state(self) -> ContextCompilerState:
        """Return what this compiler knows; a frozen value."""
        return self._state.model_copy(update={"refresh_requested": self._requested > self._served})

    def before_model_call_sync(self, **step: Any) -> ContextPackage:
        """Do what ``before_model_call`` does, from synchronous code."""
        return run_sync(self.before_model_call(**step))

    async def before_model_call(
        self,
        *,
        run_id: str,
        step: int,
        messages: Sequence[Message | Mapping[str, Any]],
        model: ModelSpec | Mapping[str, Any],
        overhead_tokens: int = 0,
        working_memory: WorkingMemorySnapshot | Mapping[str, Any] | None = None,
        refresh: bool = False,
        estimator_kind: EstimatorKind | EstimatorName | Mapping[str, Any] | None = None,
        signal: CancelToken | None = None,
    ) -> ContextPackage:
        """Return the blocks to add to one model call, and why.

        Args:
            run_id: The run.
            step: Model step, from 0.
            messages: The request so far, values or dictionaries; only read.
            model: Window and output limit.
            overhead_tokens: Tool schemas, output schema and framing, in tokens.
            working_memory: Rendered as the tail.
            refresh: Ask the sources again now, whatever ``min_steps`` says.
            estimator_kind: What the counts of this step rest on.
            signal: Cancels the call while sources are asked.

        Returns:
            The package. Put its append block into the history, after ``messages``, once the model call
            succeeded; the tail ends this request only, except where ``manifest.placement.tail_kept`` is set.
            A block that is not found in a later request is placed again, from what this instance retrieved.

        Raises:
            InvalidInputError: For malformed input.
            ContextBudgetExceededError: When mandatory content does not fit.
            CallCancelledError: When ``signal`` is set before the sources have answered.
            Exception: What a required source raised, the very object; the compiler's state is unchanged.
        """
        kind = self._estimator_kind if estimator_kind is None else estimator_kind_of(estimator_kind)
        call = _Call(
            run_id=run_id,
            step=whole_number(step, "step"),
            history=as_messages(messages),
            model=ModelSpec.parse(model),
            overhead_tokens=whole_number(overhead_tokens, "overhead_tokens"),
            working_memory=None if working_memory is None else WorkingMemorySnapshot.parse(working_memory),
            refresh=refresh,
            estimator_kind=kind,
            signal=CancelToken() if signal is None else signal,
        )
        if not isinstance(call.signal, CancelToken):
            raise InvalidInputError("The signal is not a CancelToken.", remedy="Pass a CancelToken.")
        async with self._turns.turn():
            return await self._step(call)

    async def _step(self, call: _Call) -> ContextPackage:
        used_tokens = self._estimator.estimate(call.history) + call.overhead_tokens
        requested = self._requested
        due, fallback, state = self._due(call)
        state = _without_retried(state, call)
        if due is None:
            results = self._reused(call, state)
        else:
            results = await self._query(call, used_tokens)
            _raise_required_failure(results)
            if any(result.status != "skipped" for result in results):
                state = _refreshed(state, step=call.step, active=call.active_task_id, passes=state.passes + 1)
        digests = history_digests(call.history)
        previous = self._current if self._current and self._current.step < call.step else self._previous
        package = compile_context(
            results=results,
            messages=call.history,
            input_tokens=call.model.input_tokens,
            used_tokens=used_tokens,
            budget=self._budget,
            working_memory=call.working_memory,
            estimator=self._estimator,
            run_id=call.run_id,
            step=call.step,
            retrieval_pass=state.passes,
            refresh=due or "reused",
            placed=state.placed,
            fallback=fallback,
            tail_kept=keeps_tail(call.model.model_id),
            cache_prefix_changed=previous is not None and not previous.begins(digests),
            estimator_kind=call.estimator_kind,
        )
        # Nothing is remembered before the compile succeeded.
        if state.last_refresh is not self._state.last_refresh:
            self._served = requested
        self._remember(state, package, results)
        self._previous = previous
        appended = [block.messages[0] for block in package.blocks if block.placement == "append"]
        self._current = _Request(call.step, (*digests, *history_digests(appended)))
        self._warn(package)
        return package

    def _remember(
        self, state: ContextCompilerState, package: ContextPackage, results: Sequence[SourceResult]
    ) -> None:
        placed = placed_entries(package)
        offered = {
            (result.source_id, candidate.record_id, candidate.digest): candidate
            for result in results
            for candidate in result.candidates
        }
        for entry in placed:
            candidate = offered[entry.source, entry.record_id, entry.digest]
            self._placed_texts[entry.source, entry.record_id] = candidate
        self._state = state.model_copy(update={"placed": (*state.placed, *placed)})

    def _due(self, call: _Call) -> tuple[Refresh | None, Fallback | None, ContextCompilerState]:
        state = self._state
        due = due_reason(
            last=state.last_refresh,
            step=call.step,
            active_task_id=call.active_task_id,
            requested=call.refresh or self._requested > self._served,
            min_steps=self._refresh.min_steps,
        )
        if due is None or state.last_refresh is None or state.passes < self._refresh.max_passes:
            return due, None, state
        # Reported once: the refresh that could not be served is used up.
        return None, "pass-limit", _refreshed(state, step=state.last_refresh.step, active=call.active_task_id)

    async def _query(self, call: _Call, used_tokens: int) -> tuple[SourceResult, ...]:
        request = ContextSourceRequest(
            query=build_query(call.history, call.working_memory),
            scope=self._scope,
            limit=self._refresh.candidates_per_source,
            signal=call.signal,
            run_id=call.run_id,
            step=call.step,
            messages=call.history,
        )
        context_tokens = self._budget.context_tokens(call.model.input_tokens - used_tokens)
        tail_tokens = self._tail_tokens(call.working_memory)
        hints = budget_hints(self._budget, context_tokens=context_tokens, tail_tokens=tail_tokens)
        return await query_sources(self._sources, request, hints=hints, time_limit=self._time_limit)

    def _reused(self, call: _Call, state: ContextCompilerState) -> tuple[SourceResult, ...]:
        """Results that ask nobody and offer again what was placed and no longer stands in the history."""
        standing = {
            (entry.source, entry.record_id, entry.digest)
            for entry in standing_placements(state.placed, call.history)
        }
        gone = {key: text for key, text in self._placed_texts.items() if (*key, text.digest) not in standing}
        return tuple(
            SourceResult(
                source_id=source.id,
                kind=source.kind,
                required=source.required,
                status="reused",
                candidates=tuple(text for (source_id, _), text in gone.items() if source_id == source.id),
            )
            for source in self._sources
        )

    def _tail_tokens(self, working_memory: WorkingMemorySnapshot | None) -> int:
        if working_memory is None:
            return 0
        tail = compile_context(
            results=(),
            messages=(),
            input_tokens=2**53,
            used_tokens=0,
            budget=self._budget,
            working_memory=working_memory,
            estimator=self._estimator,
        )
        return tail.manifest.budget.selected_tokens

    def _warn(self, package: ContextPackage) -> None:
        if self._on_warning is None:
            return
        for warning in context_warnings(package.manifest):
            try:
                self._on_warning(warning)
            except Exception:  # noqa: BLE001, S112  # a host's callback must not break the step
                continue


def _refreshed(
    state: ContextCompilerState, *, step: int, active: str | None, passes: int | None = None
) -> ContextCompilerState:
    return state.model_copy(
        update={
            "passes": state.passes if passes is None else passes,
            "last_refresh": LastRefresh(step=step, active_task_id=active),
        }
    )


def _without_retried(state: ContextCompilerState, call: _Call) -> ContextCompilerState:
    """Return the state without what an earlier try of this very step placed in vain."""
    if all(entry.step != call.step for entry in state.placed):
        return state
    standing = standing_placements(state.placed, call.history)
    kept = tuple(entry for entry in state.placed if entry.step != call.step or entry in standing)
    return state.model_copy(update={"placed": kept})


def _raise_required_failure(results: Sequence[SourceResult]) -> None:
    for result in results:
        if result.required and result.status == "failed":
            raise result.error or SourceError("The source failed.", source_id=result.source_id)
