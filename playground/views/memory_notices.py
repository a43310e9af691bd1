"""What is asked before a memory is forgotten, and what came of revising or forgetting one, in words.

Pure. Names of files are untrusted text.
"""

from __future__ import annotations

from playground.errors import StaleRevisionError
from playground.memory import MemoryRecord
from playground.views.direction import isolated
from playground.views.notices import Notice
from playground.views.words import Sentence, count, joined, marked, plural
from playground.workspace.memories import Forgetting

__all__ = ["forget_question", "forgotten_notice", "revised_notice", "stale_notice", "unchanged_notice"]

FILES_NAMED = 5  # kept files that a notice names; the rest is counted


def forget_question(record: MemoryRecord, *, sample: bool) -> Sentence:
    """Ask before a memory is forgotten: what goes, and what stays.

    Args:
        record: The memory.
        sample: Whether the project is a sample, which is changed for the session alone.
    """
    revisions = len(record.revisions)
    texts = "its text" if revisions == 1 else f"its text in all **{count(revisions)} revisions**"
    if sample:
        return marked(
            f"Forget this memory? From this session goes {texts}, with its vectors here and in the cache of "
            "this computer. The sample itself comes with the package and keeps it."
        )
    return marked(
        f"Forget this memory for good? What goes is {texts}, its vectors in the project and in the cache of "
        "this computer, and what exports kept in the project hold of it. Its id and times stay, so that no "
        "import brings it back. The working memory and its history stay, and so do copies elsewhere."
    )


def forgotten_notice(outcome: Forgetting, *, sample: bool) -> Notice:
    """Say what came of a forget.

    Args:
        outcome: What went.
        sample: Whether only the session's version of a sample was changed.
    """
    where = "this session" if sample else "the project"
    text = f"Its text is gone from {where} and from the memory of this app"
    if outcome.vector_keys:
        text += f", with the vectors of **{plural(len(outcome.vector_keys), 'text')}**"
    told = [f"{text}."]
    if outcome.rewritten:
        told.append(f"{_files(outcome.rewritten)} rewritten without it.")
    if outcome.deleted:
        they = "it" if len(outcome.deleted) == 1 else "they"
        told.append(f"{_files(outcome.deleted)} deleted: {they} could not be rewritten.")
    if outcome.left:
        hold = "holds" if len(outcome.left) == 1 else "hold"
        told.append(f"{_named(outcome.left)} still {hold} the same text.")
    if outcome.pending:
        told.append(
            "Another program holds the vector cache: its vectors there go when the project is next used."
        )
    return Notice("warning" if outcome.left or outcome.pending else "info", "Forgotten", marked(" ".join(told)))


def revised_notice(revision: int) -> Notice:
    """Say that a memory was revised."""
    text = f"It is at revision **{count(revision)}** now; the revisions before are in its history."
    return Notice("info", "The memory was revised", marked(text))


def unchanged_notice() -> Notice:
    """Say that a form was sent that says what the memory says already."""
    return Notice("info", "Nothing was saved", (("The memory says this already.", False),))


def stale_notice(error: StaleRevisionError) -> Notice:
    """Say that somebody else revised the memory first, and what to do."""
    text = (
        f"The form was opened at revision **{count(error.expected_revision)}**; somebody has written revision "
        f"**{count(error.actual_revision)}** meanwhile, which the history shows. What you wrote is in the form "
        "again: compare the two, and save it once more if it shall stand."
    )
    return Notice("warning", "Somebody else revised it first", marked(text))


def _files(names: tuple[str, ...]) -> str:
    return f"{_named(names)} {'was' if len(names) == 1 else 'were'}"


def _named(names: tuple[str, ...]) -> str:
    shown = [isolated(name) for name in names[:FILES_NAMED]]
    if len(names) > FILES_NAMED:
        shown.append(plural(len(names) - FILES_NAMED, "more file"))
    return joined(shown)
