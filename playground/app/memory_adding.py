"""Adding to working memory: a form for each kind of item and one for the goal."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from playground.app import markup
from playground.app.memory_changes import changed, say
from playground.app.memory_forms import TEXT_LIMIT, choice_box, text_box
from playground.app.roles import role
from playground.escaping import replace_surrogates
from playground.views.working_memory import NOUNS
from playground.views.working_memory_forms import ItemForm, adding_form, adding_operation
from playground.views.working_memory_outcome import nothing_changed, nothing_entered
from playground.working_memory import WorkingMemorySnapshot
from playground.working_memory.items import Section

__all__ = ["add_panel"]

NAMES: dict[str, Section] = {noun.capitalize(): section for section, (noun, _) in NOUNS.items()}


def add_panel(snapshot: WorkingMemorySnapshot, *, project: str) -> None:
    """Offer a form for each kind of item, and for the goal."""
    with st.container(key="panel_add_item"):
        markup.head("Add an item, or set the goal")
        chosen = st.segmented_control(
            "Kind of item",
            list(NAMES),
            default="Decision",
            key="add_item_kind",
            required=True,
            label_visibility="collapsed",
            persist_state="session",
        )
        section = NAMES[chosen]
        form = adding_form(section, role=role())
        # What was written stays until its own patch is applied, also while another kind or page is looked at.
        name = f"{section}_{project}"
        keys = {box.name: f"add_{box.name}_{name}" for box in form.boxes}
        if section == "goal":
            _follow_goal(keys["text"], snapshot)
        with st.container(key="add_form", gap="small"):
            text, *more = form.boxes
            st.text_area(
                text.label,
                key=keys[text.name],
                height=68,
                max_chars=TEXT_LIMIT,
                placeholder=text.placeholder,
                label_visibility="collapsed",
                persist_state="session",
            )
            if form.choice:
                # A role that another status is chosen for at first has a box of its own.
                keys[form.choice.name] = f"add_{form.choice.name}_{name}_{form.choice.chosen}"
                left, right = st.columns((2, 1), gap="small")
                with left:
                    for box in more:
                        text_box(box, key=keys[box.name], kept=True)
                with right:
                    choice_box(form.choice, key=keys[form.choice.name])
            arguments = (project, snapshot, section, form, keys)
            st.button(form.button, key=f"add_button_{name}", on_click=_add, args=arguments)


def _follow_goal(key: str, snapshot: WorkingMemorySnapshot) -> None:
    """Put the goal into its box, and a newer one for as long as nobody wrote another."""
    state, goal = st.session_state, _goal(snapshot)
    if key not in state or state[key] == state.get(f"{key}_seen"):
        state[key] = goal
    state[f"{key}_seen"] = goal


def _goal(snapshot: WorkingMemorySnapshot) -> str:
    return replace_surrogates(snapshot.goal.text) if snapshot.goal else ""


def _add(
    project: str, snapshot: WorkingMemorySnapshot, section: Section, form: ItemForm, keys: Mapping[str, str]
) -> None:
    said = {field: str(st.session_state[key]) for field, key in keys.items()}
    if lacking := form.lacking(said):
        say(nothing_entered(lacking))
    elif section == "goal" and said["text"] == _goal(snapshot):
        say(nothing_changed("goal"))
    else:
        operation = adding_operation(section, said, snapshot.tasks)
        if changed(project, snapshot.revision, operation) and section != "goal":
            st.session_state.update({keys[box.name]: "" for box in form.boxes})
