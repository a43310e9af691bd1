"""Adding to working memory: a box for each kind of item and one for the goal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import streamlit as st

from playground.app import markup
from playground.app.memory_changes import changed, say
from playground.app.memory_editor import ATTEMPTS, TASKS, TEXT_LIMIT
from playground.app.roles import role
from playground.escaping import replace_surrogates
from playground.views.working_memory import NOUNS, spaced
from playground.views.working_memory_actions import ADDING, labelled, with_task
from playground.views.working_memory_outcome import nothing_changed, nothing_entered
from playground.working_memory import WorkingMemorySnapshot
from playground.working_memory.items import DecisionStatus, Section

__all__ = ["add_panel"]

DECISIONS: tuple[DecisionStatus, ...] = get_args(DecisionStatus)
NAMES: dict[str, Section] = {
    "Goal": "goal",
    **{names[0].capitalize(): name for name, names in NOUNS.items() if name != "goal"},
}
PLACEHOLDERS: dict[Section, str] = {
    "goal": "What the task is for",
    "constraints": "A rule that must be kept",
    "tasks": "What is to be done",
    "decisions": "What is decided",
    "questions": "What has to be found out",
    "attempts": "What is or was tried",
    "hypotheses": "What is assumed",
    "observations": "What was seen",
}


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
        kind = NAMES[chosen]
        operation = {"goal": "set-goal", "tasks": "set-tasks"}.get(kind) or ADDING[kind]
        verb = "Set the goal" if kind == "goal" else f"Add {NOUNS[kind][0]}"
        # What was written stays until its own patch is applied, also while another kind or page is looked at.
        name = f"{kind}_{project}"
        if kind == "goal":
            _follow_goal(f"add_text_{name}", snapshot)
        with st.container(key="add_form", gap="small"):
            st.text_area(
                NOUNS[kind][0].capitalize(),
                key=f"add_text_{name}",
                height=68,
                max_chars=TEXT_LIMIT,
                placeholder=PLACEHOLDERS[kind],
                label_visibility="collapsed",
                persist_state="session",
            )
            fields = _more(kind, name)
            st.button(
                labelled(verb, role(), operation),
                key=f"add_button_{name}",
                on_click=_add,
                args=(project, snapshot, kind, f"add_text_{name}", fields),
            )


def _follow_goal(key: str, snapshot: WorkingMemorySnapshot) -> None:
    """Put the goal into its box, and a newer one for as long as nobody wrote another."""
    state, goal = st.session_state, _goal(snapshot)
    if key not in state or state[key] == state.get(f"{key}_seen"):
        state[key] = goal
    state[f"{key}_seen"] = goal


def _goal(snapshot: WorkingMemorySnapshot) -> str:
    return replace_surrogates(snapshot.goal.text) if snapshot.goal else ""


def _more(kind: Section, name: str) -> dict[str, str]:
    """Show what a kind has beside its text, and return the keys of its controls by field."""
    said: tuple[str, str] | None = {
        "decisions": ("rationale", "Rationale"), "attempts": ("detail", "Detail"), "tasks": ("notes", "Notes"),
    }.get(kind)  # fmt: skip
    states: Sequence[str] = {"decisions": DECISIONS, "attempts": ATTEMPTS, "tasks": TASKS}.get(kind, ())
    if said is None:
        return {}
    field, label = said
    left, right = st.columns((2, 1), gap="small")
    left.text_input(
        label,
        key=f"add_{field}_{name}",
        placeholder=label,
        max_chars=TEXT_LIMIT,
        label_visibility="collapsed",
        persist_state="session",
    )
    # What a role says of a decision unless it chooses is the first.
    state = f"add_state_{name}_{role()}" if kind == "decisions" else f"add_state_{name}"
    if kind == "decisions" and role() == "host":
        states = sorted(states, key=lambda known: known != "accepted")
    right.selectbox("Status", states, key=state, format_func=spaced, label_visibility="collapsed")
    return {field: f"add_{field}_{name}", "state": state}


def _add(
    project: str, snapshot: WorkingMemorySnapshot, kind: Section, text_key: str, fields: Mapping[str, str]
) -> None:
    text = str(st.session_state[text_key])
    more = {field: str(st.session_state[key]) for field, key in fields.items()}
    if not text.strip():
        say(nothing_entered(NOUNS[kind][0]))
        return
    if kind == "goal" and text == _goal(snapshot):
        say(nothing_changed("goal"))
        return
    operation: Mapping[str, Any]
    state = more.get("state", "")
    if kind == "goal":
        operation = {"op": "set-goal", "text": text}
    elif kind == "tasks":
        operation = with_task(snapshot.tasks, title=text, status=state, notes=more["notes"])
    else:
        said = {name: words for name, words in more.items() if words and name != "state"}
        if kind == "decisions":
            said["status"] = state
        if kind == "attempts":
            said["outcome"] = state
        operation = {"op": ADDING[kind], "text": text, **said}
    if changed(project, snapshot.revision, operation) and kind != "goal":
        st.session_state.update({text_key: ""} | {key: "" for field, key in fields.items() if field != "state"})
