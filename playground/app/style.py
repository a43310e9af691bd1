"""The app's one style tag."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import streamlit as st

from playground.views.palette import SLOTS, css_variables

__all__ = ["apply_style"]


def apply_style() -> None:
    """Add colours and rules to the page; takes no room."""
    st.html(_style())


@lru_cache(maxsize=1)
def _style() -> str:
    rules = files("playground.app").joinpath("style.css").read_text("utf-8")
    slots = "".join(f".cp-{slot}{{background:var(--cp-{slot})}}" for slot in SLOTS)
    # A popover lies beside the app's root in the document.
    roots = '[data-testid="stApp"],[data-testid="stPopoverBody"]'
    return f"<style>{roots}{{{css_variables()}}}{slots}{rules}</style>"
