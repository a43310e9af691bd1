"""Chunk borders: pinned, exact and never over size."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest

from playground.errors import InvalidInputError
from playground.retrieval.chunking import (
    Chunk,
    approximate_tokens,
    chunk_blocks,
    chunk_fixed,
    chunk_recursive,
    chunk_semantic,
)

ChunkFunction = Callable[..., tuple[Chunk, ...]]
ALL: list[ChunkFunction] = [chunk_fixed, chunk_recursive, chunk_blocks, chunk_semantic]


def spans(chunks: tuple[Chunk, ...]) -> list[tuple[int, int]]:
    return [(chunk.start_offset, chunk.end_offset) for chunk in chunks]


def test_fixed_windows_are_the_golden_ones() -> None:
    """R218: 100 characters, size 10, overlap 2, four characters a token."""
    assert spans(chunk_fixed("x" * 100, size=10, overlap=2)) == [(0, 40), (32, 72), (64, 100)]


def test_a_calibrated_estimator_cannot_move_borders() -> None:
    """R218: the chunkers count on their own."""
    assert approximate_tokens("x" * 9) == 3
    assert approximate_tokens("") == 0


def test_overlap_is_capped_below_the_size() -> None:
    assert spans(chunk_fixed("x" * 16, size=2, overlap=9)) == [(0, 8), (4, 12), (8, 16)]


def test_a_count_of_more_than_one_token_a_character_still_advances() -> None:
    chunks = chunk_fixed("abcd", size=1, overlap=0, count=lambda text: 3 * len(text))
    assert [chunk.text for chunk in chunks] == ["a", "b", "c", "d"]


@pytest.mark.parametrize("chunk", ALL)
def test_an_empty_text_gives_no_chunk(chunk: ChunkFunction) -> None:
    assert chunk("") == ()


@pytest.mark.parametrize("chunk", ALL)
@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-1, 0), (10, -1)])
def test_impossible_sizes_are_refused(chunk: ChunkFunction, size: int, overlap: int) -> None:
    with pytest.raises(InvalidInputError, match="size of at least 1"):
        chunk("text", size=size, overlap=overlap)


def test_recursive_prefers_blank_lines_then_sentences() -> None:
    text = "First paragraph here.\n\nSecond one. It has two sentences."
    pieces = [chunk.text for chunk in chunk_recursive(text, size=8, overlap=0)]
    assert pieces == ["First paragraph here.\n\n", "Second one. ", "It has two sentences."]


def test_recursive_packs_small_pieces_greedily() -> None:
    text = "aa\n\nbb\n\ncc\n\ndd\n\nee"
    assert [c.text for c in chunk_recursive(text, size=2, overlap=0)] == ["aa\n\nbb\n\n", "cc\n\ndd\n\n", "ee"]


def test_recursive_carries_the_tail_as_characters() -> None:
    chunks = chunk_recursive("word " * 40, size=10, overlap=2)
    assert all(b.start_offset == a.end_offset - 8 for a, b in itertools.pairwise(chunks))


def test_recursive_cuts_what_has_no_separator_into_windows() -> None:
    chunks = chunk_recursive("x" * 100, size=10, overlap=0)
    assert spans(chunks) == [(0, 40), (40, 80), (80, 100)]


def test_blocks_start_anew_before_every_heading_even_with_room() -> None:
    text = "# A\n\nalpha\n\n## B\n\nbeta\n\n## C\n"
    assert [c.text for c in chunk_blocks(text)] == ["# A\n\nalpha\n\n", "## B\n\nbeta\n\n", "## C\n"]


def test_a_fence_in_a_longer_fence_does_not_part_the_block() -> None:
    code = "````\n```\nfirst\n\nsecond\n```\n````\n"
    text = f"Before.\n\n{code}\nAfter that, more."
    chunks = chunk_blocks(text, size=len(code) + 1, count=len)
    assert [chunk.text for chunk in chunks] == ["Before.\n\n", f"{code}\n", "After that, more."]


def test_blocks_keep_fenced_code_whole_and_see_no_heading_in_it() -> None:
    text = "intro\n\n```sh\n# comment\n\nrun\n```\n\nend"
    assert [c.text for c in chunk_blocks(text, size=7)] == [
        "intro\n\n",
        "```sh\n# comment\n\nrun\n```\n\n",
        "end",
    ]


def test_an_oversized_block_is_cut_by_the_recursive_chunker() -> None:
    text = "small\n\n" + "word " * 40 + "\n\nlast"
    chunks = chunk_blocks(text, size=10, overlap=0)
    assert chunks[0].text == "small\n\n"
    assert chunks[-1].text == "last"
    assert max(approximate_tokens(chunk.text) for chunk in chunks) <= 10


def test_semantic_chunks_are_exact_in_the_given_tokens_and_stay_in_their_section() -> None:
    text = "# One\n\n" + "alpha beta. " * 30 + "\n\n# Two\n\n" + "gamma delta. " * 30

    def words(piece: str) -> int:
        return len(piece.split())

    chunks = chunk_semantic(text, size=12, count=words)
    assert max(words(chunk.text) for chunk in chunks) <= 12
    assert not any("beta" in chunk.text and "gamma" in chunk.text for chunk in chunks)
    assert all(text[chunk.start_offset : chunk.end_offset] == chunk.text for chunk in chunks)


@pytest.mark.parametrize(
    "cluster",
    ["\r\n", "e\u0301", "\U0001f469\u200d\U0001f4bb", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "नि"],
)
@pytest.mark.parametrize("lead", range(9))
def test_no_border_tears_a_visible_character(cluster: str, lead: int) -> None:
    text = "x" * lead + cluster * 12
    for chunk in (*chunk_fixed(text, size=2, overlap=0), *chunk_recursive(text, size=2, overlap=1)):
        for offset in (chunk.start_offset, chunk.end_offset):
            assert offset <= lead or (offset - lead) % len(cluster) == 0


def test_an_endless_cluster_is_cut_all_the_same() -> None:
    chunks = chunk_fixed("e" + "\u0301" * 5_000, size=16, overlap=4)
    assert len(chunks) < 5_000 / 8
    assert chunks[-1].end_offset == 5_001


def test_defaults_are_512_tokens_with_64_of_overlap() -> None:
    first, second = chunk_fixed("x" * 3_000)
    assert (first.end_offset, second.start_offset) == (512 * 4, (512 - 64) * 4)
    assert math.ceil(len(first.text) / 4) == 512


@pytest.mark.parametrize("chunk", ALL)
@pytest.mark.parametrize(("size", "overlap"), [(100_000, 99_999), (1_000, 999), (1_000, 10**9)])
def test_an_overlap_that_multiplies_the_text_is_refused_at_once(
    chunk: ChunkFunction, size: int, overlap: int
) -> None:
    """One megabyte would become up to a hundred gigabytes of chunks."""
    with pytest.raises(InvalidInputError, match="Use an overlap of at most"):
        chunk("a b\n" * 250_000, size=size, overlap=overlap)


@pytest.mark.parametrize("chunk", ALL)
def test_a_wide_overlap_within_reason_is_allowed(chunk: ChunkFunction) -> None:
    assert chunk("a b\n" * 100_000, size=100, overlap=75)[-1].end_offset in {399_999, 400_000}
    assert chunk("a b\n" * 500, size=400, overlap=399)


def test_more_chunks_than_a_search_can_hold_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="Use larger chunks"):
        chunk_fixed("x" * 3_000_000, size=1, overlap=0)
