"""A document's text with the borders of its chunks drawn in.

Pure. Chunks may overlap: the shared stretch belongs to both and is shown once, marked as shared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from playground.escaping import replace_surrogates
from playground.retrieval.chunking import Chunk
from playground.retrieval.documents import Document
from playground.views.words import count, plural

__all__ = ["DocumentPreview", "PreviewPiece", "document_preview", "text_preview"]

PREVIEW_LENGTH = 60_000  # code points shown of one document: some 30 screens; the rest is named, not drawn


@dataclass(frozen=True, slots=True)
class PreviewPiece:
    """A stretch of text between two borders."""

    border: str
    """What begins here, ``Part 2 · 118 tokens``, as other pages call it; empty where nothing does."""
    text: str
    cover: int
    """How many chunks hold it: 0 is in no chunk, 2 and more is shared by neighbours."""
    oversized: bool
    """Whether the chunk that begins here is larger than the limit."""


@dataclass(frozen=True, slots=True)
class DocumentPreview:
    """One document, drawn."""

    title: str
    total: str
    """``4 chunks · 912 tokens, 1,012 with what they share``: the text's, as in the table, and the chunks'."""
    source: str
    """The file it came from."""
    pieces: tuple[PreviewPiece, ...]
    rest: str
    """What is not drawn; empty when all is."""


def document_preview(
    document: Document, chunks: Sequence[Chunk], *, tokens: Callable[[str], int], limit: int
) -> DocumentPreview:
    """Cut a document's text at the borders of its chunks. O(characters + chunks log chunks).

    Args:
        document: The document.
        chunks: Its chunks, in any order.
        tokens: Counts the tokens of a text.
        limit: Tokens above which a chunk is oversized.

    Returns:
        Pieces whose texts give the document's first ``PREVIEW_LENGTH`` code points.
    """
    text, shown = replace_surrogates(document.text), min(len(document.text), PREVIEW_LENGTH)
    sizes = {chunk.index: tokens(chunk.text) for chunk in chunks}
    starts: dict[int, list[Chunk]] = {}
    change = dict.fromkeys((0, shown), 0)
    ordered = sorted(chunks, key=lambda chunk: chunk.index)
    for chunk in ordered:
        if chunk.start_offset < shown:
            end = min(chunk.end_offset, shown)
            starts.setdefault(chunk.start_offset, []).append(chunk)
            change[chunk.start_offset] = change.get(chunk.start_offset, 0) + 1
            change[end] = change.get(end, 0) - 1
    pieces, cover = [], 0
    for at, until in pairwise(sorted(change)):
        cover += change[at]
        begun = starts.get(at, [])
        border = ", ".join(f"{_named(chunk)} · {plural(sizes[chunk.index], 'token')}" for chunk in begun)
        oversized = any(sizes[chunk.index] > limit for chunk in begun)
        pieces.append(PreviewPiece(border, text[at:until], cover, oversized))
    overlap = any(after.start_offset < before.end_offset for before, after in pairwise(ordered))
    shared = f", {count(sum(sizes.values()))} with what they share" if overlap else ""
    total = f"{plural(len(chunks), 'chunk')} · {plural(tokens(document.text), 'token')}{shared}"
    rest = f"The first {count(shown)} of {count(len(text))} characters." if shown < len(text) else ""
    return DocumentPreview(document.title, total, document.source_name, tuple(pieces), rest)


def text_preview(title: str, text: str, *, tokens: int) -> DocumentPreview:
    """Return any text of so many tokens as a preview without borders."""
    shown = replace_surrogates(text[:PREVIEW_LENGTH])
    rest = f"The first {count(len(shown))} of {count(len(text))} characters." if len(shown) < len(text) else ""
    piece = PreviewPiece(border="", text=shown, cover=0, oversized=False)
    return DocumentPreview(title, plural(tokens, "token"), "", (piece,), rest)


def _named(chunk: Chunk) -> str:
    """Name a chunk within its document; its index counts through the whole project."""
    return f"Part {chunk.meta['part']}" if chunk.meta.get("parts", 1) > 1 else "One chunk"
