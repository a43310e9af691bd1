"""The vector cache: nothing is computed twice, a cut-off run resumes, models never share vectors."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from random import Random

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.errors import CallCancelledError, PlaygroundError
from playground.retrieval import vector_file
from playground.retrieval.embedding import Progress
from playground.retrieval.embedding_cache import CachedEmbedder, EmbeddingCache, vector_key
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
    assert cache.forget([vector_key("gone")]) == 1
    assert cache.forget([vector_key("gone")]) == 0
    assert cache.get("hash", "sha256:0", [vector_key("gone")]) == {}
    files = b"".join(path.read_bytes() for path in cache.path.parent.iterdir())
    assert gone.tobytes() not in files
    assert kept.tobytes() in files


def test_a_file_that_is_no_database_is_set_aside(tmp_path: Path) -> None:
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
    assert vector_key("\ud800") != vector_key("\ufffd")
    assert vector_key("a") == hashlib.sha256(b"a").digest()


def test_erased_bytes_are_overwritten_and_not_only_unlinked(cache: EmbeddingCache) -> None:
    assert cache._connection.execute("PRAGMA secure_delete").fetchone() == (1,)


def known(path: Path, count: int = 300) -> tuple[list[str], Vectors]:
    """A closed cache file with this many vectors, and what is in it."""
    cache = EmbeddingCache(path)
    texts = [f"text {n}" for n in range(count)]
    vectors = CachedEmbedder(HashEmbedder(), cache).embed(texts)
    cache.close()
    return texts, vectors


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("when", ["closed", "open"])
def test_damaged_bytes_never_give_a_wrong_vector_or_an_error(tmp_path: Path, seed: int, when: str) -> None:
    path = tmp_path / "vectors.db"
    texts, vectors = known(path)
    cache = EmbeddingCache(path) if when == "open" else None
    random = Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(random.choice([1, 5, 200])):
        data[random.randrange(len(data))] = random.randrange(256)
    path.write_bytes(data if random.random() < 0.8 else data[: random.randrange(len(data))])
    cache = cache or EmbeddingCache(path)
    embedder = CachedEmbedder(HashEmbedder(), cache)
    assert np.array_equal(embedder.embed(texts), vectors)
    embedder.embed(["another"])
    embedder.forget(["text 7"])
    assert len(cache) >= 0
    assert np.array_equal(embedder.embed(texts), vectors)
    cache.close()


def test_a_row_that_was_changed_counts_as_missing(cache: EmbeddingCache) -> None:
    """Zeros, another text's vector, a shorter one, and one of another model."""
    model = HashEmbedder()
    texts = ["zeros", "swapped", "short", "text", "kept"]
    vectors = CachedEmbedder(model, cache).embed(texts)
    changes = [
        ("zeroblob(32)", "zeros"),
        ("(SELECT vector FROM vectors WHERE text_digest = x'" + vector_key("kept").hex() + "')", "swapped"),
        ("substr(vector, 1, 28)", "short"),
        ("'words'", "text"),
    ]
    with cache._connection as connection:
        for value, text in changes:
            connection.execute(
                f"UPDATE vectors SET vector = {value} WHERE text_digest = ?", (vector_key(text),)
            )
        connection.execute("UPDATE vectors SET model_id = 'other' WHERE text_digest = ?", (vector_key("kept"),))
    assert cache.get("other", "sha256:0", [vector_key("kept")]) == {}
    model.seen.clear()
    assert np.array_equal(CachedEmbedder(model, cache).embed(texts), vectors)
    assert sorted(model.seen) == sorted(texts)


class BadEmbedder(HashEmbedder):
    """Gives what a broken model gives."""

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        rows = super().embed(texts)
        rows[0] = np.nan
        rows[1] *= 2
        return rows


def test_vectors_that_are_not_finite_or_not_of_unit_length_are_never_kept(cache: EmbeddingCache) -> None:
    CachedEmbedder(BadEmbedder(), cache).embed(["a", "b", "c"])
    assert len(cache) == 1


def test_a_model_that_changed_its_dimensions_is_asked_again(cache: EmbeddingCache) -> None:
    CachedEmbedder(HashEmbedder(), cache).embed(["a", "b"])
    wider = HashEmbedder()
    wider.dims = 16
    assert CachedEmbedder(wider, cache).embed(["a", "b", "c"]).shape == (3, 16)
    assert CachedEmbedder(wider, cache).embed(["a", "b", "c"]).shape == (3, 16)
    assert sorted(wider.seen) == ["a", "b", "c", "c"]


