"""Explain: every entry of the manifest, why it is in or out, and what would let it in."""

import streamlit as st

from playground.app.explain_panels import entries_panel, explanation_panel
from playground.app.panels import empty_panel, is_empty
from playground.app.projects import load_project
from playground.app.question import question_row
from playground.app.shell import current

now = current()
found = now.compiled

question_row(found, page="explain")

if is_empty(load_project(st.session_state["project"])):
    empty_panel()
elif found is not None and now.settings is not None:
    with st.container(key="explain_row"):
        table, explanation = st.columns((1, 1), gap="small")
        with table:
            entries_panel(found)
        with explanation:
            explanation_panel(found, now.settings)
