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
from playground.views.words import count, plural
from playground.workspace.additions import Addition

__all__ = ["REPORT", "load_report"]

REPORT = "data_report"  # the control that holds the notices; dismissing them empties it
SHOWN = 12  # errors and warnings named one by one; a folder of pictures must not fill the page


def load_report(
    addition: Addition | None,
    noun: tuple[str, str],
    warnings: Sequence[LoadWarning],
    errors: Sequence[DocumentError],
) -> tuple[Notice, ...]:
    """Return notices in the order: result, one for all warnings, one for each file that was not read.

    Args:
        addition: What joined the project; ``None`` when nothing could be read.
        noun: One and many of what was loaded.
        warnings: Files that were read, with something to know.
        errors: Files that were not read.
    """
    notices = []
    if addition is not None:
        notices.append(_result(addition, noun))
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


def _result(addition: Addition, noun: tuple[str, str]) -> Notice:
    parts: list[tuple[str, bool]] = [(count(addition.added), True), (" added", False)]
    for number, words in ((addition.replaced, " replaced"), (addition.unchanged, " there already")):
        if number:
            parts += [(", ", False), (count(number), True), (words, False)]
    parts.append((". They live in this session; the sample itself stays as it is.", False))
    title = f"{plural(addition.added + addition.replaced + addition.unchanged, noun)} read"
    return Notice("info", title, tuple(parts))


def _warnings(warnings: Sequence[LoadWarning]) -> Notice:
    lines = [f"{isolated(warning.name)}: {without_overrides(warning.message)}" for warning in warnings[:SHOWN]]
    if len(warnings) > SHOWN:
        lines.append(f"And {plural(len(warnings) - SHOWN, 'more warning')}.")
    return Notice("warning", f"{plural(len(warnings), 'thing')} to know", ((" ".join(lines), False),))


def _error(error: DocumentError) -> Notice:
    name = isolated(error.name) or "One file"
    return Notice("error", f"{name} was not loaded", ((without_overrides(str(error)), False),))
