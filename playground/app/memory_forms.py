"""The boxes of the forms of working memory."""

from __future__ import annotations

import streamlit as st

from playground.views.working_memory import spaced
from playground.views.working_memory_forms import Choice, TextBox

__all__ = ["TEXT_LIMIT", "choice_box", "text_box"]

TEXT_LIMIT = 20_000  # characters that a box takes; what is too long for an item is the patch's to refuse


def text_box(box: TextBox, *, key: str, kept: bool = False) -> None:
    """Show a box of one line.

    Args:
        box: What is asked for.
        key: Widget key.
        kept: Whether what was written stays while the box is not shown.
    """
    st.text_input(
        box.label,
        box.text,
        key=key,
        max_chars=TEXT_LIMIT,
        placeholder=box.placeholder,
        label_visibility="collapsed",
        persist_state="session" if kept else None,
    )


def choice_box(choice: Choice, *, key: str) -> None:
    """Show what can be chosen; arguments as in ``text_box``."""
    st.selectbox(
        choice.label,
        choice.options,
        index=choice.options.index(choice.chosen),
        key=key,
        format_func=spaced,
        label_visibility="collapsed",
    )
