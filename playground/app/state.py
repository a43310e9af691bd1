"""Session state: ids and numbers only, never content but for the question the user typed."""

from __future__ import annotations

import streamlit as st

__all__ = ["pick", "picks", "selected"]

SELECTED = "selected_record"
PICKS = "picks"


def selected() -> str | None:
    """Return the key of the record that is marked everywhere."""
    key = st.session_state.get(SELECTED)
    return key if isinstance(key, str) else None


def pick(key: str) -> None:
    """Mark a record everywhere, or none when the key is empty; a callback of charts and panes."""
    st.session_state[SELECTED] = key or None
    st.session_state[PICKS] = picks() + 1


def picks() -> int:
    """Return how often a record was picked; charts carry it, so that the same click sends again."""
    return int(st.session_state.get(PICKS, 0))
