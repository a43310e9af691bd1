"""The panel of the Data page that embeds: what has a vector, a run with progress and cancel, the cache."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from playground.app import data_markup, markup
from playground.app.embedding_job import EmbeddingJob
from playground.app.material import change_project
from playground.app.projects import embedding_model, named_embedder, use_model
from playground.errors import PlaygroundError
from playground.retrieval.embedding import load_embedder
from playground.retrieval.user_cache import cache_path, cache_size, clear_cache, forget_cached, shown_path
from playground.views.embedding import cache_text, embedding_view, progress_text, stopped_notice
from playground.views.load_report import REPORT
from playground.views.notices import Notice, error_notice
from playground.views.words import plural
from playground.workspace import Project
from playground.workspace.embedding import unheld_keys, with_embedding

__all__ = ["embedding_panel"]

POLLING = 1.0  # s between two looks at a run; each one takes time from it
JOB, MODEL = "embedding_job", "embedding_model"


def embedding_panel(project: Project) -> None:
    """Show what has a vector; embed the rest behind a button, with progress and cancel."""
    job: EmbeddingJob | None = st.session_state.get(JOB)
    with st.container(key="panel_embedding", height="stretch"):
        if job is not None:
            _job_running(job)
        else:
            _job_offered(project)


def _job_offered(project: Project) -> None:
    model = (st.session_state.get(MODEL) or "").strip() or embedding_model(project)
    view = embedding_view(project, model=load_embedder(model).model_id)  # a folder's vectors bear its last name
    markup.head("Embedding", "for search by meaning")
    markup.prose(view.sentence)
    data_markup.bar(
        1 - len(view.missing) / view.total if view.total else 0.0, "Texts without a vector are found by words."
    )
    st.text_input(
        "Model",
        key=MODEL,
        placeholder=model,
        max_chars=300,
        persist_state="session",
        help="A sentence-transformers name or a local folder. A name that is not on this computer is fetched.",
    )
    label = f"Embed {plural(len(view.missing), 'text')}" if view.missing else "All texts are embedded"
    if st.button(label, key="embed", disabled=view.complete):
        embedder = named_embedder(model)
        job = EmbeddingJob(project, model, load=lambda _: embedder)
        st.session_state[JOB] = job
        job.start()
        st.rerun()
    size = cache_size()
    with st.container(key="embedding_cache", horizontal=True, vertical_alignment="center"):
        markup.caption(cache_text(shown_path(), size))
        if size:
            st.button("Clear", key="clear_cache", on_click=_clear_cache, help=f"Deletes {cache_path().name}.")


def _clear_cache() -> None:
    try:
        clear_cache()
    except PlaygroundError as error:
        st.session_state[REPORT] = (error_notice(error),)


@st.fragment(run_every=POLLING)
def _job_running(job: EmbeddingJob) -> None:
    markup.head("Embedding", f"{job.project.name}, {job.model}")
    state, done, total = job.state, job.done, job.total
    if job.running:
        st.progress(done / total if total else 0.0, text=progress_text(state, done, total))
        st.button("Cancel", key="cancel_embedding", on_click=job.cancel, disabled=state == "stopping")
        return
    st.session_state.pop(JOB, None)
    st.session_state[REPORT] = (*_kept(job), *_outcome(job))
    st.rerun()


def _kept(job: EmbeddingJob) -> Sequence[Notice]:
    """Give the project, as it is now, what the run made; what was forgotten meanwhile stays forgotten."""
    if (vectors := job.vectors) is None:
        return ()
    try:
        after = change_project(job.project.name, lambda project: with_embedding(project, vectors))
        forget_cached(unheld_keys(after, vectors))
    except PlaygroundError as error:
        return (error_notice(error),)
    use_model(vectors.model_id, job.model)
    return ()


def _outcome(job: EmbeddingJob) -> Sequence[Notice]:
    if job.error is not None:
        return (error_notice(job.error),)
    return (stopped_notice(job.done, job.total),) if job.state == "cancelled" else ()
