"""Documents with their chunks: numbers that are given once and never again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from playground.errors import InvalidInputError
from playground.retrieval.chunking import Chunk, Chunker
from playground.retrieval.documents import Document
from playground.retrieval.headings import TITLE_LENGTH, HeadingPaths, headings_of
from playground.retrieval.media_types import RESTRUCTURED
from playground.retrieval.volume import check_volume

__all__ = ["Corpus", "chunk_documents", "search_text"]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents and chunks that belong together.

    Attributes:
        documents: With unique ids.
        chunks: By ascending index.
        next_index: The number the next new chunk gets; it never falls, so no number is given twice.
    """

    documents: tuple[Document, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    next_index: int = 0

    def with_documents(self, documents: Iterable[Document], chunker: Chunker) -> Corpus:
        """Return a corpus with these documents added; chunks that are there keep their numbers.

        A document whose id and text are there already is left alone; one with the same id and another text
        replaces the old one and its chunks get new numbers.
        """
        present = {document.id: document for document in self.documents}
        new = [document for document in documents if present.get(document.id) != document]
        kept = self.without(document.id for document in new)
        chunks = chunk_documents(new, chunker, start=self.next_index)
        next_index = max([self.next_index, *(chunk.index + 1 for chunk in chunks)])
        return Corpus((*kept.documents, *new), (*kept.chunks, *chunks), next_index)

    def without(self, document_ids: Iterable[str]) -> Corpus:
        """Return a corpus without these documents and their chunks; all other numbers stay."""
        gone = frozenset(document_ids)
        return Corpus(
            tuple(document for document in self.documents if document.id not in gone),
            tuple(chunk for chunk in self.chunks if chunk.meta.get("document") not in gone),
            self.next_index,
        )


def chunk_documents(documents: Iterable[Document], chunker: Chunker, *, start: int = 0) -> tuple[Chunk, ...]:
    """Cut documents and number the chunks from ``start``, in order; blank chunks are left out.

    Args:
        documents: With unique ids.
        chunker: Gives the slices of one text, for example ``chunk_recursive``.
        start: The first number, >= 0.

    Returns:
        Chunks whose meta holds ``document``, ``title``, ``headings`` (the path), ``part`` and ``parts``.

    Raises:
        InvalidInputError: When two documents share an id, or overlapping chunks repeat far more text than
            there is.
    """
    seen: set[str] = set()
    chunks: list[Chunk] = []
    read = cut = 0
    for document in documents:
        if document.id in seen:
            raise InvalidInputError(f"Two documents have the id {document.id!r}.", remedy="Rename one of them.")
        seen.add(document.id)
        pieces = [piece for piece in chunker(document.text) if piece.text.strip()]
        read += len(document.text)
        cut += sum(len(piece.text) for piece in pieces)
        check_volume(cut, of=read)
        # In reStructuredText a line that begins with # is a comment in an example.
        marked = () if document.media_type == RESTRUCTURED else headings_of(document.text)
        paths = HeadingPaths(marked)
        for part, piece in enumerate(pieces, 1):
            lead = len(piece.text) - len(piece.text.lstrip())
            path = paths.at(piece.start_offset + lead)
            meta = {
                "document": document.id,
                "title": document.title,
                "headings": path,
                "part": part,
                "parts": len(pieces),
            }
            chunks.append(replace(piece, index=start + len(chunks), meta=meta))
    return tuple(chunks)


def search_text(chunk: Chunk) -> str:
    """Return what is embedded and indexed: title and headings that the chunk does not show, then its text.

    Without them the second part of an article about one card would not be found by that card's name.
    """
    names = (chunk.meta.get("title") or "", *chunk.meta.get("headings", ()))
    lead = [name for name in dict.fromkeys(name[:TITLE_LENGTH] for name in names) if name not in chunk.text]
    return "\n".join([*lead, chunk.text])
