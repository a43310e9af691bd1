"""Small pieces of HTML about one memory; whatever comes in is escaped here."""

from __future__ import annotations

import html

import streamlit as st

from playground.views.memory_record import MemoryView, RevisionRow
from playground.views.word_changes import WordPiece

__all__ = ["facts", "history"]

OPEN = 3  # revisions that are unfolded at first
_TAGS = {"same": "span", "removed": "del", "added": "ins"}


def facts(view: MemoryView) -> None:
    """Show a memory's text, its fields, and why recall passes over it if it does."""
    rows = "".join(f"<div><dt>{_text(name)}</dt><dd>{_text(value)}</dd></div>" for name, value in view.facts)
    state = f'<p class="cp-state">{_text(view.state)}</p>' if view.state else ""
    st.html(
        f'<p class="cp-memory-text" tabindex="0">{_text(view.text)}</p><dl class="cp-fields">{rows}</dl>{state}'
    )


def history(view: MemoryView) -> None:
    """Show all revisions, newest first, each with what it changed."""
    rows = "".join(_revision(row, opened=at < OPEN) for at, row in enumerate(view.rows))
    earlier = f'<p class="cp-caption">{_text(view.earlier)}</p>' if view.earlier else ""
    attributes = 'class="cp-history cp-revisions" role="region" aria-label="History" tabindex="0"'
    st.html(f"<div {attributes}>{rows}{earlier}</div>")


def _revision(row: RevisionRow, *, opened: bool) -> str:
    head = f"<b>{_text(row.revision)}</b><i>{_text(row.writer)}</i><time>{_text(row.when)}</time>"
    fields = "".join(f"<p>{_text(change)}</p>" for change in row.fields)
    words = "".join(map(_piece, row.words))
    body = f'<div class="cp-change"><p class="cp-words">{words}</p>{fields}</div>'
    return f"<details{' open' if opened else ''}><summary>{head}</summary>{body}</details>"


def _piece(piece: WordPiece) -> str:
    tag = _TAGS[piece.kind]
    return f"<{tag}>{_text(piece.text)}</{tag}>"


def _text(text: str) -> str:
    return html.escape(text)
