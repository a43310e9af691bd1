"""Every value of every knob, compiled: the plain way to find the nearest change, and to know there is none.

Values are skipped only where a compile cannot tell them apart: it sees the ratio through the tokens it allows,
the shares through what the kinds are granted, and token limits not at all above the room of the request.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from playground.compiler.budget import ContextBudget
from playground.compiler.compile import fit_blocks
from playground.compiler.knobs import KNOBS, AnyKnob, Knob, with_knob
from playground.compiler.offers import Offers, prepare
from playground.compiler.selection import Selection, select

FRACTIONS: frozenset[AnyKnob] = frozenset(KNOBS) - {"max_tokens", "working_memory_tokens"}
BEYOND = 3  # units beyond the largest that should matter


@dataclass
class Exhaustion:
    """What is selected, by entry number, at every value of one knob that a compile can tell apart."""

    position: Fraction
    """Where the knob stands."""
    selected: dict[int, frozenset[int]]
    """The keys are units; those missing select what the next smaller key does."""
    most: int
    stays: bool = False
    """Whether the position itself is a change too: all limits alike where they were not."""

    def at(self, units: int) -> frozenset[int]:
        return self.selected[max(key for key in self.selected if key <= units)]

    def nearest(self, number: int, keeping: frozenset[int] = frozenset()) -> int | None:
        """The nearest value that lets an entry in and keeps others in, the larger of two equally near."""
        best: list[tuple[Fraction, int]] = []
        keys = sorted(self.selected)
        for first, after in zip(keys, [*keys[1:], self.most + 1], strict=True):
            if number in self.selected[first] and keeping <= self.selected[first]:
                # The end of the run that is nearest to the position, which is itself no change.
                here = self.position
                runs = [first, after - 1, math.floor(here), math.floor(here) + 1, math.ceil(here) - 1]
                best += [
                    (abs(units - self.position), -units)
                    for units in runs
                    if first <= units < after and (self.stays or units != self.position)
                ]
        return -min(best)[1] if best else None


def exhaust(offers: Offers, budget: ContextBudget, knob: AnyKnob) -> Exhaustion | None:
    """Compile at every value of a knob; ``None`` where there is no such knob."""
    if len(_fitted) > 20_000:
        _fitted.clear()
    if knob == "candidates_per_source":
        return _exhaust_candidates(offers, budget)
    room, position = max(0, offers.inputs.room), Fraction(str(_value(budget, knob)))
    if knob in FRACTIONS:
        find = _runs(lambda units: with_knob(budget, knob, units / 10_000), offers)
        return Exhaustion(position * 10_000, find(1 if knob == "ratio" else 0, 10_000), 10_000)
    tokens = {
        units: _entries(offers, _compiled(offers, with_knob(budget, knob, units)))
        for units in range(room + BEYOND)
    }
    return Exhaustion(position, tokens, max(room, int(position)) + BEYOND)


def _value(budget: ContextBudget, knob: Knob) -> float:
    if knob.endswith("_share"):
        return float(getattr(budget.shares, knob.removesuffix("_share")))
    return float(getattr(budget, knob)) if knob == "ratio" else int(getattr(budget, knob))


def _runs(
    budget_at: Callable[[int], ContextBudget], offers: Offers
) -> Callable[[int, int], dict[int, frozenset[int]]]:
    """Compile between two units, halving as long as the two ends can be told apart."""

    def find(least: int, most: int) -> dict[int, frozenset[int]]:
        seen = {units: _compiled(offers, budget_at(units)) for units in (least, most)}

        def between(low: int, high: int) -> None:
            if high - low > 1 and _granted(seen[low]) != _granted(seen[high]):
                middle = (low + high) // 2
                seen[middle] = _compiled(offers, budget_at(middle))
                between(low, middle)
                between(middle, high)

        between(least, most)
        return {units: _entries(offers, selection) for units, selection in seen.items()}

    return find


def _granted(selection: Selection) -> tuple[int, ...]:
    return (selection.context_tokens, *selection.granted.values())


def _exhaust_candidates(offers: Offers, budget: ContextBudget) -> Exhaustion | None:
    results = offers.inputs.results
    limits = [result.limit for result in results if result.limit is not None]
    if not limits:
        return None
    most = max(*limits, *(len(result.candidates) for result in results)) + BEYOND
    selected = {}
    for limit in range(1, most + 1):
        limited = [result if result.limit is None else replace(result, limit=limit) for result in results]
        again = prepare(replace(offers.inputs, results=limited))
        selected[limit] = _entries(again, _compiled(again, budget))
    return Exhaustion(Fraction(max(limits)), selected, most, stays=len(set(limits)) > 1)


def _compiled(offers: Offers, budget: ContextBudget) -> Selection:
    selection = select(offers, budget)
    key = (id(offers), selection.context_tokens, *selection.records, -1, *selection.lines)
    if key not in _fitted:
        _fitted[key] = offers, fit_blocks(offers, selection)[0]
    kept = _fitted[key][1]
    return replace(selection, records=kept.records, lines=kept.lines)


# The blocks of equal pieces are rendered and counted once; the offers stay alive, so that an id is theirs.
_fitted: dict[tuple[int, ...], tuple[Offers, Selection]] = {}


def _entries(offers: Offers, selection: Selection) -> frozenset[int]:
    lines = len(offers.memory.lines)
    return frozenset(selection.lines) | {lines + i for i in selection.records}
