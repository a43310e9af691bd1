"""The editor of one item of working memory: buttons and a form, each of which is one patch."""

from __future__ import annotations

import streamlit as st

from playground.app import markup, memory_markup
from playground.app.memory_changes import change, say
from playground.app.memory_forms import choice_box, text_box
from playground.app.roles import role
from playground.views.working_memory import ItemRow
from playground.views.working_memory_actions import item_actions
from playground.views.working_memory_forms import changing_form, changing_operation
from playground.views.working_memory_outcome import nothing_entered
from playground.working_memory import WorkingMemorySnapshot

__all__ = ["item_panel"]


def item_panel(row: ItemRow | None, snapshot: WorkingMemorySnapshot, *, project: str) -> None:
    """Show the marked item with everything that can be done to it."""
    with st.container(key="panel_item"):
        if row is None:
            markup.head("Item")
            markup.caption("Choose an item in the list to change it.")
            return
        memory_markup.item(row)
        with st.container(key="item_actions", horizontal=True, gap="small"):
            for action in item_actions(row, role=role(), tasks=snapshot.tasks):
                st.button(
                    action.label,
                    # A second click meets no other action.
                    key=f"item_action_{project}_{row.key}_{action.label}",
                    on_click=change,
                    args=(project, snapshot.revision, action.operation),
                )
        _form(row, snapshot, project)


def _form(row: ItemRow, snapshot: WorkingMemorySnapshot, project: str) -> None:
    """Show what can be said of the item in words of one's own, if anything can."""
    form = changing_form(row, role=role())
    if form is None:
        return
    name = f"{row.key}_{project}_{row.revision}"  # what is half-written outlasts the patches of others
    keys = {field: f"item_{field}_{name}" for field in form.names}

    def send() -> None:
        said = {field: str(st.session_state[key]) for field, key in keys.items()}
        if lacking := form.lacking(said):
            say(nothing_entered(lacking))
        else:
            change(project, snapshot.revision, changing_operation(row, said, snapshot.tasks))

    with st.form(f"item_form_{name}", border=False):
        first, *others = form.boxes
        places = st.columns((2, 1) if form.choice else 1, gap="small")
        with places[0]:
            text_box(first, key=keys[first.name])
        if form.choice:
            with places[1]:
                choice_box(form.choice, key=keys[form.choice.name])
        for box in others:
            text_box(box, key=keys[box.name])
        st.form_submit_button(form.button, key=f"item_button_{name}", on_click=send)
