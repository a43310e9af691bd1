"""The views of the Data page, made once for a project."""

from __future__ import annotations

from playground.app.caches import material_cache
from playground.app.projects import added_ids
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET
from playground.tokens import TokenEstimator
from playground.views.data import DataView, data_view
from playground.views.data_tables import AddedIds
from playground.workspace import Project

__all__ = ["limit_of", "project_view", "text_tokens"]


def project_view(project: Project) -> DataView:
    """Return what a project holds in counts and tables."""
    return _view(project, added_ids(project))


def text_tokens(text: str) -> int:
    """Return the tokens of a text, by the heuristic."""
    return _COUNTER.piece_tokens(text)


def limit_of(project: Project) -> int:
    """Return the tokens above which an item of the project can never be selected."""
    return project.budget.max_tokens or DEFAULT_CONTEXT_BUDGET.max_tokens


@material_cache(8)
def _view(project: Project, added: AddedIds) -> DataView:
    return data_view(project, tokens=text_tokens, limit=limit_of(project), added=added)


_COUNTER = TokenEstimator()
