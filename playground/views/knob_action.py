"""What a button does to a knob: put its control to a position that really lets a record in.

Controls move in steps, and selection is not monotone: positions are tried, not computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from playground.compiler.changes import KnobChange
from playground.compiler.knobs import SHARE_KNOBS, AnyKnob, Knob
from playground.compiler.manifest import ContextManifest
from playground.views.binding_trial import Record, Trial
from playground.views.knobs import CANDIDATES, KNOBS, KnobName, effective_shares, position_for
from playground.views.words import count, sentence_case

__all__ = [
    "KnobAction",
    "Title",
    "candidates_action",
    "knob_action",
    "knob_name",
    "knob_written",
    "nearest_action",
    "reach",
    "small",
    "swaps_text",
]

STEPS_TRIED = 4  # positions from the first that reaches a value
FREE_STEPS_TRIED = 16  # the same where the value itself costs no record, before a swap is offered instead
Title = Callable[[str, str], str]
"""What people call a record, from source and record id."""


@dataclass(frozen=True, slots=True)
class KnobAction:
    """What a button does: put controls to positions that let the record in."""

    positions: tuple[tuple[KnobName, float], ...]
    label: str
    note: str = ""
    """What it costs; empty when it costs nothing."""


def knob_action(
    changes: Iterable[KnobChange[Knob]],
    manifest: ContextManifest,
    record: Record,
    *,
    title: Title,
    positions: Mapping[Knob, float],
    trial: Trial,
) -> KnobAction | None:
    """Return the first position that lets a record in and costs no other; else the first that swaps, saying so.

    Args:
        changes: What is needed, in the order in which it is tried.
        manifest: The compile.
        record: The record to let in.
        title: What people call a record, from source and record id.
        positions: Where the controls stand.
        trial: Which records are selected with the controls at other positions.
    """
    now = manifest.entries.selected_records()
    swap: KnobAction | None = None
    for change in changes:
        for position in _steps(change, positions):
            chosen = trial({**positions, change.knob: position})
            if record not in chosen:
                continue
            gone = sorted(now - chosen)
            action = _set_knob(change.knob, position, positions, note=swaps_text(gone, title))
            if not gone:
                return action
            swap = swap or action
    return swap


def nearest_action(
    change: KnobChange[Knob],
    manifest: ContextManifest,
    record: Record,
    *,
    title: Title,
    positions: Mapping[Knob, float],
    trial: Trial,
) -> KnobAction | None:
    """Return the position nearest to a change that lets a record in, saying what it costs.

    Of the two positions beside the change, one that costs no record comes first.

    Args:
        change: What is needed.
        manifest: The compile.
        record: The record to let in.
        title: What people call a record, from source and record id.
        positions: Where the controls stand.
        trial: Which records are selected with the controls at other positions.
    """
    now = manifest.entries.selected_records()
    tried = _nearest(change, positions)
    for positions_tried in (tried[:2], *([position] for position in tried[2:])):
        chosen = {spot: trial({**positions, change.knob: spot}) for spot in positions_tried}
        gone = {spot: sorted(now - records) for spot, records in chosen.items() if record in records}
        if gone:
            position = min(gone, key=lambda spot: bool(gone[spot]))
            return _set_knob(change.knob, position, positions, note=swaps_text(gone[position], title))
    return None


def reach(change: KnobChange[Knob], positions: Mapping[Knob, float]) -> float | None:
    """Return the position of a control that reaches a change; ``None`` where none does."""
    return None if change.needed is None else position_for(change.knob, change.needed, positions)


def swaps_text(gone: Sequence[Record], title: Title) -> str:
    """Say what a change costs: ``swaps with <title>``, ``drops 3 records``; empty when it costs nothing."""
    if not gone:
        return ""
    return f"swaps with {title(*gone[0])}" if len(gone) == 1 else f"drops {count(len(gone))} records"


def candidates_action(
    change: KnobChange[AnyKnob],
    record: Record,
    selected_at: Callable[[int], frozenset[Record]],
    *,
    now: frozenset[Record],
    title: Title,
) -> KnobAction | None:
    """Return the nearest position of the candidates control that lets a record in, the sources asked again.

    Args:
        change: What is needed of the candidates that were answered; asked for another number, a source may rank
            them otherwise, so that positions are tried.
        record: The record to let in.
        selected_at: What a compile selects with so many candidates a source.
        now: What is selected now.
        title: What people call a record.
    """
    if change.needed is None or change.current is None:
        return None
    step, more = CANDIDATES.step, change.needed > change.current
    whole = math.ceil(change.needed / step) if more else math.floor(change.needed / step)
    needed = change.needed
    tried = (round((whole + (steps if more else -steps)) * step) for steps in range(-1, STEPS_TRIED))
    for position in sorted(tried, key=lambda position: abs(position - needed)):
        if CANDIDATES.least <= position <= CANDIDATES.most and position != change.current:
            chosen = selected_at(position)
            if record in chosen:
                label = f"Set {small(CANDIDATES.label)} to {CANDIDATES.written(position)}"
                note = sentence_case(swaps_text(sorted(now - chosen), title))
                return KnobAction(((CANDIDATES.name, position),), label, note)
    return None


def knob_name(knob: Knob) -> str:
    """Return what people call a knob, away from its control: ``Documents share``."""
    spec = KNOBS[knob]
    return f"{spec.label} share" if knob in SHARE_KNOBS.values() else spec.label


def knob_written(knob: Knob, positions: Mapping[Knob, float]) -> str:
    """Write a control's value as the sidebar shows it: for a share, its effective part."""
    return KNOBS[knob].written(_effective(knob, positions))


def small(name: str) -> str:
    """Return a name as it stands inside a sentence."""
    return name[0].lower() + name[1:]


def _set_knob(knob: Knob, position: float, positions: Mapping[Knob, float], *, note: str) -> KnobAction:
    value = knob_written(knob, {**positions, knob: position})
    return KnobAction(((knob, position),), f"Set {small(knob_name(knob))} to {value}", sentence_case(note))


def _effective(knob: Knob, positions: Mapping[Knob, float]) -> float:
    """What a control's position means: for a share, its effective part."""
    kind = next((kind for kind, share in SHARE_KNOBS.items() if share == knob), None)
    if kind is None:
        return positions[knob]
    return effective_shares({other: positions[share] for other, share in SHARE_KNOBS.items()})[kind]


def _nearest(change: KnobChange[Knob], positions: Mapping[Knob, float]) -> list[float]:
    """The positions around a change, by how far what they mean is from it."""
    first, spec, needed = reach(change, positions), KNOBS[change.knob], change.needed
    if first is None or needed is None:
        return []
    here = positions[change.knob]
    step = spec.step if first > here else -spec.step
    tried = [round(first + number * step, 6) for number in range(-1, STEPS_TRIED)]
    allowed = [spot for spot in tried if spec.least <= spot <= spec.most and spot != here]
    return sorted(
        allowed, key=lambda spot: abs(_effective(change.knob, {**positions, change.knob: spot}) - needed)
    )


def _steps(change: KnobChange[Knob], positions: Mapping[Knob, float]) -> list[float]:
    """The position that reaches the change, and the next ones away from where the control stands."""
    first, spec = reach(change, positions), KNOBS[change.knob]
    if first is None:
        return []
    step = spec.step if first > positions[change.knob] else -spec.step
    steps = STEPS_TRIED if change.drops else FREE_STEPS_TRIED
    tried = [round(first + number * step, 6) for number in range(steps)]
    return [position for position in tried if spec.least <= position <= spec.most]
