"""The editor of working memory: buttons and forms, each of which is one patch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

import streamlit as st

from playground.app import markup, memory_markup
from playground.app.memory_changes import change, changed, say
from playground.app.roles import role
from playground.escaping import replace_surrogates
from playground.views.working_memory import NOUNS, ItemList, ItemRow, spaced
from playground.views.working_memory_actions import hindrance, item_actions, with_task
from playground.views.working_memory_outcome import nothing_changed, nothing_entered
from playground.working_memory import WorkingMemorySnapshot
from playground.working_memory.items import DecisionStatus, Outcome, TaskStatus

__all__ = ["add_panel", "item_panel"]

TEXT_LIMIT = 20_000  # characters that a box takes; what is too long for an item is the patch's to refuse
DECISIONS: tuple[DecisionStatus, ...] = get_args(DecisionStatus)
ATTEMPTS: tuple[Outcome, ...] = get_args(Outcome)
TASKS: tuple[TaskStatus, ...] = get_args(TaskStatus)
NAMES: dict[str, ItemList] = {
    "Goal": "goal",
    **{names[0].capitalize(): name for name, names in NOUNS.items() if name != "goal"},
}
ADDING = {
    "constraints": "add-constraint",
    "decisions": "add-decision",
    "questions": "add-question",
    "attempts": "record-attempt",
    "hypotheses": "add-hypothesis",
    "observations": "add-observation",
}
PLACEHOLDERS: dict[ItemList, str] = {
    "goal": "What the task is for",
    "constraints": "A rule that must be kept",
    "tasks": "What is to be done",
    "decisions": "What is decided",
    "questions": "What has to be found out",
    "attempts": "What is or was tried",
    "hypotheses": "What is assumed",
    "observations": "What was seen",
}


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
        if row.list == "questions":
            _answer_form(row, snapshot, project)
        elif row.list == "attempts":
            _attempt_form(row, snapshot, project)
        elif row.list == "tasks":
            _task_form(row, snapshot, project)


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
                _labelled(verb, operation),
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


def _more(kind: ItemList, name: str) -> dict[str, str]:
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
    project: str, snapshot: WorkingMemorySnapshot, kind: ItemList, text_key: str, fields: Mapping[str, str]
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


def _answer_form(row: ItemRow, snapshot: WorkingMemorySnapshot, project: str) -> None:
    name = f"{row.key}_{project}_{row.revision}"  # what is half-written outlasts the patches of others

    def send() -> None:
        answer = st.session_state[f"answer_text_{name}"]
        if answer.strip():
            operation = {"op": "answer-question", "id": row.id, "answer": answer}
            change(project, snapshot.revision, operation)
        else:
            say(nothing_entered("answer"))

    with st.form(f"answer_{name}", border=False):
        st.text_input(
            "Answer",
            dict(row.more).get("Answer", ""),
            key=f"answer_text_{name}",
            max_chars=TEXT_LIMIT,
            placeholder="The answer",
            label_visibility="collapsed",
        )
        label = _labelled("Answer", "answer-question", row)
        st.form_submit_button(label, key=f"answer_button_{name}", on_click=send)


def _attempt_form(row: ItemRow, snapshot: WorkingMemorySnapshot, project: str) -> None:
    name = f"{row.key}_{project}_{row.revision}"  # what is half-written outlasts the patches of others
    states = [spaced(state) for state in ATTEMPTS]

    def send() -> None:
        detail = st.session_state[f"attempt_detail_{name}"]
        said = {"detail": detail} if detail else {}
        outcome = st.session_state[f"attempt_state_{name}"]
        operation = {"op": "update-attempt", "id": row.id, "outcome": outcome, **said}
        change(project, snapshot.revision, operation)

    with st.form(f"attempt_{name}", border=False):
        left, right = st.columns((2, 1), gap="small")
        left.text_input(
            "Detail",
            dict(row.more).get("Detail", ""),
            key=f"attempt_detail_{name}",
            max_chars=TEXT_LIMIT,
            placeholder="Detail",
            label_visibility="collapsed",
        )
        right.selectbox(
            "Outcome",
            ATTEMPTS,
            index=states.index(row.status),
            key=f"attempt_state_{name}",
            format_func=spaced,
            label_visibility="collapsed",
        )
        label = _labelled("Say how it went", "update-attempt", row)
        st.form_submit_button(label, key=f"attempt_button_{name}", on_click=send)


def _task_form(row: ItemRow, snapshot: WorkingMemorySnapshot, project: str) -> None:
    name = f"{row.key}_{project}_{row.revision}"  # what is half-written outlasts the patches of others
    states = [spaced(state) for state in TASKS]

    def send() -> None:
        title, status, notes = (
            st.session_state[f"task_{field}_{name}"] for field in ("title", "state", "notes")
        )
        if title.strip():
            operation = with_task(snapshot.tasks, task_id=row.id, title=title, status=status, notes=notes)
            change(project, snapshot.revision, operation)
        else:
            say(nothing_entered("title"))

    with st.form(f"task_{name}", border=False):
        left, right = st.columns((2, 1), gap="small")
        left.text_input(
            "Title", row.text, key=f"task_title_{name}", max_chars=TEXT_LIMIT, label_visibility="collapsed"
        )
        right.selectbox(
            "Status",
            TASKS,
            index=states.index(row.status),
            key=f"task_state_{name}",
            format_func=spaced,
            label_visibility="collapsed",
        )
        st.text_input(
            "Notes",
            dict(row.more).get("Notes", ""),
            key=f"task_notes_{name}",
            max_chars=TEXT_LIMIT,
            placeholder="Notes",
            label_visibility="collapsed",
        )
        label = _labelled("Save the task", "set-tasks")
        st.form_submit_button(label, key=f"task_button_{name}", on_click=send)


def _labelled(label: str, operation: str, row: ItemRow | None = None) -> str:
    """Return a button's label with why the role may not press it."""
    why = hindrance(role(), operation, row)
    return f"{label} ({why})" if why else label
