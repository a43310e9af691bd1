"""One run over a project's texts: what it makes, what it leaves out, and what becomes of it afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.errors import CallCancelledError, EmbeddingUnavailableError
from playground.retrieval.documents import Document
from playground.retrieval.embedding import Progress
from playground.retrieval.embedding_cache import EmbeddingCache, vector_key
from playground.retrieval.index import Vectors
from playground.retrieval.user_cache import cache_path, forget_cached
from playground.scope import MemoryScope
from playground.workspace import Project
from playground.workspace.additions import with_documents, with_vectors
from playground.workspace.embedding import (
    BATCH,
    EmbeddingProgress,
    embed_project,
    embedded_texts,
    unheld_keys,
    with_embedding,
)
from playground.workspace.memories import forget_memories, remember_memory


class AngleModel:
    """Unit vectors in a plane, turned by the text's digest; remembers what it was asked."""

    weights_digest = "sha256:angles"
    dims = 2

    def __init__(self, model_id: str = "angles") -> None:
        self.model_id = model_id
        self.asked: list[str] = []

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        self.asked += texts
        angles = [int.from_bytes(vector_key(text)[:2]) / 1e4 for text in texts]
        rows = np.zeros((len(texts), self.dims), dtype=np.float32)
        rows[:, 0], rows[:, 1] = np.cos(angles), np.sin(angles)
        return rows


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddingCache]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with closing(EmbeddingCache(cache_path())) as cache:
        yield cache


def _project(*texts: str, question: str = "Why?") -> Project:
    documents = [Document(f"d{at}", f"Title {at}", text) for at, text in enumerate(texts)]
    start = Project(name="demo", question=question, scope=MemoryScope(user_id="ada"))
    return with_documents(start, documents).project


def _many() -> Project:
    return _project(*(f"text {at} " + "word " * at for at in range(3 * BATCH)))


def test_every_text_gets_a_vector_and_a_second_run_asks_the_model_for_nothing(cache: EmbeddingCache) -> None:
    project, model = _many(), AngleModel()
    run = embed_project(project, model, cache)
    texts = embedded_texts(project)
    assert (run.done, run.total, run.computed, run.stopped) == (len(texts), len(texts), len(texts), False)
    assert sorted(model.asked) == sorted(texts)
    assert run.vectors is not None
    assert all(text in run.vectors for text in texts)
    for again in (project, with_embedding(project, run.vectors)):
        second = AngleModel()
        repeated = embed_project(again, second, cache)
        assert (second.asked, repeated.computed) == ([], 0)
        assert repeated.vectors is not None
        assert repeated.vectors.to_bytes() == run.vectors.to_bytes()


def test_progress_is_told_from_the_start_and_grows_to_the_whole(cache: EmbeddingCache) -> None:
    heard: list[EmbeddingProgress] = []
    project = _many()
    total = len(embedded_texts(project))
    embed_project(project, AngleModel(), cache, on_progress=heard.append)
    assert heard[0] == EmbeddingProgress("loading", 0, total, 0.0)
    assert heard[1] == EmbeddingProgress("embedding", 0, total, 0.0)
    assert heard[-1] == EmbeddingProgress("embedding", total, total, 1.0)
    assert all(one.done < other.done and one.part < other.part for one, other in pairwise(heard[1:]))
    # The longest come first, so that more of the work is done than of the texts.
    assert heard[2].part > heard[2].done / total


def _stopped_at(batches: int) -> tuple[CancelToken, Callable[[EmbeddingProgress], None]]:
    signal = CancelToken()

    def stop(progress: EmbeddingProgress) -> None:
        if progress.done >= batches * BATCH:
            signal.cancel()

    return signal, stop


