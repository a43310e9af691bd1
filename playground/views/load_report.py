"""What loading material did, in notices: what joined the project, what was odd, what could not be read.

Pure. Names and messages come from files and are untrusted text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from playground.errors import DocumentError
from playground.retrieval.documents import LoadWarning
from playground.views.direction import isolated, without_overrides
from playground.views.notices import Notice, NoticeAction
from playground.views.words import count, joined, plural, shortened
from playground.workspace.additions import Addition

__all__ = ["REPORT", "load_report"]

REPORT = "data_report"  # the control that holds the notices; dismissing them empties it
ID_LENGTH = 80  # code points of an id in a sentence
SHOWN = 12  # errors and warnings named one by one; a folder of pictures must not fill the page


def load_report(
    addition: Addition | None,
    noun: tuple[str, str],
    warnings: Sequence[LoadWarning],
    errors: Sequence[DocumentError],
    *,
    own: bool = False,
) -> tuple[Notice, ...]:
    """Return notices in the order: result, one for all warnings, one for each file that was not read.

    Args:
        addition: What joined the project; ``None`` when nothing could be read.
        noun: One and many of what was loaded.
        warnings: Files that were read, with something to know.
        errors: Files that were not read.
        own: Whether the project is the user's own, which is saved; a sample is changed for the session alone.
    """
    notices = []
    if addition is not None:
        notices.append(_result(addition, noun, own=own))
        if addition.forgotten:
            notices.append(_forgotten(addition.forgotten, noun))
    if warnings:
        notices.append(_warnings(warnings))
    notices += [_error(error) for error in errors[:SHOWN]]
    if addition is None and not errors:
        notices.append(Notice("info", "Nothing was added", (("Choose files or paste text first.", False),)))
    if len(errors) > SHOWN:
        rest = plural(len(errors) - SHOWN, "more file")
        notices.append(Notice("error", f"{rest} could not be read", (("Load them alone to see why.", False),)))
    if notices:
        notices[-1] = replace(notices[-1], actions=(NoticeAction("Dismiss", REPORT, None, mends=False),))
    return tuple(notices)


def _result(addition: Addition, noun: tuple[str, str], *, own: bool) -> Notice:
    parts: list[tuple[str, bool]] = [(count(addition.added), True), (" added", False)]
    for number, words in ((addition.replaced, " replaced"), (addition.unchanged, " there already")):
        if number:
            parts += [(", ", False), (count(number), True), (words, False)]
    where = "They are saved." if own else "They live in this session; the sample itself stays as it is."
    parts.append((f". {where}", False))
    title = f"{plural(addition.added + addition.replaced + addition.unchanged, noun)} read"
    return Notice("info", title, tuple(parts))


def _forgotten(ids: Sequence[str], noun: tuple[str, str]) -> Notice:
    named = [isolated(shortened(identifier, ID_LENGTH)) for identifier in ids[:SHOWN]]
    more = [f"{count(len(ids) - SHOWN)} more"] if len(ids) > SHOWN else []
    sentence = f"Forgotten here before, and not brought back: {joined([*named, *more])}."
    return Notice("warning", f"{plural(len(ids), noun)} left out", ((sentence, False),))


def _warnings(warnings: Sequence[LoadWarning]) -> Notice:
    lines = [f"{isolated(warning.name)}: {without_overrides(warning.message)}" for warning in warnings[:SHOWN]]
    if len(warnings) > SHOWN:
        lines.append(f"And {plural(len(warnings) - SHOWN, 'more warning')}.")
    return Notice("warning", f"{plural(len(warnings), 'thing')} to know", ((" ".join(lines), False),))


def _error(error: DocumentError) -> Notice:
    name = isolated(error.name) or "One file"
    return Notice("error", f"{name} was not loaded", ((without_overrides(str(error)), False),))
