"""The panels of the Working memory page: head, items, how they fill their size, and the history."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from playground.app import markup, memory_markup
from playground.app.components import fill_order, memory_items
from playground.app.memory_changes import start
from playground.app.projects import first_sample
from playground.app.roles import ROLE, ROLES, role, settle_role
from playground.app.services import Compiled
from playground.app.shelf import changed_sample
from playground.app.sidebar import open_project
from playground.app.state import pick, selected
from playground.compiler.explain import line_turns
from playground.views.palette import Slot
from playground.views.working_memory import ItemRow, WorkingMemoryView
from playground.views.working_memory_fill import FillView, fill_view
from playground.views.working_memory_history import history_view
from playground.workspace import Project

__all__ = ["fill_panel", "filled", "head_row", "history_panel", "items_panel", "shown_item", "start_panel"]

# Heights of the panes' parts, in px; what is longer than the last two scrolls. All sections with 24 items fit.
HEAD, ROW, EMPTY, CUT, BORDER, FILL_HEIGHT, ITEMS_HEIGHT = 32, 28, 24, 20, 10, 560, 960
GOAL_LIMIT = 20_000  # characters that the box takes; what is too long for a goal is refused in words
ROLE_WORDS = {
    "host": "Acting as the host, who may do everything",
    "model": "Acting as the model; try what it may not do",
}


def start_panel(project: Project) -> None:
    """Offer to start a working memory where a project has none."""
    with st.container(key="empty", horizontal_alignment="center"):
        markup.empty(
            "No working memory yet",
            "It holds what a long task must not lose, and ends every request. Start one, or look at a sample.",
        )
        name = f"start_goal_{project.name}"

        def begin() -> None:
            start(project.name, str(st.session_state[name]))

        with st.container(key="start_memory", width=560), st.form(f"form_{name}", border=False):
            st.text_area(
                "Goal",
                key=name,
                height=68,
                max_chars=GOAL_LIMIT,
                placeholder="Goal, if there is one: what the task is for",
                label_visibility="collapsed",
            )
            with st.container(horizontal=True, horizontal_alignment="center", gap="small"):
                st.form_submit_button(
                    "Start working memory", key="start_button", type="primary", on_click=begin
                )
                sample = first_sample()
                st.form_submit_button(
                    f"Open {sample}", key="start_sample", on_click=open_project, args=(sample,)
                )


def head_row(view: WorkingMemoryView) -> None:
    """Show what the page is about, and who it acts as."""
    with st.container(key="memory_head", horizontal=True, vertical_alignment="center", gap="small"):
        markup.head("Working memory", view.total)
        words = st.empty()  # who it is, the control says: on the first run it has just read the link
        settle_role()
        chosen = st.segmented_control(
            "Acting as",
            ROLES,
            default=ROLES[0],
            key=ROLE,
            required=True,
            label_visibility="collapsed",
            bind="query-params",
            persist_state="session",
        )
        with words:
            markup.caption(ROLE_WORDS[role()])
    if chosen is None:
        st.rerun()  # the link comes before what is assigned, on the first run alone


def items_panel(view: WorkingMemoryView, filled: FillView | None, row: ItemRow | None) -> None:
    """Show all items; a click marks one everywhere."""
    slots: dict[str, Slot] = {line.key: line.slot for line in filled.rows} if filled else {}
    if filled is None:
        slots = {item.key: "working-memory" for section in view.sections for item in section.rows}
    with st.container(key="memory_items_place"):
        memory_items(
            view,
            slots=slots,
            selected=row.key if row else None,
            on_pick=pick,
            height=_items_height([len(section.rows) for section in view.sections]),
        )


def fill_panel(view: FillView | None, *, left_out: bool = False) -> None:
    """Show the order of filling with the cut line.

    Args:
        view: What to show, if there is a compile.
        left_out: Whether the question is a sample one that is asked without the working memory.
    """
    with st.container(key="memory_fill_place"):
        if view is None or left_out:
            markup.head("Fill order")
            markup.caption(_LEFT_OUT if left_out else "There is no compile to show: the notice above says why.")
            return
        markup.head("Fill order", view.total)
        markup.prose(view.sentence)
        height = ROW * max(2, len(view.rows) + 1) + (CUT if view.cut is not None else 0) + BORDER
        fill_order(view, selected=selected(), on_pick=pick, height=min(height, FILL_HEIGHT))


_LEFT_OUT = (
    "The sample question belongs to another chat and is asked without this working memory. Choose the "
    "project's own question, or ask one of yours, to see how it fills."
)


def history_panel(project: Project) -> None:
    """Show what the newest patches changed."""
    memory = project.working_memory
    view = history_view(project.working_memory_history, revision=memory.revision if memory else 0)
    with st.container(key="memory_history_place"):
        markup.head("History", view.total)
        memory_markup.history(view)
        if changed_sample(project.name) is not None:
            markup.caption("Changes live in this session; the Data page undoes them.")


def filled(found: Compiled | None) -> FillView | None:
    """Return the order of filling in the present compile, if there is one."""
    if found is None:
        return None
    turns = line_turns(found.offers, found.package)
    return fill_view(found.package.manifest, turns, found.retrieval.texts)


def shown_item(view: WorkingMemoryView) -> ItemRow | None:
    """Return the marked item, where the record that is marked everywhere is one."""
    return view.row(selected())


def _items_height(sizes: Sequence[int]) -> int:
    """Return the height that a list with sections of these sizes gets, in px."""
    tops = []
    height = 0
    for size in sizes:
        height += HEAD
        tops += [height + ROW * number for number in range(size)]
        height += ROW * size or EMPTY
    if height + BORDER <= ITEMS_HEIGHT:
        return height + BORDER
    # Cut through a row, so that the list does not look as if it ended there.
    return max(top for top in tops if top + ROW // 2 <= ITEMS_HEIGHT) + ROW // 2