def test_a_signal_ends_the_run_and_what_was_made_is_kept(cache: EmbeddingCache) -> None:
    project = _many()
    signal, stop = _stopped_at(2)
    run = embed_project(project, AngleModel(), cache, on_progress=stop, signal=signal)
    assert (run.stopped, run.done) == (True, 2 * BATCH)
    assert run.vectors is not None
    assert len(run.vectors) == 2 * BATCH
    rest = AngleModel()
    assert not embed_project(project, rest, cache).stopped
    # The shortest text was embedded first, to see whether the model is there.
    assert len(rest.asked) == run.total - 2 * BATCH - 1


def test_a_signal_before_the_first_batch_is_a_cancelled_call(cache: EmbeddingCache) -> None:
    signal, stop = _stopped_at(0)
    with pytest.raises(CallCancelledError):
        embed_project(_many(), AngleModel(), cache, on_progress=stop, signal=signal)


def test_half_of_another_models_vectors_push_out_no_whole_set(cache: EmbeddingCache) -> None:
    project = _many()
    run = embed_project(project, AngleModel("old"), cache)
    assert run.vectors is not None
    signal, stop = _stopped_at(1)
    embedded = with_vectors(project, run.vectors)
    assert embed_project(embedded, AngleModel(), cache, on_progress=stop, signal=signal).vectors is None


def test_an_empty_project_needs_nothing(cache: EmbeddingCache) -> None:
    model = AngleModel()
    run = embed_project(_project(question=""), model, cache)
    assert (run.done, run.total, run.computed, model.asked) == (0, 0, 0, [])


def test_a_model_whose_vectors_changed_their_length_is_a_typed_error(cache: EmbeddingCache) -> None:
    project = _project("one")
    run = embed_project(project, AngleModel(), cache)
    assert run.vectors is not None
    grown = with_documents(with_vectors(project, run.vectors), [Document("new", "New", "two")]).project
    wider = AngleModel()
    wider.dims = 3
    with pytest.raises(EmbeddingUnavailableError, match="another length"):
        embed_project(grown, wider, cache)


class BrokenModel(AngleModel):
    """Gives a vector that no project could be loaded with."""

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        rows = super().embed(texts)
        rows[-1] = np.nan
        return rows


def test_a_model_that_gives_no_unit_vectors_is_a_typed_error_and_harms_no_project(
    cache: EmbeddingCache,
) -> None:
    with pytest.raises(EmbeddingUnavailableError, match="not finite"):
        embed_project(_many(), BrokenModel(), cache)


def test_what_was_forgotten_during_a_run_stays_forgotten(cache: EmbeddingCache) -> None:
    project = remember_memory(_project("one"), "Ada owes Bob a secret.", now=0, id="m1")
    run = embed_project(project, AngleModel(), cache)
    assert run.vectors is not None
    secret = vector_key("Ada owes Bob a secret.")
    assert secret in run.vectors.digests
    after = with_embedding(forget_memories(project, ["m1"], now=1).project, run.vectors)
    assert secret not in after.vectors.digests
    assert len(after.vectors) == len(run.vectors) - 1
    assert unheld_keys(after, run.vectors) == (secret,)
    forget_cached(unheld_keys(after, run.vectors))
    assert cache.get("angles", "sha256:angles", [secret]) == {}
    assert len(cache) == len(after.vectors)


def test_vectors_that_joined_during_a_run_stay_when_they_are_of_the_same_model(cache: EmbeddingCache) -> None:
    start = _project("one")
    first = embed_project(start, AngleModel(), cache).vectors
    grown = with_documents(start, [Document("new", "New", "two")]).project
    for model_id, kept in (("angles", True), ("other", False)):
        other = embed_project(grown, AngleModel(model_id), cache).vectors
        assert first is not None
        assert other is not None
        after = with_embedding(with_vectors(grown, other), first)
        assert ("New\ntwo" in after.vectors) is kept
        assert len(after.vectors) == len(first) + kept
        assert after.digest != grown.digest


def test_nothing_to_erase_opens_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    forget_cached(())
    assert list(tmp_path.iterdir()) == []
