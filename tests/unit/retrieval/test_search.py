"""Searching chunks by meaning, by words and by both."""

from __future__ import annotations

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.errors import CallCancelledError, EmbeddingUnavailableError, InvalidInputError
from playground.retrieval.chunking import Chunk, ScoredChunk
from playground.retrieval.index import ExactIndex, Vectors
from playground.retrieval.search import ChunkSearch, EmbedQuery, Fusion, Reranker, SearchMode

CHUNKS = [
    Chunk("Deploys need a green build.", 4, meta={"document": "deploy"}),
    Chunk("Rollbacks use the previous image.", 7, meta={"document": "rollback"}),
    Chunk("The canteen opens at noon.", 9, meta={"document": "canteen"}),
]
# Two directions: releases, and food.
VECTORS = np.array([[0.8, 0.6], [1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
RELEASES = np.array([1.0, 0.0], dtype=np.float32)


def search(
    embed_query: EmbedQuery | None = lambda _query: RELEASES,
    *,
    mode: SearchMode = "hybrid",
    fusion: Fusion = "rrf",
    reranker: Reranker | None = None,
) -> ChunkSearch:
    index = ExactIndex([str(chunk.index) for chunk in CHUNKS], VECTORS)
    return ChunkSearch(
        CHUNKS, index=index, embed_query=embed_query, mode=mode, fusion=fusion, reranker=reranker
    )


def answer(found: list[ScoredChunk]) -> list[tuple[int, float, str]]:
    return [(chunk.index, chunk.score, chunk.match) for chunk in found]


def test_dense_scores_are_cosines_clipped_at_zero() -> None:
    assert answer(search(mode="dense")("anything", 3)) == [
        (7, 1.0, "dense"),
        (4, 0.8, "dense"),
        (9, 0.0, "dense"),
    ]


def test_lexical_scores_are_divided_by_the_best() -> None:
    found = search(mode="lexical")("green build or the image", 9)
    assert [(chunk.index, chunk.match) for chunk in found] == [(4, "lexical"), (7, "lexical"), (9, "lexical")]
    assert found[0].score == 1.0
    assert 0 < found[2].score < found[1].score < 1


def test_hybrid_gives_one_to_what_leads_both_rankings() -> None:
    found = search()("previous image", 2)
    assert answer(found) == [(7, 1.0, "hybrid"), (4, round((1 / 62) / (2 / 61), 6), "hybrid")]
    assert found[0].meta == {"document": "rollback"}


def test_what_nobody_chose_is_hybrid_search_with_reciprocal_ranks() -> None:
    index = ExactIndex([str(chunk.index) for chunk in CHUNKS], VECTORS)
    plain = ChunkSearch(CHUNKS, index=index, embed_query=lambda _query: RELEASES)
    assert answer(plain("green build", 9)) == answer(search(mode="hybrid", fusion="rrf")("green build", 9))
    assert answer(plain("green build", 9)) != answer(search(fusion="convex")("green build", 9))


def test_hybrid_may_fuse_by_weighted_scores() -> None:
    assert answer(search(fusion="convex")("green build", 2)) == [(4, 0.9, "hybrid"), (7, 0.5, "hybrid")]


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_without_a_query_vector_the_answer_is_lexical_and_says_so(mode: SearchMode) -> None:
    def unavailable(_query: str) -> Vectors:
        raise EmbeddingUnavailableError("no model")

    expected = answer(search(mode="lexical")("green build", 3))
    for embed_query in (None, lambda _query: None, unavailable):
        assert answer(search(embed_query, mode=mode)("green build", 3)) == expected


def test_a_query_that_finds_nothing_gives_an_empty_list() -> None:
    assert search(mode="lexical")("zebra", 3) == []
    assert ChunkSearch([])("zebra", 3) == []
    assert search()("green", 0) == []


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_chunk_is_not_found_by_its_title_or_its_vector(mode: SearchMode, text: str) -> None:
    blank = Chunk(text, 5, meta={"document": "empty", "title": "Green build"})
    index = ExactIndex(["5", *(str(chunk.index) for chunk in CHUNKS)], np.vstack([[RELEASES], VECTORS]))
    by_title = ChunkSearch([blank, *CHUNKS], index=index, embed_query=lambda _query: RELEASES, mode=mode)
    found = {chunk.index for chunk in by_title("green build", 9)}
    assert 4 in found
    assert 5 not in found


def test_a_cancelled_search_stops() -> None:
    signal = CancelToken()
    signal.cancel()
    for mode in ("hybrid", "dense", "lexical"):
        with pytest.raises(CallCancelledError):
            search(mode=mode)("green", 3, signal)


def test_a_reranker_rescores_and_reorders() -> None:
    def by_length(_query: str, chunks: object) -> list[ScoredChunk]:
        assert isinstance(chunks, list)
        return [ScoredChunk(c.text, c.index, len(c.text) / 100, meta=c.meta) for c in chunks]

    assert [chunk.index for chunk in search(reranker=by_length)("previous image", 2)] == [7, 4]


def test_a_reranker_that_invents_a_chunk_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="not given"):
        search(reranker=lambda _query, _chunks: [ScoredChunk("x", 99, 1.0)])("green", 2)


def test_unknown_settings_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="fuzzy"):
        ChunkSearch(CHUNKS, mode="fuzzy")  # type: ignore[arg-type]
