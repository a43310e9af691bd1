"""Chunkers on any text: exact slices, nothing lost, nothing over size."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.retrieval.chunking import (
    Chunk,
    approximate_tokens,
    chunk_blocks,
    chunk_fixed,
    chunk_recursive,
    chunk_semantic,
)

texts = st.text(alphabet=st.sampled_from("ab .\n\r#`é\u0301\u200d中\U0001f44d\U0001f3fd"), max_size=300)
sizes = st.integers(1, 20)
overlaps = st.integers(0, 25)


@pytest.mark.parametrize("chunk", [chunk_fixed, chunk_recursive, chunk_blocks])
@given(text=texts, size=sizes, overlap=overlaps)
def test_chunks_are_exact_slices_that_cover_the_text_and_move_on(
    chunk: Callable[..., tuple[Chunk, ...]], text: str, size: int, overlap: int
) -> None:
    chunks = chunk(text, size=size, overlap=overlap)
    reached = 0
    for number, piece in enumerate(chunks):
        assert piece.index == number
        assert piece.text == text[piece.start_offset : piece.end_offset]
        assert piece.start_offset <= reached < piece.end_offset
        assert approximate_tokens(piece.text) <= size or len(piece.text) <= 35
        reached = piece.end_offset
    assert reached == len(text)


@given(text=texts, size=sizes)
def test_recursive_and_block_chunks_are_never_over_size(text: str, size: int) -> None:
    for piece in (*chunk_recursive(text, size=size), *chunk_blocks(text, size=size)):
        assert approximate_tokens(piece.text) <= size


@given(text=texts, size=sizes)
def test_semantic_chunks_lose_nothing_but_white_space(text: str, size: int) -> None:
    chunks = chunk_semantic(text, size=size)
    assert all(approximate_tokens(piece.text) <= size for piece in chunks)
    assert all(piece.text == text[piece.start_offset : piece.end_offset] for piece in chunks)
    covered = {i for piece in chunks for i in range(piece.start_offset, piece.end_offset)}
    assert all(text[i].isspace() for i in range(len(text)) if i not in covered)
