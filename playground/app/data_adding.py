"""The panel of the Data page that takes material in, and what it says of it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from playground.app import markup
from playground.app.material import change_project
from playground.app.notices import show_notice
from playground.errors import DocumentError
from playground.retrieval.documents import SIZE_LIMIT, LoadWarning, load_documents
from playground.retrieval.headings import headings_of
from playground.retrieval.json_records import looks_like_records
from playground.retrieval.media_types import JSON, looks_like_page
from playground.sources.chat_files import load_chats
from playground.sources.skill_archives import load_skills
from playground.views.load_report import REPORT, load_report
from playground.views.notices import Notice
from playground.workspace import Project
from playground.workspace.additions import (
    Addition,
    load_memories,
    with_chats,
    with_documents,
    with_memories,
    with_skills,
)
from playground.workspace.samples import is_sample

__all__ = ["add_panel", "report"]

PASTE_LIMIT = 1_000_000  # characters
Files = Sequence[tuple[str, bytes]]


def add_panel(project: Project) -> None:
    """Take files or pasted text into the project."""
    with st.container(key="panel_add", height="stretch"):
        with st.container(key="add_head", horizontal=True, vertical_alignment="center"):
            markup.head("Add material")
            kind = st.segmented_control(
                "Kind",
                list(_KINDS),
                default="Documents",
                key="add_kind",
                required=True,
                label_visibility="collapsed",
            )
        with st.form("add_form", clear_on_submit=True, border=False):
            # Of any name: the loaders look at the content, and say what to do with what they cannot read.
            files = st.file_uploader(
                "Files",
                accept_multiple_files=True,
                key="add_files",
                label_visibility="collapsed",
            )
            pasted = st.text_area(
                "Or paste text",
                key="add_text",
                max_chars=PASTE_LIMIT,
                height=68,
                placeholder=_KINDS[kind].placeholder,
                label_visibility="collapsed",
            )
            if st.form_submit_button(f"Add {kind.lower()}"):
                _add(project, _KINDS[kind], [(file.name, file.getvalue()) for file in files], pasted)
                st.rerun()


def report() -> None:
    """Show what the last addition or embedding did."""
    notices: Sequence[Notice] = st.session_state.get(REPORT) or ()
    for number, notice in enumerate(notices):
        show_notice(notice, key=f"data_{number}")


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What files gave; ``add`` lets it join a project and is missing where there is nothing to join."""

    add: Callable[[Project], Addition] | None
    warnings: Sequence[LoadWarning]
    errors: Sequence[DocumentError]


@dataclass(frozen=True, slots=True)
class _Kind:
    """One kind of material and how it comes in."""

    noun: tuple[str, str]
    placeholder: str
    load: Callable[[Files, Project], _Loaded]
    pasted_name: Callable[[str], str]


def _add(project: Project, kind: _Kind, files: Files, pasted: str) -> None:
    if pasted.strip():
        files = [*files, (kind.pasted_name(pasted), pasted.encode("utf-8", "surrogatepass"))]
    addition: Addition | None = None
    loaded = kind.load(files, project)

    def join(now: Project) -> Project:
        nonlocal addition
        assert loaded.add is not None
        addition = loaded.add(now)
        return addition.project

    if loaded.add is not None:
        change_project(project.name, join)
    st.session_state[REPORT] = load_report(
        addition, kind.noun, loaded.warnings, loaded.errors, own=not is_sample(project.name)
    )


def _documents(files: Files, _project: Project) -> _Loaded:
    found = load_documents(files, size_limit=SIZE_LIMIT)
    add = partial(with_documents, documents=found.documents) if found.documents else None
    return _Loaded(add, found.warnings, found.errors)


def _memories(files: Files, project: Project) -> _Loaded:
    found = load_memories(files, scope=project.scope)
    add = (
        partial(with_memories, entries=found.entries, now=time.time_ns() // 1_000_000)
        if found.entries
        else None
    )
    return _Loaded(add, found.warnings, found.errors)


def _chats(files: Files, project: Project) -> _Loaded:
    found = load_chats(files, scope=project.scope, size_limit=SIZE_LIMIT)
    add = partial(with_chats, chats=found.chats, titles=found.titles) if found.chats else None
    return _Loaded(add, found.warnings, found.errors)


def _skills(files: Files, _project: Project) -> _Loaded:
    found = load_skills(files, size_limit=SIZE_LIMIT)
    add = partial(with_skills, skills=found.skills) if found.skills else None
    return _Loaded(add, found.warnings, found.errors)


def _time_of_day(_pasted: str) -> str:
    # Two sessions paste in one second, and one on another day at the same time: no two must share ids.
    return f"pasted {time.strftime('%H:%M:%S')} {uuid.uuid4().hex[:6]}"


def _no_name(_pasted: str) -> str:
    """Chats and skills without a name are called by what they hold: the same text twice is there once."""
    return ""


def _suffix(pasted: str) -> str:
    """Return the end of the name that a file of this content would have: what it is follows from the name."""
    if media_type := looks_like_records(pasted):
        return ".json" if media_type == JSON else ".jsonl"
    if looks_like_page(pasted):
        return ".html"
    return ".md" if headings_of(pasted) else ".txt"


_KINDS = {
    "Documents": _Kind(
        ("document", "documents"),
        "Or paste Markdown, text, JSON or JSON Lines",
        _documents,
        lambda pasted: _time_of_day(pasted) + _suffix(pasted),
    ),
    "Memories": _Kind(
        ("memory", "memories"),
        "Or paste one memory a line, or JSON Lines with text",
        _memories,
        _time_of_day,
    ),
    "Chats": _Kind(
        ("chat", "chats"),
        "Or paste messages of OpenAI or Anthropic as JSON or JSON Lines",
        _chats,
        _no_name,
    ),
    "Skills": _Kind(
        ("skill", "skills"),
        "Or paste a SKILL.md; a ZIP archive may hold several folders of skills",
        _skills,
        _no_name,
    ),
}
