"""Working memory: what a long task must not lose, changed through patches, and how much of it fits."""

import streamlit as st

from playground.app.memory_changes import outcome
from playground.app.memory_editor import add_panel, item_panel
from playground.app.memory_markup import memory_style
from playground.app.memory_panels import (
    fill_panel,
    filled,
    head_row,
    history_panel,
    items_panel,
    shown_item,
    start_panel,
)
from playground.app.projects import load_project
from playground.app.shell import current
from playground.views.working_memory import working_memory_view

memory_style()
project = load_project(st.session_state["project"])
snapshot = project.working_memory

if snapshot is None:
    outcome()
    start_panel(project)
else:
    view, fill = working_memory_view(snapshot), filled(current().compiled)
    row = shown_item(view)
    head_row(view)
    outcome()
    with st.container(key="memory_editor"):
        items, editor = st.columns(2, gap="small")
        with items:
            items_panel(view, fill, row)
        with editor:
            item_panel(row, snapshot, project=project.name)
            add_panel(snapshot, project=project.name)
    with st.container(key="memory_effect"):
        order, history = st.columns(2, gap="small")
        with order:
            fill_panel(fill)
        with history:
            history_panel(project)
