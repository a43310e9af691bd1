"""The panels of the Explain page: the manifest as a table, and one entry explained."""

from __future__ import annotations

from collections.abc import Iterable

import streamlit as st

from playground.app import explain_markup, markup
from playground.app.components import record_table
from playground.app.controls import Settings, apply_controls
from playground.app.explaining import entry_number, explained, pick_entry
from playground.app.services import Compiled
from playground.compiler.manifest import Reason
from playground.views.entries import entries_table
from playground.views.knobs import KnobName
from playground.views.panes import Shown
from playground.views.record_key import record_key
from playground.views.words import REASONS, plural

__all__ = ["entries_panel", "explanation_panel"]

SHOWN: dict[str, Shown] = {"All": "all", "Selected": "selected", "Excluded": "excluded"}
EVERYTHING = "Everything got in: nothing is left out."
WIDTHS = {"Record": 196, "Kind": 92, "Score": 44, "Tokens": 52, "Reason": 84, "From": 260}  # px
CHOSEN = "entries_show_chosen"
"""Session state: whether somebody chose which entries to show."""


def entries_panel(found: Compiled) -> None:
    """Show the manifest's entries, filtered; a click on one explains it."""
    entries = found.package.manifest.entries
    everything = all(entries.column("selected"))
    if not st.session_state.get(CHOSEN):
        # What was left out comes first, unless there is nothing of it.
        st.session_state["entries_show"] = "All" if everything else "Excluded"
    heading = st.container()
    words, reason, shown = _filter()
    table = entries_table(
        found.package.manifest, found.retrieval.texts, shown=shown, reason=reason, words=words
    )
    marked = entry_number(found)
    all_in = everything and marked is not None and shown == "excluded"
    hidden = marked is not None and marked not in table.numbers
    note = "all selected" if all_in else "the filter hides the explained one" if hidden else ""
    total = plural(len(entries), ("entry", "entries")) if all_in else table.total
    with heading:
        # In the head: a line of its own would move the table whenever it comes or goes.
        markup.head("Manifest", f"{total}; {note}" if note else total)
    if not table.numbers:
        markup.caption(EVERYTHING if all_in else "No entry passes this filter.")
        return

    def picked(key: str) -> None:
        if key.isdecimal() and int(key) < len(entries):
            entry = entries[int(key)]
            pick_entry(int(key), record_key(entry.source, entry.record_id))

    record_table(
        table.frame,
        keys=[str(number) for number in table.numbers],
        widths=WIDTHS,
        grows="Record",
        label="Manifest",
        selected=None if marked is None else str(marked),
        on_pick=picked,
        key="entries",
        slots=table.slots,
        halves=table.halves,
        chip="Reason",
    )


def explanation_panel(found: Compiled, settings: Settings) -> None:
    """Explain the marked entry, with a button for each control that lets it in."""
    number = entry_number(found)
    if number is None:
        markup.caption("Nothing was offered, so there is nothing to explain.")
        return
    view = explained(settings, found, number)
    with st.container(key="panel_explanation"):
        markup.record_head(view.slot, view.title, view.source)
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


def _filter() -> tuple[str, Reason | None, Shown]:
    """Show the controls of the filter, and return the words, the reason and which entries it lets through."""
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
        chosen = st.segmented_control(
            "Show",
            list(SHOWN),
            key="entries_show",
            required=True,
            on_change=_choose,
            label_visibility="collapsed",
            persist_state="session",
        )
    return words, reason, SHOWN[chosen or "All"]


def _choose() -> None:
    st.session_state[CHOSEN] = True


def _apply(positions: Iterable[tuple[KnobName, float]], number: int, key: str) -> None:
    """Put controls to positions; the record they let in stays the explained one."""
    pick_entry(number, key)
    apply_controls(positions)
