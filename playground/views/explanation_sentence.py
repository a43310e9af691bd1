"""Why a record is in or out, as a sentence with its numbers in bold."""

from __future__ import annotations

from playground.compiler.explain import Explanation
from playground.views.knob_action import Title, small
from playground.views.words import KIND_LABELS, Sentence, count, marked, plural

__all__ = ["explanation_sentence"]

_SETTLED = {
    "mandatory": "It is in the request whatever the budget: mandatory content is never cut.",
    "limit": "Its source offers more than the candidate limit allows, and it ranks behind those taken.",
    "superseded": "A newer revision of it is offered, or stands in the history.",
    "already-placed": "Its text stands in the history already, where an earlier package put it.",
}


def explanation_sentence(explanation: Explanation, title: Title) -> Sentence:
    """Return the sentence of one record.

    Args:
        explanation: What was found.
        title: What people call a record, from source and record id.
    """
    if explanation.reason in _SETTLED:
        return ((_SETTLED[explanation.reason], False),)
    if explanation.reason == "duplicate":
        return _duplicate(explanation, title)
    return marked(_selected(explanation) if explanation.selected else _left_out(explanation))


def _duplicate(explanation: Explanation, title: Title) -> Sentence:
    if explanation.instead in {None, (explanation.source, explanation.record_id)}:
        return (("It was offered twice; the better of the two is considered.", False),)
    # The title is foreign text and never split at marks.
    name = title(*explanation.instead) if explanation.instead else ""
    end = "" if name.endswith((".", "!", "?", "…")) else "."
    return tuple(
        part for part in (("The same text is there already, as ", False), (name, True), (end, False)) if part[0]
    )


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
