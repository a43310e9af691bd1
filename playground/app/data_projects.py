"""The panel of the Data page with the projects."""

from __future__ import annotations

import streamlit as st

from playground.app import data_markup, markup
from playground.app.memory_changes import say
from playground.app.projects import project_summaries
from playground.app.shelf import changed_sample, discard
from playground.app.sidebar import open_project
from playground.views.load_report import REPORT
from playground.workspace import Project

__all__ = ["projects_panel"]


def projects_panel(project: Project) -> None:
    """Show the projects that can be opened, the open one marked."""
    with st.container(key="panel_projects", height="stretch"):
        markup.head("Projects", "samples and what you add to them")
        for summary in project_summaries():
            name, current = summary.name, summary.name == project.name
            with st.container(key=f"project_{'open' if current else 'shut'}_{name}", horizontal=True):
                data_markup.project_text(summary.title, summary.description)
                if current and changed_sample(name) is not None:
                    st.button("Undo changes", key=f"undo_{name}", on_click=_undo, args=(name,))
                elif not current:
                    st.button("Open", key=f"open_{name}", on_click=open_project, args=(name,))


def _undo(name: str) -> None:
    discard(name)
    say(None)  # the revision that the Working memory page tells of is gone
    st.session_state[REPORT] = ()
