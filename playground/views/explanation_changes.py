"""The changes of one record's explanation as rows: what each knob would have to be, and what that costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from playground.compiler.changes import KnobChange
from playground.compiler.explain import Explanation
from playground.compiler.knobs import AnyKnob, Knob
from playground.views.knob_action import Title, knob_name, small, swaps_text
from playground.views.knobs import CANDIDATES, KNOBS, KnobSpec
from playground.views.words import count, sentence_case

__all__ = ["ChangeRow", "ExplainedChanges", "applicable_changes", "change_rows", "explained_changes"]


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """What one knob would have to be."""

    name: str
    """Empty where a row goes on with the knob above."""
    change: str
    """``8,192 → 8,460``."""
    costs: str
    """``swaps with <title>``, ``drops 3 records`` or ``costs no record``."""
    gone: str
    """Titles of what it costs, one a line."""


@dataclass(frozen=True, slots=True)
class ExplainedChanges:
    """The changes in the order in which they are shown: first the knobs that can let it in at no cost."""

    named: tuple[KnobChange[AnyKnob], ...]
    """The nearest change of each knob that has one."""
    kinder: Mapping[Knob, KnobChange[Knob]]
    """Larger changes that cost no record, for knobs whose nearest change costs one."""
    idle: str
    """Knobs no value of which lets it in; empty when there are none."""

    @property
    def to_apply(self) -> tuple[KnobChange[Knob], ...]:
        """What a button of each control of the budget should reach."""
        return tuple(
            self.kinder.get(change.knob) or KnobChange(change.knob, change.current, change.needed, change.drops)
            for change in self.named
            if change.knob != "candidates_per_source"
        )


def applicable_changes(explanation: Explanation) -> tuple[KnobChange[AnyKnob], ...]:
    """Return the changes that are worth naming.

    A record whose text, copy or newer revision is there already needs no knob, and one beyond the candidate
    limit no knob of the budget: what they would do to it is not what keeps it out.
    """
    if explanation.instead is not None:
        return ()
    if explanation.reason == "limit":
        return tuple(change for change in explanation.changes if change.knob == "candidates_per_source")
    return explanation.changes


def explained_changes(
    changes: Iterable[KnobChange[AnyKnob]], kinder: Iterable[KnobChange[Knob]]
) -> ExplainedChanges:
    """Return the changes of an explanation in their order.

    Args:
        changes: The nearest one of each knob.
        kinder: Larger changes that cost no record, for knobs whose nearest change costs one.
    """
    found, free = list(changes), {change.knob: change for change in kinder}
    named = [change for change in found if change.needed is not None]
    idle = [small(_name(change.knob)) for change in found if change.needed is None]
    return ExplainedChanges(
        named=tuple(sorted(named, key=lambda change: bool(change.drops) and change.knob not in free)),
        kinder=free,
        idle=sentence_case(", ".join(idle)),
    )


def change_rows(changes: ExplainedChanges, title: Title) -> tuple[ChangeRow, ...]:
    """Return the nearest change of each knob, and below one that costs records the one that costs none."""
    rows = []
    for change in changes.named:
        if change.knob == "candidates_per_source":
            # Asked for another number, a source may rank otherwise; a button's position is tried by asking.
            rows.append(_row(f"{_name(change.knob)}, of those found", change, title))
            continue
        rows.append(_row(_name(change.knob), change, title))
        if change.knob in changes.kinder:
            rows.append(_row("", changes.kinder[change.knob], title))
    return tuple(rows)


def _row(name: str, change: KnobChange[AnyKnob], title: Title) -> ChangeRow:
    return ChangeRow(
        name=name,
        change=f"{_written(change.knob, change.current)} → {_written(change.knob, change.needed)}",
        costs=swaps_text(change.drops, title) or "costs no record",
        gone="\n".join(title(*record) for record in change.drops),
    )


def _name(knob: AnyKnob) -> str:
    return CANDIDATES.label if knob == "candidates_per_source" else knob_name(knob)


def _written(knob: AnyKnob, value: float | None) -> str:
    """Exact to the unit of the search: a hundredth of a percent."""
    spec: KnobSpec = CANDIDATES if knob == "candidates_per_source" else KNOBS[knob]
    if value is None:
        return "–"
    return f"{value:.2%}" if spec.is_fraction else count(round(value))
