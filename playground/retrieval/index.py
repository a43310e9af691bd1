"""Nearest vectors, exactly, and what every index agrees on: which rows it takes and what a score is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from playground.errors import InvalidInputError
from playground.retrieval.hits import SCORE_DIGITS, Hit, best_hits

__all__ = [
    "ExactIndex",
    "VectorIndex",
    "Vectors",
    "are_unit",
    "check_rows",
    "checked_query",
    "cosines",
    "reach",
]

Vectors = npt.NDArray[np.float32]
UNIT_TOLERANCE = 1e-3  # how far from length 1 a row may be and still be taken for a unit vector
_BLOCK = 4_096  # rows whose scores are summed in double precision at a time


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

    A product of single precision differs with the place of a row in the matrix. It only tells which rows come
    into question; the scores of those are summed in double precision, so that neither place nor order counts.

    Args:
        ids: One id a row, unique.
        vectors: ``(n, d)`` float32, rows of unit length.

    Raises:
        InvalidInputError: When shapes disagree, ids repeat, or a row is not finite or not of unit length.
    """

    def __init__(self, ids: Sequence[str], vectors: Vectors) -> None:
        self._matrix = check_rows(ids, vectors)
        self._ids = tuple(ids)

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
        query = checked_query(vector, self.dims)
        if k <= 0:
            return []
        rough = self._matrix @ query
        margin = reach(query)
        worst = float(np.partition(rough, -k)[-k]) if k < len(rough) else 0.0
        # A row below 0 ties with every other one that is clipped.
        chosen = np.flatnonzero(rough >= worst - margin) if worst > margin else np.arange(len(rough))
        scores = np.zeros(len(chosen))
        above = rough[chosen] > -margin  # the others are below 0 however they are summed
        scores[above] = cosines(self._matrix[chosen[above]], query)
        return best_hits([self._ids[at] for at in chosen.tolist()], scores, k)


def are_unit(rows: Vectors) -> bool:
    """Whether every row of ``(n, d)`` is finite and of unit length, as far as single precision tells."""
    lengths = np.linalg.norm(rows, axis=1)
    # Written so that NaN fails it too.
    return bool(np.all(np.abs(lengths - 1) <= UNIT_TOLERANCE))


def check_rows(ids: Sequence[str], vectors: Vectors) -> Vectors:
    """Return ``(n, d)`` float32 rows as every index takes them.

    Raises:
        InvalidInputError: When shapes disagree, ids repeat, or a row is not finite or not of unit length.
    """
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or len(matrix) != len(ids) or len(set(ids)) != len(ids):
        raise InvalidInputError(
            f"{len(ids)} ids do not fit vectors of shape {matrix.shape}.",
            remedy="Give each row of an (n, d) array one id of its own.",
        )
    if not are_unit(matrix):
        raise InvalidInputError("A vector is not of unit length.", remedy="Divide each row by its length.")
    return matrix


def checked_query(vector: Vectors, dims: int) -> Vectors:
    """Return a query's vector as every index takes it.

    Raises:
        InvalidInputError: When it is not finite, or not ``(dims,)``.
    """
    query = np.asarray(vector, dtype=np.float32)
    if query.shape != (dims,) or not np.isfinite(np.linalg.norm(query)):
        raise InvalidInputError(
            f"The query has shape {query.shape}, the index holds vectors of {dims}.",
            remedy="Embed the query with the model of the index.",
        )
    return query


def cosines(rows: Vectors, query: Vectors) -> npt.NDArray[np.float64]:
    """Return the score of each row: the cosine, clipped to 0 to 1 and rounded to six decimals.

    Products of single precision are exact in double precision, and their sum is off by less than any rounding
    to six decimals notices: the same row has the same score wherever it stands, and whatever keeps it.

    Args:
        rows: ``(n, d)`` float32, rows of unit length.
        query: ``(d,)`` float32.
    """
    wide = query.astype(np.float64)
    scores = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK):
        scores[start : start + _BLOCK] = rows[start : start + _BLOCK].astype(np.float64) @ wide
    return np.clip(scores, 0, 1, out=scores).round(SCORE_DIGITS)


def reach(query: Vectors) -> float:
    """Return how far below the k-th best of products in single precision a row may stand and still tie with it.

    Either product is off by at most d × 2⁻²⁴ × length, to first order and for any order of summation, and two
    that differ by less than 10⁻⁶ may be equal when rounded.

    References:
        N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1.
    """
    length = float(np.linalg.norm(query.astype(np.float64))) * (1 + UNIT_TOLERANCE)
    return 2.1 * len(query) * 2.0**-24 * length + 10.0**-SCORE_DIGITS
