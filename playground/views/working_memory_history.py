"""The history of a working memory in words: who changed what, field by field.

Pure. Texts come from items and stay untrusted plain text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.escaping import replace_surrogates
from playground.views.direction import isolated
from playground.views.words import count, plural, shortened
from playground.views.working_memory import NOUNS, moment, source_name, spaced
from playground.working_memory.difference import ItemChange, WorkingMemoryRevision

__all__ = ["ChangeView", "FieldChange", "HistoryRow", "HistoryView", "history_view"]

TEXT_SHOWN = 300  # code points of one field; the items themselves are shown in full elsewhere
CHANGES_SHOWN = 16  # of one revision; a new task list can bring 64
_SAID = ("text", "title", "status", "outcome", "rationale", "answer", "detail", "notes")
"""Fields that tell what an item was when it was added or removed."""
_CHANGED = (*_SAID, "decidedBy", "writer", "sources")
"""Fields that tell what became of an item."""


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field; an empty side says that it had no value."""

    name: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangeView:
    """One item that a revision changed."""

    kind: str
    """``added``, ``removed`` or ``changed``."""
    name: str
    """``decision decisions-5-0``."""
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One revision."""

    revision: str
    """``Revision 5``."""
    writer: str
    when: str
    operations: str
    """``add-decision, set-goal``."""
    changes: tuple[ChangeView, ...]
    more: str
    """How many changes are not shown; empty when all are."""


@dataclass(frozen=True, slots=True)
class HistoryView:
    """The revisions that are kept, newest first."""

    rows: tuple[HistoryRow, ...]
    total: str
    earlier: str
    """What is known of the revisions before them; empty when these are all."""


def history_view(history: Sequence[WorkingMemoryRevision], *, revision: int) -> HistoryView:
    """Return a history as rows, newest first.

    Args:
        history: The newest revision last.
        revision: The one that the snapshot is at.
    """
    first = history[0].revision if history else revision + 1
    earlier = ""
    if first > 1:
        span = "Revision 1" if first == 2 else f"Revisions 1 to {count(first - 1)}"
        earlier = f"{span} came before this history; what they changed is not kept."
    elif not history:
        earlier = "Nothing was changed yet: this is revision 0."
    return HistoryView(
        rows=tuple(_row(one) for one in reversed(history)),
        total=plural(len(history), "revision"),
        earlier=earlier,
    )


def _row(revision: WorkingMemoryRevision) -> HistoryRow:
    more = len(revision.changes) - CHANGES_SHOWN
    return HistoryRow(
        revision=f"Revision {count(revision.revision)}",
        writer=revision.writer,
        when=moment(revision.changed_at),
        operations=replace_surrogates(", ".join(revision.operations)),
        changes=tuple(_change(change) for change in revision.changes[:CHANGES_SHOWN]),
        more=f"{count(more)} more" if more > 0 else "",
    )


def _change(change: ItemChange) -> ChangeView:
    match change.list:
        case "taskOrder":
            return ChangeView(change.kind, "order of the tasks", tuple(_sides(change, "order")))
        case "activeTask":
            return ChangeView(change.kind, "active task", tuple(_sides(change, "id")))
        case found:
            name = f"{NOUNS[found][0]} {isolated(change.id)}".strip()
            return ChangeView(change.kind, name, tuple(_fields(change)))


def _sides(change: ItemChange, name: str) -> Iterator[FieldChange]:
    before, after = (_shown(name, (side or {}).get(name)) for side in (change.before, change.after))
    yield FieldChange("", before, after)


def _fields(change: ItemChange) -> Iterator[FieldChange]:
    before, after = change.before or {}, change.after or {}
    names = _CHANGED if change.kind == "changed" else _SAID
    found = [name for name in names if before.get(name) != after.get(name)]
    for name in found:
        words = "decided by" if name == "decidedBy" else name
        yield FieldChange(words, _shown(name, before.get(name)), _shown(name, after.get(name)))
    if not found:
        yield FieldChange("set again", "", "as it was")


def _shown(name: str, value: Any) -> str:
    if isinstance(value, list | tuple):
        value = ", ".join(_source(one) if isinstance(one, Mapping) else str(one) for one in value)
    text = "" if value is None else replace_surrogates(str(value))
    if name in {"status", "outcome"}:
        return spaced(text)
    return isolated(shortened(text, TEXT_SHOWN))


def _source(source: Mapping[str, Any]) -> str:
    return source_name(*map(source.get, ("kind", "id", "toolCallId", "runId")))
