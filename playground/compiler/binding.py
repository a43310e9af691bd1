"""What binds: the limit that keeps records out of a compile, and changes worth advising.

Pure, and found by real selections. Advice is not the nearest change (``changes`` finds that): first comes the
nearest one that costs no other record. Where every change costs one, a looser limit comes before a tighter one;
it is sought by ever longer steps, so that a panel can follow a slider.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from playground.compiler.budget import ContextBudget
from playground.compiler.changes import KnobChange, fitted, furthest, is_in, lost_records, nearest_change
from playground.compiler.compile import offers_of
from playground.compiler.knobs import KNOBS, AnyKnob, Knob, budget_grid, with_knob
from playground.compiler.manifest import ContextManifest, Reason
from playground.compiler.offers import CompileInputs, Offers
from playground.compiler.selection import Selection, select
from playground.compiler.turns import piece_of_entry
from playground.compiler.values import ContextPackage

__all__ = ["Binding", "Limit", "binding_constraint", "helpful_change", "kinder_changes"]

Limit = Literal["max_tokens", "ratio", "working_memory_tokens", "candidates", "mandatory", "room", "nothing"]


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
        changes: One a knob of the budget, for that record; empty when there is none.
    """

    limit: Limit
    context_tokens: int
    ratio_tokens: int
    max_tokens: int
    left_out: dict[Reason, int]
    left_out_for_budget: dict[str, int]
    record: tuple[str, str] | None
    changes: tuple[KnobChange[Knob], ...]


def binding_constraint(inputs: CompileInputs | Offers, package: ContextPackage) -> Binding:
    """Say what limits a compile, and what would let in the best record that was left out.

    Args:
        inputs: What was compiled, or what ``prepare`` made of it.
        package: What the compile gave.

    Raises:
        InvalidInputError: When either is something else, or they hold other entries.
    """
    offers, manifest = offers_of(inputs, package), package.manifest
    budget = manifest.budget.knobs()
    left_out: Counter[Reason] = Counter(entry.reason for entry in manifest.entries if not entry.selected)
    for_budget: Counter[str] = Counter(entry.kind for entry in manifest.entries if entry.reason == "budget")
    lines = len(offers.memory.lines)
    first = next((i for i in offers.ranking if manifest.entries[lines + i].reason == "budget"), None)
    changes: tuple[KnobChange[Knob], ...] = ()
    record = None
    if first is not None:
        entry = manifest.entries[lines + first]
        record = (entry.source, entry.record_id)
        changes = tuple(helpful_change(offers, budget, first, knob) for knob in KNOBS)
    return Binding(
        limit=_limit(offers, budget, manifest, left_out, for_budget),
        context_tokens=manifest.budget.context_tokens,
        ratio_tokens=int(budget.ratio * max(0, offers.inputs.room)),
        max_tokens=budget.max_tokens,
        left_out=dict(left_out),
        left_out_for_budget=dict(for_budget),
        record=record,
        changes=changes,
    )


def helpful_change(offers: Offers, budget: ContextBudget, candidate: int, knob: Knob) -> KnobChange[Knob]:
    """Return the change of ``knob`` to advise: the nearest that costs no other record, else a larger value.

    First fit may swap one record for another, and may let a record in under a tighter limit; both are poor
    advice, so they come last. What is named lets the record in, one unit less of change does not; where it
    costs a record, nearer values may be passed over.

    Args:
        offers: What was compiled.
        budget: The budget it was compiled under.
        candidate: Number of the candidate in ``offers.candidates``.
        knob: Which knob to turn.
    """
    kinder = nearest_change(offers, budget, candidate, knob, keeping=True)
    if kinder.needed is not None:
        return kinder
    trial = _Trial(offers, budget, candidate, knob)
    units = trial.first(1)
    return trial.change(trial.first(-1) if units is None else units)


def kinder_changes(
    offers: Offers, package: ContextPackage, number: int, nearest: Iterable[KnobChange[AnyKnob]]
) -> Iterator[KnobChange[Knob]]:
    """Yield larger changes that cost no record, for the knobs whose nearest change costs one.

    Args:
        offers: What was compiled.
        package: What the compile gave.
        number: Number of the entry to let in, in ``package.manifest.entries``.
        nearest: Its explanation's changes; the candidates of a source are passed over.
    """
    piece, budget = piece_of_entry(offers, number), package.manifest.budget.knobs()
    for change in nearest:
        if change.drops and change.knob != "candidates_per_source":
            kinder = nearest_change(offers, budget, piece, change.knob, keeping=True)
            if kinder.needed is not None:
                yield kinder


class _Trial:
    """Turns one knob and looks whether one candidate gets in."""

    def __init__(self, offers: Offers, budget: ContextBudget, candidate: int, knob: Knob) -> None:
        self._offers, self._budget, self._candidate, self._knob = offers, budget, candidate, knob
        self._grid = budget_grid(offers, budget, knob)
        self._now = fitted(offers, budget)

    def admits(self, units: int) -> bool:
        return self._at(units) is not None

    def first(self, direction: int) -> int | None:
        """The end of the gap that is found by ever longer steps up (1) or down (-1)."""
        grid = self._grid
        start, last = (
            (math.floor(grid.position), grid.most) if direction > 0 else (math.ceil(grid.position), grid.least)
        )
        if direction * (last - start) <= 0:
            return None
        found = furthest(lambda units: not self.admits(units), start, last, direction) + direction
        return None if direction * (last - found) < 0 else found

    def change(self, units: int | None) -> KnobChange[Knob]:
        then = None if units is None else self._at(units)
        if units is None or then is None:
            return KnobChange(self._knob, self._grid.current, None)
        drops = lost_records(self._offers, self._now, then)
        return KnobChange(self._knob, self._grid.current, self._grid.value(units), drops)

    def _at(self, units: int) -> Selection | None:
        """What is selected there, if the candidate is."""
        budget = with_knob(self._budget, self._knob, self._grid.value(units))
        selection = select(self._offers, budget)
        if is_in(self._candidate, selection) and not self._offers.inputs.estimator.counts_by_length:
            selection = fitted(self._offers, budget)
        return selection if is_in(self._candidate, selection) else None


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
