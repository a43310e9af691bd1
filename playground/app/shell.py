"""The frame around every page: navigation, style, sidebar, header strip and what went wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import streamlit as st

from playground.app import markup
from playground.app.controls import Settings, default_sizes, settings, sizes
from playground.app.links import linked_notice
from playground.app.navigation import PAGES, page_named
from playground.app.notices import show_notice
from playground.app.projects import first_sample, library_problem, load_project, project_names
from playground.app.remedies import with_working_actions
from playground.app.services import Compiled, Retrieval, compiled, loads_model
from playground.app.sidebar import draw_sidebar
from playground.app.style import apply_style
from playground.compiler.values import WORKING_MEMORY_SOURCE
from playground.errors import PlaygroundError
from playground.escaping import one_line
from playground.models import ModelEntry, catalogue, find_model
from playground.views.budget_notices import mandatory_notice, output_notice
from playground.views.notices import (
    Notice,
    error_notice,
    failed_sources,
    no_projects_notice,
    search_notice,
    unexpected_notice,
)
from playground.views.projects import GONE
from playground.views.words import plural
from playground.workspace import Project

__all__ = ["Current", "current", "main", "retrieval_note"]

LOADING = "Loading the embedding model to search by meaning: once, about 10 seconds."
RETRIEVAL = "retrieval"
"""Session state: number of the retrieval that the page shows."""
LOGGED = "logged_error"
"""Session state: what the log says of the present settings; pages compile several times a run."""
SKELETON = (74, 34, 190, 250, 640)  # px: strip, question, waterfall, sources, panes
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Current:
    """What the controls say and what came of it; ``compiled`` is missing when ``error`` says why."""

    settings: Settings | None
    compiled: Compiled | None
    error: Notice | None = None


def main() -> None:
    """Draw the frame and run the chosen page."""
    here = Path(__file__).parent
    st.set_page_config(page_title="Context playground", page_icon=here / "icon.svg", layout="wide")
    pages = [page_named(name) for name in PAGES]
    page = st.navigation(pages, position="top")
    apply_style()
    if not project_names():
        show_notice(no_projects_notice(), key="projects")
        return
    try:
        draw_sidebar()
    except PlaygroundError as error:
        _log_once("The project cannot be opened", error)
        show_notice(_error_notice(error, None), key="project")
        return
    with _waiting():
        now = current()
    with st.container(key="narrow_nav", horizontal=True, gap="small"):  # where the other one is in the sidebar
        for target in pages:
            st.page_link(target)
    with st.container(key="strip"):
        markup.strip(now.compiled.strip if now.compiled else None)
    _show_notices(now)
    page.run()


def current() -> Current:
    """Return the compile of the present controls; pages may call it as often as they like."""
    chosen = None
    try:
        project = load_project(st.session_state["project"])
        if (notice := _sizes_notice(project)) is not None:
            return Current(None, None, notice)
        chosen = settings(project)
        found = compiled(chosen)
        st.session_state[RETRIEVAL] = found.retrieval.number
        st.session_state[LOGGED] = None
        return Current(chosen, found)
    except PlaygroundError as error:
        _log_once("The compile failed", error)
        return Current(chosen, None, _error_notice(error, chosen))
    except Exception:
        _logger.exception("The compile failed unexpectedly.")
        return Current(chosen, None, unexpected_notice())


def retrieval_note(found: Retrieval) -> str:
    """Say how much was found, and how fast; an empty question finds nothing and says so."""
    if all(result.status == "skipped" for result in found.results):
        return f"No question: {plural(len(found.results), 'source')} skipped"
    # Lines of working memory are entries of the manifest too; without them the numbers would not add up.
    lines = sum(source == WORKING_MEMORY_SOURCE for source, _ in found.texts)
    offered = plural(found.candidates, "candidate") + (f" + {plural(lines, 'memory line')}" if lines else "")
    return f"{offered}, search {1000 * found.seconds:,.0f} ms"


@contextmanager
def _waiting() -> Iterator[None]:
    """Show grey blocks in the panels' sizes until the session's first compile is there; later charts stay.

    Loading the embedding model is said in words.
    """
    # The place is there on every run: one element more or less makes the browser mount all below it anew.
    place = st.empty()
    if _loads_model():
        with place, st.spinner(LOADING):
            yield
        place.empty()
    elif st.session_state.get(RETRIEVAL) is not None:
        yield
    else:
        with place.container():
            for height in SKELETON:
                st.skeleton(height)
        yield
        place.empty()


def _log_once(what: str, error: PlaygroundError) -> None:
    line = one_line(f"{what} ({error.code}): {error}")
    if st.session_state.get(LOGGED) != line:
        st.session_state[LOGGED] = line
        _logger.warning("%s", line)


def _loads_model() -> bool:
    try:
        return loads_model(settings(load_project(st.session_state["project"])))
    except PlaygroundError:
        return False  # the compile is about to say why


def _show_notices(now: Current) -> None:
    problem = library_problem()
    notices = [
        linked_notice(),
        st.session_state.get(GONE),
        error_notice(problem) if problem else None,
        now.error,
    ]
    if now.compiled is not None:
        found = now.compiled.retrieval
        notices.append(error_notice(found.problem) if found.problem else search_notice(found.note))
        notices.append(mandatory_notice(now.compiled.package.manifest))
        notices += failed_sources(now.compiled.package.manifest)
    with st.container(key="notices"):  # one place for any number of them, for the same reason
        for number, notice in enumerate(notice for notice in notices if notice is not None):
            show_notice(with_working_actions(notice), key=str(number))


def _error_notice(error: PlaygroundError, chosen: Settings | None) -> Notice:
    model = chosen.model if chosen else None
    return error_notice(
        error,
        output_tokens=model.max_output_tokens if model else 0,
        default_project=first_sample(),
        own_window=_own_window(chosen) if chosen else None,
        larger_model=_larger_model(chosen.entry) if chosen else None,
    )


def _sizes_notice(project: Project) -> Notice | None:
    window, output = sizes(project)
    own, _ = default_sizes(project, find_model(st.session_state["model"]))
    return output_notice(output, window, own_window=own if own > window else None)


def _own_window(chosen: Settings) -> int | None:
    """The window that holds when the field is empty, if somebody entered a smaller one."""
    window, _ = default_sizes(chosen.project, chosen.entry)
    return window if st.session_state["window"] is not None and window > chosen.model.context_window else None


def _larger_model(entry: ModelEntry) -> str | None:
    """The same vendor's model with the largest window, if that is larger than this one's."""
    others = [other for other in catalogue() if other.provider == entry.provider]
    best = max(others, key=lambda other: (other.context_window, other.model_id), default=entry)
    return best.model_id if best.context_window > entry.context_window else None
