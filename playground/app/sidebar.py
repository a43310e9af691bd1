"""The sidebar: project, model, question, estimator and the budget, on every page and in the link."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from playground.app import markup
from playground.app.controls import (
    ESTIMATORS,
    SAMPLE,
    SEARCHES,
    default_positions,
    default_sizes,
    field_binding,
    position,
)
from playground.app.links import LARGEST_WINDOW, left_project, read_link
from playground.app.projects import first_sample, load_project, project_names
from playground.compiler.knobs import SHARE_KNOBS
from playground.models import DEFAULT_MODEL_ID, catalogue
from playground.views.knobs import CANDIDATES, KNOBS, KnobName, KnobSpec, effective_shares
from playground.views.links import sample_titles
from playground.views.projects import GONE, gone_notice
from playground.workspace import Project

__all__ = ["draw_sidebar", "open_project"]

SHOWN_SAMPLE = "sample_question"
"""Session state: the same, of the control that people see."""


def draw_sidebar() -> Project:
    """Draw all controls and return the chosen project."""
    with st.sidebar:
        st.html('<span class="cp-brand">Context playground</span>')
        read_link()
        project = _project()
        _model(project)
        with st.container(key="side_pair"):
            left, right = st.columns(2, gap="small")
        left.selectbox("Estimator", ESTIMATORS, key="estimator", bind="query-params", persist_state="session")
        right.selectbox("Search", SEARCHES, key="search", bind="query-params", persist_state="session")
        st.divider()
        _budget(project)
    return project


def _project() -> Project:
    names = project_names()
    _leave_a_lost_one(names)
    name = st.selectbox(
        "Project",
        names,
        names.index(first_sample()),
        key="project",
        bind="query-params",
        persist_state="session",
        on_change=_reset_knobs,
    )
    project = load_project(name)
    texts = {scenario.id: scenario.question for scenario in project.scenarios}
    titles = sample_titles(texts)
    # A control writes into the link what it shows, and the link holds no content: the question's id stands in a
    # control that nobody sees. With it the browser's Back and Forward choose as they do for every control.
    with st.container(key="sample_bound"):
        sample = st.selectbox(
            "Sample question in the link",
            list(texts),
            index=None,
            key=SAMPLE,
            bind="query-params",
            persist_state="session",
        )
    if st.session_state.get(SHOWN_SAMPLE) != sample:
        st.session_state[SHOWN_SAMPLE] = sample
    st.selectbox(
        "Sample question",
        list(texts),
        index=None,
        format_func=lambda sample: titles.get(sample, sample),
        key=SHOWN_SAMPLE,
        on_change=_choose_sample,
        placeholder="the project's own",
        persist_state="session",
        help="Puts a question of the project into the box above the charts.",
        disabled=not texts,
    )
    chosen = f"{name}/{sample}"
    if st.session_state.get("question_of") != chosen:
        st.session_state["question"] = texts.get(sample or "", project.question)
        st.session_state["question_of"] = chosen
    return project


def _choose_sample() -> None:
    st.session_state[SAMPLE] = st.session_state[SHOWN_SAMPLE]


def open_project(name: str) -> None:
    """Open another project; a callback."""
    st.session_state["project"] = name
    _reset_knobs()


def _leave_a_lost_one(names: Sequence[str]) -> None:
    """Open a sample when the open project was deleted or renamed elsewhere, and say so."""
    name = st.session_state.get("project")
    if name is None or name in names:
        return
    left_project(name)
    st.session_state[GONE] = gone_notice(str(name), opened=first_sample())
    open_project(first_sample())


def _reset_knobs() -> None:
    """Another project has its own budget, model and questions."""
    st.session_state[SAMPLE] = None
    project = load_project(st.session_state["project"])
    for name, value in default_positions(project).items():
        st.session_state[name] = value if _spec(name).is_fraction else round(value)
    st.session_state["model"] = project.model_id
    st.session_state["window"] = st.session_state["output"] = None


def _model(project: Project) -> None:
    entries = {entry.model_id: entry for entry in catalogue()}
    ids = list(entries)
    st.selectbox(
        "Model",
        ids,
        index=ids.index(project.model_id if project.model_id in entries else DEFAULT_MODEL_ID),
        key="model",
        bind="query-params",
        persist_state="session",
    )
    entry = entries[st.session_state["model"]]
    window, reserve = default_sizes(project, entry)
    if (st.session_state.get("output") or 0) > entry.max_output_tokens:
        st.session_state["output"] = None  # it was entered for a model with longer answers
    left, right = st.columns(2, gap="small")
    left.number_input(
        "Window",
        min_value=1,
        max_value=LARGEST_WINDOW,
        value=None,
        step=1_000,
        placeholder=f"{window:,}",
        key="window",
        bind=field_binding("window"),
        persist_state="session",
        help=f"Tokens that prompt and answer share. Leave it empty for {window:,}. Source: {entry.source}.",
    )
    right.number_input(
        "Output",
        min_value=0,
        max_value=entry.max_output_tokens,
        value=None,
        step=1_000,
        placeholder=f"{reserve:,}",
        key="output",
        bind=field_binding("output"),
        persist_state="session",
        help=f"Tokens reserved for the answer. {entry.model_id} answers at most {entry.max_output_tokens:,}.",
    )
    markup.field_ranges({"window": (1, LARGEST_WINDOW), "output": (0, entry.max_output_tokens)})


def _budget(project: Project) -> None:
    defaults = default_positions(project)
    st.html('<div class="cp-side-head"><b>Budget</b><span>tokens</span></div>')
    values: dict[str, str] = {}
    for spec in (KNOBS["ratio"], KNOBS["max_tokens"], KNOBS["working_memory_tokens"], CANDIDATES):
        _slider(spec, defaults)
        values[spec.name] = spec.written(position(spec.name, defaults))
    st.divider()
    st.html('<div class="cp-side-head"><b>Shares</b><span>effective</span></div>')
    shares = effective_shares({kind: position(knob, defaults) for kind, knob in SHARE_KNOBS.items()})
    for kind, knob in SHARE_KNOBS.items():
        _slider(KNOBS[knob], defaults)
        values[knob] = KNOBS[knob].written(shares[kind])
    markup.slider_values(values)
    markup.caption("The address of this page holds these settings, not a typed question.")


def _slider(spec: KnobSpec, defaults: dict[KnobName, float]) -> None:
    number = float if spec.is_fraction else round
    default = defaults[spec.name]  # a project may recommend what lies beyond the control's own range
    st.slider(
        spec.label,
        number(min(spec.least, default)),
        number(max(spec.most, default)),
        number(default),
        number(spec.step),
        key=spec.name,
        bind="query-params",
        persist_state="session",
    )


def _spec(name: KnobName) -> KnobSpec:
    return CANDIDATES if name == "candidates" else KNOBS[name]
