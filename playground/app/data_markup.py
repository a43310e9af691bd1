"""Small pieces of HTML of the Data page; whatever comes in is escaped here."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from playground.app.markup import sentence_html
from playground.views.data import DataTile
from playground.views.words import Sentence

__all__ = ["bar", "nothing", "project_text", "question", "tiles"]


def project_text(title: str, description: str, name: str) -> None:
    """Show a project's title, what it is, and its name with whose it is."""
    title, description, name = map(html.escape, (title, description, name))
    st.html(
        f'<p class="cp-project"><b>{title}</b><i>{name}</i><span title="{description}">{description}</span></p>'
    )


def question(sentence: Sentence) -> None:
    """Ask before something goes for good."""
    st.html(f'<p class="cp-question">{sentence_html(sentence)}</p>')


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
