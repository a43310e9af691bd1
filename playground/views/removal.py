"""Taking a document, a chat or a skill out of a project: what is asked before, and what is said after.

Pure. Titles are untrusted text.
"""

from __future__ import annotations

from dataclasses import dataclass

from playground.views.direction import isolated
from playground.views.notices import Notice
from playground.views.words import KIND_LABELS, Sentence, plural
from playground.workspace import Project

__all__ = ["REMOVABLE", "Removal", "removal_of", "removed_notice"]

REMOVABLE = (KIND_LABELS["rag"], KIND_LABELS["transcript"], KIND_LABELS["skills"])
"""Names of the tables whose items can be removed: documents, past chats and skills."""


@dataclass(frozen=True, slots=True)
class Removal:
    """What a button would take out."""

    table: str
    id: str
    """Of the document, the chat or the skill."""
    title: str
    label: str
    """The button's."""
    question: Sentence


def removal_of(project: Project, table: str, row_id: str, *, sample: bool) -> Removal:
    """Return what the button beside a row takes out.

    Args:
        project: What holds it.
        table: One of ``REMOVABLE``.
        row_id: Id of the row; a turn of a chat stands for the whole chat.
        sample: Whether the project is a sample, which is changed for the session alone.
    """
    documents, chats, _ = REMOVABLE
    if table == documents:
        title = next(document.title for document in project.documents if document.id == row_id)
        parts = sum(chunk.meta["document"] == row_id for chunk in project.chunks)
        found, noun, what = row_id, "document", f"with {plural(parts, 'chunk')}"
    elif table == chats:
        found = row_id.rpartition("#")[0]
        title = project.chat_titles.get(found) or found
        turns = next(len(chat.messages) for chat in project.chats if chat.chat_id == found)
        noun, what = "chat", f"with all its {plural(turns, 'message')}"
    else:
        title = next(skill.name for skill in project.skills if skill.id == row_id)
        found, noun, what = row_id, "skill", "with its resources"
    rest = "In this session only; the sample keeps it." if sample else "There is no way back."
    question = ((isolated(title), True), (f" goes {what}. {rest}", False))
    return Removal(table, found, isolated(title), f"Remove the {noun}", question)


def removed_notice(removal: Removal) -> Notice:
    """Say what was taken out."""
    return Notice("info", "Removed", ((removal.title, True), (" is not in the project any more.", False)))
