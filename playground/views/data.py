"""What a project holds in counts and totals, its tables, and the whole text of one row.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from playground.views.data_tables import AddedIds, CountText, DataTable, data_tables
from playground.views.direction import isolated
from playground.views.document_preview import DocumentPreview, document_preview, text_preview
from playground.views.palette import Slot
from playground.views.words import KIND_LABELS, count
from playground.workspace import Project

__all__ = ["DataTile", "DataView", "data_view", "record_preview"]

_SLOTS: tuple[Slot, ...] = ("rag", "memory", "transcript", "skills", "working-memory")


@dataclass(frozen=True, slots=True)
class DataTile:
    """One part of a project in numbers."""

    slot: Slot
    label: str
    value: str
    """How many items."""
    note: str
    """Totals below it."""


@dataclass(frozen=True, slots=True)
class DataView:
    """A whole project."""

    tiles: tuple[DataTile, ...]
    tables: tuple[DataTable, ...]
    """Documents, memories, past chats, skills and working memory, in this order."""


def data_view(project: Project, *, tokens: CountText, limit: int, added: AddedIds = frozenset()) -> DataView:
    """Return tables and totals of a project. O(characters).

    Args:
        project: What is shown.
        tokens: Counts the tokens of a text.
        limit: Tokens above which an item is oversized: the whole budget, which it can never fit.
        added: What the session added; it comes first and says so.
    """
    tables = data_tables(project, tokens=tokens, limit=limit, added=added)
    tiles = [
        DataTile(slot, table.name, count(len(table.ids)), table.total.partition(" · ")[2])
        for slot, table in zip(_SLOTS, tables, strict=True)
    ]
    return DataView(tuple(tiles), tables)


def record_preview(
    project: Project, table: DataTable, row: int, *, tokens: CountText, limit: int
) -> DocumentPreview:
    """Return one row's whole text; a document's comes with the borders of its chunks.

    Args:
        project: What the table was made of.
        table: One of the project's tables.
        row: Which row, from 0.
        tokens: Counts the tokens of a text.
        limit: Tokens above which a chunk is oversized.
    """
    if table.name == KIND_LABELS["rag"]:
        document = next(document for document in project.documents if document.id == table.ids[row])
        chunks = [chunk for chunk in project.chunks if chunk.meta["document"] == document.id]
        preview = document_preview(document, chunks, tokens=tokens, limit=limit)
    else:
        title, text = table.texts[row]
        size = table.frame["Body" if "Body" in table.frame else "Tokens"].iloc[row]
        preview = text_preview(title, text, tokens=int(size))  # as the table says: a line counts with its tags
    return replace(preview, title=isolated(preview.title), source=isolated(preview.source))
