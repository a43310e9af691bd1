"""One record explained: the sentence, its turns, what got in before it, and what each knob would have to be.

Pure. Every number comes from the explanation, which real selections found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from playground.compiler.changes import KnobChange
from playground.compiler.explain import Explanation, PassTurn
from playground.compiler.knobs import Knob
from playground.compiler.manifest import ContextManifest
from playground.views.binding_trial import Trial
from playground.views.direction import without_overrides
from playground.views.explanation_changes import (
    ChangeRow,
    applicable_changes,
    change_rows,
    explained_changes,
)
from playground.views.explanation_sentence import explanation_sentence
from playground.views.knob_action import KnobAction, Title, nearest_action, small
from playground.views.palette import Slot
from playground.views.record_key import record_key
from playground.views.record_text import RecordTexts
from playground.views.words import KIND_LABELS, KIND_NOUNS, Sentence, count, entry_slot, plural, score

__all__ = [
    "BeforeRow",
    "ExplanationView",
    "Fact",
    "TurnRow",
    "explanation_view",
]


@dataclass(frozen=True, slots=True)
class Fact:
    """One number about the record."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class TurnRow:
    """Its turn in one pass, in tokens."""

    name: str
    room: str
    left: str
    short: str
    """``30 short``, or that it fits."""


@dataclass(frozen=True, slots=True)
class BeforeRow:
    """A record that was admitted before it."""

    key: str
    slot: Slot
    title: str
    tokens: str


@dataclass(frozen=True, slots=True)
class ExplanationView:
    """The panel of one record."""

    key: str
    slot: Slot
    title: str
    source: str
    """``Documents, part 1 of <document>``."""
    sentence: Sentence
    facts: tuple[Fact, ...]
    turns: tuple[TurnRow, ...]
    before: tuple[BeforeRow, ...]
    """What got in before it, in the pass that was its last chance."""
    before_total: str
    """``12 records · 2,680 tokens``; empty where nothing did."""
    changes: tuple[ChangeRow, ...]
    idle: str
    """Knobs no value of which lets it in; empty when there are none."""
    actions: tuple[KnobAction, ...]


def explanation_view(
    explanation: Explanation,
    manifest: ContextManifest,
    texts: RecordTexts,
    *,
    positions: Mapping[Knob, float],
    trial: Trial,
    kinder: Iterable[KnobChange[Knob]] = (),
) -> ExplanationView:
    """Return the panel of one record.

    Args:
        explanation: What was found.
        manifest: The compile.
        texts: Every offered record in words.
        positions: Where the controls stand.
        trial: Which records are selected with the controls at other positions.
        kinder: Larger changes that cost no record, for knobs whose nearest change costs one.
    """

    def title(source: str, record_id: str) -> str:
        known = texts.get((source, record_id))
        return known.title if known else without_overrides(record_id)

    record = (explanation.source, explanation.record_id)
    text = texts.get(record)
    found = explained_changes(applicable_changes(explanation), kinder)
    before = _before(explanation, manifest, title)
    actions = [
        nearest_action(change, manifest, record, title=title, positions=positions, trial=trial)
        for change in found.to_apply
    ]
    return ExplanationView(
        key=record_key(*record),
        slot=_slot(explanation),
        title=title(*record),
        source=", ".join(filter(None, [KIND_LABELS[explanation.kind], text.source if text else ""])),
        sentence=explanation_sentence(explanation, manifest, title),
        facts=_facts(explanation),
        turns=_turn_rows(explanation),
        before=tuple(row for row, _ in before),
        before_total=_total([tokens for _, tokens in before]),
        changes=change_rows(found, title),
        idle=found.idle,
        actions=tuple(action for action in actions if action),
    )


def _slot(explanation: Explanation) -> Slot:
    if not explanation.selected:
        return "excluded"
    return "mandatory" if explanation.reason == "mandatory" else explanation.kind


def _facts(explanation: Explanation) -> tuple[Fact, ...]:
    rivals = f"of {count(explanation.rivals)}"
    in_kind = f"of {plural(explanation.rivals_in_kind, KIND_NOUNS[explanation.kind])}"
    return (
        Fact("Rank", _place(explanation.rank), rivals if explanation.rank else "not ranked"),
        Fact(
            "Rank in kind",
            _place(explanation.rank_in_kind),
            in_kind if explanation.rank_in_kind else "not ranked",
        ),
        Fact("Score", "–" if explanation.score is None else score(explanation.score)),
        Fact("Tokens", count(explanation.tokens), explanation.reason),
    )


def _place(rank: int | None) -> str:
    return "–" if rank is None else count(rank)


def _turn_rows(explanation: Explanation) -> tuple[TurnRow, ...]:
    passes: list[tuple[str, PassTurn | None]] = [
        (f"Share of {small(KIND_LABELS[explanation.kind])}", explanation.share),
        ("Pool, what shares left", explanation.pool),
        ("Working memory", explanation.allowance),
    ]
    return tuple(
        TurnRow(name, count(turn.room), count(turn.left), count(turn.short_by) if turn.short_by else "fits")
        for name, turn in passes
        if turn is not None
    )


def _before(explanation: Explanation, manifest: ContextManifest, title: Title) -> list[tuple[BeforeRow, int]]:
    """What was admitted before it: in its share and in the pool, or in working memory's allowance."""
    turns = [turn for turn in (explanation.share, explanation.pool, explanation.allowance) if turn is not None]
    rows = {(entry.source, entry.record_id): entry for entry in manifest.entries if entry.selected}
    admitted = [rows[record] for turn in turns for record in turn.before if record in rows]
    return [
        (
            BeforeRow(
                record_key(entry.source, entry.record_id),
                entry_slot(entry),
                title(entry.source, entry.record_id),
                count(entry.tokens),
            ),
            entry.tokens,
        )
        for entry in admitted
    ]


def _total(tokens: list[int]) -> str:
    return f"{plural(len(tokens), 'record')} · {plural(sum(tokens), 'token')}" if tokens else ""
