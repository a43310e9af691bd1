"""The current input of a preparation: cut where it is too large, put back where the preparation fails."""

from __future__ import annotations

from collections.abc import Sequence

from playground.preparation.budget import PreparationBudget, overflow
from playground.preparation.context_state import ContextState
from playground.preparation.events import OversizedEvent
from playground.preparation.items import Item
from playground.preparation.oversized import cut_results, fixed_tokens, tool_names, untouchable
from playground.preparation.rendering import Rendering
from playground.preparation.results import OversizedInput

__all__ = ["InputFit"]


class InputFit:
    """What one preparation does to the current input, and what it was before.

    Attributes:
        log: What was cut, one line each.
    """

    def __init__(self, state: ContextState) -> None:
        self.log: tuple[str, ...] = ()
        self._state = state
        self._originals: tuple[Item, ...] = ()
        self._cut: tuple[Item, ...] | None = None
        self._before: dict[Item, Item] = {}  # what each item that was cut had been
        self._told: OversizedInput | None = None

    def fit(self, rendering: Rendering, log: Sequence[str] = ()) -> Rendering:
        """Return the rendering with an input that its capacity can hold; one that fits stays as it is.

        Results are cut from what they were before this preparation, however often it renders. The conversation
        holds the input of the rendering that is returned.

        Args:
            rendering: The request.
            log: What was lost before, for the error.

        Raises:
            ContextOverflowError: When tools or reserve leave no room, or the user's own message finds none.
        """
        _check_capacity(rendering, log)
        again = rendering.current_input is self._cut
        originals = self._originals if again else rendering.current_input
        # What was cut before and is no input any more may stand in the history: what was told of it stays told.
        told = () if again else self.log
        self.log = told
        budget = rendering.budget
        fixed = budget.system_message_tokens + budget.breakdown.instructions
        if not originals or fixed + rendering.input_tokens(originals) <= budget.content_capacity:
            return self._with(rendering, originals, originals)
        if not originals[0].results:
            raise self._refused(rendering, originals, log)
        groups, start = rendering.groups, len(rendering.history)
        held = sum([group.tokens for group in groups.groups if group.protection is not None])
        whole = untouchable(groups, (*rendering.history, *originals))
        dropped = frozenset(
            (position - start, block) for position, block in groups.dropped if position >= start
        )
        room = budget.content_capacity - fixed - held
        estimator = self._state.estimator
        kept = fixed_tokens(originals, estimator, whole=whole, dropped=dropped)
        cut = cut_results(
            originals, max(0, room - kept), estimator, whole=whole, dropped=dropped, names=tool_names(groups)
        )
        fitted = self._with(rendering, cut.items, originals)
        self.log = told + cut.log
        if cut.result != self._told:  # the same cut is made again after a compaction that changed no room
            self._told = cut.result
            self._state.events.emit("input:oversized", OversizedEvent(cut.result))
        return fitted

    def undo(self) -> None:
        """Put back what was cut, wherever it stands now; what the host put in its place meanwhile stays."""
        held, before = self._state.conversation, self._before
        if not before.keys().isdisjoint(held.history):  # an answer came meanwhile and moved the input
            held.replace_history([before.get(item, item) for item in held.history], host=False)
        if not before.keys().isdisjoint(held.current_input):
            held.replace_input([before.get(item, item) for item in held.current_input], host=False)

    def _with(self, rendering: Rendering, items: tuple[Item, ...], originals: tuple[Item, ...]) -> Rendering:
        self._originals, self._cut = originals, None if items is originals else items
        self._before.update({new: old for new, old in zip(items, originals, strict=True) if new is not old})
        if items is rendering.current_input:
            return rendering
        self._state.conversation.replace_input(items, host=False)
        return rendering.with_input(items)

    def _refused(self, rendering: Rendering, items: tuple[Item, ...], log: Sequence[str]) -> Exception:
        budget = rendering.budget
        tokens = rendering.input_tokens(items)
        room = budget.content_capacity - budget.system_message_tokens - budget.breakdown.instructions
        error = overflow(
            budget,
            f"the input is too large: {tokens:,} tokens, {max(0, room):,} are left for it.",
            log,
            remedy=f"{_advice(budget, room)}, or choose a model with a larger window.",
        )
        result = OversizedInput(
            accepted=False,
            content=tuple([item.out() for item in items]),
            error=str(error),
            original_size=tokens,
            final_size=tokens,
        )
        self._state.events.emit("input:oversized", OversizedEvent(result))
        return error


def _advice(budget: PreparationBudget, room: int) -> str:
    """Say what to shorten: the message, unless what stands before it leaves no room for any."""
    if room > 0:
        return "Shorten the message"
    items = {"conversation", "currentInput", "tools", "nativeTools", "responseFormat"}
    parts = {name: tokens for name, tokens in budget.breakdown.flat().items() if name not in items}
    largest = max(parts, key=parts.__getitem__)
    return f"Shorten what stands before it, first of all {largest} with {parts[largest]:,} tokens"


def _check_capacity(rendering: Rendering, log: Sequence[str]) -> None:
    budget = rendering.budget
    if budget.content_capacity > 0:
        return
    if budget.tools_tokens > 0 and budget.limit > 0:
        raise overflow(
            budget,
            f"too many tools: their definitions need {budget.tools_tokens:,} of {budget.limit:,} tokens.",
            log,
            remedy="Send fewer tools, or shorten their descriptions.",
        )
    raise overflow(
        budget,
        f"the response reserve of {budget.response_reserve:,} tokens leaves nothing of {budget.max_tokens:,}.",
        log,
        remedy="Lower the reserve, or choose a model with a larger window.",
    )
