"""Trying positions of the controls: which records a compile would select at them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from playground.compiler.changes import furthest
from playground.compiler.compile import compile_offers
from playground.compiler.knobs import Knob
from playground.compiler.offers import Offers
from playground.errors import ContextBudgetExceededError
from playground.views.knobs import KNOBS, budget_of

__all__ = ["Positions", "Record", "Trial", "both_limits", "trial_of"]

Record = tuple[str, str]
"""Source and record id."""
Positions = Mapping[Knob, float]
Trial = Callable[[Positions], frozenset[Record]]
"""What is selected with the controls at these positions; nothing where mandatory content does not fit."""


def trial_of(offers: Offers) -> Trial:
    """Return a trial that really compiles: controls move in steps, and selection is not monotone."""

    def selected_at(positions: Positions) -> frozenset[Record]:
        try:
            entries = compile_offers(offers, budget_of(positions)).manifest.entries
        except ContextBudgetExceededError:
            return frozenset()
        return entries.selected_records()

    return selected_at


def both_limits(trial: Trial, positions: Positions, *, room: int, record: Record) -> dict[Knob, float] | None:
    """Return the least ratio and max tokens that together let a record in and cost no other.

    For records that neither limit lets in alone. Costs O(log range) compiles.

    Args:
        trial: Compiles.
        positions: Where the controls stand.
        room: What the request leaves, in tokens; the ratio is a part of it.
        record: The record to let in.

    Returns:
        A position for each of the two controls, none below the present one; ``None`` where that does not help.
    """
    if room <= 0:
        return None
    now = trial(positions)

    def raised(steps: int) -> dict[Knob, float]:
        cap, ratio = KNOBS["max_tokens"], KNOBS["ratio"]
        tokens = positions["max_tokens"] + steps * cap.step
        part = math.ceil(tokens / room / ratio.step - 1e-9) * ratio.step
        return {
            "ratio": min(ratio.most, max(positions["ratio"], round(part, 6))),
            "max_tokens": min(cap.most, math.floor(tokens / cap.step) * cap.step),
        }

    def helps(steps: int) -> bool:
        chosen = trial({**positions, **raised(steps)})
        return record in chosen and chosen >= now

    most = math.ceil(KNOBS["max_tokens"].most / KNOBS["max_tokens"].step)
    steps = furthest(lambda number: not helps(number), 0, most, 1) + 1
    return raised(steps) if steps <= most else None
