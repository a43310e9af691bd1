"""What binds: the sentence, the knobs that would let the next record in, and the change a button applies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from playground.compiler.binding import Binding
from playground.compiler.changes import KnobChange
from playground.compiler.knobs import KNOBS as KNOB_ORDER
from playground.compiler.knobs import SHARE_KNOBS, Knob
from playground.compiler.manifest import ContextManifest
from playground.views.binding_sentence import binding_sentence
from playground.views.binding_trial import Trial, both_limits
from playground.views.knob_action import (
    KnobAction,
    Title,
    knob_action,
    knob_name,
    knob_written,
    reach,
    small,
    swaps_text,
)
from playground.views.knobs import KNOBS
from playground.views.strip import LIMIT_NAMES
from playground.views.words import Sentence, sentence_case

__all__ = ["BindingRow", "BindingView", "binding_view"]

ROWS_SHOWN = 2  # knob rows before the fold; the panel is a hint first


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
class BindingView:
    """The panel."""

    title: str
    sentence: Sentence
    rows: tuple[BindingRow, ...]
    more: tuple[BindingRow, ...]
    """The other changes with an effect, to be unfolded."""
    idle: str
    """Knobs of which no value was found that lets the record in and costs none; empty when there are none."""
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
    action = None
    if binding.record is not None:
        action = knob_action(changes, manifest, binding.record, title=title, positions=positions, trial=trial)
    if not changes and binding.record is not None:
        room = manifest.budget.input_tokens - manifest.budget.used_tokens
        both = both_limits(trial, positions, room=room, record=binding.record)
        if both is not None:
            written = {
                knob: (knob_written(knob, positions), knob_written(knob, {**positions, **both}))
                for knob in both
            }
            change = ", ".join(f"{old} → {new}" for old, new in written.values() if old != new)
            rows = [BindingRow("Ratio and max tokens together", change, title(*binding.record))]
            values = " and ".join(new for _, new in written.values())
            action = KnobAction(tuple(both.items()), f"Set ratio and max tokens to {values}")
    working = {change.knob for change in changes}
    idle = [knob_name(change.knob) for change in binding.changes if change.knob not in working]
    if rows and not changes:
        idle = [
            knob_name(change.knob) for change in binding.changes if change.knob not in {"ratio", "max_tokens"}
        ]
    return BindingView(
        title="Nothing binds" if binding.limit == "nothing" else f"{LIMIT_NAMES[binding.limit]} binds",
        sentence=binding_sentence(binding, manifest),
        rows=tuple(rows[:ROWS_SHOWN]),
        more=tuple(rows[ROWS_SHOWN:]),
        idle=sentence_case(", ".join(map(small, idle))),
        action=action,
    )


def _effective(
    binding: Binding, manifest: ContextManifest, positions: Mapping[Knob, float]
) -> list[KnobChange[Knob]]:
    """Changes that a control can make: those that cost nothing first, the limit's own knob first among them."""
    found = {change.knob: change for change in binding.changes if reach(change, positions) is not None}
    return sorted((found[knob] for knob in _order(binding, manifest) if knob in found), key=_costs)


def _order(binding: Binding, manifest: ContextManifest) -> list[Knob]:
    """The limit's own knob first, then the share of the record's kind, then the others."""
    first: list[Knob] = [knob for knob in KNOB_ORDER if knob == binding.limit]
    kind = next(
        (entry.kind for entry in manifest.entries if (entry.source, entry.record_id) == binding.record), None
    )
    own = SHARE_KNOBS.get(kind) if kind and kind != "working-memory" else None
    return list(dict.fromkeys([*first, *([own] if own else []), *KNOB_ORDER]))


def _costs(change: KnobChange[Knob]) -> bool:
    return bool(change.drops)


def _row(
    change: KnobChange[Knob], binding: Binding, positions: Mapping[Knob, float], title: Title
) -> BindingRow:
    # The present value as the control shows it: the search counts in units of a hundredth of a percent.
    needed = KNOBS[change.knob].written(change.needed or 0)
    return BindingRow(
        name=knob_name(change.knob),
        change=f"{knob_written(change.knob, positions)} → {needed}",
        lets_in=title(*binding.record) if binding.record else "",
        swaps=swaps_text(change.drops, title),
        gone="\n".join(title(*record) for record in change.drops),
    )
