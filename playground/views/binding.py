"""What binds: the sentence, the knobs that would let the next record in, and the change a button applies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from playground.compiler.explain import KNOBS as KNOB_ORDER
from playground.compiler.explain import Binding, Knob, KnobChange
from playground.compiler.manifest import ContextManifest, EntryKind
from playground.views.knobs import KNOBS, SHARE_KNOBS, position_for
from playground.views.strip import LIMIT_NAMES
from playground.views.words import KIND_NOUNS, KIND_ORDER, count, joined, percent, plural

__all__ = ["BindingRow", "BindingView", "KnobAction", "binding_view"]

SETTLED = frozenset({"limit", "duplicate", "superseded", "already-placed"})  # not a matter of tokens
ROWS_SHOWN = 2  # knob rows; the panel is a hint, not the whole answer
Sentence = tuple[tuple[str, bool], ...]
"""Text and whether it is bold."""


@dataclass(frozen=True, slots=True)
class BindingRow:
    """One knob that would relax it."""

    name: str
    change: str
    lets_in: str


@dataclass(frozen=True, slots=True)
class KnobAction:
    """What the button does: put one control to a position that lets the record in."""

    knob: Knob
    position: float
    label: str


@dataclass(frozen=True, slots=True)
class BindingView:
    """The panel."""

    title: str
    sentence: Sentence
    rows: tuple[BindingRow, ...]
    shown: str
    """`` (2 of 5)``; empty when every knob with an effect has a row."""
    idle: str
    """Knobs without an effect now, in one line; empty when there are none."""
    action: KnobAction | None


def binding_view(
    binding: Binding,
    manifest: ContextManifest,
    *,
    title: Callable[[str, str], str],
    positions: Mapping[Knob, float],
    lets_in: Callable[[Knob, float], bool],
) -> BindingView:
    """Return the panel of one compile.

    Args:
        binding: What limits it.
        manifest: The compile.
        title: What people call a record, from source and record id.
        positions: Where the controls stand.
        lets_in: Whether the record gets in with one control at another position; a real recompile, because
            controls move in steps and selection is not monotone.
    """
    working = {change.knob: change for change in binding.changes if change.needed is not None}
    order = _order(binding, manifest)
    effective = [working[knob] for knob in order if knob in working]
    record = title(*binding.record) if binding.record else ""
    rows = tuple(BindingRow(_name(c.knob), _change(c), record) for c in effective[:ROWS_SHOWN])
    idle = [_name(change.knob) for change in binding.changes if change.needed is None]
    return BindingView(
        title="Nothing binds" if binding.limit == "nothing" else f"{LIMIT_NAMES[binding.limit]} binds",
        sentence=_sentence(binding, manifest),
        rows=rows,
        shown=f" ({ROWS_SHOWN} of {len(effective)})" if len(effective) > ROWS_SHOWN else "",
        idle=_sentence_case(", ".join(name[0].lower() + name[1:] for name in idle)),
        action=_action(effective, positions, lets_in),
    )


def _order(binding: Binding, manifest: ContextManifest) -> list[Knob]:
    """The limit's own knob first, then the share of the record's kind, then the others."""
    first: list[Knob] = [knob for knob in KNOB_ORDER if knob == binding.limit]
    kind = next(
        (entry.kind for entry in manifest.entries if (entry.source, entry.record_id) == binding.record), None
    )
    own = SHARE_KNOBS.get(kind) if kind and kind != "working-memory" else None
    return list(dict.fromkeys([*first, *([own] if own else []), *KNOB_ORDER]))


def _action(
    changes: list[KnobChange], positions: Mapping[Knob, float], lets_in: Callable[[Knob, float], bool]
) -> KnobAction | None:
    for change in changes[:ROWS_SHOWN]:
        knob, spec = change.knob, KNOBS[change.knob]
        position = position_for(knob, change.needed, positions) if change.needed is not None else None
        if position is not None and lets_in(knob, position):
            name = f"{_name(knob)} to {spec.written(position)}"
            return KnobAction(knob, position, f"Set {name[0].lower()}{name[1:]}")
    return None


def _sentence(binding: Binding, manifest: ContextManifest) -> Sentence:
    text = f"{_head(binding, manifest)}. {_left_out(binding, manifest)}".rstrip()
    return tuple((part, index % 2 == 1) for index, part in enumerate(text.split("**")))


def _head(binding: Binding, manifest: ContextManifest) -> str:
    """The two numbers that matter, between double stars."""
    budget = manifest.budget
    ratio, cap = count(binding.ratio_tokens), count(binding.max_tokens)
    match binding.limit:
        case "max_tokens":
            return f"The ratio would allow **{ratio}** tokens; max tokens stops at **{cap}**"
        case "ratio":
            free = percent(budget.ratio)
            return f"Max tokens would allow **{cap}** tokens; {free} of the free room stops at **{ratio}**"
        case "working_memory_tokens":
            own = count(budget.working_memory_tokens)
            return (
                f"The budget has **{count(budget.context_tokens)}** tokens; working memory stops at **{own}**"
            )
        case "candidates":
            more = plural(binding.left_out.get("limit", 0), "record")
            return f"Everything considered fits; **{more}** stood beyond the candidate limit"
        case "mandatory":
            total = plural(budget.context_tokens, "token")
            return f"Mandatory content takes **{count(budget.required_tokens)}** of **{total}**"
        case "room":
            most = count(budget.input_tokens)
            return f"The request takes **{count(budget.used_tokens)}** tokens; the model accepts **{most}**"
    total = plural(budget.context_tokens, "token")
    return f"Everything offered is in, with **{count(budget.selected_tokens)}** of **{total}** used"


def _left_out(binding: Binding, manifest: ContextManifest) -> str:
    out = sum(binding.left_out_for_budget.values())
    if not out:
        return ""
    kinds: list[EntryKind] = [kind for kind in KIND_ORDER if binding.left_out_for_budget.get(kind)]
    lines = "working-memory" in kinds
    offered = sum(
        entry.reason not in SETTLED and (lines or entry.kind != "working-memory") for entry in manifest.entries
    )
    total = f"{count(offered)} candidates and lines" if lines else plural(offered, "candidate")
    head = f"{count(out)} of {total} did not fit, "
    if len(kinds) == 1:
        one, many = KIND_NOUNS[kinds[0]]
        return f"{head}{'a' if out == 1 else 'all of them'} {one if out == 1 else many}."
    parts = [plural(binding.left_out_for_budget[kind], KIND_NOUNS[kind]) for kind in kinds]
    return f"{head}{joined(parts)}."


def _name(knob: Knob) -> str:
    spec = KNOBS[knob]
    return f"{spec.label} share" if knob in SHARE_KNOBS.values() else spec.label


def _written(knob: Knob, value: float | None) -> str:
    return "" if value is None else KNOBS[knob].written(value)


def _change(change: KnobChange) -> str:
    return f"{_written(change.knob, change.current)} → {_written(change.knob, change.needed)}"


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]
