"""Changes: the nearest value of a knob that lets a piece in.

Pure, exact, and found by real selections. Selection is first fit and therefore not monotone: a record may get
in, fall out and get in again as a knob grows. So the values are walked from where the knob stands outwards, one
outcome after the other; how far an outcome reaches follows from what was left at each turn (``turns``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from playground.compiler.budget import ContextBudget
from playground.compiler.compile import fit_blocks
from playground.compiler.knobs import AnyKnob, Grid, Knob, budget_grid, with_knob
from playground.compiler.offers import Offers
from playground.compiler.selection import Selection, granted_tokens, rooms_of, select
from playground.compiler.turns import Outcome, line_number, piece_of_line, record_of

__all__ = [
    "KnobChange",
    "Look",
    "fitted",
    "furthest",
    "is_in",
    "lost_records",
    "nearest_change",
    "nearest_units",
]

KnobName_co = TypeVar("KnobName_co", bound=AnyKnob, covariant=True)


@dataclass(frozen=True, slots=True)
class KnobChange(Generic[KnobName_co]):
    """What one knob would have to be for a record to get in.

    Attributes:
        knob: The knob.
        current: Its value now, in tokens, candidates or as a fraction; ``None`` where there is no such knob.
        needed: The nearest value that lets the record in; ``None`` when no value does.
        drops: Source and id of every record that is selected now and would have to go.
    """

    knob: KnobName_co
    current: float | None
    needed: float | None
    drops: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Look:
    """What was seen at one value, looking away from where the knob stands.

    Attributes:
        at: The first value from there on that may let the piece in; those passed over do not.
        found: Whether it does.
    """

    at: int
    found: bool


def nearest_change(
    offers: Offers, budget: ContextBudget, piece: int, knob: Knob, *, keeping: bool = False
) -> KnobChange[Knob]:
    """Return the nearest value of ``knob`` that lets a piece in, all other knobs staying.

    Of two values equally near the larger one is returned. Costs a selection for each outcome that is passed
    and may let the piece in, each O(n).

    Args:
        offers: What was compiled.
        budget: The budget it was compiled under.
        piece: A candidate's place in ``offers.candidates``, or ``-1 - place`` of a working-memory line.
        knob: Which knob to turn. A share that grows takes from the others in proportion once all sum to 1.
        keeping: Whether all that is selected now has to stay in.
    """
    grid = budget_grid(offers, budget, knob)
    now = fitted(offers, budget)
    walk = _Walk(offers, budget, piece, knob, grid, now if keeping else None)
    contends = line_number(piece) is not None or offers.settled[piece] is None
    units = nearest_units(grid, walk.look) if contends else None
    if units is None:
        return KnobChange(knob, grid.current, None)
    drops = lost_records(offers, now, fitted(offers, walk.budget_at(units)))
    return KnobChange(knob, grid.current, grid.value(units), drops)


def nearest_units(grid: Grid, look: Callable[[int, int], Look], *, stay: bool = False) -> int | None:
    """Return the wanted value nearest to the position of a grid, the larger of two equally near.

    Args:
        grid: The values.
        look: Looks at a value, in the direction +1 or -1.
        stay: Whether the position itself counts as a change.
    """
    above = _Side(1, grid.next_above - stay, grid.most)
    below = _Side(-1, grid.next_below, grid.least)
    while sides := [side for side in (above, below) if not side.exhausted]:
        side = min(sides, key=lambda one: abs(one.at - grid.position))
        if side.found:
            return side.at
        seen = look(side.at, side.direction)
        side.at, side.found = seen.at, seen.found
    return None


def furthest(holds: Callable[[int], bool], start: int, last: int, direction: int) -> int:
    """Return the last value from ``start`` towards ``last`` up to which it ``holds``, after O(log range) looks.

    Steps double, then the gap is halved. Where it ceases to hold more than once, the last value before one of
    these gaps is returned; ``last`` where the steps met none of them.

    Args:
        holds: What is looked for; at ``start`` it is taken to hold.
        start: Where to begin.
        last: Where to end.
        direction: +1 or -1, towards ``last``.
    """
    inside, step = start, 1
    while True:
        probe = inside + direction * step
        if direction * (last - probe) < 0:
            probe = last
        if probe == inside:
            return inside
        if not holds(probe):
            break
        inside, step = probe, step * 2
    outside = probe
    while abs(outside - inside) > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


def fitted(offers: Offers, budget: ContextBudget) -> Selection:
    """Return what a compile selects."""
    selection = select(offers, budget)
    # Rendering can only drop, and only where counts of pieces do not bound the count of the block.
    return selection if offers.inputs.estimator.counts_by_length else fit_blocks(offers, selection)[0]


def lost_records(offers: Offers, now: Selection, then: Selection) -> tuple[tuple[str, str], ...]:
    """Return source and id of what is selected now and no longer then: candidates, then lines."""
    gone = [*sorted(set(now.records) - set(then.records))]
    gone += [piece_of_line(line) for line in sorted(set(now.lines) - set(then.lines))]
    return tuple(record_of(offers, piece) for piece in gone)


def is_in(piece: int, selection: Selection) -> bool:
    """Whether a piece is selected."""
    line = line_number(piece)
    return piece in selection.records if line is None else line in selection.lines


@dataclass(slots=True)
class _Side:
    """How far the values on one side of the position are seen."""

    direction: int
    at: int
    last: int
    found: bool = False

    @property
    def exhausted(self) -> bool:
        return self.direction * (self.last - self.at) < 0


class _Walk:
    """Looks whether one piece gets in as one knob of the budget is turned."""

    def __init__(
        self,
        offers: Offers,
        budget: ContextBudget,
        piece: int,
        knob: Knob,
        grid: Grid,
        kept: Selection | None,
    ) -> None:
        self._offers, self._budget, self._piece, self._knob, self._grid = offers, budget, piece, knob, grid
        self._kept = kept
        self._least = None if line_number(piece) is not None else _Least(offers, piece, kept)

    def budget_at(self, units: int) -> ContextBudget:
        return with_knob(self._budget, self._knob, self._grid.value(units))

    def look(self, at: int, direction: int) -> Look:
        last = self._grid.most if direction > 0 else self._grid.least

        def passed(holds: Callable[[ContextBudget], bool]) -> int:
            return furthest(lambda units: holds(self.budget_at(units)), at, last, direction)

        budget = self.budget_at(at)
        if self._least is not None and self._least.is_missed(budget):
            return Look(passed(self._least.is_missed) + direction, found=False)
        selection = select(self._offers, budget)
        outcome = Outcome(self._offers, budget, selection)
        if not is_in(self._piece, selection):
            return Look(passed(outcome.leaves_out(self._piece)) + direction, found=False)
        if self._shows(at):
            return Look(at, found=True)
        # Admitted, but another one is gone, or it was dropped as the blocks cost more than their pieces.
        end = passed(outcome.is_same)
        if not self._shows(end):
            return Look(end + direction, found=False)
        hidden = furthest(lambda units: not self._shows(units), at, end, direction)
        return Look(hidden + direction, found=True)

    def _shows(self, units: int) -> bool:
        then, kept = fitted(self._offers, self.budget_at(units)), self._kept
        return is_in(self._piece, then) and (
            kept is None or (set(then.records) >= set(kept.records) and set(then.lines) >= set(kept.lines))
        )


class _Least:
    """The least that has to be there for a candidate to get in.

    A record that is left out leaves less at its turn than it takes, and what is left only shrinks. Where a
    candidate gets in, every better one that takes no more has therefore got in before it, in the pass at the
    latest: together they bound the room from below. Records that share their text are not counted, since
    another one may stand for them. What has to be kept needs its own tokens too.
    """

    def __init__(self, offers: Offers, candidate: int, kept: Selection | None) -> None:
        tokens, kinds = offers.tokens, [result.kind for result in offers.inputs.results]
        most = tokens[candidate]
        self._offers = offers
        self._kind = kinds[offers.sources[candidate]]
        self._in_pool = self._in_share = most
        self._together = most + (_optional_tokens(offers, kept) if kept else 0)
        for i in offers.ranking:
            if i == candidate:
                break
            if tokens[i] <= most and i not in offers.twins:
                self._in_pool += tokens[i]
                self._in_share += tokens[i] if kinds[offers.sources[i]] == self._kind else 0

    def is_missed(self, budget: ContextBudget) -> bool:
        """Whether the budget has less than that, even if working memory takes nothing of it."""
        left = rooms_of(self._offers, budget).left
        if left < self._together:
            return True
        return left < self._in_pool and granted_tokens(budget, left)[self._kind] < self._in_share


def _optional_tokens(offers: Offers, selection: Selection) -> int:
    """The least that the optional pieces of a selection take: a line's section may be open already."""
    lines = [i for i in selection.lines if not offers.memory.lines[i].mandatory]
    records = selection.records[len(offers.mandatory) :]
    return sum(offers.tokens[i] for i in records) + sum(offers.memory.tokens[i] for i in lines)
