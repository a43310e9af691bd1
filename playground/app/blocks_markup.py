"""Small pieces of HTML of the Blocks page; whatever comes in is escaped here."""

from __future__ import annotations

import html
from collections.abc import Iterable

import streamlit as st

from playground.app import markup
from playground.views.blocks import BlocksView
from playground.views.blocks_comparison import CompilerTotals
from playground.views.blocks_detail import BlockDetail

__all__ = ["detail_text", "result_bar", "totals"]


def result_bar(view: BlocksView) -> None:
    """Show what the included blocks take of the budget, by kind."""
    parts = "".join(
        f'<u class="cp-{part.slot}" style="width:{part.width:.3%}" title="{_text(part.description)}"></u>'
        for part in view.segments
    )
    said = _text(", ".join(part.description for part in view.segments))
    st.html(f'<div class="cp-bar" role="img" aria-label="{said}">{parts}</div>')


def totals(found: Iterable[CompilerTotals]) -> None:
    """Show what each compiler kept, side by side."""
    cells = "".join(
        f"<div><span>{_text(one.name)}</span><strong>{_text(one.value)}<small>{_text(one.rest)}</small></strong>"
        f'<em class="cp-note-line">{markup.sentence_html(one.note)}</em></div>'
        for one in found
    )
    st.html(f'<div class="cp-strip cp-totals">{cells}</div>')


def detail_text(view: BlockDetail) -> None:
    """Show all of a block's text, and its other fields."""
    fields = "".join(f"<dt>{_text(name)}</dt><dd>{_text(said)}</dd>" for name, said in view.more)
    text = _text(view.text) or "<i>empty</i>"
    st.html(
        '<div class="cp-block-text"><p role="region" aria-label="Text of the block" tabindex="0">'
        f"{text}</p><dl>{fields}</dl></div>"
    )


def _text(text: str) -> str:
    return html.escape(text)
