"""Nearest vectors, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from playground.errors import InvalidInputError
from playground.retrieval.hits import SCORE_DIGITS, Hit, best_hits

__all__ = ["ExactIndex", "VectorIndex", "Vectors"]

Vectors = npt.NDArray[np.float32]
UNIT_TOLERANCE = 1e-3  # how far from length 1 a row may be and still be taken for a unit vector


class VectorIndex(Protocol):
    """Finds the vectors nearest to one. A cosine below 0 means nothing in common and counts as 0."""

    def __len__(self) -> int:
        """Return the number of vectors."""
        ...

    def search(self, vector: Vectors, k: int) -> list[Hit]:
        """Return the ``k`` nearest by cosine, clipped at 0 and at six decimals, best first, ties by id."""
        ...


class ExactIndex:
    """Compares with every vector: one matrix product a query, O(n × d).

    Args:
        ids: One id a row, unique.
        vectors: ``(n, d)`` float32, rows of unit length.

    Raises:
        InvalidInputError: When shapes disagree, ids repeat, or a row is not finite or not of unit length.
    """

    def __init__(self, ids: Sequence[str], vectors: Vectors) -> None:
        matrix = np.ascontiguousarray(vectors, dtype=np.float32)
        if matrix.ndim != 2 or len(matrix) != len(ids) or len(set(ids)) != len(ids):
            raise InvalidInputError(
                f"{len(ids)} ids do not fit vectors of shape {matrix.shape}.",
                remedy="Give each row of an (n, d) array one id of its own.",
            )
        lengths = np.linalg.norm(matrix, axis=1)
        # Written so that NaN fails it too.
        if len(matrix) and not bool(np.all(np.abs(lengths - 1) <= UNIT_TOLERANCE)):
            raise InvalidInputError("A vector is not of unit length.", remedy="Divide each row by its length.")
        self._ids = tuple(ids)
        self._matrix = matrix

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def dims(self) -> int:
        """Numbers a vector."""
        return int(self._matrix.shape[1])

    def search(self, vector: Vectors, k: int) -> list[Hit]:
        """Return the ``k`` nearest by cosine, clipped at 0 and at six decimals, best first, ties by id.

        Args:
            vector: ``(d,)`` float32 of unit length.
            k: At most this many, >= 0.
        """
        query = np.asarray(vector, dtype=np.float32)
        if query.shape != (self.dims,) or not np.isfinite(query).all():
            raise InvalidInputError(
                f"The query has shape {query.shape}, the index holds vectors of {self.dims}.",
                remedy="Embed the query with the model of the index.",
            )
        scores = np.clip(self._matrix @ query, 0, 1).astype(np.float64)
        return best_hits(self._ids, np.round(scores, SCORE_DIGITS), k)
