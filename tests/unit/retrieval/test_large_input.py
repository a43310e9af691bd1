"""Large and hostile sizes: everything stays linear."""

from __future__ import annotations

import pytest

from playground.retrieval.chunking import chunk_blocks, chunk_fixed, chunk_recursive
from playground.retrieval.documents import load_documents
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
