"""Large and hostile sizes: everything stays linear."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from playground.retrieval.chunking import Chunk, chunk_blocks, chunk_fixed, chunk_recursive
from playground.retrieval.corpus import chunk_documents
from playground.retrieval.documents import Document, load_documents
from playground.retrieval.lexical import LexicalIndex

pytestmark = pytest.mark.slow

LINE = 50_000_000


@pytest.mark.parametrize(
    "text", ["x" * LINE, "\u0301" * 2_000_000, "word " * 2_000_000], ids=["x", "marks", "words"]
)
def test_a_very_long_line_is_cut_into_chunks(text: str) -> None:
    for chunk in (chunk_fixed, chunk_recursive, chunk_blocks):
        chunks = chunk(text)
        assert chunks[-1].end_offset == len(text)
        assert max(len(piece.text) for piece in chunks) <= 2_048


def test_a_large_file_loads() -> None:
    (document,) = load_documents([("a.txt", b"y" * LINE)]).documents
    assert len(document.text) == LINE


def test_a_hundred_thousand_texts_are_searched() -> None:
    index = LexicalIndex(f"text {n} about topic {n % 997}" for n in range(100_000))
    hits = index.search("topic 5", 48)
    assert len(hits) == 48
    assert hits == sorted(hits, key=lambda hit: (-round(hit.score, 6), hit.id))


def test_many_headings_cost_no_more_than_their_number() -> None:
    text = "# a\n\n## b\n\n" * 10_000
    started = time.process_time()
    chunks = chunk_documents([Document("a", "A", text)], chunk_blocks)
    assert time.process_time() - started < 3  # 12 s when every chunk walks over all headings
    assert len(chunks) == 20_000
    assert chunks[-1].meta["headings"] == ("a", "b")


@pytest.mark.parametrize("chunk", [chunk_recursive, chunk_blocks])
def test_long_chunks_of_short_pieces_take_no_longer_than_their_text(
    chunk: Callable[..., tuple[Chunk, ...]],
) -> None:
    started = time.process_time()
    chunk("a\n\n" * 400_000, size=250_000, overlap=0)
    assert time.process_time() - started < 3  # 12 s when each piece copies the chunk so far
