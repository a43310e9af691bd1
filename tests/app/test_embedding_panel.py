"""The panel that embeds, where a run ends after the project changed."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from playground.app.embedding_job import EmbeddingJob
from playground.retrieval.embedding_cache import EmbeddingCache, vector_key
from playground.retrieval.user_cache import cache_path
from playground.workspace import load_sample
from playground.workspace.memories import remember_memory
from tests.app.test_embedding_job import LengthModel

ROOT = Path(__file__).parents[2]
SECRET = "Ada owes Bob a secret."


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["project"] = "deploy-demo"
    app.run()
    return app.switch_page("playground/app/pages/data.py").run()


def test_the_vector_of_a_text_that_went_during_the_run_is_in_no_project_and_no_cache(app: AppTest) -> None:
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
