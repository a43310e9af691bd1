"""What binds: the sentence, the knobs that would let the next record in, and the change a button applies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from playground.compiler.binding import Binding
from playground.compiler.changes import KnobChange
from playground.compiler.knobs import KNOBS as KNOB_ORDER
from playground.compiler.knobs import Knob
from playground.compiler.manifest import ContextManifest
from playground.views.binding_sentence import Sentence, binding_sentence
from playground.views.binding_trial import Record, Trial, both_limits
from playground.views.knobs import KNOBS, SHARE_KNOBS, effective_shares, position_for
from playground.views.strip import LIMIT_NAMES
from playground.views.words import count

__all__ = ["BindingRow", "BindingView", "KnobAction", "binding_view"]

ROWS_SHOWN = 2  # knob rows before the fold; the panel is a hint first
STEPS_TRIED = 4  # positions from the first that reaches a value, before a swap is offered instead
Title = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class BindingRow:
    """One change that would relax it."""

    name: str
    change: str
    lets_in: str
    swaps: str = ""
    """What the change costs: ``swaps with <title>``, ``drops 3 records``; empty when it costs nothing."""
    gone: str = ""
    """Titles of what it costs, one a line."""


@dataclass(frozen=True, slots=True)
class KnobAction:
    """What the button does: put controls to positions that let the record in."""

    positions: tuple[tuple[Knob, float], ...]
    label: str
    note: str = ""
    """What it costs; empty when it costs nothing."""


@dataclass(frozen=True, slots=True)
class BindingView:
    """The panel."""

    title: str
    sentence: Sentence
    rows: tuple[BindingRow, ...]
    more: tuple[BindingRow, ...]
    """The other changes with an effect, to be unfolded."""
    idle: str
    """Knobs without an effect now, in one line; empty when there are none."""
    action: KnobAction | None


def binding_view(
    binding: Binding,
    manifest: ContextManifest,
    *,
    title: Title,
    positions: Mapping[Knob, float],
    trial: Trial,
) -> BindingView:
    """Return the panel of one compile.

    Args:
        binding: What limits it.
        manifest: The compile.
        title: What people call a record, from source and record id.
        positions: Where the controls stand.
        trial: Which records are selected with the controls at other positions.
    """
    changes = _effective(binding, manifest, positions)
    rows = [_row(change, binding, positions, title) for change in changes]
    action = _action(changes, binding, manifest, positions, title, trial)
    if not changes and binding.record is not None:
        room = manifest.budget.input_tokens - manifest.budget.used_tokens
        both = both_limits(trial, positions, room=room, record=binding.record)
        if both is not None:
            written = {
                knob: (_written(knob, positions), _written(knob, {**positions, **both})) for knob in both
            }
            change = ", ".join(f"{old} → {new}" for old, new in written.values() if old != new)
            rows = [BindingRow("Ratio and max tokens together", change, title(*binding.record))]
            values = " and ".join(new for _, new in written.values())
            action = KnobAction(tuple(both.items()), f"Set ratio and max tokens to {values}")
    working = {change.knob for change in changes}
    idle = [_name(change.knob) for change in binding.changes if change.knob not in working]
    if rows and not changes:
        idle = [_name(change.knob) for change in binding.changes if change.knob not in {"ratio", "max_tokens"}]
    return BindingView(
        title="Nothing binds" if binding.limit == "nothing" else f"{LIMIT_NAMES[binding.limit]} binds",
        sentence=binding_sentence(binding, manifest),
        rows=tuple(rows[:ROWS_SHOWN]),
        more=tuple(rows[ROWS_SHOWN:]),
        idle=_sentence_case(", ".join(map(_small, idle))),
        action=action,
    )


def _effective(
    binding: Binding, manifest: ContextManifest, positions: Mapping[Knob, float]
) -> list[KnobChange[Knob]]:
    """Changes that a control can make: those that cost nothing first, the limit's own knob first among them."""
    found = {change.knob: change for change in binding.changes if _reach(change, positions) is not None}
    return sorted((found[knob] for knob in _order(binding, manifest) if knob in found), key=_costs)


