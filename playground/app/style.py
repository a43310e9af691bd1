"""The app's style tag, and those that a page or a panel adds."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

import streamlit as st

from playground.views.palette import SLOTS, css_variables

__all__ = ["add_rules", "apply_style"]


def apply_style() -> None:
    """Add colours and rules to the page; takes no room."""
    st.html(_style())


def add_rules(name: str) -> None:
    """Add the rules of one page or panel, which stand beside this file under its name; takes no room."""
    st.html(f"<style>{_rules(name)}</style>")


@lru_cache
def _rules(name: str) -> str:
    return files("playground.app").joinpath(f"{name}.css").read_text("utf-8")


@lru_cache(maxsize=1)
def _style() -> str:
    slots = "".join(f".cp-{slot}{{background:var(--cp-{slot})}}" for slot in SLOTS)
    # A popover lies beside the app's root in the document.
    roots = '[data-testid="stApp"],[data-testid="stPopoverBody"]'
    return f"<style>{roots}{{{css_variables()}}}{slots}{_rules('style')}</style>"
