"""Compile: ask a question, turn the knobs, see what gets into the call and why."""

import streamlit as st

from playground.app import markup
from playground.app.panels import binding_panel, empty_panel, is_empty, panes, sources_panel, waterfall_panel
from playground.app.projects import load_project
from playground.app.shell import current, retrieval_note

now = current()
found = now.compiled

with st.container(key="question_row", horizontal=True, vertical_alignment="center", gap="small"):
    st.text_input(
        "Question",
        key="question",
        icon=":material/search:",
        placeholder="Ask something; without a question no source is searched",
        label_visibility="collapsed",
        persist_state="session",
        max_chars=20_000,
    )
    if found is not None:
        markup.timing(retrieval_note(found.retrieval))

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
