"""Limit changes: the nearest number of candidates per source that lets a record in.

Pure. The knob is the limit of every source that has one. More candidates than the sources answered with are
not known here, so that the largest number that can matter is what the largest answer holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import accumulate

from playground.compiler.budget import ContextBudget
from playground.compiler.changes import KnobChange, Look, fitted, is_in, lost_records, nearest_units
from playground.compiler.knobs import AnyKnob, Grid
from playground.compiler.offers import Offers, prepare
from playground.compiler.ranking import mandatory_count
from playground.compiler.selection import Selection, select
from playground.compiler.turns import Outcome, line_number

__all__ = ["nearest_limit_change"]

_KNOB: AnyKnob = "candidates_per_source"


def nearest_limit_change(offers: Offers, budget: ContextBudget, piece: int) -> KnobChange[AnyKnob]:
    """Return the nearest number of candidates per source that lets a piece in, all else staying.

    Of two numbers equally near the larger one is returned. Costs a ``prepare`` and a selection for each number
    at which the outcome may differ.

    Args:
        offers: What was compiled. Where the sources have different limits, the one of the piece's source, else
            the largest, counts as the present value.
        budget: The budget it was compiled under.
        piece: A candidate's place in ``offers.candidates``, or ``-1 - place`` of a working-memory line.
    """
    walk = _LimitWalk(offers, budget, piece)
    limits = [result.limit for result in offers.inputs.results if result.limit is not None]
    if not limits:
        return KnobChange(_KNOB, None, None)
    own = None if line_number(piece) is not None else offers.inputs.results[offers.sources[piece]].limit
    current = max(limits) if own is None else own
    grid = Grid(Fraction(current), walk.least, max(walk.most, current))
    units = nearest_units(grid, walk.look, stay=len(set(limits)) > 1) if walk.can_contend else None
    if units is None:
        return KnobChange(_KNOB, current, None)
    drops = lost_records(offers, fitted(offers, budget), fitted(walk.offers_at(units), budget))
    return KnobChange(_KNOB, current, units, drops)


class _LimitWalk:
    """Looks whether one piece gets in as the sources' limits change."""

    def __init__(self, offers: Offers, budget: ContextBudget, piece: int) -> None:
        self._inputs, self._budget, self._piece = offers.inputs, budget, piece
        results = offers.inputs.results
        starts = accumulate((len(result.candidates) for result in results), initial=0)
        # Optional candidates of the sources with a limit, in their order; numbers stay as the limits change.
        self._limited = [
            range(start + mandatory_count(result.ranked), start + len(result.candidates))
            for start, result in zip(starts, results, strict=False)
            if result.limit is not None
        ]
        self.most = max((len(numbers) for numbers in self._limited), default=0)
        self.least = next((numbers.index(piece) + 1 for numbers in self._limited if piece in numbers), 1)
        self._everything = self.offers_at(max(1, self.most))
        self._first = self._first_contender()

    @property
    def can_contend(self) -> bool:
        """Whether nothing but a limit keeps the piece out before any budget is looked at."""
        return line_number(self._piece) is not None or self._everything.settled[self._piece] is None

    def offers_at(self, limit: int) -> Offers:
        results = [
            result if result.limit is None else replace(result, limit=limit) for result in self._inputs.results
        ]
        return prepare(replace(self._inputs, results=results))

    def look(self, at: int, direction: int) -> Look:
        offers = self.offers_at(at)
        selection = select(offers, self._budget)
        if is_in(self._piece, selection) and is_in(self._piece, fitted(offers, self._budget)):
            return Look(at, found=True)
        passed = self._next_above(at, offers, selection) if direction > 0 else self._next_below(at, selection)
        return Look(passed, found=False)

    def _next_above(self, at: int, offers: Offers, selection: Selection) -> int:
        """The next number that offers a candidate which may get in; others change nothing."""
        everything = self._everything
        outcome = Outcome(offers, self._budget, selection)

        def may_get_in(new: int) -> bool:
            if everything.settled[new] is not None:
                return False
            left = max(outcome.share_turn(new).left, outcome.pool_turn(new).left)
            return not offers.ranking or offers.tokens[new] <= left

        limits = range(at + 1, self.most + 1)
        return next((n for n in limits if any(map(may_get_in, self._at_place(n)))), max(at, self.most) + 1)

    def _next_below(self, at: int, selection: Selection) -> int:
        """The next number that takes away a record which got in, or all contenders; others change nothing."""
        admitted = set(selection.records)
        limits = range(at - 1, self.least - 1, -1)
        return next(
            (n for n in limits if n == self._first - 1 or not admitted.isdisjoint(self._at_place(n + 1))),
            self.least - 1,
        )

    def _at_place(self, place: int) -> Iterator[int]:
        """The candidates at one place, from 1, of each source with a limit."""
        return (numbers[place - 1] for numbers in self._limited if place <= len(numbers))

    def _first_contender(self) -> int:
        """The least number at which any optional candidate contends; 0 where one does without any limit."""
        limited = {number: place for numbers in self._limited for place, number in enumerate(numbers, 1)}
        return min((limited.get(i, 0) for i in self._everything.ranking), default=0)
