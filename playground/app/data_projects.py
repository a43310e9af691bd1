"""The panel of the Data page with the projects: the user's own, the samples, and what can be done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePath

import streamlit as st

from playground.app import data_markup, markup
from playground.app.caches import drop_material
from playground.app.data_exports import export_panel
from playground.app.links import left_project
from playground.app.memory_changes import say
from playground.app.projects import (
    first_sample,
    library,
    load_project,
    own_summaries,
    project_names,
    shipped_summaries,
)
from playground.app.shelf import changed_sample, discard
from playground.app.sidebar import open_project
from playground.errors import PlaygroundError
from playground.views.direction import isolated, without_overrides
from playground.views.load_report import REPORT
from playground.views.notices import Notice
from playground.views.projects import (
    delete_question,
    deleted_notice,
    imported_notice,
    refused_notice,
    saved_notice,
    suggested_name,
)
from playground.workspace import Project
from playground.workspace.archive import unpack_project
from playground.workspace.library import ProjectSummary
from playground.workspace.samples import SampleSummary, is_sample

__all__ = ["projects_panel"]

NAME_LIMIT, TITLE_LIMIT = 64, 200  # characters


def projects_panel(project: Project) -> None:
    """Show the projects that can be opened, the open one marked."""
    with st.container(key="panel_projects", height="stretch"):
        with st.container(key="projects_head", horizontal=True, vertical_alignment="center"):
            markup.head("Projects", "yours and samples")
            _import(project)
        with st.container(key="projects_list"):
            summaries: tuple[ProjectSummary | SampleSummary, ...] = (*own_summaries(), *shipped_summaries())
            for summary in sorted(summaries, key=lambda one: one.name != project.name):  # the open one first
                _row(summary, project)


def _row(summary: ProjectSummary | SampleSummary, project: Project) -> None:
    name, current = summary.name, summary.name == project.name
    own = isinstance(summary, ProjectSummary)
    problem = summary.problem if isinstance(summary, ProjectSummary) else ""
    with st.container(key=f"project_{'open' if current else 'shut'}_{name}", horizontal=not current):
        about = without_overrides(problem or summary.description)
        data_markup.project_text(isolated(summary.title), about, f"{name} · {'yours' if own else 'sample'}")
        if current:
            with st.container(key=f"project_actions_{name}", horizontal=True, gap="small"):
                _save_as(project)
                export_panel(project)
                if own:
                    _delete(project)
                elif changed_sample(name) is not None:
                    st.button("Undo changes", key=f"undo_{name}", on_click=_undo, args=(name,))
        elif not problem:
            st.button("Open", key=f"open_{name}", on_click=open_project, args=(name,))


def _save_as(project: Project) -> None:
    name, title = f"save_name_{project.name}", f"save_title_{project.name}"
    with (
        st.popover("Save as", key=f"save_as_{project.name}"),
        st.form(f"save_form_{project.name}", border=False),
    ):
        st.text_input(
            "Name",
            suggested_name(project.name, project_names()),
            key=name,
            max_chars=NAME_LIMIT,
            help="Small letters, digits and hyphens. It stands in the link and names a folder.",
        )
        st.text_input("Title", without_overrides(project.title), key=title, max_chars=TITLE_LIMIT)
        st.form_submit_button(
            "Save as a project", type="primary", on_click=_save, args=(project.name, name, title)
        )


def _save(source: str, name: str, title: str) -> None:
    wanted = str(st.session_state[name]).strip()

    def saved() -> None:
        project = load_project(source)
        library().create(wanted, replace(project, title=str(st.session_state[title]).strip() or project.title))
        discard(source)
        open_project(wanted)
        _report(saved_notice(wanted, sample=is_sample(source)))

    _told("The project was not saved", saved)


def _import(project: Project) -> None:
    key = f"import_file_{project.name}"
    with (
        st.popover("Import", key=f"import_{project.name}"),
        st.form(f"import_form_{project.name}", clear_on_submit=True, border=False),
    ):
        markup.caption("A project that was exported here or by the command line, as a ZIP file.")
        st.file_uploader("Archive", type=["zip"], key=key, label_visibility="collapsed")
        st.form_submit_button("Import as a project", type="primary", on_click=_imported, args=(key,))


def _imported(key: str) -> None:
    file = st.session_state.get(key)

    def imported() -> None:
        if file is None:
            raise PlaygroundError("No file was chosen.", remedy="Choose a ZIP file first.")
        name = suggested_name(PurePath(file.name).stem, project_names())
        project = library().create(name, unpack_project(file.getvalue(), name=name))
        open_project(name)
        _report(imported_notice(project))

    _told("The file was not imported", imported)


def _delete(project: Project) -> None:
    with st.popover("Delete", key=f"delete_{project.name}"):
        data_markup.question(delete_question(project))
        st.button(
            "Delete the project",
            key=f"delete_button_{project.name}",
            type="primary",
            on_click=_deleted,
            args=(project.name,),
        )


def _deleted(name: str) -> None:
    def deleted() -> None:
        library().delete(name)
        left_project(name)
        open_project(first_sample())
        drop_material()
        _report(deleted_notice(name, opened=first_sample()))

    _told("The project was not deleted", deleted)


def _undo(name: str) -> None:
    discard(name)
    say(None)  # the revision that the Working memory page tells of is gone
    st.session_state[REPORT] = ()


def _told(title: str, act: Callable[[], None]) -> None:
    """Do something, or say in a notice why it was not done."""
    try:
        act()
    except PlaygroundError as error:
        _report(refused_notice(title, error))


def _report(notice: Notice) -> None:
    st.session_state[REPORT] = (notice,)
