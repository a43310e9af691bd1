"""Own projects in words: names for them, what is asked before one goes, and what came of it.

Pure. Titles, names of files and messages are untrusted text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection

from playground.errors import PlaygroundError
from playground.views.direction import isolated, without_overrides
from playground.views.load_report import REPORT
from playground.views.notices import Notice, NoticeAction
from playground.views.words import Sentence, count, joined, plural
from playground.workspace import Project

__all__ = [
    "delete_question",
    "deleted_notice",
    "file_size",
    "gone_notice",
    "imported_notice",
    "refused_notice",
    "saved_notice",
    "suggested_name",
]

NAME_LENGTH = 64  # characters of a project's name at most
GONE = "gone_project"
"""Session state: a project that was open and is not there any more; dismissing the notice empties it."""
_NOT_IN_A_NAME = re.compile("[^a-z0-9]+")
_DISMISS = NoticeAction("Dismiss", REPORT, None, mends=False)


def suggested_name(wanted: str, taken: Collection[str]) -> str:
    """Return a free name of a project that resembles a title, a file's name or another project's name.

    Args:
        wanted: Any text; accents go, and what a name cannot hold becomes a hyphen.
        taken: Names that are not free; where it is among them, a number makes it another.
    """
    plain = unicodedata.normalize("NFKD", wanted.casefold()).encode("ascii", "ignore").decode()
    name = _NOT_IN_A_NAME.sub("-", plain).strip("-")[:NAME_LENGTH].rstrip("-") or "project"
    if name not in taken:
        return name
    stem, number = re.sub(r"-\d{1,6}$", "", name), 2
    while (found := f"{stem[: NAME_LENGTH - 7]}-{number}") in taken:
        number += 1
    return found


def delete_question(project: Project) -> Sentence:
    """Ask before a project goes: what goes with it."""
    counts = (
        (len(project.documents), ("document", "documents")),
        (len(project.memories), ("memory", "memories")),
        (len(project.chats), ("chat", "chats")),
        (len(project.skills), ("skill", "skills")),
    )
    parts = [plural(number, noun) for number, noun in counts if number]
    return (
        (isolated(project.title), True),
        (f" goes from this computer with {joined((*parts, 'everything else in its folder'))}. ", False),
        ("There is no way back; export it first if you may want it again.", False),
    )


def saved_notice(name: str, *, sample: bool) -> Notice:
    """Say that a project was saved under a name, and where it goes from here."""
    rest = " The sample is as it came again." if sample else ""
    sentence = ((name, True), (f" is open now. Every change to it is saved at once.{rest}", False))
    return Notice("info", "Saved as a project of yours", sentence, (_DISMISS,))


def imported_notice(project: Project) -> Notice:
    """Say what an import brought, and under which name."""
    said = " ".join(map(without_overrides, project.warnings))
    sentence = ((project.name, True), (" is open now." + (f" {said}" if said else ""), False))
    return Notice("info", f"{isolated(project.title)} was imported", sentence, (_DISMISS,))


def deleted_notice(name: str, *, opened: str) -> Notice:
    """Say that a project was deleted, and which one is open instead."""
    gone = ((name, True), (" is gone from this computer. ", False))
    sentence = (*gone, (opened, True), (" is open now.", False))
    return Notice("info", "The project was deleted", sentence, (_DISMISS,))


def gone_notice(name: str, *, opened: str) -> Notice:
    """Say that the open project was removed or renamed by somebody else."""
    sentence = (
        (name, True),
        (" is not there any more: it was deleted or renamed elsewhere. ", False),
        (opened, True),
        (" is open now.", False),
    )
    return Notice(
        "warning",
        "The open project is gone",
        sentence,
        (NoticeAction("Dismiss", GONE, None, mends=False),),
    )


def refused_notice(title: str, error: PlaygroundError) -> Notice:
    """Say why something about a project was not done, and what to do."""
    return Notice("error", title, ((without_overrides(str(error)), False),), (_DISMISS,))


def file_size(size: int) -> str:
    """Write how large a file is: ``812 bytes``, ``14 kB``, ``2.3 MB``."""
    if size < 1_000:
        return f"{count(size)} bytes"
    return f"{size / 1_000:,.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:,.1f} MB"
