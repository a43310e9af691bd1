"""Compile: ask a question, turn the knobs, see what gets into the call and why."""

import streamlit as st

from playground.app.panels import binding_panel, empty_panel, is_empty, panes, sources_panel, waterfall_panel
from playground.app.projects import load_project
from playground.app.question import question_row
from playground.app.shell import current

now = current()
found = now.compiled

question_row(found, page="compile")

if is_empty(load_project(st.session_state["project"])):
    empty_panel()
elif found is not None and now.settings is not None:
    waterfall_panel(found.waterfall)
    with st.container(key="middle"):
        left, right = st.columns((3, 2), gap="small")
        with left:
            sources_panel(found.sources)
        with right:
            binding_panel(found.binding)
    panes(found, now.settings)
