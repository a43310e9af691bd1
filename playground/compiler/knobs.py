"""Knobs: the settings a compile can be tuned by, and the grid on which a change of one is sought.

Pure. A unit is 1 token, 1 candidate or 0.0001 of the ratio or a share. Where a knob stands may lie between two
units (a ratio of 0.04267): changes are to whole units all the same, and distances are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from playground.compiler.budget import ContextBudget, ContextShares
from playground.compiler.offers import Offers
from playground.compiler.values import KINDS, Kind

__all__ = ["FRACTION_UNITS", "KNOBS", "SHARE_KNOBS", "AnyKnob", "Grid", "Knob", "budget_grid", "with_knob"]

Knob = Literal[
    "max_tokens",
    "ratio",
    "working_memory_tokens",
    "memory_share",
    "rag_share",
    "transcript_share",
    "skills_share",
]
AnyKnob = Knob | Literal["candidates_per_source"]
KNOBS: tuple[Knob, ...] = get_args(Knob)
FRACTION_UNITS = 10_000  # units of ratio and shares in 1; one unit is 0.0001
SHARE_KNOBS: dict[Kind, Knob] = {
    "memory": "memory_share",
    "rag": "rag_share",
    "transcript": "transcript_share",
    "skills": "skills_share",
}
_KIND_OF: dict[Knob, Kind] = {knob: kind for kind, knob in SHARE_KNOBS.items()}


@dataclass(frozen=True, slots=True)
class Grid:
    """The values a knob may take, in units.

    Attributes:
        position: Where it stands; a fraction where that is between two units.
        least: Smallest value.
        most: Largest value that can matter; above it nothing changes any more.
        per_whole: Units in 1.
    """

    position: Fraction
    least: int
    most: int
    per_whole: int = 1

    def value(self, units: int) -> float:
        """Return the knob's value at ``units``."""
        return units if self.per_whole == 1 else units / self.per_whole

    @property
    def current(self) -> float:
        """The knob's value now."""
        return int(self.position) if self.per_whole == 1 else float(self.position / self.per_whole)

    @property
    def next_above(self) -> int:
        """The first whole unit above the position."""
        return math.floor(self.position) + 1

    @property
    def next_below(self) -> int:
        """The first whole unit below the position."""
        return math.ceil(self.position) - 1


def budget_grid(offers: Offers, budget: ContextBudget, knob: Knob) -> Grid:
    """Return the values of a budget's knob.

    Token limits end where they stop to matter: max tokens at what the ratio allows, the limit of working memory
    at the whole budget.
    """
    if knob == "max_tokens":
        most = budget.model_copy(update={"max_tokens": max(0, offers.inputs.room)})
        return Grid(Fraction(budget.max_tokens), 0, most.context_tokens(offers.inputs.room))
    if knob == "working_memory_tokens":
        return Grid(Fraction(budget.working_memory_tokens), 0, budget.context_tokens(offers.inputs.room))
    value = budget.ratio if knob == "ratio" else budget.shares[_KIND_OF[knob]]
    # As it is written, so that 0.1 is a thousand units though no float is a tenth.
    position = Fraction(repr(float(value))) * FRACTION_UNITS
    return Grid(position, 1 if knob == "ratio" else 0, FRACTION_UNITS, FRACTION_UNITS)


def with_knob(budget: ContextBudget, knob: Knob, value: float) -> ContextBudget:
    """Return the budget with one knob turned.

    A share may push the sum above 1; the other shares then shrink in proportion, as they do where shares are
    weights.
    """
    if knob == "ratio":
        return budget.model_copy(update={"ratio": value})
    if knob in {"max_tokens", "working_memory_tokens"}:
        return budget.model_copy(update={knob: int(value)})
    kind = _KIND_OF[knob]
    others = sum(share for other, share in budget.shares.items() if other != kind)
    scale = min(1.0, (1 - value) / others) if others > 0 else 1.0
    shares = {other: value if other == kind else budget.shares[other] * scale for other in KINDS}
    return budget.model_copy(update={"shares": ContextShares(**shares)})
