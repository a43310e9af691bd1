"""Lexical search: Okapi BM25 over words of any script.

Deterministic: the same texts and query give the same scores and order on every machine.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from playground.errors import InvalidInputError
from playground.retrieval.hits import SCORE_DIGITS, Hit, best_hits
from playground.retrieval.words import words

__all__ = ["LexicalIndex"]

K1 = 1.5  # how soon further occurrences of a word stop counting
B = 0.75  # how much long texts are held back


class LexicalIndex:
    """An index of texts by their words. Building is O(words), a query O(postings of its words).

    Args:
        texts: What is searched.
        ids: One id a text, unique; by default the position as text.

    Raises:
        InvalidInputError: When there are more or fewer ids than texts, or one stands twice.

    References:
        Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond (2009), with the inverse
        document frequency ``ln(1 + (N − n + 0.5) / (n + 0.5))``, which is never negative.
    """

    def __init__(self, texts: Iterable[str], ids: Sequence[str] | None = None) -> None:
        tokens = [words(text) for text in texts]
        self.ids: tuple[str, ...] = tuple(ids) if ids is not None else tuple(map(str, range(len(tokens))))
        if len(self.ids) != len(tokens) or len(set(self.ids)) != len(self.ids):
            raise InvalidInputError(
                f"There are {len(tokens)} texts and {len(set(self.ids))} different ids.",
                remedy="Give each text one id of its own.",
            )
        self._vocabulary: dict[str, int] = {}
        numbers = self._vocabulary
        numbered = [[numbers.setdefault(token, len(numbers)) for token in text] for text in tokens]
        self._index = _build(numbered, numbers) if numbers else None

    def __len__(self) -> int:
        return len(self.ids)

    def search(self, query: str, k: int | None = None) -> list[Hit]:
        """Return the texts that share a word with the query, best first; ties end in the id.

        Args:
            query: Any text; one without known words finds nothing.
            k: At most this many, >= 0; all by default.

        Returns:
            Hits with BM25 scores > 0.
        """
        ids, scores = self._scores(query)
        return best_hits(ids, scores, k)

    def search_scaled(self, query: str, k: int | None = None) -> list[Hit]:
        """Return what ``search`` does with scores divided by the query's best, in 0 to 1, six decimals."""
        ids, scores = self._scores(query)
        if not ids:
            return []
        return best_hits(ids, np.round(scores / scores.max(), SCORE_DIGITS), k)

    def _scores(self, query: str) -> tuple[list[str], npt.NDArray[np.float64]]:
        # The order of a query's words must not move a score's last bit.
        known = sorted(self._vocabulary[word] for word in words(query) if word in self._vocabulary)
        if self._index is None or not known:
            return [], np.empty(0)
        scores = self._index.get_scores_from_ids(known) * (K1 + 1)
        found = np.flatnonzero(scores > 0)
        return [self.ids[at] for at in found], scores[found]


def _build(numbered: list[list[int]], vocabulary: dict[str, int]) -> Any:
    with warnings.catch_warnings():
        # tqdm, which bm25s brings, asks for notebook widgets; no progress bar is ever shown here.
        warnings.filterwarnings("ignore", message="IProgress not found")
        import bm25s  # noqa: PLC0415  # takes a fifth of a second to import

    # float64 because the published scores have 16 digits. bm25s leaves out the factor k1 + 1.
    index = bm25s.BM25(k1=K1, b=B, method="lucene", dtype="float64")
    index.index((numbered, vocabulary), create_empty_token=False, show_progress=False)
    return index
