"""What a search gives back: record ids with scores, in an order that is total."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["SCORE_DIGITS", "Hit", "best_hits", "ranked", "scaled_by_maximum"]

# Vectors move by about 1e-7 with the batch they are embedded in; scores are compared at six decimals.
SCORE_DIGITS = 6


class Hit(NamedTuple):
    """One record and its score."""

    id: str
    score: float


def ranked(hits: Iterable[Hit]) -> list[Hit]:
    """Sort by descending score at six decimals, then by id. O(n log n)."""
    return sorted(hits, key=lambda hit: (-round(hit.score, SCORE_DIGITS), hit.id))


def best_hits(ids: Sequence[str], scores: npt.NDArray[np.float64], k: int | None = None) -> list[Hit]:
    """Return the ``k`` best of many records, as ``ranked`` would order them. O(n + k log k).

    Args:
        ids: One id a score.
        scores: ``(n,)``, finite.
        k: At most this many, >= 0; all by default.
    """
    import numpy as np  # noqa: PLC0415  # sources need the names above without NumPy

    if k is not None and k <= 0:
        return []
    chosen = np.arange(len(scores))
    if k is not None and k < len(scores):
        # Everything that ties with the k-th stays in, so that the id decides and not the position.
        compared = np.round(scores, SCORE_DIGITS)
        chosen = np.flatnonzero(compared >= np.partition(compared, -k)[-k])
    return ranked(Hit(ids[at], float(scores[at])) for at in chosen.tolist())[:k]


def scaled_by_maximum(hits: Iterable[Hit]) -> list[Hit]:
    """Divide by the largest score and rank; without a positive score there is nothing to scale and no hit."""
    found = [hit for hit in hits if hit.score > 0]
    largest = max((hit.score for hit in found), default=1.0)
    return ranked(Hit(hit.id, round(hit.score / largest, SCORE_DIGITS)) for hit in found)
