"""Why a record is in or out, as a sentence with its numbers in bold."""

from __future__ import annotations

from playground.compiler.counterpart import Counterpart
from playground.compiler.explain import Explanation
from playground.compiler.manifest import ContextManifest
from playground.views.direction import without_overrides
from playground.views.knob_action import Title, small
from playground.views.words import KIND_LABELS, Sentence, count, marked, plural, score

__all__ = ["explanation_sentence"]

_SETTLED = {
    "mandatory": "It is in the request whatever the budget: mandatory content is never cut.",
    "limit": "Its source offers more than the candidate limit allows, and it ranks behind those taken.",
}


def explanation_sentence(explanation: Explanation, manifest: ContextManifest, title: Title) -> Sentence:
    """Return the sentence of one record.

    Args:
        explanation: What was found.
        manifest: The compile.
        title: What people call a record, from source and record id.
    """
    if explanation.reason in _SETTLED:
        return ((_SETTLED[explanation.reason], False),)
    if explanation.instead is not None:
        # Titles and ids are foreign text and never split at marks.
        return _instead(explanation, explanation.instead, manifest, title)
    return marked(_selected(explanation) if explanation.selected else _left_out(explanation))


def _instead(explanation: Explanation, other: Counterpart, manifest: ContextManifest, title: Title) -> Sentence:
    """Name what is there in its place by source and id: several records may have one title."""
    named, step = f"{other.source}, id {without_overrides(other.record_id)}", f"step {count(other.step or 0)}"
    if explanation.reason == "superseded":
        verb = "is offered" if other.step is None else f"was placed in {step}"
        return ((f"Revision {count(other.revision or 0)}", True), (f" of it ({named}) {verb}.", False))
    put = f"where the package of {step} put it"
    if explanation.reason == "already-placed":
        return ((f"Its text ({named}) stands in the history already, {put}.", False),)
    if other.number is None:
        return _same_text("stands in the history", title(other.source, other.record_id), f" ({named}), {put}.")
    entry = manifest.entries[other.number]
    if (other.source, other.record_id) != (explanation.source, explanation.record_id):
        return _same_text("got in", title(other.source, other.record_id), f" ({named}).")
    counts = "it got in" if entry.selected else f"it is left out: {entry.reason}"
    return (
        (f"It was offered more than once ({named}). The copy with score ", False),
        (score(entry.score or 0.0), True),
        (f" counts; {counts}.", False),
    )


def _same_text(verb: str, title: str, end: str) -> Sentence:
    return ((f"The same text {verb} as ", False), (title, True), (end, False))


def _selected(explanation: Explanation) -> str:
    """Numbers between double stars."""
    takes = f"it takes **{count(explanation.tokens)}**."
    share, pool, allowance = explanation.share, explanation.pool, explanation.allowance
    if allowance is not None:
        return f"It got in: working memory had **{plural(allowance.left, 'token')}** left at its turn, {takes}"
    had = f"its share had **{plural(share.left if share else 0, 'token')}** left at its turn"
    if pool is None:
        return f"It got in: {had}, {takes}"
    return f"It got in with what shares left unused: {had}, the pool **{count(pool.left)}**; {takes}"


def _left_out(explanation: Explanation) -> str:
    """Numbers between double stars."""
    if explanation.over_by:
        over = plural(explanation.over_by, "token")
        return f"It was admitted and dropped again: rendered, the blocks were **{over}** over the budget."
    takes = f"It takes **{plural(explanation.tokens, 'token')}**"
    short = f"**{count(explanation.short_by)}** short."
    share, pool, allowance = explanation.share, explanation.pool, explanation.allowance
    if allowance is not None:
        return f"{takes}; working memory had **{count(allowance.left)}** left at its turn: {short}"
    if share is None or pool is None:
        return f"{takes}."
    kind = small(KIND_LABELS[explanation.kind])
    left = f"the share of {kind} had **{count(share.left)}** left at its turn, the pool **{count(pool.left)}**"
    return f"{takes}; {left}: {short}"
