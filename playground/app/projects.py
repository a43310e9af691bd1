"""Projects and the embedding model, read once for all sessions.

A project is a sample, with what the session changed in it, or one of the user's own, as it is on disk now.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path

import streamlit as st

from playground.app.caches import material_cache
from playground.app.shelf import changed_sample
from playground.errors import ProjectError
from playground.retrieval.embedding import MINILM_ID, Embedder, load_embedder
from playground.views.data_tables import AddedIds
from playground.workspace import Project, SampleSummary, load_sample, sample_projects, sample_summaries
from playground.workspace.library import ProjectLibrary, ProjectSummary, default_library
from playground.workspace.samples import is_sample

__all__ = [
    "added_ids",
    "embedding_model",
    "first_sample",
    "library",
    "library_problem",
    "load_project",
    "named_embedder",
    "own_summaries",
    "project_names",
    "shared_embedder",
    "shipped_summaries",
    "use_model",
]

MODEL_NAMES = "embedding_models"  # session state: model id -> the name or folder it was loaded by


def project_names() -> tuple[str, ...]:
    """Return the projects that can be opened: the user's own, as far as they can be read, then the samples."""
    try:
        own = library().names()
    except ProjectError:
        own = ()  # ``library_problem`` says why; the samples can be opened all the same
    return (*own, *sample_projects())


def library_problem() -> ProjectError | None:
    """Return why the user's own projects cannot be listed; ``None`` when they can."""
    try:
        library().names()
    except ProjectError as error:
        return error
    return None


def first_sample() -> str:
    """Return the project to start with."""
    return sample_projects()[0]


def own_summaries() -> tuple[ProjectSummary, ...]:
    """Return what people are told of each of their own projects before it is opened; as ``project_names``."""
    try:
        return library().summaries()
    except ProjectError:
        return ()


@st.cache_resource(show_spinner=False)
def shipped_summaries() -> tuple[SampleSummary, ...]:
    """Return what people are told of each sample before it is opened.

    Raises:
        ProjectError: When one of them is damaged.
    """
    return sample_summaries()


def library() -> ProjectLibrary:
    """Return the user's own projects."""
    return default_library()


def load_project(name: str) -> Project:
    """Return a project by the name a link or the sidebar gives, never a path, with what this session added.

    Raises:
        ProjectError: When it is missing or damaged.
    """
    if is_sample(name):
        return changed_sample(name) or _sample(name)
    own = library()
    return _own(own.root, name, own.stamp(name))


def added_ids(project: Project) -> AddedIds:
    """Return kind and id of what the session added to a sample; nothing for an own project."""
    return _ids(project) - _ids(_sample(project.name)) if is_sample(project.name) else frozenset()


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


@material_cache(8)
def _own(root: Path, name: str, stamp: Hashable) -> Project:  # noqa: ARG001  # the stamp is part of the key
    return ProjectLibrary(root).load(name)


@st.cache_resource(max_entries=2, show_spinner=False)
def _embedder(name: str) -> Embedder:
    return load_embedder(name)


def _ids(project: Project) -> AddedIds:
    return frozenset(
        [
            *(("rag", document.id) for document in project.documents),
            *(("memory", record.id) for record in project.memories),
            *(("transcript", chat.chat_id) for chat in project.chats),
            *(("skills", skill.id) for skill in project.skills),
        ]
    )
