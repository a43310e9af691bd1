"""Working memory: what a long task must not lose, changed through patches, and how much of it fits."""

import streamlit as st

from playground.app.memory_adding import add_panel
from playground.app.memory_changes import outcome
from playground.app.memory_editor import item_panel
from playground.app.memory_panels import (
    fill_panel,
    filled,
    head_row,
    history_panel,
    items_panel,
    shown_item,
    start_panel,
)
from playground.app.memory_tools import tools_panel
from playground.app.projects import load_project
from playground.app.shell import current
from playground.app.style import add_rules
from playground.views.working_memory import working_memory_view

add_rules("memory")
project = load_project(st.session_state["project"])
snapshot = project.working_memory

if snapshot is None:
    outcome()
    start_panel(project)
else:
    now = current()
    view, fill = working_memory_view(snapshot), filled(now.compiled)
    row = shown_item(view)
    head_row(view)
    with st.container(key="memory_row"):
        left, right = st.columns(2, gap="small")
        with left:
            items_panel(view, fill, row)
            history_panel(project)
        with right:
            item_panel(row, snapshot, project=project.name)
            add_panel(snapshot, project=project.name)
            outcome()  # below the buttons: above them it would push the next one away from the pointer
            fill_panel(fill, left_out=now.settings is not None and now.settings.project.working_memory is None)
    tools_panel(project, snapshot)
