"""Taking a document, a chat or a skill out of a project, from beside its text on the Data page."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import streamlit as st

from playground.app import data_markup
from playground.app.data_reports import record_report, report_record
from playground.app.material import change_project
from playground.app.navigation import page_named
from playground.digests import text_digest
from playground.errors import PlaygroundError
from playground.views.notices import error_notice
from playground.views.removal import REMOVABLE, Removal, removal_of, removed_notice
from playground.workspace import Project
from playground.workspace.additions import without_chats, without_documents, without_skills
from playground.workspace.samples import is_sample

__all__ = ["removal"]

Without = Callable[[Project, Iterable[str]], Project]
_WITHOUT: dict[str, Without] = dict(
    zip(REMOVABLE, (without_documents, without_chats, without_skills), strict=True)
)


def removal(project: Project, table: str, row_id: str) -> None:
    """Offer to take the picked item out, after a question; working memory is changed on its own page.

    Args:
        project: What holds it.
        table: The table's name.
        row_id: Which of its rows is picked; a chat's rows are its turns.
    """
    with st.container(key="record_actions", horizontal=True, gap="small"):
        if table not in REMOVABLE:
            st.page_link(page_named("working_memory"), label="Change it on the Working memory page")
        else:
            wanted = removal_of(project, table, row_id, sample=is_sample(project.name))
            name = f"remove_{project.name}_{text_digest(wanted.id)[-12:]}"
            with st.popover("Remove", key=name):
                data_markup.question(wanted.question)
                st.button(
                    wanted.label,
                    key=f"{name}_button",
                    type="primary",
                    on_click=_remove,
                    args=(project.name, wanted),
                )
    record_report(project.name, table)


def _remove(project: str, wanted: Removal) -> None:
    try:
        change_project(project, lambda now: _WITHOUT[wanted.table](now, [wanted.id]))
    except PlaygroundError as error:
        report_record(project, wanted.table, error_notice(error))
    else:
        report_record(project, wanted.table, removed_notice(wanted))
