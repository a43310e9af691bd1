"""Vectors that were computed before, in one SQLite file.

Keyed by model id, weights digest and text digest, so that vectors of different models never meet. What is
embedded is stored slab by slab: a run that is cut off resumes where it stopped.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from playground.cancel import CancelToken
from playground.retrieval.embedding import SLAB, Embedder, Progress
from playground.retrieval.index import Vectors

__all__ = ["CachedEmbedder", "EmbeddingCache", "text_digest"]

QUERY_LIMIT = 500  # bound parameters a statement; SQLite's own limit is higher
_logger = logging.getLogger(__name__)
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    model_id TEXT NOT NULL,
    weights_digest TEXT NOT NULL,
    text_digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model_id, weights_digest, text_digest)
) WITHOUT ROWID
"""


def text_digest(text: str) -> bytes:
    """Return the SHA-256 of the UTF-8 text, 32 bytes; lone surrogates count as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class EmbeddingCache:
    """A file of vectors, safe for threads and for several processes.

    Args:
        path: The SQLite file; folders above it are made. A file that is no database is put aside as
            ``<name>.damaged``, because everything in it can be computed again.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._connection = _connect(self.path)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise
            aside = self.path.with_name(f"{self.path.name}.damaged")
            _logger.warning("The vector cache is damaged and was put aside as %s.", aside.name)
            self.path.replace(aside)
            self._connection = _connect(self.path)

    def close(self) -> None:
        """Close the file; further calls fail."""
        with self._lock:
            self._connection.close()

    def get(self, model_id: str, weights_digest: str, digests: Iterable[bytes]) -> dict[bytes, Vectors]:
        """Return the vectors that are there, by text digest."""
        found: dict[bytes, Vectors] = {}
        with self._transaction() as connection:
            for some in _slabs(dict.fromkeys(digests), QUERY_LIMIT):
                marks = ",".join("?" * len(some))
                rows = connection.execute(
                    "SELECT text_digest, vector FROM vectors WHERE model_id = ? AND weights_digest = ? "  # noqa: S608  # only marks
                    f"AND text_digest IN ({marks})",
                    (model_id, weights_digest, *some),
                )
                found.update((bytes(digest), np.frombuffer(blob, dtype="<f4")) for digest, blob in rows)
        return found

    def put(self, model_id: str, weights_digest: str, vectors: Iterable[tuple[bytes, Vectors]]) -> None:
        """Store vectors; they are on disk when this returns."""
        rows = [
            (model_id, weights_digest, digest, np.asarray(vector, dtype="<f4").tobytes())
            for digest, vector in vectors
        ]
        with self._transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?)", rows)

    def forget(self, digests: Iterable[bytes]) -> int:
        """Erase the vectors of these texts for every model and return how many went; the bytes are zeroed."""
        with self._transaction() as connection:
            before = connection.total_changes
            connection.executemany("DELETE FROM vectors WHERE text_digest = ?", [(d,) for d in digests])
            gone = connection.total_changes - before
        with self._lock:
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return gone

    def __len__(self) -> int:
        with self._transaction() as connection:
            return int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0])

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock, self._connection:
            yield self._connection


class CachedEmbedder:
    """An embedder that asks the cache first and the model only for what is new.

    Args:
        embedder: The model.
        cache: Where vectors are kept.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self._embedder = embedder
        self._cache = cache

    @property
    def model_id(self) -> str:
        """The model's name."""
        return self._embedder.model_id

    @property
    def weights_digest(self) -> str:
        """The model's weights."""
        return self._embedder.weights_digest

    @property
    def dims(self) -> int:
        """Numbers a vector."""
        return self._embedder.dims

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        """Embed texts; equal texts are embedded once, texts seen before not at all.

        See ``Embedder.embed``. Progress counts every text, known ones as done at once.
        """
        digests = [text_digest(text) for text in texts]
        vectors = self._cache.get(self.model_id, self.weights_digest, digests)
        new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in vectors}
        done = len(texts) - len(new)
        if progress is not None:
            progress(done, len(texts))
        # Sorted here, so that slabs hold texts of like length although each is embedded on its own.
        for some in _slabs(sorted(new, key=lambda digest: (-len(new[digest]), digest)), SLAB):
            if signal is not None:
                signal.raise_if_cancelled()
            fresh = self._embedder.embed([new[digest] for digest in some], signal=signal)
            self._cache.put(self.model_id, self.weights_digest, zip(some, fresh, strict=True))
            vectors.update(zip(some, fresh, strict=True))
            done += len(some)
            if progress is not None:
                progress(done, len(texts))
        if not texts:
            return np.empty((0, self.dims), dtype=np.float32)
        return np.stack([vectors[digest] for digest in digests]).astype(np.float32)


def _slabs(digests: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    every = list(digests)
    return (every[start : start + size] for start in range(0, len(every), size))


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA secure_delete = ON")
        with connection:
            connection.execute(_SCHEMA)
    except sqlite3.Error:
        connection.close()
        raise
    return connection
