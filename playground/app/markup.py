"""Small pieces of HTML; whatever comes in is escaped here and nowhere else."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping

import streamlit as st

from playground.views.binding import BindingRow, BindingView
from playground.views.notices import Notice
from playground.views.palette import Slot
from playground.views.strip import StripCell, StripView

__all__ = [
    "caption",
    "empty",
    "field_ranges",
    "head",
    "knob_table",
    "notice_text",
    "prose",
    "record_head",
    "sentence_html",
    "slider_values",
    "strip",
    "timing",
]

Sentence = Iterable[tuple[str, bool]]


def strip(view: StripView | None) -> None:
    """Show the header strip; dashes while there is no compile."""
    cells = view.cells if view else tuple(StripCell(name, name, "–") for name in _LABELS)
    bar = "".join(
        f'<u class="cp-{part.slot}" style="width:{part.width:.3%}" title="{_text(part.description)}"></u>'
        for part in (view.segments if view else ())
    )
    parts = [_cell(cell, bar if number == 0 else "") for number, cell in enumerate(cells)]
    st.html(f'<div class="cp-strip">{"".join(parts)}</div>')


def head(title: str, caption: str = "", legend: str = "") -> None:
    """Show a panel's or pane's head; ``legend`` is our own markup."""
    st.html(f'<div class="cp-head"><b>{_text(title)}</b><span>{_text(caption)}</span>{legend}</div>')


def empty(title: str, sentence: str) -> None:
    """Show that there is nothing yet, and what to do."""
    st.html(f'<p class="cp-empty"><strong>{_text(title)}</strong>{_text(sentence)}</p>')


def timing(text: str) -> None:
    """Show how much was found, and how fast."""
    st.html(f'<span class="cp-timing">{_text(text)}</span>')


def prose(sentence: Sentence) -> None:
    """Show a sentence with its numbers in bold."""
    st.html(f'<p class="cp-prose">{sentence_html(sentence)}</p>')


def notice_text(notice: Notice) -> None:
    """Show a notice's title and sentence."""
    st.html(f'<p class="cp-note"><strong>{_text(notice.title)}</strong>{sentence_html(notice.sentence)}</p>')


def knob_table(view: BindingView) -> None:
    """Show the changes that would relax the limit, some of them folded, then the other knobs."""
    if not view.rows and not view.idle:
        return
    heads = "<tr><th>Would relax it</th><th>Change</th><th>Lets in</th></tr>"
    rows = [_knob_row(row, again=number > 0) for number, row in enumerate((*view.rows, *view.more))]
    parts = [_knobs("".join(rows[: len(view.rows)]), heads)]
    if view.more:
        folded = _knobs("".join(rows[len(view.rows) :]))
        parts.append(f"<details><summary>{len(view.more)} more</summary>{folded}</details>")
    if view.idle:
        idle = f'<td colspan="2">{_text(view.idle)}</td><td>no gain without a loss</td>'
        parts.append(_knobs(f'<tr class="cp-idle">{idle}</tr>'))
    st.html(f'<div class="cp-changes">{"".join(parts)}</div>')


def slider_values(values: Mapping[str, str]) -> None:
    """Show each slider's value at the end of its label, by key; in the label it would be part of its name."""
    rules = (f'.st-key-{key} label p::after{{content:"{value}"}}' for key, value in values.items())
    st.html(f"<style>{''.join(rules)}</style>")


def field_ranges(ranges: Mapping[str, tuple[int, int]]) -> None:
    """Say the range below a field whose number lies outside it, by key; takes no room until then."""
    rules = (
        f'.st-key-{key}:has([aria-invalid="true"])::after{{content:"{least:,} to {most:,}"}}'
        for key, (least, most) in ranges.items()
    )
    st.html(f"<style>{''.join(rules)}</style>")


def caption(text: str) -> None:
    """Show a quiet line under a chart or a button."""
    st.html(f'<p class="cp-caption">{_text(text)}</p>')


def record_head(slot: Slot, title: str, about: str) -> None:
    """Show what one panel is about: its colour, its title, and where it belongs."""
    st.html(
        f'<p class="cp-record"><u class="cp-dot cp-{slot}"></u><b title="{_text(title)}">'
        f"{_text(title)}</b><span>{_text(about)}</span></p>"
    )


def sentence_html(sentence: Sentence) -> str:
    """Return a sentence as HTML, escaped, with its numbers in bold."""
    return "".join(f"<b>{_text(text)}</b>" if bold else _text(text) for text, bold in sentence)


def _knobs(rows: str, heads: str = "") -> str:
    head = f"<thead>{heads}</thead>" if heads else ""
    return f'<table class="cp-knobs">{head}<tbody>{rows}</tbody></table>'


def _knob_row(row: BindingRow, *, again: bool) -> str:
    """One row; all of them let the same record in, so only the first repeats its title."""
    swaps = f'<em title="{_text(row.gone)}">{_text(row.swaps)}</em>' if row.swaps else ""
    lets_in = (
        f'<td title="{_text(row.lets_in)}"><p>{"the same" if again else _text(row.lets_in)}</p>{swaps}</td>'
    )
    return f"<tr><td>{_text(row.name)}</td><td>{_text(row.change)}</td>{lets_in}</tr>"


_LABELS = ("Used / budget", "What binds", "Selected / excluded", "Estimator", "Cost per call")


def _cell(cell: StripCell, bar: str) -> str:
    rest = f"<small>{_text(cell.rest)}</small>" if cell.rest else ""
    over, mark = (f"<mark>{_text(cell.over)}</mark>", ' class="cp-over"') if cell.over else ("", "")
    if bar:
        note = f'<div class="cp-bar">{bar}</div>'
    else:
        note = (
            f'<em class="cp-long" title="{_text(cell.note)}">{_text(cell.note)}</em>'
            f'<em class="cp-short" title="{_text(cell.note)}">{_text(cell.short_note)}</em>'
        )
    labels = (
        f'<span class="cp-long">{_text(cell.label)}</span>'
        f'<span class="cp-short">{_text(cell.short_label)}</span>'
    )
    return f"<div>{labels}<strong{mark}>{_text(cell.value)}{rest}{over}</strong>{note}</div>"


def _text(text: str) -> str:
    return html.escape(text)
