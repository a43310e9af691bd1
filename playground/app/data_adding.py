"""The panel of the Data page that takes material in, and what it says of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from playground.app import markup
from playground.app.material import change_project
from playground.app.notices import show_notice
from playground.retrieval.documents import LoadResult, load_documents
from playground.retrieval.headings import headings_of
from playground.retrieval.json_records import looks_like_records
from playground.retrieval.media_types import JSON, looks_like_page
from playground.views.load_report import REPORT, load_report
from playground.views.notices import Notice
from playground.workspace import Project
from playground.workspace.additions import Addition, MemoryLoad, load_memories, with_documents, with_memories

__all__ = ["add_panel", "report"]

FILE_LIMIT = 50 * 1024 * 1024  # bytes of one upload; the server refuses larger ones (config.toml)
PASTE_LIMIT = 1_000_000  # characters
DOCUMENT_TYPES = ["md", "markdown", "txt", "html", "htm", "pdf", "docx", "csv", "tsv", "json", "jsonl"]
KINDS = ("Documents", "Memories")


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


_PLACEHOLDERS = {
    "Documents": "Or paste Markdown, text, JSON or JSON Lines",
    "Memories": "Or paste one memory a line, or JSON Lines with text",
}


def _add(project: Project, kind: str, files: list[tuple[str, bytes]], pasted: str) -> None:
    if pasted.strip():
        name = f"pasted {time.strftime('%H:%M:%S')}"
        if kind == "Documents":
            name += _suffix(pasted)
        files = [*files, (name, pasted.encode("utf-8", "surrogatepass"))]
    addition: Addition | None = None
    loaded: LoadResult | MemoryLoad
    add: Callable[[Project], Addition]
    if kind == "Documents":
        documents = loaded = load_documents(files, size_limit=FILE_LIMIT)
        noun, found = ("document", "documents"), bool(documents.documents)
        add = partial(with_documents, documents=documents.documents)
    else:
        memories = loaded = load_memories(files, scope=project.scope)
        noun, found = ("memory", "memories"), bool(memories.entries)
        add = partial(with_memories, entries=memories.entries, now=time.time_ns() // 1_000_000)

    def join(now: Project) -> Project:
        nonlocal addition
        addition = add(now)
        return addition.project

    if found:
        change_project(project.name, join)
    st.session_state[REPORT] = load_report(addition, noun, loaded.warnings, loaded.errors)


def _suffix(pasted: str) -> str:
    """Return the end of the name that a file of this content would have: what it is follows from the name."""
    if media_type := looks_like_records(pasted):
        return ".json" if media_type == JSON else ".jsonl"
    if looks_like_page(pasted):
        return ".html"
    return ".md" if headings_of(pasted) else ".txt"
