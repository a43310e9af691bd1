"""The vector cache: nothing is computed twice, a cut-off run resumes, models never share vectors."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.errors import CallCancelledError
from playground.retrieval.embedding import Progress
from playground.retrieval.embedding_cache import CachedEmbedder, EmbeddingCache, text_digest
from playground.retrieval.index import Vectors


class HashEmbedder:
    """A small, real embedder: pseudo-random unit vectors from the text's digest; it counts its texts."""

    dims = 8

    def __init__(self, model_id: str = "hash", weights_digest: str = "sha256:0", fail_after: int = -1) -> None:
        self.model_id = model_id
        self.weights_digest = weights_digest
        self.fail_after = fail_after
        self.seen: list[str] = []

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        if 0 <= self.fail_after <= len(self.seen):
            raise OSError("power cut")
        self.seen += texts
        rows = []
        for text in texts:
            seed = int.from_bytes(hashlib.sha256(f"{self.model_id}{text}".encode()).digest()[:8])
            row = np.random.default_rng(seed).normal(size=self.dims)
            rows.append(row / np.linalg.norm(row))
        return np.array(rows, dtype=np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[EmbeddingCache]:
    cache = EmbeddingCache(tmp_path / "deep" / "vectors.db")
    yield cache
    cache.close()


def test_an_unchanged_corpus_calls_the_model_for_nothing(cache: EmbeddingCache) -> None:
    model = HashEmbedder()
    texts = [f"text {n}" for n in range(700)]
    first = CachedEmbedder(model, cache).embed(texts)
    assert len(model.seen) == 700
    again = CachedEmbedder(model, cache).embed(texts)
    assert len(model.seen) == 700
    assert np.array_equal(first, again)


def test_equal_texts_are_embedded_once_and_each_gets_its_row(cache: EmbeddingCache) -> None:
    model = HashEmbedder()
    vectors = CachedEmbedder(model, cache).embed(["b", "a", "b"])
    assert sorted(model.seen) == ["a", "b"]
    assert np.array_equal(vectors[0], vectors[2])
    assert np.array_equal(vectors, model.embed(["b", "a", "b"]))


def test_a_run_that_is_cut_off_resumes_where_it_stopped(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(600)]
    cache = EmbeddingCache(tmp_path / "vectors.db")
    with pytest.raises(OSError, match="power cut"):
        CachedEmbedder(HashEmbedder(fail_after=256), cache).embed(texts)
    cache.close()
    reopened = EmbeddingCache(tmp_path / "vectors.db")
    model = HashEmbedder()
    heard: list[tuple[int, int]] = []
    CachedEmbedder(model, reopened).embed(texts, progress=lambda done, total: heard.append((done, total)))
    assert len(model.seen) == 600 - 256
    assert heard[0] == (256, 600)
    assert heard[-1] == (600, 600)
    reopened.close()


def test_cancelling_keeps_what_was_done(cache: EmbeddingCache) -> None:
    signal = CancelToken()

    def stop_soon(done: int, total: int) -> None:
        if done >= 128:
            signal.cancel()

    with pytest.raises(CallCancelledError):
        CachedEmbedder(HashEmbedder(), cache).embed(
            [str(n) for n in range(500)], progress=stop_soon, signal=signal
        )
    assert len(cache) == 128


def test_models_and_weights_never_share_vectors(cache: EmbeddingCache) -> None:
    CachedEmbedder(HashEmbedder("one"), cache).embed(["a"])
    for other in (HashEmbedder("two"), HashEmbedder("one", "sha256:1")):
        CachedEmbedder(other, cache).embed(["a"])
        assert other.seen == ["a"]


def test_forgotten_texts_leave_no_vector_and_no_bytes(cache: EmbeddingCache) -> None:
    embedder = CachedEmbedder(HashEmbedder(), cache)
    kept, gone = embedder.embed(["kept", "gone"])
    assert cache.forget([text_digest("gone")]) == 1
    assert cache.forget([text_digest("gone")]) == 0
    assert cache.get("hash", "sha256:0", [text_digest("gone")]) == {}
    files = b"".join(path.read_bytes() for path in cache.path.parent.iterdir())
    assert gone.tobytes() not in files
    assert kept.tobytes() in files


def test_a_file_that_is_no_database_is_put_aside(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    path.write_bytes(b"this is not SQLite" * 100)
    cache = EmbeddingCache(path)
    assert len(cache) == 0
    assert (tmp_path / "vectors.db.damaged").read_bytes().startswith(b"this is not SQLite")
    cache.close()


def test_threads_share_one_cache(cache: EmbeddingCache) -> None:
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            CachedEmbedder(HashEmbedder(), cache).embed([f"{number}-{n}" for n in range(200)] + ["shared"])
        except BaseException as error:  # noqa: BLE001  # handed to the main thread
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert len(cache) == 6 * 200 + 1


def test_digests_take_any_text() -> None:
    assert text_digest("\ud800") != text_digest("\ufffd")
    assert text_digest("a") == hashlib.sha256(b"a").digest()


def test_erased_bytes_are_overwritten_and_not_only_unlinked(cache: EmbeddingCache) -> None:
    assert cache._connection.execute("PRAGMA secure_delete").fetchone() == (1,)
