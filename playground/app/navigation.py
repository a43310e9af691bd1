"""The app's pages, by the name of their file."""

from __future__ import annotations

from pathlib import Path

import streamlit as st
from streamlit.navigation.page import StreamlitPage

__all__ = ["PAGES", "page_named"]

PAGES = {
    "data": "Data",
    "compile": "Compile",
    "explain": "Explain",
    "working_memory": "Working memory",
    "blocks": "Blocks",
}
LANDING = "compile"


def page_named(name: str) -> StreamlitPage:
    """Return a page; every call gives an equal one."""
    here = Path(__file__).parent
    return st.Page(here / "pages" / f"{name}.py", title=PAGES[name], default=name == LANDING)
