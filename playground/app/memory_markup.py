"""Small pieces of HTML of the Working memory page; whatever comes in is escaped here."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from playground.views.working_memory import ItemRow
from playground.views.working_memory_history import ChangeView, FieldChange, HistoryRow, HistoryView

__all__ = ["history", "item"]

OPEN = 3  # revisions whose changes are unfolded at first


def item(row: ItemRow) -> None:
    """Show an item: what it is, how it stands, and all its text."""
    more = "".join(f"<dt>{_text(name)}</dt><dd>{_text(said)}</dd>" for name, said in row.more)
    st.html(
        f'<div class="cp-item"><p class="cp-record"><u class="cp-dot cp-working-memory"></u>'
        f"<b>{_text(row.name)}</b><span>{_text(row.facts)}</span></p>"
        f'<p class="cp-item-text">{_text(row.text)}</p>{f"<dl>{more}</dl>" if more else ""}</div>'
    )


def history(view: HistoryView) -> None:
    """Show revisions, newest first, each with what it changed."""
    rows = "".join(_revision(row, opened=at < OPEN) for at, row in enumerate(view.rows))
    earlier = f'<p class="cp-caption">{_text(view.earlier)}</p>' if view.earlier else ""
    st.html(f'<div class="cp-history" role="region" aria-label="History" tabindex="0">{rows}{earlier}</div>')


def _revision(row: HistoryRow, *, opened: bool) -> str:
    head = (
        f"<b>{_text(row.revision)}</b><i>{_text(row.writer)}</i><span>{_text(row.operations)}</span>"
        f"<time>{_text(row.when)}</time>"
    )
    more = f'<p class="cp-caption">{_text(row.more)}</p>' if row.more else ""
    changes = _changes(row.changes) or '<p class="cp-caption">No item is different.</p>'
    return f"<details{' open' if opened else ''}><summary>{head}</summary>{changes}{more}</details>"


def _changes(changes: Sequence[ChangeView]) -> str:
    return "".join(
        f'<div class="cp-change"><p><i>{_text(change.kind)}</i>{_text(change.name)}</p>'
        f"{''.join(map(_field, change.fields))}</div>"
        for change in changes
    )


def _field(field: FieldChange) -> str:
    name = f"<span>{_text(field.name)}</span>" if field.name else "<span></span>"
    before = f"<del>{_text(field.before)}</del>" if field.before else ""
    after = f"<ins>{_text(field.after)}</ins>" if field.after else ""
    return f'<p class="cp-field">{name}<em>{before}{after}</em></p>'


def _text(text: str) -> str:
    return html.escape(text)
