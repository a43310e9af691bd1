"""Searching chunks: by meaning, by words, or both fused.

A ``ChunkSearch`` is what ``RagSource(retrieve=…)`` takes: called with a query, a count and a cancel token it
answers chunks with scores in 0 to 1. Where no query vector can be had it goes on lexically, and every chunk
says so in ``match``. A run that is to pay for the query's embedding is named in ``accounting``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Unpack, get_args

from playground.accounting import Charge
from playground.cancel import CancelToken
from playground.errors import EmbeddingUnavailableError, InvalidInputError
from playground.retrieval.charging import EmbedQuery, embed_charged
from playground.retrieval.chunking import Chunk, ScoredChunk
from playground.retrieval.corpus import search_text
from playground.retrieval.fusion import RRF_K, convex, scaled_rrf
from playground.retrieval.hits import Hit, ranked
from playground.retrieval.index import VectorIndex
from playground.retrieval.lexical import LexicalIndex
from playground.values import shown

__all__ = ["ChunkSearch", "EmbedQuery", "Fusion", "Reranker", "SearchMode"]

SearchMode = Literal["hybrid", "dense", "lexical"]
Fusion = Literal["rrf", "convex"]

Reranker = Callable[[str, Sequence[ScoredChunk]], Sequence[ScoredChunk]]
"""Gives the same chunks with other scores in 0 to 1."""


class ChunkSearch:
    """Finds the chunks that answer a query.

    Args:
        chunks: What is searched, with unique indexes; blank ones are never found, whatever their title is.
        index: Their vectors under ``str(chunk.index)``; without it every search is lexical.
        embed_query: The query's vector; may raise ``EmbeddingUnavailableError``, which means lexical too.
        mode: What a plain call does.
        fusion: How ``hybrid`` joins the two rankings.
        per_stage_k: Chunks each stage of ``hybrid`` offers; by default as many as are asked for.
        rrf_k: Damping of reciprocal rank fusion.
        lexical: Their words under the same ids, where the index exists already.
        reranker: Rescores what was found, before the cut; what it leaves out is not answered.

    Raises:
        InvalidInputError: When there is no such mode or fusion.
    """

    def __init__(
        self,
        chunks: Sequence[Chunk],
        *,
        index: VectorIndex | None = None,
        embed_query: EmbedQuery | None = None,
        mode: SearchMode = "hybrid",
        fusion: Fusion = "rrf",
        per_stage_k: int | None = None,
        rrf_k: int = RRF_K,
        reranker: Reranker | None = None,
        lexical: LexicalIndex | None = None,
    ) -> None:
        if mode not in get_args(SearchMode) or fusion not in get_args(Fusion):
            raise InvalidInputError(
                f"There is no search {shown(mode)} with fusion {shown(fusion)}.",
                remedy=f"Use one of {get_args(SearchMode)} and one of {get_args(Fusion)}.",
            )
        chunks = [chunk for chunk in chunks if chunk.text.strip()]
        self._chunks = {str(chunk.index): chunk for chunk in chunks}
        if lexical is None:
            lexical = LexicalIndex(map(search_text, chunks), list(map(_record_id, chunks)))
        self._lexical = lexical
        self._index = index
        self._embed_query = embed_query
        self.mode = mode
        self._fusion = fusion
        self._per_stage_k = per_stage_k
        self._rrf_k = rrf_k
        self._reranker = reranker

    def __call__(
        self,
        query: str,
        top_k: int,
        signal: CancelToken | None = None,
        charge: Charge | None = None,
        **options: Unpack[Charge],
    ) -> list[ScoredChunk]:
        """Search in the mode this object was made with.

        Args:
            query: Any text.
            top_k: At most this many chunks.
            signal: Stops before the next stage.
            charge: The options in one mapping, as ``RagSource`` hands them over.
            **options: Whom to charge for the query's embedding, see ``embed_charged``; nobody by default.

        Returns:
            The best chunks first, scores in 0 to 1.

        Raises:
            CallCancelledError: When the signal was cancelled.
            InvalidInputError: When the reranker answers a chunk that it was not given, or the query's vector is
                not one of the index's model.
        """
        merged: Charge = {**options, **(charge or {})}
        match self.mode:
            case "hybrid":
                return self.hybrid(query, top_k, signal, **merged)
            case "dense":
                return self.dense(query, top_k, signal, **merged)
            case "lexical":
                return self.lexical(query, top_k, signal, **merged)

    def hybrid(
        self, query: str, top_k: int, signal: CancelToken | None = None, **charge: Unpack[Charge]
    ) -> list[ScoredChunk]:
        """Fuse the ranking by meaning with the ranking by words.

        Scores are the fusion's: reciprocal rank sums divided by the largest possible one, or convex sums.
        Without a query vector the answer is the lexical one.
        """
        stage = self._per_stage_k or top_k
        near = self._nearest(query, stage, signal, charge)
        if not near:
            return self.lexical(query, top_k, signal)
        by_words = self._lexical.search(query, stage)
        if self._fusion == "convex":
            fused = convex(by_words, near)
        else:
            fused = scaled_rrf([[hit.id for hit in near], [hit.id for hit in by_words]], k=self._rrf_k)
        return self._answer(query, fused, top_k, "hybrid")

    def dense(
        self, query: str, top_k: int, signal: CancelToken | None = None, **charge: Unpack[Charge]
    ) -> list[ScoredChunk]:
        """Rank by cosine, clipped at 0. Without a query vector the answer is the lexical one."""
        near = self._nearest(query, top_k, signal, charge)
        if near is None:
            return self.lexical(query, top_k, signal)
        return self._answer(query, near, top_k, "dense")

    def lexical(
        self,
        query: str,
        top_k: int,
        signal: CancelToken | None = None,
        **_charge: Unpack[Charge],
    ) -> list[ScoredChunk]:
        """Rank by BM25; scores are divided by the query's best. Nothing is embedded and nobody charged."""
        if signal is not None:
            signal.raise_if_cancelled()
        return self._answer(query, self._lexical.search_scaled(query, top_k), top_k, "lexical")

    def _nearest(self, query: str, k: int, signal: CancelToken | None, charge: Charge) -> list[Hit] | None:
        if signal is not None:
            signal.raise_if_cancelled()
        if self._index is None or self._embed_query is None:
            return None
        try:
            vector = embed_charged(self._embed_query, query, **charge)
        except EmbeddingUnavailableError:
            return None
        return None if vector is None else self._index.search(vector, k)

    def _answer(self, query: str, hits: Sequence[Hit], top_k: int, how: SearchMode) -> list[ScoredChunk]:
        found = [_scored(self._chunks[hit.id], hit.score, how) for hit in hits if hit.id in self._chunks]
        if self._reranker is not None and found:
            by_id = {str(chunk.index): chunk for chunk in self._reranker(query, found)}
            if not by_id.keys() <= {str(chunk.index) for chunk in found}:
                raise InvalidInputError(
                    "The reranker answered a chunk that it was not given.", remedy="Correct the reranker."
                )
            found = [by_id[hit.id] for hit in ranked(Hit(i, chunk.score) for i, chunk in by_id.items())]
        return found[: max(0, top_k)]


def _record_id(chunk: Chunk) -> str:
    return str(chunk.index)


def _scored(chunk: Chunk, score: float, how: SearchMode) -> ScoredChunk:
    return ScoredChunk(
        chunk.text, chunk.index, score, chunk.start_offset, chunk.end_offset, chunk.meta, match=how
    )
