"""The panels of the Explain page: the manifest as a table, and one entry explained."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from playground.app import explain_markup, markup
from playground.app.controls import Settings, apply_controls
from playground.app.explaining import entry_number, explained, pick_entry
from playground.app.services import Compiled
from playground.views.entries import EntriesTable, entries_table
from playground.views.knobs import KnobName
from playground.views.panes import Shown
from playground.views.record_key import record_key
from playground.views.words import REASONS

__all__ = ["entries_panel", "explanation_panel"]

SHOWN: dict[str, Shown] = {"All": "all", "Selected": "selected", "Excluded": "excluded"}
TABLE_HEIGHT = 640  # px, as the panes of the Compile page
MANY_ROWS = 21  # more than these scroll
EVERYTHING = "Everything got in: nothing is left out."
MARKED = "Record"  # column whose cell is marked in the row of the explained entry


def entries_panel(found: Compiled) -> None:
    """Show the manifest's entries, filtered; a click on one explains it."""
    heading = st.container()
    with st.container(key="entries_head", horizontal=True, vertical_alignment="center", gap="small"):
        words = st.text_input(
            "Filter by words",
            key="entries_words",
            placeholder="Filter by words",
            label_visibility="collapsed",
            persist_state="session",
            max_chars=200,
        )
        reason = st.selectbox(
            "Reason",
            REASONS,
            index=None,
            key="entries_reason",
            placeholder="any reason",
            label_visibility="collapsed",
            persist_state="session",
        )
        shown = st.segmented_control(
            "Show",
            list(SHOWN),
            default="Excluded",
            key="entries_show",
            required=True,
            label_visibility="collapsed",
            persist_state="session",
        )
    table = entries_table(
        found.package.manifest, found.retrieval.texts, shown=SHOWN[shown], reason=reason, words=words
    )
    marked = entry_number(found)
    hidden = marked is not None and marked not in table.numbers
    with heading:
        # In the head: a line of its own would move the table whenever it comes or goes.
        markup.head("Manifest", f"{table.total}; the filter hides the explained one" if hidden else table.total)
    if not table.numbers:
        all_in = SHOWN[shown] == "excluded" and all(found.package.manifest.entries.column("selected"))
        markup.caption(EVERYTHING if all_in and marked is not None else "No entry passes this filter.")
        return
    _table(table, found, marked)


def explanation_panel(found: Compiled, settings: Settings) -> None:
    """Explain the marked entry, with a button for each control that lets it in."""
    number = entry_number(found)
    if number is None:
        markup.caption("Nothing was offered, so there is nothing to explain.")
        return
    view = explained(settings, found, number)
    with st.container(key="panel_explanation"):
        explain_markup.record_head(view)
        explain_markup.facts(view.facts)
        markup.prose(view.sentence)
        explain_markup.turns(view.turns)
        explain_markup.changes(view)
        with st.container(key="explain_actions", horizontal=True, gap="small"):
            for place, action in enumerate(view.actions):
                st.button(
                    action.label,
                    key=f"explain_action_{place}",
                    help=action.note or None,
                    on_click=_apply,
                    args=(action.positions, number, view.key),
                )
        explain_markup.before(view)


def _apply(positions: Iterable[tuple[KnobName, float]], number: int, key: str) -> None:
    """Put controls to positions; the record they let in stays the explained one."""
    pick_entry(number, key)
    apply_controls(positions)


def _table(table: EntriesTable, found: Compiled, marked: int | None) -> None:
    # Rows stand for other entries once the filter lets others through.
    key = f"entries_{hash(table.numbers)}"
    cells = [(table.numbers.index(marked), MARKED)] if marked in table.numbers else []
    st.session_state[key] = {"selection": {"rows": [], "columns": [], "cells": cells}}

    def picked() -> None:
        cells = st.session_state[key].selection.cells
        if cells and cells[0][0] < len(table.numbers):
            number = table.numbers[cells[0][0]]
            entry = found.package.manifest.entries[number]
            pick_entry(number, record_key(entry.source, entry.record_id))

    st.dataframe(
        table.frame,
        key=key,
        hide_index=True,
        height=TABLE_HEIGHT if len(table.numbers) > MANY_ROWS else "content",
        on_select=picked,
        selection_mode="single-cell",
        row_height=28,
        placeholder="",
        column_config={
            "Record": st.column_config.TextColumn(width=206),
            "Kind": st.column_config.TextColumn(width=82),
            "Score": st.column_config.NumberColumn(format="%.2f", width=54),
            "Tokens": st.column_config.NumberColumn(format="%,d", width=62),
            "Reason": st.column_config.TextColumn(width=88),
            "From": st.column_config.TextColumn(width=300),
        },
    )
