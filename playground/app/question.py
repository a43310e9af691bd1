"""The question, as every page that shows a compile has it at its top."""

from __future__ import annotations

import streamlit as st

from playground.app import markup
from playground.app.services import Compiled
from playground.app.shell import retrieval_note

__all__ = ["question_row"]

SHOWN_ON = "question_shown_on"
"""Session state: the page that had the question last."""


def question_row(found: Compiled | None, *, page: str) -> None:
    """Ask the question, and say beside it how much it found.

    Args:
        found: The compile, if there is one.
        page: Name of the page that shows it.
    """
    if st.session_state.get(SHOWN_ON) != page and "question" in st.session_state:
        # The browser starts with an empty field on another page, and would send that: assigning fills it again.
        st.session_state["question"] = st.session_state["question"]
    st.session_state[SHOWN_ON] = page
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
