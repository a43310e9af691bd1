"""Vectors that were computed before, in one SQLite file.

Keyed by model id, weights digest and text digest, so that vectors of different models never meet. What is
embedded is stored slab by slab: a run that is cut off resumes where it stopped.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from playground.cancel import CancelToken
from playground.errors import PlaygroundError
from playground.retrieval.embedding import SLAB, Embedder, Progress
from playground.retrieval.index import Vectors
from playground.retrieval.vector_file import (
    in_file,
    in_memory,
    is_cache,
    is_damage,
    is_unit,
    opened,
    remove_aside,
    row_check,
    set_aside,
)

__all__ = ["CachedEmbedder", "EmbeddingCache", "vector_key"]

QUERY_LIMIT = 500  # bound parameters a statement; SQLite's own limit is higher
_logger = logging.getLogger(__name__)
_Result = TypeVar("_Result")


def vector_key(text: str) -> bytes:
    """Return the SHA-256 of the UTF-8 text, 32 bytes; lone surrogates count as they are."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


class EmbeddingCache:
    """A file of vectors, safe for threads and for several processes.

    A row that was damaged counts as missing. A damaged file is set aside as ``<name>.damaged``, whenever that
    is noticed, and begun anew. Where no file can be used (no right to write, another program's database, a
    folder in its place, a lock that stays) vectors are kept in memory for as long as the cache is open.

    Args:
        path: The SQLite file; folders above it are made.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.Lock()
        self._connection = opened(self.path)

    def close(self) -> None:
        """Close the file; further calls fail."""
        with self._lock:
            self._connection.close()

    def get(self, model_id: str, weights_digest: str, digests: Iterable[bytes]) -> dict[bytes, Vectors]:
        """Return the vectors that are there and sound, by text digest."""
        asked = list(dict.fromkeys(digests))

        def read(connection: sqlite3.Connection) -> dict[bytes, Vectors]:
            found: dict[bytes, Vectors] = {}
            for some in _slabs(asked, QUERY_LIMIT):
                marks = ",".join("?" * len(some))
                rows = connection.execute(
                    "SELECT text_digest, vector, row_check FROM vectors WHERE model_id = ? "  # noqa: S608  # only marks
                    f"AND weights_digest = ? AND text_digest IN ({marks})",
                    (model_id, weights_digest, *some),
                )
                for digest, blob, check in rows:
                    if isinstance(blob, bytes) and check == row_check(model_id, weights_digest, digest, blob):
                        found[digest] = np.frombuffer(blob, dtype="<f4")
            return found

        return self._run(read, {})

    def put(self, model_id: str, weights_digest: str, vectors: Iterable[tuple[bytes, Vectors]]) -> None:
        """Store vectors; what is not finite or not of length 1 is left out.

        They are on disk when this returns, unless the file cannot be written now, which is logged: they are
        computed again next time.
        """
        rows: list[tuple[str, str, bytes, bytes, bytes]] = []
        for digest, vector in vectors:
            if is_unit(vector):
                blob = np.asarray(vector, dtype="<f4").tobytes()
                check = row_check(model_id, weights_digest, digest, blob)
                rows.append((model_id, weights_digest, digest, blob, check))
        self._run(
            lambda connection: connection.executemany(
                "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?, ?, ?)", rows
            ),
            None,
        )

    def forget(self, digests: Iterable[bytes]) -> int:
        """Erase the vectors of these texts for every model and return how many went; the bytes are zeroed.

        A damaged cache that was set aside before goes as a whole.

        Raises:
            PlaygroundError: When the file cannot be written now, so that the vectors may still be there.
        """
        wanted = frozenset(digests)

        def erase(connection: sqlite3.Connection) -> int:
            before = connection.total_changes
            connection.executemany(
                "DELETE FROM vectors WHERE text_digest = ?", [(digest,) for digest in wanted]
            )
            return connection.total_changes - before

        def scrub(connection: sqlite3.Connection) -> bool:
            connection.execute("VACUUM")
            return bool(connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0])

        gone = self._run(erase, None)
        busy = self._run(scrub, True)
        try:
            remove_aside(self.path, wanted)
            # Memory that took the place of a file has lost them, and the file has not.
            busy = busy or (not self._run(in_file, True) and is_cache(self.path))
        except OSError as error:
            raise _not_erased(self.path) from error
        if gone is None or busy:
            raise _not_erased(self.path)
        return gone

    def __len__(self) -> int:
        return self._run(
            lambda connection: int(connection.execute("SELECT count(*) FROM vectors").fetchone()[0]), 0
        )

    def _run(self, work: Callable[[sqlite3.Connection], _Result], otherwise: _Result) -> _Result:
        """Do ``work`` in one transaction; after damage once more on a new file, else answer ``otherwise``."""
        with self._lock:
            try:
                return self._transacted(work)
            except sqlite3.ProgrammingError:  # closed: the caller's mistake
                raise
            except sqlite3.DatabaseError as error:
                if not is_damage(error):
                    _logger.warning("The vector cache cannot be used now: %s.", error)
                    return otherwise
            self._connection.close()
            try:
                set_aside(self.path)
                self._connection = opened(self.path)
            except OSError as error:
                _logger.warning("The damaged vector cache cannot be set aside: %s.", error)
                self._connection = in_memory()
            return self._transacted(work)

    def _transacted(self, work: Callable[[sqlite3.Connection], _Result]) -> _Result:
        with self._connection:
            return work(self._connection)


def _not_erased(path: Path) -> PlaygroundError:
    return PlaygroundError(
        f"Vectors in {path.name} are not erased yet: another process uses the file, or it cannot be written.",
        remedy="Close other uses of it and forget again, or delete the file.",
    )


class CachedEmbedder:
    """An embedder that asks the cache first and the model only for what is new.

    Args:
        embedder: The model.
        cache: Where vectors are kept.

    Attributes:
        computed: How many texts the model has given a vector since this object was made.
    """

    def __init__(self, embedder: Embedder, cache: EmbeddingCache) -> None:
        self._embedder = embedder
        self._cache = cache
        self.computed = 0

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
        if not texts:
            return np.empty((0, self.dims), dtype=np.float32)
        digests = [vector_key(text) for text in texts]
        known = self._cache.get(self.model_id, self.weights_digest, digests)
        vectors = self._completed(texts, digests, known, progress, signal)
        if len({len(vector) for vector in vectors.values()}) > 1:
            # The model gives another number of dimensions than when the known ones were made.
            vectors = self._completed(texts, digests, {}, progress, signal)
        return np.stack([vectors[digest] for digest in digests]).astype(np.float32)

    def forget(self, texts: Sequence[str]) -> int:
        """Erase the cached vectors of these texts, of every model, and return how many went.

        Raises:
            PlaygroundError: When the cache's file cannot be written now.
        """
        return self._cache.forget(vector_key(text) for text in texts)

    def _completed(
        self,
        texts: Sequence[str],
        digests: Sequence[bytes],
        known: Mapping[bytes, Vectors],
        progress: Progress | None,
        signal: CancelToken | None,
    ) -> dict[bytes, Vectors]:
        vectors = dict(known)
        new = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in vectors}
        done = len(texts) - len(new)
        if progress is not None:
            progress(done, len(texts))
        # Sorted here, so that slabs hold texts of like length although each is embedded on its own.
        for some in _slabs(sorted(new, key=lambda digest: (-len(new[digest]), digest)), SLAB):
            if signal is not None:
                signal.raise_if_cancelled()
            fresh = self._embedder.embed([new[digest] for digest in some], signal=signal)
            self.computed += len(some)
            self._cache.put(self.model_id, self.weights_digest, zip(some, fresh, strict=True))
            vectors.update(zip(some, fresh, strict=True))
            done += len(some)
            if progress is not None:
                progress(done, len(texts))
        return vectors


def _slabs(digests: Iterable[bytes], size: int) -> Iterator[list[bytes]]:
    every = list(digests)
    return (every[start : start + size] for start in range(0, len(every), size))
