"""Counting the pieces that a retrieval block is made of. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from playground.compiler.candidates import ContextCandidate
from playground.compiler.rendering import record_overhead, record_piece
from playground.compiler.values import SourceResult
from playground.tokens import TokenEstimator

__all__ = ["PieceCounter"]


class PieceCounter:
    """Counts the rendered pieces of candidates; by length where the estimator allows it, else by their text.

    Args:
        estimator: Counts everything of the compile.
    """

    def __init__(self, estimator: TokenEstimator) -> None:
        self._estimator = estimator

    def count(self, source: SourceResult, candidates: Sequence[ContextCandidate]) -> list[int]:
        """Return the tokens of each candidate's piece, never below what its source says that its text takes.

        O(candidates) by length, O(characters) otherwise.

        Args:
            source: Whose candidates they are.
            candidates: Some of its candidates.
        """
        if not self._estimator.counts_by_length:
            counts = [self._estimator.piece_tokens(record_piece(source, item)) for item in candidates]
        else:
            overhead = record_overhead(source)
            lengths = list(map(attrgetter("rendered_length"), candidates))
            known = {length: self._estimator.length_tokens(overhead + length) for length in set(lengths)}
            counts = list(map(known.__getitem__, lengths))
        claims = list(map(attrgetter("tokens"), candidates))
        if claims.count(None) == len(claims):
            return counts
        for index, stated in enumerate(claims):
            if stated is not None:
                counts[index] = max(counts[index], stated + self._tags(source, candidates[index]))
        return counts

    def _tags(self, source: SourceResult, candidate: ContextCandidate) -> int:
        bare = ContextCandidate(
            candidate.record_id, "", 0.0, revision=candidate.revision, provenance=candidate.provenance
        )
        return self._estimator.piece_tokens(record_piece(source, bare))
