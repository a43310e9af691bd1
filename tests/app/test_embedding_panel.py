"""The panel that embeds, where a run ends after the project changed."""

from __future__ import annotations

from contextlib import closing

from playground.app.embedding_job import EmbeddingJob
from playground.retrieval.embedding_cache import EmbeddingCache, vector_key
from playground.retrieval.user_cache import cache_path
from playground.workspace import load_sample
from playground.workspace.memories import remember_memory
from tests.app.driver import opened, project_of
from tests.app.test_embedding_job import LengthModel

SECRET = "Ada owes Bob a secret."


def test_the_vector_of_a_text_that_went_during_the_run_is_in_no_project_and_no_cache() -> None:
    app = opened("data", project="deploy-demo")
    project = load_sample("deploy-demo")
    # What the page has now lacks a memory that was there when the run began.
    job = EmbeddingJob(remember_memory(project, SECRET, now=0), "length", load=lambda _: LengthModel())
    job.start()
    job.join(20)
    assert job.vectors is not None
    assert SECRET in job.vectors
    with closing(EmbeddingCache(cache_path())) as cache:
        assert cache.get("length", "sha256:length", [vector_key(SECRET)])
    app.session_state["embedding_job"] = job
    app.run()
    assert not app.exception
    with closing(EmbeddingCache(cache_path())) as cache:
        assert cache.get("length", "sha256:length", [vector_key(SECRET)]) == {}
        assert len(cache) == len(job.vectors) - 1
    assert SECRET not in project_of(app).vectors
    assert len(project_of(app).vectors) == len(job.vectors) - 1
