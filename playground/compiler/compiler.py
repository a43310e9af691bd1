"""The compiler over the steps of a run: when to ask the sources, what already stands, what to place.

The stateful shell around the pure stages. One instance serves one run; calls are serialised.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any

from playground.accounting import OnWarning
from playground.cancel import CancelToken
from playground.compiler.asking import Asking
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget
from playground.compiler.candidates import ContextCandidate
from playground.compiler.compile import compile_offers
from playground.compiler.manifest import EstimatorKind, EstimatorName, Fallback
from playground.compiler.offers import CompileInputs, prepare
from playground.compiler.orphans import kept_texts, to_ask_again, with_orphans
from playground.compiler.patience import Patience
from playground.compiler.placement import standing_placements
from playground.compiler.plan import Plan
from playground.compiler.querying import DEFAULT_TIME_LIMIT
from playground.compiler.refresh import DEFAULT_CONTEXT_REFRESH, ContextRefresh, due_reason
from playground.compiler.reporting import CompileObserver
from playground.compiler.settings import CompilerSettings
from playground.compiler.state import ContextCompilerState, RequestPrefix, previous_prefix
from playground.compiler.step_input import StepInput, checked_callback
from playground.compiler.values import (
    ContextPackage,
    ContextSource,
    PlacedEntry,
    SourceResult,
    TextKey,
    offers_mandatory,
)
from playground.compiler.watching import Watch
from playground.concurrency import run_sync
from playground.errors import InvalidInputError, InvalidRequestError, SourceError
from playground.messages import Message
from playground.models import ModelSpec
from playground.scope import MemoryScope
from playground.tokens import TokenEstimator
from playground.turns import Turns
from playground.values import whole_number
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["ContextCompiler", "ContextCompilerState"]


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
        state: What an earlier instance of the same run knew, as ``state()`` gave it or as its recorded form.
            The instance then compiles the same context. A record whose block a compaction removed comes back
            with the next refresh; a mandatory one is asked of its source at once.
        on_warning: Called once for each failed optional source of a package, for a rewriting that failed, and
            by sources with what they find worth knowing; what it raises is ignored.
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
        self._state = ContextCompilerState() if state is None else ContextCompilerState.recorded(state)
        # Requests of the host, counted: one that comes while a step runs is not served by that step.
        self._requested, self._served = int(self._state.refresh_requested), 0
        self._forced = self._state.refresh_forced
        # Forgets too: what a step had learnt before one that comes while it runs is not kept.
        self._forgets = 0
        self._attempts: Counter[int] = Counter()
        self._patience = Patience()
        self._texts: dict[TextKey, ContextCandidate] = {}
        self._last_plan: Plan | None = None
        self._last_inputs: CompileInputs | None = None
        self._guard = threading.Lock()

    def request_refresh(self) -> None:
        """Ask the sources again in the next step, whatever ``min_steps`` says."""
        self._requested += 1

    def package_stored(self, reference: str) -> None:
        """Record where the host keeps the last package; part of the state from now on.

        Raises:
            InvalidInputError: When the reference is no string.
        """
        if not isinstance(reference, str):
            raise InvalidInputError(f"The reference is a {type(reference).__name__}.", remedy="Pass a string.")
        with self._guard:
            self._state = self._state.model_copy(update={"last_package": reference})

    def state(self) -> ContextCompilerState:
        """Return what this compiler knows; a frozen value that ``to_json`` records."""
        pending = {"refresh_requested": self._requested > self._served, "refresh_forced": self._forced}
        return self._state.model_copy(update=pending)

    def inputs(self) -> CompileInputs:
        """Return what the last package was compiled from, for ``explain`` and ``binding_constraint``.

        It holds the texts that the sources offered, until the next step or the next forget.

        Raises:
            InvalidRequestError: Before the first step, after a restart, and after a forget.
        """
        if self._last_inputs is None:
            raise InvalidRequestError(
                "This instance has not compiled a package yet, or has forgotten what it was made of.",
                remedy="Call before_model_call first.",
            )
        return self._last_inputs

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
            run_id: The run; after the first package the same in every call, also of an instance with its state.
            step: Model step, from 0; one may come again, after a failed model call for example.
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
            InvalidRequestError: When this instance, or the state it was made with, serves another run.
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
        if call.redacted:
            # Before anything else, whatever happens next: what is forgotten must not come back from here.
            self._forget()
        async with self._turns.turn():
            return await self._watch.reported(call, self._step)

    async def on_overflow(self, *, input_tokens: int, **step: Any) -> ContextPackage:
        """Return the step's package once more, smaller, after the provider refused the request as too long.

        From the answers that the step had: no pass is spent, and no source is asked, unless a compaction has
        just removed a mandatory record that this instance has never seen. What this package places takes
        the place of what the refused one placed.

        Args:
            input_tokens: What the request may take now, in tokens; never more than the model accepts.
            **step: As for ``before_model_call``, with the messages as they are now. ``refresh`` was served by
                the step already and is not looked at.

        Raises:
            InvalidInputError: For malformed input.
            InvalidRequestError: When this instance has not compiled that step, or serves another run.
            ContextBudgetExceededError: When mandatory content does not fit; its phase is ``overflow-retry``.
        """
        limit = whole_number(input_tokens, "input_tokens")
        call = StepInput.checked(**step)
        call = replace(call, input_tokens=min(call.input_tokens, limit))
        async with self._turns.turn():
            return await self._watch.reported(call, self._again)

    def before_model_call_sync(self, **step: Any) -> ContextPackage:
        """Do what ``before_model_call`` does, from synchronous code, in Jupyter too.

        Raises:
            InvalidRequestError: When it would wait for a call of the event loop that it keeps from running.
        """
        return run_sync(self.before_model_call(**step))

    def on_overflow_sync(self, **step: Any) -> ContextPackage:
        """Do what ``on_overflow`` does, from synchronous code; raises as ``before_model_call_sync``."""
        return run_sync(self.on_overflow(**step))

    # What help and notebooks show.
    before_model_call_sync.__signature__ = signature(before_model_call)  # type: ignore[attr-defined]
    on_overflow_sync.__signature__ = signature(on_overflow)  # type: ignore[attr-defined]

    async def _step(self, call: StepInput) -> ContextPackage:
        call.signal.raise_if_cancelled()
        self._state.check_run(call.run_id)
        if call.refresh or call.redacted:
            # Pending until it is served, in a later step where this one fails or has nothing to ask for.
            self._requested += 1
            self._forced |= call.redacted
        requested, forgets = self._requested, self._forgets
        used_tokens = self._used_tokens(call)
        plan = await self._planned(call, used_tokens, requested > self._served)
        refreshed = plan.state.last_refresh is not self._state.last_refresh
        package = self._compile(call, plan, used_tokens, forgets)
        # Nothing is remembered before the compile succeeded.
        if refreshed:
            self._served, self._forced = requested, False
        self._attempts.clear()
        return package

    async def _again(self, call: StepInput) -> ContextPackage:
        self._state.check_run(call.run_id)
        plan, forgets = self._last_plan, self._forgets
        if plan is None or plan.step != call.step:
            raise InvalidRequestError(
                f"Step {call.step} has not been compiled by this instance.",
                remedy="Call before_model_call for the step first.",
            )
        if call.redacted and not plan.redacted:
            raise InvalidRequestError(
                f"The answers that step {call.step} had may hold what was forgotten.",
                remedy="Call before_model_call with redacted=True.",
            )
        # The compaction that the overflow caused may have taken what a source had no need to offer before.
        compacted = not plan.request.begins(call.digests)
        used_tokens = self._used_tokens(call)
        plan = await self._with_mandatory(self._asking(call, used_tokens), plan, compacted=compacted)
        return self._compile(call, plan, used_tokens, forgets, overflow=True)

    async def _planned(self, call: StepInput, used_tokens: int, requested: bool) -> Plan:
        """Decide whether to ask the sources, and ask them."""
        state = self._state
        due = due_reason(
            last=state.last_refresh,
            step=call.step,
            active_task_id=call.active_task_id,
            requested=requested,
            redacted=call.redacted,
            min_steps=self._settings.refresh.min_steps,
        )
        fallback: Fallback | None = None
        last, limited = state.last_refresh, state.passes >= self._settings.refresh.max_passes
        if due is not None and last is not None and limited and not self._forced:
            # Reported once: the refresh that cannot be served is used up.
            due, fallback = None, "pass-limit"
            state = state.refreshed(step=last.step, active_task_id=call.active_task_id, passes=state.passes)
        asking = self._asking(call, used_tokens)
        results, retrieved = asking.nobody(), False
        if due is not None:
            self._attempts[call.step] += 1
            asking = replace(asking, attempt=self._attempts[call.step])
            results, retrieved = await asking.everybody(state.passes + 1)
        if retrieved:
            state = state.refreshed(step=call.step, active_task_id=call.active_task_id, passes=state.passes + 1)
        _raise_required_failure(results)
        request = RequestPrefix.of(call.step, call.digests)
        plan = Plan(call.step, request, state, results, due or "reused", fallback, call.redacted)
        return await self._with_mandatory(asking, plan, compacted=_prefix_changed(state, call))

    async def _with_mandatory(self, asking: Asking, plan: Plan, *, compacted: bool) -> Plan:
        """Ask at once for mandatory records that left the history and that this instance does not know.

        Those are the ones that it had placed, before a restart for example, and those that stood elsewhere, in
        a tool's result for example, until a compaction took them.
        """
        state = plan.state
        able = frozenset(source.id for source in self._settings.sources if offers_mandatory(source))
        lost: tuple[PlacedEntry, ...] = ()
        if any(entry.mandatory for entry in state.placed):
            orphans = state.orphans(standing_placements(state.placed, asking.call.messages))
            lost = to_ask_again(orphans, plan.results, self._texts)
        ids = plan.still_to_ask(
            asking.call.digests, lost=lost, able=able, compacted=compacted, patience=self._patience
        )
        results = await asking.for_mandatory(ids, lost, state.passes, plan.results)
        self._patience.heard(results, asking.call.step)
        _raise_required_failure(results)
        heard = {result.source_id for result in results if result.status == "ok"} & ids
        gone = to_ask_again(lost, results, {})
        state = state.released({entry.text_key for entry in gone if entry.source in heard})
        return replace(plan, state=state.answered(results, able), results=results)

    def _asking(self, call: StepInput, used_tokens: int) -> Asking:
        return Asking(self._settings, call, used_tokens, 1, partial(self._watch.warn, call))

    def _compile(
        self, call: StepInput, plan: Plan, used_tokens: int, forgets: int, *, overflow: bool = False
    ) -> ContextPackage:
        state = plan.state
        standing = standing_placements(state.placed, call.messages)
        results = with_orphans(plan.results, state.orphans(standing), self._texts)
        inputs = CompileInputs(
            results=results,
            messages=call.messages,
            input_tokens=call.input_tokens,
            used_tokens=used_tokens,
            working_memory=call.working_memory,
            estimator=self._settings.estimator,
            run_id=call.run_id,
            step=call.step,
            retrieval_pass=state.passes,
            refresh="overflow-retry" if overflow else plan.refresh,
            placed=state.placed,
            phase="overflow-retry" if overflow else "compile",
            redacted=plan.redacted,
            fallback=plan.fallback,
            tail_kept=call.tail_kept,
            cache_prefix_changed=_prefix_changed(state, call),
            estimator_kind=call.estimator_kind or self._settings.estimator_kind,
        )
        package = compile_offers(prepare(inputs), self._settings.budget)
        after = state.after(package, digests=call.digests, results=results, standing=standing, refused=overflow)
        self._remember(after, plan, inputs, kept_texts(self._texts, results, after.placed), forgets)
        return package

    def _remember(
        self,
        state: ContextCompilerState,
        plan: Plan,
        inputs: CompileInputs,
        texts: dict[TextKey, ContextCandidate],
        forgets: int,
    ) -> None:
        """Keep what a compile learnt; no text of it where something was forgotten meanwhile."""
        with self._guard:
            # A reference that came since the step was planned is no part of the plan.
            self._state = state.model_copy(update={"last_package": self._state.last_package})
            known = forgets == self._forgets
            self._texts = texts if known else {}
            self._last_plan = plan if known else None
            self._last_inputs = inputs if known else None

    def _forget(self) -> None:
        with self._guard:
            self._forgets += 1
            self._texts = {}
            self._last_plan = self._last_inputs = None

    def _used_tokens(self, call: StepInput) -> int:
        return self._settings.estimator.estimate(call.messages) + call.overhead_tokens


def _prefix_changed(state: ContextCompilerState, call: StepInput) -> bool:
    """Whether the request no longer begins with that of the step before."""
    previous = previous_prefix(state, call.step)
    return previous is not None and not previous.begins(call.digests)


def _raise_required_failure(results: Sequence[SourceResult]) -> None:
    for result in results:
        if result.required and result.status == "failed":
            raise result.error or SourceError("The source failed.", source_id=result.source_id)
