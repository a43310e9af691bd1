"""Small pieces of HTML of the Data page; whatever comes in is escaped here."""

from __future__ import annotations

import html
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files

import streamlit as st

from playground.views.data import DataTile

__all__ = ["bar", "data_style", "nothing", "project_text", "tiles"]


def data_style() -> None:
    """Add the page's own rules."""
    st.html(f"<style>{_rules()}</style>")


def project_text(title: str, description: str) -> None:
    """Show a project's title and what it is."""
    st.html(f'<p class="cp-project"><b>{html.escape(title)}</b>{html.escape(description)}</p>')


def tiles(view: Sequence[DataTile]) -> None:
    """Show one number a kind, like the header strip."""
    cells = "".join(
        f'<div><span><u class="cp-dot cp-{tile.slot}"></u>{html.escape(tile.label)}</span>'
        f"<strong>{html.escape(tile.value)}</strong><em>{html.escape(tile.note)}</em></div>"
        for tile in view
    )
    st.html(f'<div class="cp-strip cp-tiles">{cells}</div>')


def bar(part: float, caption: str) -> None:
    """Show a part of one as a bar with a caption."""
    filled = f'<u class="cp-ink" style="width:{part:.1%}"></u>' if part > 0 else ""
    st.html(f'<div class="cp-bar">{filled}</div><p class="cp-caption">{html.escape(caption)}</p>')


def nothing(sentence: str) -> None:
    """Say that a table is empty."""
    st.html(f'<p class="cp-nothing">{html.escape(sentence)}</p>')


@lru_cache(maxsize=1)
def _rules() -> str:
    return files("playground.app").joinpath("data.css").read_text("utf-8")
