"""The compiler over the steps of a run: when to ask the sources, what already stands, what to place.

The stateful shell around the pure stages. One instance serves one run; calls are serialised.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from playground.cancel import CancelToken
from playground.compiler.asking import Asking
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget
from playground.compiler.candidates import ContextCandidate
from playground.compiler.compile import compile_context
from playground.compiler.history import history_digests
from playground.compiler.manifest import EstimatorKind, EstimatorName, Fallback, Refresh
from playground.compiler.orphans import kept_texts, to_ask_again, with_orphans
from playground.compiler.placement import placed_entries, standing_placements
from playground.compiler.querying import DEFAULT_TIME_LIMIT
from playground.compiler.refresh import DEFAULT_CONTEXT_REFRESH, ContextRefresh, due_reason
from playground.compiler.reporting import CompileObserver
from playground.compiler.settings import CompilerSettings
from playground.compiler.state import ContextCompilerState, previous_prefix
from playground.compiler.step_input import OnWarning, StepInput, checked_callback
from playground.compiler.values import (
    ContextPackage,
    ContextSource,
    SourceResult,
    TextKey,
    offers_mandatory,
)
from playground.compiler.watching import Watch
from playground.concurrency import Turns, run_sync
from playground.errors import InvalidInputError, InvalidRequestError, Phase, SourceError
from playground.messages import Message
from playground.models import ModelSpec
from playground.scope import MemoryScope
from playground.tokens import TokenEstimator
from playground.values import whole_number
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["ContextCompiler", "ContextCompilerState"]


@dataclass(frozen=True, slots=True)
class _Plan:
    """What one compile of a step starts from.

    Attributes:
        state: What is known before this step places anything.
        results: What the sources answered, without orphans.
        refresh: Why the sources were asked, or ``reused``.
        fallback: What had to give way.
        redacted: Whether the step replaces a package that a forget redacted.
    """

    state: ContextCompilerState
    results: tuple[SourceResult, ...]
    refresh: Refresh
    fallback: Fallback | None
    redacted: bool


class ContextCompiler:
    """Prepares the context of each model call of one run.

    Calls on one instance are served one after the other, also from several threads and event loops. A preview:
    arguments may still change; the recorded formats carry a version.

    Args:
        sources: Asked in this order; ids are unique.
        scope: Narrows what every source may read.
        budget: The knobs of each compile; a mapping is merged over the defaults.
        refresh: When the sources are asked again; a mapping is merged over the defaults.
        estimator: Counts everything of this run.
        estimator_kind: What the counts rest on; recorded in the manifest.
        state: What an earlier instance knew, as ``state()`` gave it or as its recorded form. The instance then
            compiles the same context. A record whose block a compaction removed comes back with the next
            refresh; a mandatory one is asked of its source at once.
        on_warning: Called once for each failed optional source, in each step; what it raises is ignored.
        time_limit: Seconds that one source may take, above 0.
        clock: Time in ns, for reports alone; no compile depends on it.
        observer: Hears of each compile, see ``CompileReport``; what it raises is ignored.

    Raises:
        InvalidInputError: When an argument is malformed, two sources share an id, or the scope contradicts what
            a source is pinned to.
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
        state: ContextCompilerState | Mapping[str, Any] | None = None,
        on_warning: OnWarning | None = None,
        time_limit: float = DEFAULT_TIME_LIMIT,
        clock: Callable[[], int] = time.time_ns,
        observer: CompileObserver | None = None,
    ) -> None:
        self._settings = CompilerSettings.checked(
            sources=sources,
            scope=scope,
            budget=budget,
            refresh=refresh,
            estimator=estimator,
            estimator_kind=estimator_kind,
            time_limit=time_limit,
        )
        self._watch = Watch(
            on_warning=checked_callback(on_warning, "on_warning"),
            observer=checked_callback(observer, "observer"),
            clock=checked_callback(clock, "clock") or time.time_ns,
        )
        self._turns = Turns()
        self._state = ContextCompilerState.parse({} if state is None else state)
        # Requests of the host, counted: one that comes while a step runs is not served by that step.
        self._requested, self._served = int(self._state.refresh_requested), 0
        self._texts: dict[TextKey, ContextCandidate] = {}
        self._last_plan: tuple[int, _Plan] | None = None

    def request_refresh(self) -> None:
        """Ask the sources again in the next step, whatever ``min_steps`` says."""
        self._requested += 1

    def package_stored(self, reference: str) -> None:
        """Record where the host keeps the last package; part of the state from now on."""
        if not isinstance(reference, str):
            raise InvalidInputError(f"The reference is a {type(reference).__name__}.", remedy="Pass a string.")
        self._state = self._state.model_copy(update={"last_package": reference})

    def state(self) -> ContextCompilerState:
        """Return what this compiler knows; a frozen value that ``to_json`` records."""
        return self._state.model_copy(update={"refresh_requested": self._requested > self._served})

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
        redacted: bool = False,
        estimator_kind: EstimatorKind | EstimatorName | Mapping[str, Any] | None = None,
        signal: CancelToken | None = None,
        accounting: Mapping[str, Any] | None = None,
        on_warning: OnWarning | None = None,
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
            redacted: The package of this step was redacted by a forget: ask the sources again now, past
                ``min_steps`` and ``max_passes``, and place no text that this instance knew before.
            estimator_kind: What the counts of this step rest on.
            signal: Cancels the call while sources are asked.
            accounting: Handed to the sources, each with a ``request_id`` of its own, so that what a query costs
                can be charged to the run.
            on_warning: In place of the compiler's, for this step; the sources may use it too.

        Returns:
            The package. ``request_messages`` gives what to send, ``history_messages`` the history after the
            model call succeeded. A block that is not found in a later request is placed again, from what this
            instance retrieved.

        Raises:
            InvalidInputError: For malformed input.
            ContextBudgetExceededError: When mandatory content does not fit.
            CallCancelledError: When ``signal`` is set before the sources have answered.
            Exception: What a required source raised, the very object; the compiler's state is unchanged.
        """
        call = StepInput.checked(
            run_id=run_id,
            step=step,
            messages=messages,
            model=model,
            overhead_tokens=overhead_tokens,
            working_memory=working_memory,
            refresh=refresh,
            redacted=redacted,
            estimator_kind=estimator_kind,
            signal=signal,
            accounting=accounting,
            on_warning=on_warning,
        )
        async with self._turns.turn():
            return await self._watch.reported(call, self._step)

    async def on_overflow(self, *, input_tokens: int, **step: Any) -> ContextPackage:
        """Return the step's package once more, smaller, after the provider refused the request as too long.

        From the answers that the step had: no pass is spent, and no source is asked, unless a compaction has
        just removed a mandatory record that this instance has never seen (R162). What this package places takes
        the place of what the refused one placed.

        Args:
            input_tokens: What the request may take now, in tokens; never more than the model accepts.
            **step: As for ``before_model_call``, with the messages as they are now. ``refresh`` was served by
                the step already and is not looked at.

        Raises:
            InvalidInputError: For malformed input.
            InvalidRequestError: When this instance has not compiled that step.
            ContextBudgetExceededError: When mandatory content does not fit; its phase is ``overflow-retry``.
        """
        limit = whole_number(input_tokens, "input_tokens")
        call = StepInput.checked(**step)
        call = replace(call, input_tokens=min(call.input_tokens, limit))
        async with self._turns.turn():
            return await self._watch.reported(call, self._again)

    def before_model_call_sync(self, **step: Any) -> ContextPackage:
        """Do what ``before_model_call`` does, from synchronous code."""
        return run_sync(self.before_model_call(**step))

    def on_overflow_sync(self, **step: Any) -> ContextPackage:
        """Do what ``on_overflow`` does, from synchronous code."""
        return run_sync(self.on_overflow(**step))

    async def _step(self, call: StepInput) -> ContextPackage:
        if call.redacted:
            # Before anything else: whatever happens next, a forgotten text must not come back from here.
            self._texts.clear()
            self._last_plan = None
        requested = self._requested
        used_tokens = self._used_tokens(call)
        plan = await self._planned(call, used_tokens, requested > self._served)
        refreshed = plan.state.last_refresh is not self._state.last_refresh
        package = self._compile(call, plan, used_tokens)
        # Nothing is remembered before the compile succeeded.
        self._last_plan = (call.step, plan)
        if refreshed:
            self._served = requested
        elif call.refresh or call.redacted:
            self._requested = max(self._requested, self._served + 1)
        return package

    async def _again(self, call: StepInput) -> ContextPackage:
        if self._last_plan is None or self._last_plan[0] != call.step:
            raise InvalidRequestError(
                f"Step {call.step} has not been compiled by this instance.",
                remedy="Call before_model_call for the step first.",
            )
        if call.redacted and not self._last_plan[1].redacted:
            raise InvalidRequestError(
                f"The answers that step {call.step} had may hold what was forgotten.",
                remedy="Call before_model_call with redacted=True.",
            )
        used_tokens = self._used_tokens(call)
        plan = self._last_plan[1]
        # The compaction that the overflow caused may have removed what a restarted instance has never seen.
        results = await self._with_mandatory(call, plan.state, plan.results, used_tokens)
        plan = replace(plan, results=results)
        self._last_plan = (call.step, plan)
        retried = replace(plan, refresh="overflow-retry")
        return self._compile(call, retried, used_tokens, phase="overflow-retry")

    async def _planned(self, call: StepInput, used_tokens: int, requested: bool) -> _Plan:
        """Decide whether to ask the sources, and ask them."""
        state = self._state
        due = due_reason(
            last=state.last_refresh,
            step=call.step,
            active_task_id=call.active_task_id,
            requested=call.refresh or requested,
            redacted=call.redacted,
            min_steps=self._settings.refresh.min_steps,
        )
        fallback: Fallback | None = None
        last = state.last_refresh
        if due is not None and due != "redacted" and last and state.passes >= self._settings.refresh.max_passes:
            # Reported once: the refresh that cannot be served is used up.
            due, fallback = None, "pass-limit"
            state = state.refreshed(step=last.step, active_task_id=call.active_task_id, passes=state.passes)
        asking = self._asking(call, used_tokens)
        results, retrieved = asking.nobody(), False
        if due is not None:
            results, retrieved = await asking.everybody(state.passes + 1)
        if retrieved:
            state = state.refreshed(step=call.step, active_task_id=call.active_task_id, passes=state.passes + 1)
        else:
            results = await self._with_mandatory(call, state, results, used_tokens)
        _raise_required_failure(results)
        return _Plan(state, results, due or "reused", fallback, call.redacted)

    async def _with_mandatory(
        self,
        call: StepInput,
        state: ContextCompilerState,
        results: tuple[SourceResult, ...],
        used_tokens: int,
    ) -> tuple[SourceResult, ...]:
        """Ask at once for mandatory records that left the history and that this instance does not know."""
        missing: frozenset[str] = frozenset()
        if any(entry.mandatory for entry in state.placed):
            orphans = state.orphans(standing_placements(state.placed, call.messages))
            missing = to_ask_again(orphans, self._texts)
        if _prefix_changed(state, call):
            # What stood elsewhere in the history, in a tool's result for example, may have gone with it.
            missing |= {source.id for source in self._settings.sources if offers_mandatory(source)}
        # Who answered in this step has said what is mandatory now.
        missing &= {result.source_id for result in results if result.status in {"reused", "skipped"}}
        answered = await self._asking(call, used_tokens).for_mandatory(missing, state.passes, results)
        _raise_required_failure(answered)
        return answered

    def _asking(self, call: StepInput, used_tokens: int) -> Asking:
        return Asking(self._settings, call, used_tokens, partial(self._watch.warn, call))

    def _compile(
        self, call: StepInput, plan: _Plan, used_tokens: int, *, phase: Phase = "compile"
    ) -> ContextPackage:
        # A reference that came since the step was planned is no part of the plan.
        state = plan.state.model_copy(update={"last_package": self._state.last_package})
        orphans = state.orphans(standing_placements(state.placed, call.messages))
        results = with_orphans(plan.results, orphans, self._texts)
        package = compile_context(
            results=results,
            messages=call.messages,
            input_tokens=call.input_tokens,
            used_tokens=used_tokens,
            budget=self._settings.budget,
            working_memory=call.working_memory,
            estimator=self._settings.estimator,
            run_id=call.run_id,
            step=call.step,
            retrieval_pass=state.passes,
            refresh=plan.refresh,
            placed=state.placed,
            phase=phase,
            redacted=plan.redacted,
            fallback=plan.fallback,
            tail_kept=call.tail_kept,
            cache_prefix_changed=_prefix_changed(state, call),
            estimator_kind=call.estimator_kind or self._settings.estimator_kind,
        )
        placed = placed_entries(package)
        appended = [block.messages[0] for block in package.blocks if block.placement == "append"]
        self._state = state.with_request(call.step, history_digests((*call.messages, *appended)), placed)
        self._texts = kept_texts(self._texts, results, (*state.placed, *placed))
        return package

    def _used_tokens(self, call: StepInput) -> int:
        return self._settings.estimator.estimate(call.messages) + call.overhead_tokens


def _prefix_changed(state: ContextCompilerState, call: StepInput) -> bool:
    """Whether the request no longer begins with that of the step before."""
    previous = previous_prefix(state, call.step)
    return previous is not None and not previous.begins(history_digests(call.messages))


def _raise_required_failure(results: Sequence[SourceResult]) -> None:
    for result in results:
        if result.required and result.status == "failed":
            raise result.error or SourceError("The source failed.", source_id=result.source_id)
