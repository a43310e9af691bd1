"""Embedding in the background, with a small model of our own in place of the large one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from playground.app.embedding_job import EmbeddingJob, cache_path
from playground.cancel import CancelToken
from playground.errors import EmbeddingUnavailableError
from playground.retrieval.documents import Document
from playground.retrieval.embedding import Progress
from playground.retrieval.index import Vectors
from playground.workspace import Project
from playground.workspace.additions import with_documents, with_vectors
from playground.workspace.build_samples import embedded_texts


class LengthModel:
    """Gives each text a unit vector of its length; may wait at a gate, and counts what it was asked."""

    model_id = "length"
    weights_digest = "sha256:length"
    dims = 2

    def __init__(self, gate: threading.Event | None = None) -> None:
        self.gate = gate
        self.asked: list[str] = []

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        if self.gate is not None:
            self.gate.wait(timeout=20)
        if signal is not None:
            signal.raise_if_cancelled()
        self.asked += texts
        angles = np.array([len(text) for text in texts], dtype=np.float32) / 100
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def _project(*texts: str) -> Project:
    documents = [Document(f"d{i}", f"Title {i}", text) for i, text in enumerate(texts)]
    return with_documents(Project(name="demo", question="Why?"), documents).project


def _run(project: Project, model: LengthModel) -> EmbeddingJob:
    job = EmbeddingJob(project, "length", load=lambda _: model)
    job.start()
    job.join(20)
    return job


def test_every_text_gets_a_vector_and_progress_ends_at_the_total() -> None:
    project = _project("one", "two")
    job = _run(project, LengthModel())
    assert job.state == "done"
    assert job.vectors is not None
    assert all(text in job.vectors for text in embedded_texts(project))
    assert job.done == job.total == len(embedded_texts(project))


def test_only_new_texts_are_embedded_and_known_vectors_stay() -> None:
    start = _project("one")
    first = _run(start, LengthModel()).vectors
    assert first is not None
    model = LengthModel()
    grown = with_documents(with_vectors(start, first), [Document("new", "New", "three")]).project
    job = _run(grown, model)
    assert model.asked == ["New\nthree"]
    assert job.vectors is not None
    assert len(job.vectors) == len(first) + 1


def test_a_cancelled_run_ends_and_leaves_the_project_alone() -> None:
    gate = threading.Event()
    job = EmbeddingJob(_project("one"), "length", load=lambda _: LengthModel(gate))
    job.start()
    job.cancel()
    gate.set()
    job.join(20)
    assert (job.state, job.vectors) == ("cancelled", None)


def test_vectors_made_before_a_stop_are_not_made_again() -> None:
    project = _project("one", "two")
    _run(project, LengthModel())
    again = LengthModel()
    assert _run(project, again).state == "done"
    assert again.asked == []


def test_a_model_that_cannot_be_loaded_is_named_with_a_remedy() -> None:
    def load(name: str) -> LengthModel:
        raise EmbeddingUnavailableError(f"{name} cannot be fetched.", remedy="Search lexically.", model=name)

    job = EmbeddingJob(_project("one"), "no-such-model", load=load)
    job.start()
    job.join(20)
    assert job.state == "failed"
    assert job.error is not None
    assert (job.error.model, job.error.remedy) == ("no-such-model", "Search lexically.")


def test_an_unexpected_failure_is_reported_and_not_lost() -> None:
    def load(name: str) -> LengthModel:
        raise ZeroDivisionError

    job = EmbeddingJob(_project("one"), "length", load=load)
    job.start()
    job.join(20)
    assert job.state == "failed"
    assert job.error is not None
    assert "ZeroDivisionError" in str(job.error)


def test_the_cache_lies_in_the_users_cache_folder(tmp_path: Path) -> None:
    assert cache_path().is_relative_to(tmp_path)
