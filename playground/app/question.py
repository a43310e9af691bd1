"""The question, as every page that shows a compile has it at its top."""

from __future__ import annotations

import streamlit as st

from playground.app import markup
from playground.app.services import Compiled
from playground.app.shell import retrieval_note

__all__ = ["question_row"]


def question_row(found: Compiled | None) -> None:
    """Ask the question, and say beside it how much it found."""
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
