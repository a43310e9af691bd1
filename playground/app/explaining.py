"""Which entry the Explain page explains, and its explanation, cached."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from playground.app.caches import material_cache
from playground.app.controls import Settings
from playground.app.services import Compiled, compiled
from playground.app.state import pick, selected
from playground.compiler.binding import kinder_changes
from playground.compiler.explain import Explanation, explain
from playground.compiler.manifest import ContextManifest
from playground.errors import PlaygroundError
from playground.views.binding_trial import Record, trial_of
from playground.views.explanation import ExplanationView, explanation_view
from playground.views.explanation_changes import applicable_changes
from playground.views.knob_action import KnobAction, candidates_action
from playground.views.record_key import record_key

__all__ = ["entry_number", "explained", "pick_entry"]

ENTRY = "explained_entry"
"""Session state: number of the entry that was picked; it counts as long as the marked record is its own."""


def entry_number(found: Compiled) -> int | None:
    """Return the entry to explain: the picked one, else the best that the budget left out, else the first."""
    entries = found.package.manifest.entries
    key, number = selected(), st.session_state.get(ENTRY)
    if isinstance(number, int) and number < len(entries) and key == _key(found.package.manifest, number):
        return number
    keys = [_key(found.package.manifest, number) for number in range(len(entries))]
    marked = [number for number, other in enumerate(keys) if other == key]
    if marked:
        return next((number for number in marked if entries[number].selected), marked[0])
    out = [number for number, entry in enumerate(entries) if entry.reason == "budget"]
    best = min(out, key=lambda number: -(entries[number].score or 0.0), default=None)
    return best if best is not None else 0 if entries else None


def pick_entry(number: int, key: str) -> None:
    """Mark an entry's record everywhere and explain this entry of it; a callback."""
    pick(key)
    st.session_state[ENTRY] = number


def explained(settings: Settings, found: Compiled, number: int) -> ExplanationView:
    """Return the explanation of one entry of the present compile, with its buttons."""
    model = settings.model
    key = (
        found.retrieval.number, model.provider, model.model_id, model.context_window, model.max_output_tokens,
        settings.estimator, *settings.positions.items(),
    )  # fmt: skip
    return _explained(repr(key), number, settings, found)


@material_cache(64, show_spinner="Trying every knob")
def _explained(
    key: str,  # noqa: ARG001  # what the rest follows from
    number: int,
    _settings: Settings,
    _found: Compiled,
) -> ExplanationView:
    explanation = explain(_found.offers, _found.package, number)
    view = explanation_view(
        explanation,
        _found.package.manifest,
        _found.retrieval.texts,
        positions=_settings.positions,
        trial=trial_of(_found.offers),
        kinder=kinder_changes(_found.offers, _found.package, number, applicable_changes(explanation)),
    )
    fewer = _candidates(explanation, _settings, _found)
    return replace(view, actions=(*view.actions, fewer)) if fewer else view


def _candidates(explanation: Explanation, settings: Settings, found: Compiled) -> KnobAction | None:
    texts = found.retrieval.texts

    def selected_at(candidates: int) -> frozenset[Record]:
        try:
            again = compiled(replace(settings, candidates=candidates))
        except PlaygroundError:
            return frozenset()
        return again.package.manifest.entries.selected_records()

    for change in applicable_changes(explanation):
        if change.knob == "candidates_per_source":
            return candidates_action(
                change,
                (explanation.source, explanation.record_id),
                selected_at,
                now=found.package.manifest.entries.selected_records(),
                title=lambda source, record_id: texts[(source, record_id)].title,
            )
    return None


def _key(manifest: ContextManifest, number: int) -> str:
    return record_key(manifest.entries.column("source")[number], manifest.entries.column("record_id")[number])
