"""The panel of the Data page with what a project holds: numbers, tables, and the text of one row."""

from __future__ import annotations

import streamlit as st

from playground.app import data_markup, markup
from playground.app.components import document_text, record_table
from playground.app.data_memory import MEMORIES, memory_panel
from playground.app.data_removal import removal
from playground.app.data_reports import record_report
from playground.app.data_views import limit_of, project_view, text_tokens
from playground.views.data import record_preview
from playground.views.data_tables import DataTable
from playground.workspace import Project

__all__ = ["tables_panel", "tiles"]

TABLE_HEIGHT = 456  # px


def tiles(project: Project) -> None:
    """Show how much of each kind the project holds."""
    data_markup.tiles(project_view(project).tiles)


def tables_panel(project: Project) -> None:
    """Show one kind as a table, and the whole text of the chosen row beside it."""
    tables = {table.name: table for table in project_view(project).tables}
    with st.container(key="data_tables"):
        name = st.segmented_control(
            "Kind of record",
            list(tables),
            default=next(iter(tables)),
            key="data_kind",
            required=True,
            label_visibility="collapsed",
        )
        table = tables[name]
        if not table.texts:
            data_markup.nothing(f"This project holds no {name.lower()}.")
            record_report(project.name, name)
            return
        left, right = st.columns((3, 2), gap="small")
        with left:
            row = _table(table)
        with right:
            if name == MEMORIES:
                memory_panel(project, next(one for one in project.memories if one.id == table.ids[row]))
                return
            preview = record_preview(project, table, row, tokens=text_tokens, limit=limit_of(project))
            markup.head(preview.title, " · ".join(filter(None, [preview.total, preview.source])))
            document_text(preview, height=TABLE_HEIGHT)
            removal(project, name, table.ids[row])


_WIDTHS = {
    "Title": 240, "Memory": 280, "Chat": 130, "Skill": 140, "Section": 84, "Turn": 40, "Role": 64,
    "Text": 280, "Description": 240, "Chunks": 48, "Tokens": 52, "Body": 48, "Note": 150, "Kind": 76,
    "Origin": 68, "Shown": 84, "Revision": 58, "Recorded": 76, "Id": 140, "File": 140,
}  # fmt: skip
"""Least width of each column, in px."""
_GROW = ("Title", "Memory", "Text", "Description")


def _table(table: DataTable) -> int:
    """Show a table and return the row whose text is shown beside it; without notes no column for them."""
    markup.head(table.name, " · ".join(filter(None, [table.total, table.odd])))
    marked = f"row_{table.name}"
    picked = st.session_state.get(marked)
    row = table.keys.index(picked) if picked in table.keys else 0

    def mark(key: str) -> None:
        st.session_state[marked] = key

    record_table(
        table.frame,
        keys=table.keys,
        widths={name: width for name, width in _WIDTHS.items() if name != "Note" or table.odd},
        grows=next(name for name in _GROW if name in table.frame),
        label=table.name,
        selected=table.keys[row],
        on_pick=mark,
        key=f"table_{table.name}",
        height=TABLE_HEIGHT,
    )
    return row
