"""Small pieces of HTML of the Explain page; whatever comes in is escaped here."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from playground.views.explanation import BeforeRow, ExplanationView, Fact, TurnRow
from playground.views.explanation_changes import ChangeRow

__all__ = ["before", "changes", "facts", "turns"]

BEFORE_SHOWN = 6  # rows before the fold


def facts(found: Sequence[Fact]) -> None:
    """Show the record's numbers side by side."""
    cells = "".join(
        f"<div><span>{_text(fact.label)}</span><strong>{_text(fact.value)}</strong>"
        f"<em>{_text(fact.note)}</em></div>"
        for fact in found
    )
    st.html(f'<div class="cp-strip cp-facts">{cells}</div>')


def turns(rows: Sequence[TurnRow]) -> None:
    """Show what each pass had, what was left at the record's turn, and what was missing."""
    if not rows:
        return
    body = "".join(
        f"<tr><td>{_text(row.name)}</td><td>{_text(row.room)}</td><td>{_text(row.left)}</td>"
        f"<td>{_text(row.short)}</td></tr>"
        for row in rows
    )
    heads = "<tr><th>Its turns, in tokens</th><th>to divide</th><th>left</th><th>short by</th></tr>"
    st.html(f'<table class="cp-turns"><thead>{heads}</thead><tbody>{body}</tbody></table>')


def changes(view: ExplanationView) -> None:
    """Show the nearest change of each knob that lets the record in, then the knobs without one."""
    if not view.changes and not view.idle:
        return
    rows = "".join(map(_change, view.changes))
    if view.idle:
        rows += f'<tr class="cp-idle"><td colspan="2">{_text(view.idle)}</td><td>no value lets it in</td></tr>'
    heads = "<tr><th>Would let it in</th><th>Nearest change</th><th>Costs</th></tr>"
    st.html(f'<table class="cp-knobs"><thead>{heads}</thead><tbody>{rows}</tbody></table>')


def before(view: ExplanationView) -> None:
    """Show what got in before the record, most of it folded."""
    if not view.before:
        return
    first, rest = view.before[:BEFORE_SHOWN], view.before[BEFORE_SHOWN:]
    more = f"<details><summary>{len(rest):,} more</summary>{_records(rest)}</details>" if rest else ""
    head = f'<div class="cp-head"><b>Got in before it</b><span>{_text(view.before_total)}</span></div>'
    st.html(f'<div class="cp-changes">{head}{_records(first)}{more}</div>')


def _change(row: ChangeRow) -> str:
    return (
        f"<tr><td>{_text(row.name)}</td><td>{_text(row.change)}</td>"
        f'<td title="{_text(row.gone)}"><p>{_text(row.costs)}</p></td></tr>'
    )


def _records(rows: Sequence[BeforeRow]) -> str:
    body = "".join(
        f'<tr><td title="{_text(row.title)}"><u class="cp-dot cp-{row.slot}"></u>{_text(row.title)}</td>'
        f"<td>{_text(row.tokens)}</td></tr>"
        for row in rows
    )
    return f'<table class="cp-before"><tbody>{body}</tbody></table>'


def _text(text: str) -> str:
    return html.escape(text)
