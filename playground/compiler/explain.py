"""Explaining a compile: which limit binds, and the nearest change of a knob that lets a record in.

Pure, and found by real selections rather than by arithmetic. Selection is first fit and therefore not
monotone, so "nearest" is local: the named value lets the record in, one unit less of change does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from playground.compiler.budget import ContextBudget, ContextShares
from playground.compiler.compile import fit_blocks
from playground.compiler.manifest import ContextManifest, Reason
from playground.compiler.offers import Offers
from playground.compiler.rendering import WORKING_MEMORY_SOURCE
from playground.compiler.selection import select
from playground.compiler.values import KINDS, Kind
from playground.errors import ContextBudgetExceededError

__all__ = [
    "KNOBS",
    "Binding",
    "Knob",
    "KnobChange",
    "Limit",
    "binding_constraint",
    "helpful_change",
    "nearest_change",
    "with_knob",
]

Knob = Literal[
    "max_tokens",
    "ratio",
    "working_memory_tokens",
    "memory_share",
    "rag_share",
    "transcript_share",
    "skills_share",
]
Limit = Literal["max_tokens", "ratio", "working_memory_tokens", "candidates", "mandatory", "room", "nothing"]
KNOBS: tuple[Knob, ...] = get_args(Knob)
FRACTION_UNITS = 10_000  # units of ratio and shares in 1; one unit is 0.0001
_SHARE_OF: dict[Knob, Kind] = {
    "memory_share": "memory",
    "rag_share": "rag",
    "transcript_share": "transcript",
    "skills_share": "skills",
}


@dataclass(frozen=True, slots=True)
class KnobChange:
    """What one knob would have to be for a record to get in.

    Attributes:
        knob: The knob.
        current: Its value now, in tokens or as a fraction.
        needed: The nearest value that lets the record in; ``None`` when no value that was tried does.
        drops: Source and id of every record that is selected now and would have to go.
    """

    knob: Knob
    current: float
    needed: float | None
    drops: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Binding:
    """What limits a compile.

    Attributes:
        limit: The limit that binds.
        context_tokens: What the compiler may add, in tokens.
        ratio_tokens: What the ratio alone would allow, in tokens.
        max_tokens: What max tokens alone would allow, in tokens.
        left_out: Excluded entries by reason.
        left_out_for_budget: Entries left out for the budget, by kind.
        record: Source and id of the best-ranked record that the budget left out, if any.
        changes: One a knob, for that record; empty when there is none.
    """

    limit: Limit
    context_tokens: int
    ratio_tokens: int
    max_tokens: int
    left_out: dict[Reason, int]
    left_out_for_budget: dict[str, int]
    record: tuple[str, str] | None
    changes: tuple[KnobChange, ...]


def binding_constraint(offers: Offers, budget: ContextBudget, manifest: ContextManifest) -> Binding:
    """Say what limits this compile, and what would let in the best record that was left out.

    Args:
        offers: What was compiled.
        budget: The budget it was compiled under.
        manifest: The manifest it gave.
    """
    left_out: Counter[Reason] = Counter(entry.reason for entry in manifest.entries if not entry.selected)
    for_budget: Counter[str] = Counter(entry.kind for entry in manifest.entries if entry.reason == "budget")
    lines = len(offers.memory.lines)
    first = next((i for i in offers.ranking if manifest.entries[lines + i].reason == "budget"), None)
    room = max(0, offers.inputs.room)
    changes: tuple[KnobChange, ...] = ()
    record = None
    if first is not None:
        entry = manifest.entries[lines + first]
        record = (entry.source, entry.record_id)
        changes = tuple(helpful_change(offers, budget, first, knob) for knob in KNOBS)
    return Binding(
        limit=_limit(offers, budget, manifest, left_out, for_budget),
        context_tokens=manifest.budget.context_tokens,
        ratio_tokens=int(budget.ratio * room),
        max_tokens=budget.max_tokens,
        left_out=dict(left_out),
        left_out_for_budget=dict(for_budget),
        record=record,
        changes=changes,
    )


def nearest_change(offers: Offers, budget: ContextBudget, candidate: int, knob: Knob) -> KnobChange:
    """Return the nearest value of ``knob`` that lets a candidate in, all other knobs staying.

    Costs O(log range) selections. Of two values equally near the larger one is returned.

    Args:
        offers: What was compiled.
        budget: The budget it was compiled under.
        candidate: Number of the candidate in ``offers.candidates``.
        knob: Which knob to turn. A share that grows takes from the others in proportion once all sum to 1.
    """
    trial = _Trial(offers, budget, candidate, knob)
    found = [units for units in (trial.larger(trial.admits), trial.smaller(trial.admits)) if units is not None]
    return trial.change(min(found, key=lambda units: abs(units - trial.current), default=None))


def helpful_change(offers: Offers, budget: ContextBudget, candidate: int, knob: Knob) -> KnobChange:
    """Return the change of ``knob`` to advise: the first that costs no other record, and a larger value if any.

    First fit may swap one record for another, and may let a record in under a tighter limit; both are poor
    advice, so they come last. Arguments and cost as for ``nearest_change``.
    """
    trial = _Trial(offers, budget, candidate, knob)
    for search in (trial.larger, trial.smaller):
        units = search(trial.only_gains)
        if units is not None:
            return trial.change(units)
    units = trial.larger(trial.admits)
    return trial.change(trial.smaller(trial.admits) if units is None else units)


class _Trial:
    """Turns one knob and looks whether one candidate gets in."""

    def __init__(self, offers: Offers, budget: ContextBudget, candidate: int, knob: Knob) -> None:
        self._offers, self._budget, self._candidate, self._knob = offers, budget, candidate, knob
        self._now = self._selected(budget, whole=True) or frozenset()
        self.current = _units(budget, knob)

    def admits(self, units: int) -> bool:
        selected = self._at(units)
        return selected is not None and self._candidate in selected

    def only_gains(self, units: int) -> bool:
        selected = self._at(units)
        return selected is not None and self._candidate in selected and selected >= self._now

    def larger(self, wanted: Callable[[int], bool]) -> int | None:
        return _first_wanted(wanted, self.current, _upwards(self.current, _largest(self._offers, self._knob)))

    def smaller(self, wanted: Callable[[int], bool]) -> int | None:
        return _first_wanted(wanted, self.current, _downwards(self.current, _smallest(self._knob)))

    def change(self, units: int | None) -> KnobChange:
        current = _value(self._knob, self.current)
        if units is None:
            return KnobChange(self._knob, current, None)
        gone = sorted(self._now - (self._at(units) or frozenset()))
        return KnobChange(self._knob, current, _value(self._knob, units), tuple(map(self._identity, gone)))

    def _at(self, units: int) -> frozenset[int] | None:
        return self._selected(with_knob(self._budget, self._knob, _value(self._knob, units)))

    def _selected(self, budget: ContextBudget, *, whole: bool = False) -> frozenset[int] | None:
        """Numbers of the selected candidates; working-memory lines count downwards from -1."""
        try:
            selection = select(self._offers, budget)
        except ContextBudgetExceededError:
            return None
        # Rendering can only drop, and only where counts of pieces do not bound the count of the block.
        renders = whole or self._candidate in selection.records
        if renders and not self._offers.inputs.estimator.counts_by_length:
            selection, _, _ = fit_blocks(self._offers, selection)
        return frozenset(selection.records) | {-1 - line for line in selection.lines}

    def _identity(self, number: int) -> tuple[str, str]:
        if number < 0:
            return WORKING_MEMORY_SOURCE, self._offers.memory.lines[-1 - number].record_id
        result = self._offers.inputs.results[self._offers.sources[number]]
        return result.source_id, self._offers.candidates[number].record_id


def with_knob(budget: ContextBudget, knob: Knob, value: float) -> ContextBudget:
    """Return the budget with one knob turned.

    A share may push the sum above 1; the other shares then shrink in proportion, as they do where shares are
    weights.
    """
    if knob == "ratio":
        return budget.model_copy(update={"ratio": value})
    if knob in {"max_tokens", "working_memory_tokens"}:
        return budget.model_copy(update={knob: int(value)})
    kind = _SHARE_OF[knob]
    others = sum(share for other, share in budget.shares.items() if other != kind)
    scale = min(1.0, (1 - value) / others) if others > 0 else 1.0
    shares = {other: value if other == kind else budget.shares[other] * scale for other in KINDS}
    return budget.model_copy(update={"shares": ContextShares(**shares)})


def _limit(
    offers: Offers,
    budget: ContextBudget,
    manifest: ContextManifest,
    left_out: Counter[Reason],
    for_budget: Counter[str],
) -> Limit:
    room = offers.inputs.room
    if not left_out["budget"]:
        return "candidates" if left_out["limit"] else "nothing"
    if room <= 0:
        return "room"
    if offers.required_tokens >= manifest.budget.context_tokens:
        return "mandatory"
    if set(for_budget) == {"working-memory"} and budget.working_memory_tokens < manifest.budget.context_tokens:
        return "working_memory_tokens"
    return "ratio" if budget.ratio * room < budget.max_tokens else "max_tokens"


def _units(budget: ContextBudget, knob: Knob) -> int:
    if knob == "ratio":
        return round(budget.ratio * FRACTION_UNITS)
    if knob in _SHARE_OF:
        return round(budget.shares[_SHARE_OF[knob]] * FRACTION_UNITS)
    return int(getattr(budget, knob))


def _value(knob: Knob, units: int) -> float:
    return units / FRACTION_UNITS if knob == "ratio" or knob in _SHARE_OF else units


def _largest(offers: Offers, knob: Knob) -> int:
    if knob == "ratio" or knob in _SHARE_OF:
        return FRACTION_UNITS
    return max(0, offers.inputs.room)


def _smallest(knob: Knob) -> int:
    return 1 if knob == "ratio" else 0


def _upwards(start: int, end: int) -> Iterator[int]:
    step = 1
    while start + step < end:
        yield start + step
        step *= 2
    if end > start:
        yield end


def _downwards(start: int, end: int) -> Iterator[int]:
    return (-probe for probe in _upwards(-start, -end))


def _first_wanted(wanted: Callable[[int], bool], current: int, probes: Iterator[int]) -> int | None:
    """Probe ever farther away, then halve the gap before the first success."""
    outside = current
    for inside in probes:
        if not wanted(inside):
            outside = inside
            continue
        while abs(inside - outside) > 1:
            middle = (inside + outside) // 2
            if wanted(middle):
                inside = middle  # noqa: PLW2901  # the bracket narrows
            else:
                outside = middle
        return inside
    return None
