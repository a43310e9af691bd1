"""The button of the Data page that offers a project and its memories as files."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import streamlit as st

from playground.app import markup
from playground.app.caches import material_cache
from playground.app.projects import library, load_project
from playground.errors import PlaygroundError
from playground.views.load_report import REPORT
from playground.views.projects import file_size, refused_notice
from playground.workspace import Project
from playground.workspace.archive import pack_project
from playground.workspace.memory_exports import memories_as_jsonl, memories_as_markdown
from playground.workspace.samples import is_sample

__all__ = ["export_panel"]


def export_panel(project: Project) -> None:
    """Offer the whole project, and its memories alone, to be downloaded; nothing is packed while it is shut."""
    popover = st.popover("Export", key=f"export_{project.name}", on_change="rerun")
    if not popover.open:
        return
    with popover:
        _offer("The project", "project", f"{project.name}.zip", partial(_packed, project))
        if project.memories:
            _offer(
                "Its memories as JSON Lines",
                "jsonl",
                f"{project.name}-memories.jsonl",
                lambda: memories_as_jsonl(project),
            )
            _offer(
                "Its memories as Markdown files",
                "markdown",
                f"{project.name}-memories.zip",
                lambda: memories_as_markdown(project),
            )
        markup.caption("What was forgotten is in none of them. Files downloaded before still hold it.")
        if not is_sample(project.name):
            _kept(project)


def _kept(project: Project) -> None:
    """Offer the copies that are kept beside an own project, and to keep one more."""
    name = project.name
    st.button("Keep a copy with the project", key="keep_export", on_click=_keep, args=(name,), width="stretch")
    try:
        exports = library().exports(name)
    except PlaygroundError as error:
        markup.caption(str(error))
        return
    for export in exports:
        with st.container(key=f"kept_{export.name}", horizontal=True, gap="small"):
            _offer(
                export.name,
                f"kept_{export.name}",
                export.name,
                partial(library().read_export, name, export.name),
            )
            st.button("Remove", key=f"drop_{export.name}", on_click=_drop, args=(name, export.name))
    if exports:
        markup.caption("Kept copies lose what you forget in the project.")


def _keep(name: str) -> None:
    try:
        project = load_project(name)
        library().keep_export(name, f"{name} {time.strftime('%Y-%m-%d %H.%M.%S')}.zip", _packed(project))
    except PlaygroundError as error:
        st.session_state[REPORT] = (refused_notice("No copy was kept", error),)


def _drop(name: str, file_name: str) -> None:
    try:
        library().drop_export(name, file_name)
    except PlaygroundError as error:
        st.session_state[REPORT] = (refused_notice("The copy was not removed", error),)


@material_cache(1)
def _packed(project: Project) -> bytes:
    return pack_project(project)  # a second or so for a large one, and the page runs again and again


def _offer(label: str, key: str, file_name: str, pack: Callable[[], bytes]) -> None:
    try:
        data = pack()
    except PlaygroundError as error:
        markup.caption(f"{label} cannot be exported. {error}")
        return
    st.download_button(
        f"{label}, {file_size(len(data))}",
        data,
        file_name,
        key=f"download_{key}",
        on_click="ignore",
        width="stretch",
    )
