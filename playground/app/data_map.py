"""The panel of the Data page that shows records and the question as a map, once somebody opens it."""

from __future__ import annotations

import hashlib

import streamlit as st

from playground.app import map_markup, markup
from playground.app.caches import material_cache
from playground.app.controls import Settings
from playground.app.model_process import model_ready
from playground.app.services import Compiled, searching_model
from playground.app.shell import current
from playground.app.state import pick, picks, selected
from playground.app.style import add_rules
from playground.charts import map as map_chart
from playground.compiler.manifest import ContextManifest
from playground.compiler.values import SourceResult
from playground.retrieval.index import Vectors
from playground.retrieval.projection import Plane, principal_plane
from playground.views.map import MapView, map_view
from playground.workspace import Project

__all__ = ["map_panel"]

CHART = "chart_map"
SHOWN = "map_shown"
"""Session state: whether the map is open."""


def map_panel(project: Project) -> None:
    """Show the map behind a button: what is only hidden would be computed all the same."""
    with st.container(key="panel_map"):
        with st.container(key="map_head", horizontal=True, vertical_alignment="center"):
            heading = st.empty()
            shown = bool(st.session_state.get(SHOWN))
            st.button("Hide the map" if shown else "Show the map", key="map_switch", on_click=_switch)
        if not shown:
            with heading:
                markup.head("Map", "what lies near the question")
            return
        add_rules("map")
        view = _view_now(project)
        with heading:
            markup.head("Map", view.total)
        left, right = st.columns((3, 2), gap="medium")
        with left:
            st.vega_lite_chart(
                map_chart.rows(view, selected=selected(), nonce=picks()),
                map_chart.spec(),
                key=CHART,
                on_select=_pick_point,
                selection_mode=map_chart.SELECTION,
                # A name that changes would draw the chart anew; each point says what it is.
                alt="Records and the question by their vectors; a click on a point marks its record",
            )
        with right:
            map_markup.legend(view.kinds)
            map_markup.nearest(view.listed(selected()), marked=selected())
            markup.prose(view.sentence)
            for note in view.notes:
                markup.caption(note)


def _view_now(project: Project) -> MapView:
    now = current()
    if now.settings is None or now.compiled is None:
        return _view(project, str(st.session_state.get("question", "")), 0, (), None, (), None)
    manifest = now.compiled.package.manifest
    entries = tuple((entry.kind, entry.record_id) for entry in manifest.entries if entry.selected)
    vector = _question_vector(now.settings, now.compiled)
    return _view(
        now.settings.project,
        now.settings.question,
        now.compiled.retrieval.number,
        entries,
        vector,
        now.compiled.retrieval.results,
        manifest,
    )


@material_cache(4)
def _view(
    project: Project,
    question: str,
    retrieval: int,  # noqa: ARG001  # this and the next are the key of what follows
    entries: tuple[tuple[str, str], ...],  # noqa: ARG001
    question_vector: Vectors | None,
    _results: tuple[SourceResult, ...],
    _manifest: ContextManifest | None,
) -> MapView:
    return map_view(
        project,
        question=question,
        question_vector=question_vector,
        results=_results,
        manifest=_manifest,
        project_onto_plane=_plane_of,
    )


def _plane_of(vectors: Vectors) -> Plane:
    return _plane(hashlib.sha256(vectors.tobytes()).digest(), vectors.shape, vectors)


@material_cache(4)
def _plane(digest: bytes, shape: tuple[int, ...], _vectors: Vectors) -> Plane:  # noqa: ARG001  # the key
    return principal_plane(_vectors)


def _question_vector(settings: Settings, found: Compiled) -> Vectors | None:
    """Return the vector that the search made of the question; never loads a model.

    ``None`` where the project has it, and where the question was not searched by meaning.
    """
    project = settings.project
    query = project.query(settings.question)
    searched = settings.search != "lexical" and found.retrieval.problem is None and model_ready()
    if not searched or not query.strip() or query in project.vectors:
        return None
    return _embedded(project, query)


@material_cache(8)
def _embedded(project: Project, query: str) -> Vectors | None:
    embedder, table = searching_model(project), project.vectors
    if embedder is None or not len(table) or embedder.model_id != table.model_id:
        return None
    if embedder.weights_digest != table.weights_digest:
        return None  # vectors of two models are never compared
    vector: Vectors = embedder.embed([query])[0]
    return vector


def _switch() -> None:
    st.session_state[SHOWN] = not st.session_state.get(SHOWN)


def _pick_point() -> None:
    points = st.session_state[CHART].selection.get(map_chart.SELECTION) or []
    if points and points[0].get("key"):
        pick(str(points[0]["key"]))
