"""Ranking texts against a query, by meaning where there is an embedder and by words where there is none."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING
from weakref import WeakSet

import numpy as np

from playground.concurrency import in_thread
from playground.digests import text_digest
from playground.retrieval.hits import Hit, ranked
from playground.retrieval.index import ExactIndex, are_unit
from playground.retrieval.lexical import LexicalIndex

if TYPE_CHECKING:
    from playground.memory.records import MemoryRevision
    from playground.retrieval.embedding import Embedder
    from playground.retrieval.index import Vectors

__all__ = ["VectorShelf", "forget_vectors", "rank_by_meaning", "rank_by_words"]

_shelves: WeakSet[VectorShelf] = WeakSet()
_shelves_lock = threading.Lock()


class VectorShelf:
    """Vectors made in this process, by model and digest of the text. Safe to share between threads."""

    def __init__(self) -> None:
        with _shelves_lock:
            _shelves.add(self)
        self._vectors: dict[tuple[str, str], Vectors] = {}
        self._lock = threading.Lock()

    def vectors(
        self, texts: Sequence[str], embedder: Embedder, *, known: Mapping[str, Vectors] | None = None
    ) -> Vectors:
        """Return the texts' unit vectors, ``(n, d)`` float32, making only those that are missing.

        Args:
            texts: At least one.
            embedder: Makes what is missing.
            known: Unit vectors that this very model made before, ``(d,)`` each, by text digest.

        Raises:
            EmbeddingUnavailableError: When the embedder's model cannot be loaded.
        """
        keys = [(embedder.model_id, text_digest(text)) for text in texts]
        with self._lock:
            found = {key: self._vectors[key] for key in keys if key in self._vectors}
        for model_id, digest in keys:
            if known is not None and digest in known:
                found.setdefault((model_id, digest), known[digest])
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if missing:
            made = dict(zip(missing, embedder.embed(list(missing.values())), strict=True))
            found |= made
            with self._lock:
                self._vectors |= made
        return np.stack([found[key] for key in keys])

    def forget(self, digests: Iterable[str]) -> None:
        """Drop the vectors of these texts; they tell too much of a text that must be forgotten."""
        gone = frozenset(digests)
        with self._lock:
            self._vectors = {key: value for key, value in self._vectors.items() if key[1] not in gone}

    def keep(self, digests: Iterable[str]) -> None:
        """Drop the vectors of all texts but these."""
        kept = frozenset(digests)
        with self._lock:
            self._vectors = {key: value for key, value in self._vectors.items() if key[1] in kept}


def forget_vectors(digests: Iterable[str]) -> None:
    """Drop the vectors of these texts from every shelf of this process."""
    gone = frozenset(digests)
    with _shelves_lock:
        shelves = list(_shelves)
    for shelf in shelves:
        shelf.forget(gone)


def rank_by_words(query: str, revisions: dict[str, MemoryRevision], k: int) -> list[Hit]:
    """Return the ``k`` best by BM25 over the texts given, divided by the best; scores > 0 only, ties by id."""
    index = LexicalIndex((revision.text for revision in revisions.values()), list(revisions))
    return index.search_scaled(query, k)


async def rank_by_meaning(
    query: str, revisions: dict[str, MemoryRevision], k: int, *, embedder: Embedder, shelf: VectorShelf
) -> list[Hit]:
    """Return the ``k`` best by cosine clipped at 0, six decimals; scores > 0 only, ties by id.

    Embedding runs in a thread, so that the event loop and its time limits go on.
    """

    def search() -> list[Hit]:
        known = {
            revision.digest: vector
            for revision in revisions.values()
            if (vector := _recorded_vector(revision, embedder)) is not None
        }
        texts = [revision.text for revision in revisions.values()]
        vectors = shelf.vectors(texts, embedder, known=known)
        question = embedder.embed([query])[0]
        return ExactIndex(list(revisions), vectors).search(question, k)

    return ranked(hit for hit in await in_thread(search) if hit.score > 0)


def _recorded_vector(revision: MemoryRevision, embedder: Embedder) -> Vectors | None:
    """Return the record's own vector where it can stand beside those of the embedder; else it is made anew."""
    if revision.embedding is None or revision.embedding_model_id != embedder.model_id:
        return None
    if len(revision.embedding) != embedder.dims:
        return None
    vector = np.asarray(revision.embedding, dtype=np.float32)
    return vector if are_unit(vector[np.newaxis]) else None
