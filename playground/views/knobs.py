"""The budget's knobs as controls: their ranges and steps, and what a set of positions means.

Shares are weights: the four positions may sum to more than 1, and what each kind really gets is its position
divided by the larger of 1 and their sum.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget, ContextShares
from playground.compiler.knobs import SHARE_KNOBS, Knob
from playground.compiler.values import KINDS, Kind
from playground.views.palette import Slot
from playground.views.words import KIND_LABELS, count, percent

__all__ = [
    "CANDIDATES",
    "KNOBS",
    "KnobName",
    "KnobSpec",
    "budget_of",
    "effective_shares",
    "position_for",
]

KnobName = Knob | Literal["candidates"]


@dataclass(frozen=True, slots=True)
class KnobSpec:
    """One control; ``name`` is its key everywhere, in the link too."""

    name: KnobName
    label: str
    least: float
    most: float
    step: float
    default: float
    is_fraction: bool
    slot: Slot | None = None

    def written(self, value: float) -> str:
        """Write a value of this knob: ``8,192`` or ``25.0%``."""
        return percent(value) if self.is_fraction else count(round(value))


_DEFAULT = DEFAULT_CONTEXT_BUDGET
CANDIDATES = KnobSpec(
    "candidates",
    "Candidates per source",
    least=4,
    most=256,
    step=4,
    default=48,
    is_fraction=False,
)
KNOBS: dict[Knob, KnobSpec] = {
    "ratio": KnobSpec(
        "ratio",
        "Ratio",
        least=0.005,
        most=1.0,
        step=0.005,
        default=_DEFAULT.ratio,
        is_fraction=True,
    ),
    "max_tokens": KnobSpec(
        "max_tokens",
        "Max tokens",
        least=0,
        most=65_536,
        step=64,
        default=_DEFAULT.max_tokens,
        is_fraction=False,
    ),
    "working_memory_tokens": KnobSpec(
        "working_memory_tokens",
        "Working memory",
        least=0,
        most=8_192,
        step=64,
        default=_DEFAULT.working_memory_tokens,
        is_fraction=False,
        slot="working-memory",
    ),
    **{
        knob: KnobSpec(
            knob,
            KIND_LABELS[kind],
            least=0.0,
            most=1.0,
            step=0.01,
            default=_DEFAULT.shares[kind],
            is_fraction=True,
            slot=kind,
        )
        for kind, knob in SHARE_KNOBS.items()
    },
}


def effective_shares(weights: Mapping[Kind, float]) -> dict[Kind, float]:
    """Return what each kind gets: its weight divided by the larger of 1 and the sum; sums to at most 1."""
    total = max(1.0, math.fsum(weights.values()))
    return {kind: weights[kind] / total for kind in KINDS}


def budget_of(positions: Mapping[Knob, float]) -> ContextBudget:
    """Return the budget that a set of positions stands for.

    Raises:
        InvalidInputError: When a position is outside what a budget allows.
    """
    shares = effective_shares({kind: positions[knob] for kind, knob in SHARE_KNOBS.items()})
    return ContextBudget(
        ratio=positions["ratio"],
        max_tokens=round(positions["max_tokens"]),
        working_memory_tokens=round(positions["working_memory_tokens"]),
        shares=ContextShares(**shares),
    )


def position_for(knob: Knob, value: float, positions: Mapping[Knob, float]) -> float | None:
    """Return the nearest position, away from the present one, at which the knob's effective value is reached.

    Args:
        knob: Which control.
        value: The effective value wanted; for a share, its part of 1.
        positions: Where all controls stand.

    Returns:
        A multiple of the control's step inside its range; ``None`` when the range does not reach the value.
    """
    spec = KNOBS[knob]
    wanted = value
    if knob in SHARE_KNOBS.values():
        others = math.fsum(positions[other] for other in SHARE_KNOBS.values() if other != knob)
        if value + others > 1:
            wanted = others * value / (1 - value) if value < 1 else math.inf
    if not math.isfinite(wanted):
        return None
    steps = wanted / spec.step
    # A hair of slack: 0.35 / 0.01 is 34.99…, and that is the 35th step.
    whole = math.ceil(steps - 1e-9) if wanted > positions[knob] else math.floor(steps + 1e-9)
    position = round(whole * spec.step, 6)
    return position if spec.least <= position <= spec.most else None
