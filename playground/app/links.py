"""What the address of the page says: checked before the controls read it."""

from __future__ import annotations

import streamlit as st

from playground.app.blocks_controls import COUNTED, COUNTERS, MATERIAL, MATERIALS
from playground.app.controls import ESTIMATORS, REFUSED, SEARCHES
from playground.app.projects import first_sample, load_project, project_names
from playground.app.roles import ROLE, ROLES
from playground.errors import ProjectError, UnknownModelError
from playground.models import DEFAULT_MODEL_ID, ModelEntry, catalogue, find_model
from playground.views.blocks import BUDGET, LARGEST_BUDGET
from playground.views.links import check_link
from playground.views.notices import Notice, link_notice

__all__ = ["LARGEST_WINDOW", "left_project", "linked_notice", "read_link"]

LARGEST_WINDOW = 10_000_000  # tokens; beyond any model
LEFT = "left_project"
LINK_PROBLEMS = "link_problems"
MODEL_NAMES = "link_models"


def read_link() -> None:
    """Remember what the link says and no control can take; the controls drop such values themselves.

    A model may be written in any spelling that the catalogue knows. Values that were used before stay out of
    it: they are in session state, and the link follows them.
    """
    raw = {name: str(value) for name, value in st.query_params.to_dict().items()}
    names = project_names()
    if raw.get("project", "") in {st.session_state.get(name) for name in (LEFT, "project")} - set(names):
        raw.pop("project")  # it was open until now, and is gone; what there is to say of that is said elsewhere
    try:
        project = load_project(raw["project"] if raw.get("project") in names else first_sample())
    except ProjectError:
        return  # its control is drawn next and the page says why; then another one can be chosen
    known = {entry.model_id: entry for entry in catalogue()}
    entry = _linked_model(raw, known) or known.get(project.model_id, known[DEFAULT_MODEL_ID])
    limits = {
        "window": (1, LARGEST_WINDOW),
        "output": (0, entry.max_output_tokens),
        BUDGET: (1, LARGEST_BUDGET),
    }
    problems = check_link(
        raw,
        choices={
            "project": names,
            "model": known,
            "sample": [scenario.id for scenario in project.scenarios],
            "estimator": ESTIMATORS,
            "search": SEARCHES,
            ROLE: ROLES,
            MATERIAL: MATERIALS,
            COUNTED: COUNTERS,
        },
        limits=limits,
    )
    if problems:
        st.session_state[LINK_PROBLEMS] = problems
    for problem in problems:
        if problem.name in limits:
            st.session_state.setdefault(REFUSED, set()).add(problem.name)
            if problem.name in st.query_params:
                del st.query_params[problem.name]


def left_project(name: str) -> None:
    """Say that a project was left because it is gone: the link names it until the page is drawn again."""
    st.session_state[LEFT] = name


def linked_notice() -> Notice | None:
    """Return the notice of values that were not used, until somebody dismisses it."""
    names = st.session_state.get(MODEL_NAMES) or ()
    return link_notice(st.session_state.get(LINK_PROBLEMS) or (), models=names)


def _linked_model(raw: dict[str, str], known: dict[str, ModelEntry]) -> ModelEntry | None:
    model = raw.get("model")
    if model is None or model in known:
        return known.get(model or "")
    try:
        entry = find_model(model)
    except UnknownModelError as error:
        st.session_state[MODEL_NAMES] = error.suggestions
        return None
    st.session_state["model"] = raw["model"] = entry.model_id
    return entry
