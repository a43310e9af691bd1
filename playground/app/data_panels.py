"""The panels of the Data page: projects, adding material, and the tables."""

from __future__ import annotations

import time
from collections.abc import Sequence

import streamlit as st

from playground.app import data_markup, markup
from playground.app.components import document_text, record_table
from playground.app.material import discard, keep, own_project
from playground.app.memory_changes import say
from playground.app.notices import show_notice
from playground.app.projects import added_ids, load_project, project_names
from playground.app.sidebar import open_project
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET
from playground.retrieval.documents import load_documents
from playground.retrieval.headings import headings_of
from playground.retrieval.json_records import looks_like_records
from playground.retrieval.media_types import JSON, looks_like_page
from playground.tokens import TokenEstimator
from playground.views.data import DataView, data_view, record_preview
from playground.views.data_tables import DataTable
from playground.views.load_report import REPORT, load_report
from playground.views.notices import Notice
from playground.workspace import Project
from playground.workspace.additions import load_memories, with_documents, with_memories

__all__ = ["add_panel", "projects_panel", "report", "tables_panel", "tiles"]

FILE_LIMIT = 50 * 1024 * 1024  # bytes of one upload; the server refuses larger ones (config.toml)
PASTE_LIMIT = 1_000_000  # characters
TABLE_HEIGHT = 456  # px
DOCUMENT_TYPES = ["md", "markdown", "txt", "html", "htm", "pdf", "docx", "csv", "tsv", "json", "jsonl"]
KINDS = ("Documents", "Memories")


def projects_panel(project: Project) -> None:
    """Show the projects that can be opened, the open one marked."""
    with st.container(key="panel_projects", height="stretch"):
        markup.head("Projects", "samples and what you add to them")
        for name in project_names():
            current = name == project.name
            other = project if current else load_project(name)
            with st.container(key=f"project_{'open' if current else 'shut'}_{name}", horizontal=True):
                data_markup.project_text(other.title, other.description)
                if current and own_project(name) is not None:
                    st.button("Undo changes", key=f"undo_{name}", on_click=_undo, args=(name,))
                elif not current:
                    st.button("Open", key=f"open_{name}", on_click=open_project, args=(name,))


def add_panel(project: Project) -> None:
    """Take files or pasted text into the project."""
    with st.container(key="panel_add", height="stretch"):
        with st.container(key="add_head", horizontal=True, vertical_alignment="center"):
            markup.head("Add material")
            kind = st.segmented_control(
                "Kind", KINDS, default=KINDS[0], key="add_kind", required=True, label_visibility="collapsed"
            )
        with st.form("add_form", clear_on_submit=True, border=False):
            files = st.file_uploader(
                "Files",
                type=DOCUMENT_TYPES,
                accept_multiple_files=True,
                key="add_files",
                label_visibility="collapsed",
            )
            pasted = st.text_area(
                "Or paste text",
                key="add_text",
                max_chars=PASTE_LIMIT,
                height=68,
                placeholder=_PLACEHOLDERS[kind],
                label_visibility="collapsed",
            )
            if st.form_submit_button(f"Add {kind.lower()}"):
                _add(project, kind, [(file.name, file.getvalue()) for file in files], pasted)
                st.rerun()


def report() -> None:
    """Show what the last addition or embedding did."""
    notices: Sequence[Notice] = st.session_state.get(REPORT) or ()
    for number, notice in enumerate(notices):
        show_notice(notice, key=f"data_{number}")


def tiles(project: Project) -> None:
    """Show how much of each kind the project holds."""
    data_markup.tiles(_view(project).tiles)


def tables_panel(project: Project) -> None:
    """Show one kind as a table, and the whole text of the chosen row beside it."""
    tables = {table.name: table for table in _view(project).tables}
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
            return
        left, right = st.columns((3, 2), gap="small")
        with left:
            row = _table(table)
        with right:
            preview = record_preview(project, table, row, tokens=_tokens, limit=_limit(project))
            markup.head(preview.title, " · ".join(filter(None, [preview.total, preview.source])))
            document_text(preview, height=TABLE_HEIGHT)


_PLACEHOLDERS = {
    "Documents": "Or paste Markdown, text, JSON or JSON Lines",
    "Memories": "Or paste one memory a line, or JSON Lines with text",
}


_WIDTHS = {
    "Title": 240, "Memory": 280, "Chat": 130, "Skill": 140, "Section": 84, "Turn": 40, "Role": 64,
    "Text": 280, "Description": 240, "Chunks": 48, "Tokens": 52, "Body": 48, "Note": 150, "Kind": 76,
    "Origin": 68, "Shown": 84, "Revision": 58, "Recorded": 76, "Id": 140, "File": 140,
}  # fmt: skip
"""Least width of each column, in px."""
_GROW = ("Title", "Memory", "Text", "Description")


def _table(table: DataTable) -> int:
    """Show a table and return the row whose text is shown beside it."""
    markup.head(table.name, " · ".join(filter(None, [table.total, table.odd])))
    marked = f"row_{table.name}"
    picked = st.session_state.get(marked)
    row = table.keys.index(picked) if picked in table.keys else 0

    def mark(key: str) -> None:
        st.session_state[marked] = key

    record_table(
        table.frame,
        keys=table.keys,
        widths=_WIDTHS,
        grows=next(name for name in _GROW if name in table.frame),
        label=table.name,
        selected=table.keys[row],
        on_pick=mark,
        key=f"table_{table.name}",
        height=TABLE_HEIGHT,
    )
    return row


def _add(project: Project, kind: str, files: list[tuple[str, bytes]], pasted: str) -> None:
    if pasted.strip():
        name = f"pasted {time.strftime('%H:%M:%S')}"
        if kind == "Documents":
            name += _suffix(pasted)
        files = [*files, (name, pasted.encode("utf-8", "surrogatepass"))]
    if kind == "Documents":
        loaded = load_documents(files, size_limit=FILE_LIMIT)
        noun, addition = ("document", "documents"), with_documents(project, loaded.documents)
        found, warnings, errors = bool(loaded.documents), loaded.warnings, loaded.errors
    else:
        memories = load_memories(files, scope=project.scope)
        noun = ("memory", "memories")
        addition = with_memories(project, memories.entries, now=time.time_ns() // 1_000_000)
        found, warnings, errors = bool(memories.entries), memories.warnings, memories.errors
    if found:
        keep(addition.project)
    st.session_state[REPORT] = load_report(addition if found else None, noun, warnings, errors)


def _suffix(pasted: str) -> str:
    """Return the end of the name that a file of this content would have: what it is follows from the name."""
    if media_type := looks_like_records(pasted):
        return ".json" if media_type == JSON else ".jsonl"
    if looks_like_page(pasted):
        return ".html"
    return ".md" if headings_of(pasted) else ".txt"


def _undo(name: str) -> None:
    discard(name)
    say(None)  # the revision that the Working memory page tells of is gone
    st.session_state[REPORT] = ()


def _tokens(text: str) -> int:
    return _COUNTER.piece_tokens(text)


def _limit(project: Project) -> int:
    return project.budget.max_tokens or DEFAULT_CONTEXT_BUDGET.max_tokens


def _view(project: Project) -> DataView:
    return _cached_view(project, added_ids(project))


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs={Project: lambda project: project.digest})
def _cached_view(project: Project, added: frozenset[str]) -> DataView:
    return data_view(project, tokens=_tokens, limit=_limit(project), added=added)


_COUNTER = TokenEstimator()
