"""The button of the Data page that offers a project and its memories as files."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from playground.app import markup
from playground.errors import PlaygroundError
from playground.views.projects import file_size
from playground.workspace import Project
from playground.workspace.archive import pack_project
from playground.workspace.memory_exports import memories_as_jsonl, memories_as_markdown

__all__ = ["export_panel"]


def export_panel(project: Project) -> None:
    """Offer the whole project, and its memories alone, to be downloaded; nothing is packed while it is shut."""
    popover = st.popover("Export", key=f"export_{project.name}", on_change="rerun")
    if not popover.open:
        return
    with popover:
        _offer("The project", "project", f"{project.name}.zip", lambda: pack_project(project))
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
        markup.caption("What was forgotten is in none of them. Exports of before still hold it.")


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
