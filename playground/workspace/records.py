"""Project files as values and back: one line a record, in spellings that people can read and edit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.memory import MemoryRecord, MemoryRevision
from playground.retrieval.chunking import Chunk
from playground.retrieval.corpus import Corpus, chunk_documents
from playground.retrieval.documents import Document
from playground.scope import MemoryScope
from playground.values import LARGEST_WHOLE_NUMBER

__all__ = [
    "chunk_lines",
    "corpus_from_lines",
    "document_from_json",
    "document_to_json",
    "memory_from_json",
    "memory_to_json",
]

_RECORD_FIELDS = {"id", "scope", "revisions"}


def document_from_json(data: Mapping[str, Any]) -> Document:
    """Read one line of ``documents.jsonl``: id, text, and optionally title, source, mediaType and meta."""
    identifier, text = data["id"], data["text"]
    title, source = data.get("title", ""), data.get("source", "")
    meta, media_type = data.get("meta", {}), data.get("mediaType", "text/markdown")
    if not all(isinstance(value, str) for value in (identifier, text, title, source, media_type)):
        raise InvalidInputError("id, title, text, source and mediaType must be strings")
    if not identifier or not isinstance(meta, dict):
        raise InvalidInputError("the id is empty, or meta is no object")
    return Document(identifier, title or identifier, text, source, media_type, meta)


def document_to_json(document: Document) -> dict[str, Any]:
    """Undo ``document_from_json``; what is empty or usual is left out."""
    optional = {
        "source": document.source_name,
        "mediaType": "" if document.media_type == "text/markdown" else document.media_type,
        "meta": dict(document.meta),
    }
    kept = {name: value for name, value in optional.items() if value}
    return {"id": document.id, "title": document.title, "text": document.text, **kept}


def memory_from_json(data: Mapping[str, Any], scope: MemoryScope) -> MemoryRecord:
    """Read one line of ``memories.jsonl``: id and text, or id and revisions; digests need not be given."""
    entries = data.get("revisions")
    if entries is None:
        entries = [{name: value for name, value in data.items() if name not in _RECORD_FIELDS}]
    if not isinstance(entries, list | tuple) or not entries or not all(isinstance(e, Mapping) for e in entries):
        raise InvalidInputError(
            "revisions is no list of objects",
            remedy='Give each revision as an object with "text", oldest first.',
        )
    revisions = tuple(
        MemoryRevision.parse({"recordedAt": 0, **entry, "revision": number, "digest": _digest(entry)})
        for number, entry in enumerate(entries, 1)
    )
    own = MemoryScope.parse(data["scope"]) if "scope" in data else scope
    return MemoryRecord(id=data["id"], scope=own, revisions=revisions)


def memory_to_json(record: MemoryRecord, scope: MemoryScope) -> dict[str, Any]:
    """Undo ``memory_from_json``; one revision is written flat, defaults are left out."""
    entries = [
        revision.model_dump(by_alias=True, exclude_defaults=True, exclude={"revision", "digest"}, mode="json")
        for revision in record.revisions
    ]
    own = {} if record.scope == scope else {"scope": record.scope.model_dump(by_alias=True, exclude_none=True)}
    if len(entries) == 1:
        return {"id": record.id, **entries[0], **own}
    return {"id": record.id, **own, "revisions": entries}


def chunk_lines(corpus: Corpus) -> list[dict[str, Any]]:
    """Return one line a document: its digest and, for each chunk, index, start and end."""
    by_document: dict[str, list[Chunk]] = {document.id: [] for document in corpus.documents}
    for chunk in corpus.chunks:
        by_document[chunk.meta["document"]].append(chunk)
    return [
        {
            "document": document.id,
            "digest": text_digest(document.text),
            "chunks": [
                [chunk.index, chunk.start_offset, chunk.end_offset] for chunk in by_document[document.id]
            ],
        }
        for document in corpus.documents
    ]


def corpus_from_lines(
    documents: Sequence[Document], lines: Iterable[Mapping[str, Any]], next_index: int
) -> tuple[Corpus, tuple[Document, ...]]:
    """Put documents and their chunk lines together.

    Returns:
        The corpus of the documents whose text is the one that was cut, and the documents that must be cut
        anew because they were added or edited. Their old numbers stay used up.

    Raises:
        InvalidInputError: When an index is used twice, or a chunk is blank or lies outside its document.
    """
    by_id = {document.id: document for document in documents}
    if len(by_id) != len(documents):
        raise InvalidInputError("two documents have the same id", remedy="Rename one of them.")
    chunks: list[Chunk] = []
    used: set[int] = set()
    intact: set[str] = set()
    for line in lines:
        spans = [tuple(span) for span in line["chunks"]]
        _check_spans(spans, used)
        document = by_id.get(line["document"])
        if document is not None and line["digest"] == text_digest(document.text):
            intact.add(document.id)
            chunks += _placed(document, spans)
    kept = tuple(document for document in documents if document.id in intact)
    top = max(used, default=-1) + 1
    ordered = tuple(sorted(chunks, key=lambda chunk: chunk.index))
    new = tuple(document for document in documents if document.id not in intact)
    return Corpus(kept, ordered, max(next_index, top)), new


def _placed(document: Document, spans: Sequence[tuple[int, ...]]) -> Iterable[Chunk]:
    if any(not 0 <= start < end <= len(document.text) for _, start, end in spans):
        raise InvalidInputError(
            f"a chunk lies outside the document {document.id!r}",
            remedy="Delete chunks.jsonl; it is made again.",
        )
    pieces = [Chunk(document.text[start:end], index, start, end) for index, start, end in spans]
    if not all(piece.text.strip() for piece in pieces):
        raise InvalidInputError(
            f"a chunk of the document {document.id!r} is blank", remedy="Delete chunks.jsonl; it is made again."
        )
    # Through the same function as new chunks, so that headings and parts are found in one way only.
    placed = chunk_documents([document], lambda _text: pieces)
    return (replace(chunk, index=piece.index) for chunk, piece in zip(placed, pieces, strict=True))


def _check_spans(spans: Sequence[tuple[int, ...]], used: set[int]) -> None:
    for span in spans:
        if len(span) != 3 or not all(type(number) is int and number >= 0 for number in span):
            raise InvalidInputError("a chunk is not three whole numbers: index, start and end")
        if span[0] > LARGEST_WHOLE_NUMBER:
            raise InvalidInputError(
                "a chunk index is above 2**53", remedy="Delete chunks.jsonl; it is made again."
            )
        if span[0] in used:
            raise InvalidInputError(f"the chunk index {span[0]} is used twice")
        used.add(span[0])


def _digest(entry: Mapping[str, Any]) -> str:
    text = entry.get("text")
    return text_digest(text) if isinstance(text, str) else ""
