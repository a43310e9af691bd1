"""A document with the borders of its chunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from playground.retrieval.chunking import chunk_fixed
from playground.retrieval.corpus import chunk_documents
from playground.retrieval.documents import Document
from playground.views.document_preview import PREVIEW_LENGTH, document_preview


def test_pieces_show_borders_shared_stretches_and_sizes() -> None:
    text = "a" * 40
    document = Document("d", "Title", text, "d.txt")
    chunks = chunk_documents([document], lambda value: chunk_fixed(value, size=5, overlap=1))
    view = document_preview(document, chunks, tokens=len, limit=19)
    assert view.title == "Title"
    assert view.source == "d.txt"
    assert view.total == "3 chunks · 40 tokens, 48 with what they share"
    starts = [(piece.border, piece.oversized) for piece in view.pieces if piece.border]
    assert starts == [
        ("Part 1 · 20 tokens", True),
        ("Part 2 · 20 tokens", True),
        ("Part 3 · 8 tokens", False),
    ]
    stretches = [(len(piece.text), piece.cover) for piece in view.pieces]
    assert stretches == [(16, 1), (4, 2), (12, 1), (4, 2), (4, 1)]


@given(st.text(max_size=300), st.integers(2, 40), st.integers(0, 20))
def test_the_pieces_give_the_text_back(text: str, size: int, overlap: int) -> None:
    document = Document("d", "d", text)
    chunks = chunk_documents([document], lambda value: chunk_fixed(value, size=size, overlap=overlap))
    view = document_preview(document, chunks, tokens=len, limit=10)
    assert "".join(piece.text for piece in view.pieces) == text
    assert view.rest == ""


def test_a_document_without_chunks_is_shown_as_outside() -> None:
    view = document_preview(Document("d", "d", "   "), (), tokens=len, limit=10)
    assert [(piece.text, piece.cover, piece.border) for piece in view.pieces] == [("   ", 0, "")]


def test_a_long_document_is_cut_and_says_so() -> None:
    view = document_preview(Document("d", "d", "x" * (PREVIEW_LENGTH + 1)), (), tokens=len, limit=10)
    assert view.rest == f"The first {PREVIEW_LENGTH:,} of {PREVIEW_LENGTH + 1:,} characters."


def test_parts_are_counted_within_their_document() -> None:
    documents = [Document("a", "a", "a" * 40), Document("b", "b", "b" * 40)]
    chunks = chunk_documents(documents, lambda value: chunk_fixed(value, size=5, overlap=0))
    view = document_preview(documents[1], [one for one in chunks if one.index > 1], tokens=len, limit=20)
    assert [piece.border for piece in view.pieces] == ["Part 1 · 20 tokens", "Part 2 · 20 tokens"]
    assert view.total == "2 chunks · 40 tokens"


def test_a_document_that_is_one_chunk_has_no_parts() -> None:
    document = Document("d", "d", "short")
    chunks = chunk_documents([document], lambda value: chunk_fixed(value, size=50, overlap=0))
    view = document_preview(document, chunks, tokens=len, limit=20)
    assert [piece.border for piece in view.pieces] == ["One chunk · 5 tokens"]
