"""Projects and the embedding model, read once for all sessions."""

from __future__ import annotations

import streamlit as st

from playground.app.shelf import changed_sample
from playground.retrieval.embedding import MINILM_ID, Embedder, load_embedder
from playground.workspace import Project, SampleSummary, load_sample, sample_projects, sample_summaries

__all__ = [
    "added_ids",
    "embedding_model",
    "load_project",
    "named_embedder",
    "project_names",
    "project_summaries",
    "shared_embedder",
    "use_model",
]

MODEL_NAMES = "embedding_models"  # session state: model id -> the name or folder it was loaded by


def project_names() -> tuple[str, ...]:
    """Return the projects that can be opened, the one to start with first."""
    return sample_projects()


def project_summaries() -> tuple[SampleSummary, ...]:
    """Return what people are told of each project before it is opened, in the order of ``project_names``.

    Raises:
        ProjectError: When one of them is damaged.
    """
    return sample_summaries()


def load_project(name: str) -> Project:
    """Return a project by the name a link or the sidebar gives, never a path, with what this session added.

    Raises:
        ProjectError: When it is missing or damaged.
    """
    return changed_sample(name) or _sample(name)


def added_ids(project: Project) -> frozenset[str]:
    """Return the ids of documents and memories that are not in the project as it came."""
    return _ids(project) - _ids(_sample(project.name))


def embedding_model(project: Project) -> str:
    """Return the name or folder of the model whose vectors the project has; the default one without any."""
    model_id = project.vectors.model_id or MINILM_ID
    return str(st.session_state.get(MODEL_NAMES, {}).get(model_id, model_id))


def use_model(model_id: str, name: str) -> None:
    """Remember the name or folder that a model was loaded by: an id alone does not find a folder."""
    st.session_state[MODEL_NAMES] = {**st.session_state.get(MODEL_NAMES, {}), model_id: name}


def shared_embedder(project: Project) -> Embedder:
    """Return the model that made the project's vectors; torch is imported when it embeds its first text."""
    return named_embedder(embedding_model(project))


def named_embedder(name: str) -> Embedder:
    """Return a model by name or folder, the same object for everybody, so that it is loaded once."""
    return _embedder(name)


@st.cache_resource(max_entries=4, show_spinner=False)
def _sample(name: str) -> Project:
    return load_sample(name)


@st.cache_resource(max_entries=2, show_spinner=False)
def _embedder(name: str) -> Embedder:
    return load_embedder(name)


def _ids(project: Project) -> frozenset[str]:
    return frozenset(
        {document.id for document in project.documents} | {record.id for record in project.memories}
    )
