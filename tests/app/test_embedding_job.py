"""Embedding in the background, with a small model of our own in place of the large one."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np

from playground.app.embedding_job import EmbeddingJob
from playground.cancel import CancelToken
from playground.errors import EmbeddingUnavailableError
from playground.retrieval.documents import Document
from playground.retrieval.embedding import Progress
from playground.retrieval.index import Vectors
from playground.workspace import Project, VectorTable
from playground.workspace.additions import with_documents, with_vectors
from playground.workspace.embedding import BATCH, embedded_texts


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
        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        rows[:, 0], rows[:, 1] = np.cos(angles), np.sin(angles)
        return rows


class StepModel(LengthModel):
    """Does one call of ``embed`` each time it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.called = threading.Semaphore(0)
        self.allowed = threading.Semaphore(0)

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        self.called.release()
        assert self.allowed.acquire(timeout=20)
        return super().embed(texts, progress=progress, signal=signal)

    def step(self) -> None:
        """Let the call at hand end, and wait for the next one."""
        self.allowed.release()
        assert self.called.acquire(timeout=20)


def _stepping(project: Project) -> tuple[EmbeddingJob, StepModel]:
    model = StepModel()
    job = EmbeddingJob(project, "length", load=lambda _: model)
    job.start()
    assert model.called.acquire(timeout=20)
    return job, model


def _many(number: int = 3 * BATCH) -> Project:
    return _project(*(f"text {at}" for at in range(number)))


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


def test_the_run_says_when_the_model_is_there_and_how_far_it_is_after_each_small_batch() -> None:
    job, model = _stepping(_many())
    assert (job.state, job.done, job.total) == ("loading", 0, len(embedded_texts(job.project)))
    model.step()
    assert (job.state, job.done) == ("embedding", 0)
    for batch in (1, 2):
        model.step()
        assert job.done == batch * BATCH
    model.allowed.release(9)
    job.join(20)
    assert job.state == "done"


def test_a_run_that_is_stopped_says_so_at_once_ends_with_its_batch_and_keeps_what_it_has() -> None:
    job, model = _stepping(_many())
    model.step()
    model.step()
    job.cancel()
    assert (job.state, job.running) == ("stopping", True)
    model.allowed.release()
    job.join(20)
    assert (job.state, job.done) == ("cancelled", 2 * BATCH)
    assert job.vectors is not None
    assert len(job.vectors) == 2 * BATCH
    assert all(text in embedded_texts(job.project) for text in model.asked)


def test_a_stop_while_the_model_is_loaded_waits_for_nothing() -> None:
    job, model = _stepping(_many())
    job.cancel()
    assert (job.state, job.running) == ("cancelled", False)
    model.allowed.release()
    job.join(20)
    assert (job.state, job.vectors) == ("cancelled", None)


def test_half_of_another_models_vectors_do_not_push_out_a_whole_set() -> None:
    project = _many()
    texts = embedded_texts(project)
    rows = np.ones((len(texts), 1), dtype=np.float32)
    other = VectorTable.of(texts, rows, model_id="other", weights_digest="sha256:other")
    job, model = _stepping(with_vectors(project, other))
    model.step()
    model.step()
    job.cancel()
    model.allowed.release()
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
