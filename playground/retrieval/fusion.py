"""Joining two rankings of the same records into one.

Pure. Ties end in the id; scores are in 0 to 1 and rounded to six decimals where a function says scaled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from playground.errors import InvalidInputError
from playground.retrieval.hits import SCORE_DIGITS, Hit, ranked, scaled_by_maximum

__all__ = ["RRF_K", "convex", "rrf", "scaled_rrf"]

RRF_K = 60  # damps the first ranks; the value of the paper


def rrf(rankings: Iterable[Sequence[str]], *, k: int = RRF_K) -> list[Hit]:
    """Reciprocal rank fusion: each ranking adds ``1 / (k + rank)`` to a record, ranks from 1.

    Args:
        rankings: Ids, best first; a repeated id counts where it stands first.
        k: Damping, >= 0.

    Returns:
        Every id with its sum, best first.

    Raises:
        InvalidInputError: When ``k`` is below 0.

    References:
        Cormack, Clarke and Büttcher, Reciprocal Rank Fusion outperforms Condorcet (SIGIR 2009).
    """
    if k < 0:
        raise InvalidInputError(f"The damping of the fusion is {k}.", remedy="Use 0 or more; 60 is usual.")
    sums: dict[str, float] = {}
    for ranking in rankings:
        for rank, identifier in enumerate(dict.fromkeys(ranking), 1):
            sums[identifier] = sums.get(identifier, 0.0) + 1 / (k + rank)
    return sorted((Hit(*item) for item in sums.items()), key=lambda hit: (-hit.score, hit.id))


def scaled_rrf(rankings: Sequence[Sequence[str]], *, k: int = RRF_K) -> list[Hit]:
    """Return ``rrf`` divided by what a record gets that is first in every ranking; six decimals."""
    largest = len(rankings) / (k + 1)
    return ranked(Hit(hit.id, round(hit.score / largest, SCORE_DIGITS)) for hit in rrf(rankings, k=k))


def convex(lexical: Iterable[Hit], dense: Iterable[Hit], *, dense_weight: float = 0.5) -> list[Hit]:
    """Add lexical scores and cosines, each clipped at 0 and divided by its largest, by weight; six decimals.

    A record that one side does not know counts 0 there.

    Args:
        lexical: BM25 scores.
        dense: Cosines.
        dense_weight: Weight of the cosines, 0 to 1; the rest is the lexical weight.

    Raises:
        InvalidInputError: When the weight is out of its range.

    References:
        Bruch, Gai and Ingber, An Analysis of Fusion Functions for Hybrid Retrieval (TOIS 2023).
    """
    if not 0 <= dense_weight <= 1:
        raise InvalidInputError(f"The dense weight is {dense_weight}.", remedy="Use a number from 0 to 1.")
    sums: dict[str, float] = {}
    for hits, weight in ((lexical, 1 - dense_weight), (dense, dense_weight)):
        for hit in scaled_by_maximum(hits):
            sums[hit.id] = sums.get(hit.id, 0.0) + weight * hit.score
    return ranked(Hit(identifier, round(score, SCORE_DIGITS)) for identifier, score in sums.items())
