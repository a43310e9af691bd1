"""The tables of a project: one row an item, with its tokens and what is odd about it.

Pure. Numbers stay numbers, so that a table sorts them; all else is finished text. Rows keep the project's
order, items that were added come first. ``Note`` is empty where nothing is odd.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import NamedTuple

import pandas as pd

from playground.compiler.values import Kind
from playground.digests import text_digest
from playground.escaping import replace_surrogates
from playground.sources.chats import positions_of
from playground.views.direction import without_overrides
from playground.views.record_key import record_key
from playground.views.words import KIND_LABELS, count, plural
from playground.working_memory.rendering import memory_lines
from playground.workspace import Project

__all__ = ["AddedIds", "CountText", "DataTable", "data_tables"]

CountText = Callable[[str], int]
AddedIds = frozenset[tuple[Kind, str]]
"""Kind and id of documents, memories, chats and skills: items of two kinds may share an id."""


@dataclass(frozen=True, slots=True)
class DataTable:
    """One part of a project as a table."""

    name: str
    total: str
    """``698 documents · 1,234 chunks · 240,112 tokens``."""
    odd: str
    """How many rows carry a note; empty for none."""
    frame: pd.DataFrame
    ids: tuple[str, ...]
    """Which item each row is; as it is, so that it may hold half a character."""
    keys: tuple[str, ...]
    """What a page calls each row."""
    texts: tuple[tuple[str, str], ...]
    """Title and whole text of each row."""


def data_tables(project: Project, *, tokens: CountText, limit: int, added: AddedIds) -> tuple[DataTable, ...]:
    """Return documents, memories, past chats, skills and working memory; arguments as in ``data_view``."""
    context = _Context(tokens, limit, added)
    parts = (_documents, _memories, _chats, _skills, _working_memory)
    return tuple(part(project, context) for part in parts)


class _Item(NamedTuple):
    id: str
    title: str
    text: str
    row: Mapping[str, object]
    added: bool = False


@dataclass(frozen=True, slots=True)
class _Context:
    """What all tables share; texts are remembered, so that a later copy is named after the first."""

    tokens: CountText
    limit: int
    added: AddedIds
    first: dict[str, str] = field(default_factory=dict)

    def note(self, text: str, name: str, largest: int, *more: str, added: bool = False) -> str:
        """Return what is odd about an item; ``largest`` is its largest part, in tokens."""
        first = self.first.setdefault(text_digest(text), name)
        notes = ["added" if added else "", f"same text as {first}" if first != name else ""]
        if largest > self.limit:
            notes.append(f"larger than the budget of {count(self.limit)}")
        return ", ".join(filter(None, [*notes, *more]))


def _documents(project: Project, context: _Context) -> DataTable:
    sizes: dict[str, list[int]] = {document.id: [] for document in project.documents}
    for chunk in project.chunks:
        sizes[chunk.meta["document"]].append(context.tokens(chunk.text))
    items = []
    for document in project.documents:
        parts, added = sizes[document.id], ("rag", document.id) in context.added
        blank = "" if parts else "nothing to search in"
        row = {
            "Title": document.title,
            "Chunks": len(parts),
            "Tokens": context.tokens(document.text),
            "Note": context.note(document.text, document.id, max(parts, default=0), blank, added=added),
            "Id": document.id,
            "File": document.source_name,
        }
        items.append(_Item(document.id, document.title, document.text, row, added))
    total = f"{plural(len(items), 'document')} · {plural(len(project.chunks), 'chunk')}"
    return _table(KIND_LABELS["rag"], total, items)


def _memories(project: Project, context: _Context) -> DataTable:
    items = []
    for record in project.memories:
        latest, added = record.latest, ("memory", record.id) in context.added
        size = context.tokens(latest.text)
        row = {
            "Memory": latest.text,
            "Tokens": size,
            "Note": context.note(latest.text, record.id, size, added=added),
            "Kind": latest.kind,
            "Origin": latest.origin,
            "Revision": latest.revision,
            "Recorded": _day(latest.recorded_at),
            "Id": record.id,
        }
        items.append(_Item(record.id, record.id, latest.text, row, added))
    return _table("Memories", plural(len(items), ("memory", "memories")), items)


def _chats(project: Project, context: _Context) -> DataTable:
    items = []
    for chat in project.chats:
        current = "the chat at hand" if chat.chat_id == project.chat_id else ""
        added = ("transcript", chat.chat_id) in context.added
        for place in positions_of(chat.messages):
            record_id = f"{chat.chat_id}#{place.index}"
            size = context.tokens(place.text)
            row = {
                "Chat": project.chat_titles.get(chat.chat_id) or chat.chat_id,
                "Turn": place.index + 1,
                "Role": place.role,
                "Text": place.text,
                "Tokens": size,
                "Note": context.note(place.text, record_id, size, current, added=added),
            }
            items.append(_Item(record_id, record_id, place.text, row, added))
    total = f"{plural(len(items), 'turn')} · {plural(len(project.chats), 'chat')}"
    return _table(KIND_LABELS["transcript"], total, items)


def _skills(project: Project, context: _Context) -> DataTable:
    items = []
    for skill in project.skills:
        size, added = context.tokens(skill.body), ("skills", skill.id) in context.added
        row = {
            "Skill": skill.name,
            "Description": skill.description,
            "Tokens": context.tokens(skill.description),
            "Body": size,
            "Note": context.note(skill.body, skill.id, size, *skill.issues, added=added),
            "Id": skill.id,
        }
        items.append(_Item(skill.id, skill.name, skill.body, row, added))
    return _table(KIND_LABELS["skills"], plural(len(items), "skill"), items)


def _working_memory(project: Project, context: _Context) -> DataTable:
    items = []
    for line in memory_lines(project.working_memory) if project.working_memory is not None else ():
        size = context.tokens(line.rendered)
        row = {
            "Section": line.section,
            "Text": line.text,
            "Tokens": size,
            "Note": context.note(line.text, line.record_id, size),
            "Shown": "always" if line.mandatory else "when it fits",
            "Revision": line.revision,
            "Id": line.record_id,
        }
        items.append(_Item(line.record_id, line.record_id, line.text, row))
    return _table(KIND_LABELS["working-memory"], plural(len(items), "line"), items)


def _table(name: str, total: str, items: Sequence[_Item]) -> DataTable:
    ordered = sorted(items, key=lambda item: not item.added)
    frame = pd.DataFrame([{name: _cell(value) for name, value in item.row.items()} for item in ordered])
    tokens = int(frame["Tokens"].sum()) if len(frame) else 0
    odd = int((frame["Note"] != "").sum()) if len(frame) else 0
    return DataTable(
        name=name,
        total=f"{total} · {plural(tokens, 'token')}",
        odd=f"{count(odd)} with a note" if odd else "",
        frame=frame,
        ids=tuple(item.id for item in ordered),
        keys=tuple(record_key(name, item.id) for item in ordered),
        texts=tuple((replace_surrogates(item.title), replace_surrogates(item.text)) for item in ordered),
    )


def _cell(value: object) -> object:
    return without_overrides(value) if isinstance(value, str) else value


def _day(time_ms: int) -> str:
    try:
        return datetime.fromtimestamp(time_ms / 1000, tz=UTC).date().isoformat() if time_ms > 0 else ""
    except (OverflowError, OSError, ValueError):
        return ""
