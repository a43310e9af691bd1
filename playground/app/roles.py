"""Who the Working memory page acts as: the host, or the model."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from playground.working_memory.items import Writer

__all__ = ["ROLE", "ROLES", "role", "settle_role"]

ROLE = "role"
"""The control, and its name in the link."""
ROLES: tuple[Writer, ...] = get_args(Writer)


def settle_role() -> None:
    """Act as the host where the control has no choice: it takes a link that names nobody for none at all."""
    if ROLE in st.session_state and st.session_state[ROLE] is None:
        st.session_state[ROLE] = ROLES[0]


def role() -> Writer:
    """Return what the control says; the host until somebody chooses."""
    return "model" if st.session_state.get(ROLE) == "model" else "host"