def foreign(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE vectors (id INTEGER, words TEXT)")
        connection.execute("INSERT INTO vectors VALUES (1, 'precious')")


def below_a_file(path: Path) -> None:
    path.parent.rmdir()
    path.parent.write_text("a file where the folder should be")


def locked(path: Path) -> sqlite3.Connection:
    known(path, 3)
    holder = sqlite3.connect(path)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("BEGIN EXCLUSIVE")
    return holder


@pytest.mark.parametrize("spoil", [Path.mkdir, foreign, below_a_file, locked])
def test_where_no_file_can_be_used_vectors_are_kept_in_memory(
    tmp_path: Path,
    spoil: Callable[[Path], object],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(vector_file, "BUSY_SECONDS", 0.1)
    path = tmp_path / "deep" / "vectors.db"
    path.parent.mkdir()
    kept = spoil(path)
    before = path.read_bytes() if path.is_file() else b""
    cache = EmbeddingCache(path)
    assert "in memory only" in caplog.text
    model = HashEmbedder()
    for _ in range(2):
        CachedEmbedder(model, cache).embed(["a", "b"])
    assert sorted(model.seen) == ["a", "b"]
    cache.close()
    assert (path.read_bytes() if path.is_file() else b"") == before
    del kept


def test_a_lock_that_comes_later_costs_the_cache_and_not_the_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_file, "BUSY_SECONDS", 0.1)
    path = tmp_path / "vectors.db"
    texts, vectors = known(path, 5)
    cache = EmbeddingCache(path)
    with closing(sqlite3.connect(path)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        embedder = CachedEmbedder(HashEmbedder(), cache)
        assert np.array_equal(embedder.embed([*texts, "new"])[:5], vectors)
        with pytest.raises(PlaygroundError, match="not erased yet"):
            embedder.forget(texts)
    assert embedder.forget(texts) == 5
    cache.close()


def test_forgetting_reaches_what_was_set_aside_but_no_foreign_file(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    texts, vectors = known(path)
    data = bytearray(path.read_bytes())
    data[:16] = b"\xff" * 16
    path.write_bytes(data)
    cache = EmbeddingCache(path)
    assert vectors[0].tobytes() in (tmp_path / "vectors.db.damaged").read_bytes()
    cache.forget([vector_key(texts[0])])
    assert not (tmp_path / "vectors.db.damaged").exists()
    (tmp_path / "vectors.db.damaged").write_bytes(b"a thesis")
    cache.forget([vector_key(texts[0])])
    assert (tmp_path / "vectors.db.damaged").read_bytes() == b"a thesis"
    cache.close()


def test_setting_aside_overwrites_no_foreign_file_and_an_earlier_cache_alone(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    thesis, log = tmp_path / "vectors.db.damaged", tmp_path / "vectors.db.damaged-2-wal"
    thesis.write_bytes(b"a thesis")
    log.write_bytes(b"its notes")

    def damage() -> bytes:
        path.unlink(missing_ok=True)
        _, vectors = known(path)
        data = bytearray(path.read_bytes())
        data[:16] = b"\xff" * 16
        path.write_bytes(data)
        EmbeddingCache(path).close()
        return bytes(vectors[0].tobytes())

    first, second = damage(), damage()
    assert first == second
    assert (thesis.read_bytes(), log.read_bytes()) == (b"a thesis", b"its notes")
    kept = [place for place in tmp_path.iterdir() if first in place.read_bytes()]
    assert [place.name for place in kept] == ["vectors.db.damaged-3"]
    cache = EmbeddingCache(path)
    cache.forget([vector_key("a")])
    cache.close()
    assert not kept[0].exists()
    assert (thesis.read_bytes(), log.read_bytes()) == (b"a thesis", b"its notes")


def test_a_file_of_rows_without_checks_is_begun_anew(tmp_path: Path) -> None:
    path = tmp_path / "vectors.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE vectors (model_id TEXT, weights_digest TEXT, text_digest BLOB, vector BLOB)"
        )
        connection.execute(
            "INSERT INTO vectors VALUES ('hash', 'sha256:0', ?, zeroblob(32))", (vector_key("a"),)
        )
    cache = EmbeddingCache(path)
    assert cache.get("hash", "sha256:0", [vector_key("a")]) == {}
    CachedEmbedder(HashEmbedder(), cache).embed(["a"])
    cache.close()
    assert len(EmbeddingCache(path)) == 1


def test_a_cached_embedder_forgets_texts(cache: EmbeddingCache) -> None:
    model = HashEmbedder()
    embedder = CachedEmbedder(model, cache)
    embedder.embed(["a", "b"])
    assert embedder.forget(["a", "never seen"]) == 1
    embedder.embed(["a", "b"])
    assert model.seen == ["a", "b", "a"] or model.seen == ["b", "a", "a"]
