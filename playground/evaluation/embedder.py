"""An embedder without a model: words and their letters, hashed.

Deterministic on every machine, in every process and under every hash seed. It finds shared words and shared
word stems, nothing like meaning.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np

from playground.cancel import CancelToken
from playground.digests import text_digest
from playground.retrieval.embedding import Progress
from playground.retrieval.index import Vectors
from playground.retrieval.words import words

__all__ = ["DIMS", "HashingEmbedder"]

DIMS = 512  # numbers a vector; few enough that features collide, as they do in real models
SHORT = 3  # letters; words up to that long are mostly articles and the like
SHORT_WEIGHT = 0.1
GRAM = 4  # letters of a piece of a word
GRAM_WEIGHT = 0.25


class HashingEmbedder:
    """Adds up each word and each run of four letters in it, at places and signs that a hash gives."""

    model_id = "hashed-words"
    dims = DIMS

    @property
    def weights_digest(self) -> str:
        """Stands for the features and their weights; there are no other weights."""
        return text_digest(f"{DIMS} {SHORT} {SHORT_WEIGHT} {GRAM} {GRAM_WEIGHT}")

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        """Return ``(n, 512)`` float32, rows of unit length; a text without words gets a row of its own too."""
        rows = np.zeros((len(texts), DIMS))
        for at, text in enumerate(texts):
            if signal is not None:
                signal.raise_if_cancelled()
            for feature, weight in _features(text):
                digest = hashlib.blake2b(feature.encode("utf-8"), digest_size=4).digest()
                place = int.from_bytes(digest, "big")
                rows[at, place % DIMS] += weight if place >> 31 else -weight
            rows[at, 0] += 0.0 if rows[at].any() else 1.0
            if progress is not None:
                progress(at + 1, len(texts))
        lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
        vectors: Vectors = (rows / lengths).astype(np.float32)
        return vectors


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in words(text):
        yield word, SHORT_WEIGHT if len(word) <= SHORT else 1.0
        padded = f"<{word}>"
        for start in range(len(padded) - GRAM + 1):
            yield f"{GRAM}:{padded[start : start + GRAM]}", GRAM_WEIGHT
