"""Who the Working memory page acts as: the host, or the model."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from playground.working_memory.items import Writer

__all__ = ["ROLE", "ROLES", "role"]

ROLE = "role"
"""The control, and its name in the link."""
ROLES: tuple[Writer, ...] = get_args(Writer)


def role() -> Writer:
    """Return what the control says; the host until somebody chooses."""
    return "model" if st.session_state.get(ROLE) == "model" else "host"
