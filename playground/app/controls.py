"""What the sidebar's controls say, read from session state; every page sees the same settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from playground.compiler.budget import ContextBudget
from playground.compiler.knobs import SHARE_KNOBS, Knob
from playground.models import ModelEntry, ModelSpec, find_model
from playground.views.knobs import CANDIDATES, KNOBS, KnobName, budget_of
from playground.views.links import number_in
from playground.workspace import Project

__all__ = [
    "ESTIMATORS",
    "REFUSED",
    "SAMPLE",
    "SEARCHES",
    "Settings",
    "apply_control",
    "apply_controls",
    "default_positions",
    "default_sizes",
    "field_binding",
    "position",
    "settings",
    "sizes",
]

SAMPLE = "sample"
"""Session state: id of the chosen sample question; also its name in the link."""
REFUSED = "link_refused"
"""Session state: names of fields whose number in the link was refused."""
Search = Literal["hybrid", "dense", "lexical"]
Estimator = Literal["heuristic", "tokenizer"]
ESTIMATORS: tuple[Estimator, ...] = ("heuristic", "tokenizer")
SEARCHES: tuple[Search, ...] = ("hybrid", "dense", "lexical")


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a compile depends on."""

    project: Project
    """As the question asks it: a sample question may be about somebody else's memories and chats."""
    question: str
    entry: ModelEntry
    model: ModelSpec
    estimator: Estimator
    search: Search
    candidates: int
    positions: dict[Knob, float]

    @property
    def budget(self) -> ContextBudget:
        """The budget that the positions stand for."""
        return budget_of(self.positions)


def settings(project: Project, **instead: Any) -> Settings:
    """Return what the controls say now; call it after the sidebar was drawn.

    Args:
        project: What is compiled.
        **instead: Values of ``model``, ``window`` and ``output`` in place of those entered, to try them.

    Raises:
        InvalidInputError: When the output reserve does not fit the window.
    """
    state = st.session_state
    entry = find_model(_said("model", instead))
    window, reserve = sizes(project, **instead)
    defaults = default_positions(project)
    return Settings(
        project=_asked(project),
        question=str(state.get("question", "")),
        entry=entry,
        model=ModelSpec(
            provider=entry.provider,
            model_id=entry.model_id,
            context_window=window,
            max_output_tokens=reserve,
        ),
        estimator=state["estimator"],
        search=state["search"],
        candidates=round(position("candidates", defaults)),
        positions={knob: position(knob, defaults) for knob in KNOBS},
    )


def sizes(project: Project, **instead: Any) -> tuple[int, int]:
    """Return window and output reserve in tokens: what was entered, else the defaults; see ``settings``.

    A reserve that was entered for a model with longer answers does not count.
    """
    entry = find_model(_said("model", instead))
    window, output = _said("window", instead), _said("output", instead)
    default_window, reserve = default_sizes(project, entry)
    if output is not None and output <= entry.max_output_tokens:
        reserve = output
    return default_window if window is None else window, reserve


def default_sizes(project: Project, entry: ModelEntry) -> tuple[int, int]:
    """Return window and output reserve in tokens where the fields are empty.

    The project's own window holds for its own model alone; the reserve never exceeds the model's limit.
    """
    spec = project.model_for(entry.model_id)
    return spec.context_window, spec.max_output_tokens


def field_binding(name: str) -> Literal["query-params"] | None:
    """Return how a field of a whole number follows the link: not at all once its number there was refused.

    Streamlit would read the link again, take a fraction for a whole number, and fail over one without end.
    """
    return None if name in st.session_state.get(REFUSED, ()) else "query-params"


def default_positions(project: Project) -> dict[KnobName, float]:
    """Return where the sliders stand for a project until somebody moves them."""
    budget = project.budget
    return {
        "ratio": budget.ratio,
        "max_tokens": budget.max_tokens,
        "working_memory_tokens": budget.working_memory_tokens,
        **{knob: budget.shares[kind] for kind, knob in SHARE_KNOBS.items()},
        "candidates": project.candidates_per_source,
    }


def position(name: KnobName, defaults: dict[KnobName, float]) -> float:
    """Return where a slider stands, also before it is drawn for the first time: a link may have set it."""
    if name in st.session_state:
        return float(st.session_state[name])
    spec = CANDIDATES if name == "candidates" else KNOBS[name]
    linked = number_in(st.query_params.get(name, ""), spec.least, spec.most)
    return defaults[name] if linked is None else linked


def apply_control(name: str, value: str | float | None) -> None:
    """Put one control to a value; the callback of buttons that mend something."""
    st.session_state[name] = value


def apply_controls(values: Iterable[tuple[KnobName, float]]) -> None:
    """Put several sliders to positions at once; a callback."""
    for knob, value in values:
        spec = CANDIDATES if knob == "candidates" else KNOBS[knob]
        apply_control(knob, value if spec.is_fraction else round(value))


def _asked(project: Project) -> Project:
    """Return the project in the scope of the sample question, as long as that is what is asked."""
    scenario = next((one for one in project.scenarios if one.id == st.session_state.get(SAMPLE)), None)
    if scenario is None or scenario.scope is None or scenario.question != st.session_state.get("question"):
        return project
    _ = project.chunk_words, project.chunk_vectors  # built here, the questions of all scopes share them
    return project.for_scenario(scenario)


def _said(name: str, instead: Mapping[str, Any]) -> Any:
    return instead[name] if name in instead else st.session_state[name]