def _order(binding: Binding, manifest: ContextManifest) -> list[Knob]:
    """The limit's own knob first, then the share of the record's kind, then the others."""
    first: list[Knob] = [knob for knob in KNOB_ORDER if knob == binding.limit]
    kind = next(
        (entry.kind for entry in manifest.entries if (entry.source, entry.record_id) == binding.record), None
    )
    own = SHARE_KNOBS.get(kind) if kind and kind != "working-memory" else None
    return list(dict.fromkeys([*first, *([own] if own else []), *KNOB_ORDER]))


def _reach(change: KnobChange[Knob], positions: Mapping[Knob, float]) -> float | None:
    return None if change.needed is None else position_for(change.knob, change.needed, positions)


def _costs(change: KnobChange[Knob]) -> bool:
    return bool(change.drops)


def _row(
    change: KnobChange[Knob], binding: Binding, positions: Mapping[Knob, float], title: Title
) -> BindingRow:
    # The present value as the control shows it: the search counts in units of a hundredth of a percent.
    needed = KNOBS[change.knob].written(change.needed or 0)
    return BindingRow(
        name=_name(change.knob),
        change=f"{_written(change.knob, positions)} → {needed}",
        lets_in=title(*binding.record) if binding.record else "",
        swaps=_swaps(change.drops, title),
        gone="\n".join(title(*record) for record in change.drops),
    )


def _action(
    changes: list[KnobChange[Knob]],
    binding: Binding,
    manifest: ContextManifest,
    positions: Mapping[Knob, float],
    title: Title,
    trial: Trial,
) -> KnobAction | None:
    """The first position that lets the record in and costs no other; else the first that swaps, saying so."""
    now = frozenset((entry.source, entry.record_id) for entry in manifest.entries if entry.selected)
    swap: KnobAction | None = None
    for change in changes:
        for position in _steps(change, positions):
            chosen = trial({**positions, change.knob: position})
            if binding.record not in chosen:
                continue
            value = _written(change.knob, {**positions, change.knob: position})
            label = f"Set {_small(_name(change.knob))} to {value}"
            gone = sorted(now - chosen)
            if not gone:
                return KnobAction(((change.knob, position),), label)
            swap = swap or KnobAction(((change.knob, position),), label, _sentence_case(_swaps(gone, title)))
    return swap


def _steps(change: KnobChange[Knob], positions: Mapping[Knob, float]) -> list[float]:
    """The position that reaches the change, and the next ones away from where the control stands."""
    first, spec = _reach(change, positions), KNOBS[change.knob]
    if first is None:
        return []
    step = spec.step if first > positions[change.knob] else -spec.step
    tried = [round(first + number * step, 6) for number in range(STEPS_TRIED)]
    return [position for position in tried if spec.least <= position <= spec.most]


def _swaps(gone: Sequence[Record], title: Title) -> str:
    if not gone:
        return ""
    return f"swaps with {title(*gone[0])}" if len(gone) == 1 else f"drops {count(len(gone))} records"


def _name(knob: Knob) -> str:
    spec = KNOBS[knob]
    return f"{spec.label} share" if knob in SHARE_KNOBS.values() else spec.label


def _written(knob: Knob, positions: Mapping[Knob, float]) -> str:
    """A control's value as the sidebar shows it: for a share, its effective part."""
    kind = next((kind for kind, share in SHARE_KNOBS.items() if share == knob), None)
    if kind is None:
        return KNOBS[knob].written(positions[knob])
    shares = effective_shares({other: positions[share] for other, share in SHARE_KNOBS.items()})
    return KNOBS[knob].written(shares[kind])


def _small(name: str) -> str:
    return name[0].lower() + name[1:]


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]
