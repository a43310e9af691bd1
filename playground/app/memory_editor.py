"""The editor of one item of working memory: buttons and forms, each of which is one patch."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from playground.app import markup, memory_markup
from playground.app.memory_changes import change, say
from playground.app.roles import role
from playground.views.working_memory import ItemRow, spaced
from playground.views.working_memory_actions import item_actions, labelled, with_task
from playground.views.working_memory_outcome import nothing_entered
from playground.working_memory import WorkingMemorySnapshot
from playground.working_memory.items import Outcome, TaskStatus

__all__ = ["ATTEMPTS", "TASKS", "TEXT_LIMIT", "item_panel"]

TEXT_LIMIT = 20_000  # characters that a box takes; what is too long for an item is the patch's to refuse
ATTEMPTS: tuple[Outcome, ...] = get_args(Outcome)
TASKS: tuple[TaskStatus, ...] = get_args(TaskStatus)


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
        label = labelled("Answer", role(), "answer-question", row)
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
        label = labelled("Say how it went", role(), "update-attempt", row)
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
        label = labelled("Save the task", role(), "set-tasks")
        st.form_submit_button(label, key=f"task_button_{name}", on_click=send)
