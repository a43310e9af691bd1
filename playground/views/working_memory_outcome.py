"""What came of a patch, in words: applied, applied before, or refused and why.

Pure.
"""

from __future__ import annotations

from dataclasses import replace

from playground.errors import PlaygroundError
from playground.escaping import replace_surrogates
from playground.views.direction import isolated
from playground.views.notices import Notice, NoticeAction, error_notice
from playground.views.words import count, joined, marked
from playground.working_memory import AppliedPatch, DuplicatePatch, PatchOutcome, WorkingMemoryPatch
from playground.working_memory.outcome import RejectionReason

__all__ = ["OUTCOME", "REASON_WORDS", "nothing_changed", "nothing_entered", "outcome_notice", "refusal"]

OUTCOME = "working_memory_outcome"  # the control that holds the notice; dismissing it empties it
_DISMISS = NoticeAction("Dismiss", OUTCOME, None, mends=False)
REASON_WORDS: dict[RejectionReason, str] = {
    "forbidden": "this writer may not do it",
    "stale-revision": "it was written for another revision",
    "not-found": "there is no such item",
    "limit": "too long or too many",
    "invalid-state": "the item cannot do this now",
    "operation-conflict": "its operation id stands for another patch",
}


def nothing_entered(noun: str) -> Notice:
    """Return the notice of a form that was sent without its text; no patch was made of it."""
    return _nothing_sent(f"Write the text of the {noun} first.")


def nothing_changed(noun: str) -> Notice:
    """Return the notice of a form that says what the memory says already; no patch was made of it."""
    return _nothing_sent(f"The {noun} says this already.")


def refusal(error: PlaygroundError) -> Notice:
    """Return the notice of an error that there was no patch for."""
    notice = error_notice(error)
    return replace(notice, actions=(*notice.actions, _DISMISS))


def outcome_notice(outcome: PatchOutcome, patch: WorkingMemoryPatch) -> Notice:
    """Return the notice of one patch.

    Args:
        outcome: What came of it.
        patch: The patch.
    """
    match outcome:
        case AppliedPatch(snapshot=snapshot, ids=ids):
            names = joined(dict.fromkeys(operation.op for operation in patch.operations))
            text = f"{names} by the {patch.writer} made revision **{count(snapshot.revision)}**"
            sentence = (*marked(text), (f" and {joined(map(isolated, ids))}." if ids else ".", False))
            return Notice("info", f"Applied: revision {count(snapshot.revision)}", sentence, (_DISMISS,))
        case DuplicatePatch(revision=revision):
            text = (
                f"This operation id made revision **{count(revision)}** already, with the same operations. "
                "Nothing was done again."
            )
            return Notice("info", "Applied before: duplicate", marked(text), (_DISMISS,))
    title = f"Refused: {outcome.reason}, {REASON_WORDS[outcome.reason]}"
    where = ""
    if outcome.operation is not None and len(patch.operations) > 1:
        where = f"Operation {outcome.operation + 1} of {len(patch.operations)}: "
    sentence = ((where, False), (replace_surrogates(outcome.message), True), (" Nothing was changed.", False))
    return Notice("warning", title, sentence, (_DISMISS,))


def _nothing_sent(why: str) -> Notice:
    return Notice("info", "Nothing was sent", ((why, False),), (_DISMISS,))
