"""Cutting texts into chunks whose borders never move.

All chunkers are pure and give exact slices: ``text[chunk.start_offset:chunk.end_offset] == chunk.text``.
Sizes are in tokens of the given count, by default four characters a token and independent of the token
estimator, so that borders stay where they are when the estimator is calibrated or changed. Every chunker raises
``InvalidInputError`` for impossible sizes, and for chunks that are too many or repeat too much of the text
(``playground.retrieval.volume``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from playground.errors import InvalidInputError
from playground.retrieval.headings import headings_of
from playground.retrieval.spans import (
    CountText,
    Span,
    approximate_tokens,
    block_spans,
    characters_per_token,
    recursive_spans,
    windows,
)
from playground.retrieval.volume import check_volume

__all__ = [
    "DEFAULT_OVERLAP",
    "DEFAULT_SIZE",
    "Chunk",
    "Chunker",
    "CountText",
    "ScoredChunk",
    "approximate_tokens",
    "chunk_blocks",
    "chunk_fixed",
    "chunk_recursive",
    "chunk_semantic",
]

DEFAULT_SIZE = 512  # tokens
DEFAULT_OVERLAP = 64  # tokens


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of one document.

    Attributes:
        text: The piece itself.
        index: Its identity within a corpus: given once and never given again.
        start_offset: Where it starts in the document, in code points.
        end_offset: Where it ends, exclusive.
        meta: ``document``, ``title``, ``headings``, ``part`` and ``parts`` once it belongs to a corpus.
    """

    text: str
    index: int
    start_offset: int = 0
    end_offset: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ScoredChunk:
    """A chunk as a search found it; ``score`` is in 0 to 1, ``match`` says how it was found."""

    text: str
    index: int
    score: float
    start_offset: int = 0
    end_offset: int = 0
    meta: Mapping[str, Any] = field(default_factory=dict)
    match: str = ""


Chunker = Callable[[str], Sequence[Chunk]]


def chunk_fixed(
    text: str,
    *,
    size: int = DEFAULT_SIZE,
    overlap: int = DEFAULT_OVERLAP,
    count: CountText = approximate_tokens,
) -> tuple[Chunk, ...]:
    """Cut windows of equal length. O(n).

    With ``c`` characters a token on this text, a window has ``floor(size × c)`` characters and the next one
    starts ``floor((size − overlap) × c)`` later; both at least 1. A border that would fall inside a grapheme
    cluster moves back to its start.

    Args:
        text: Any text; an empty one gives no chunk.
        size: Tokens a chunk, >= 1.
        overlap: Tokens shared by neighbours, >= 0; capped at ``size − 1``.
        count: Counts the tokens of a text.
    """
    overlap = _checked(size, overlap)
    return _as_chunks(text, windows(text, 0, len(text), size, overlap, characters_per_token(text, count)))


def chunk_recursive(
    text: str,
    *,
    size: int = DEFAULT_SIZE,
    overlap: int = DEFAULT_OVERLAP,
    count: CountText = approximate_tokens,
) -> tuple[Chunk, ...]:
    """Split at the widest separator that makes pieces small enough, then pack them greedily. O(n).

    Blank lines are tried first, then lines, sentences and words, each only for pieces that are still over
    ``size``; what has no separator left is cut into windows. A separator stays with the piece before it. The
    last ``overlap`` tokens of a chunk, as characters, begin the next one as far as ``size`` allows.

    Args:
        text: Any text; an empty one gives no chunk.
        size: Tokens a chunk, >= 1.
        overlap: Tokens carried over, >= 0; capped at ``size − 1``.
        count: Counts the tokens of a text.
    """
    overlap = _checked(size, overlap)
    return _as_chunks(text, recursive_spans(text, 0, len(text), size, overlap, count))


def chunk_blocks(
    text: str,
    *,
    size: int = DEFAULT_SIZE,
    overlap: int = DEFAULT_OVERLAP,
    count: CountText = approximate_tokens,
) -> tuple[Chunk, ...]:
    """Gather whole Markdown blocks: headings open a chunk, and a block that has no room left does too.

    Blocks are parted by blank lines, fenced code is one block. What is too long by itself goes through
    ``chunk_recursive``. O(n) with the default count.

    Args:
        text: Markdown; an empty text gives no chunk.
        size: Tokens a chunk, >= 1.
        overlap: Tokens carried over inside one oversized block, >= 0.
        count: Counts the tokens of a text.
    """
    overlap = _checked(size, overlap)
    return _as_chunks(text, block_spans(text, size, overlap, count))


def chunk_semantic(
    text: str,
    *,
    size: int = DEFAULT_SIZE,
    overlap: int = 0,
    count: CountText = approximate_tokens,
) -> tuple[Chunk, ...]:
    """Split at headings, then let semchunk find borders that keep each chunk within ``size`` exactly.

    Args:
        text: Any text; an empty one gives no chunk.
        size: Tokens a chunk by ``count``, >= 1; never passed.
        overlap: Tokens shared by neighbours within one section, >= 0.
        count: Counts the tokens of a text; pass a tokenizer's count for token-exact chunks.
    """
    from semchunk.semchunk import chunkerify  # noqa: PLC0415  # only this chunker needs it

    overlap = _checked(size, overlap)
    chunker = cast("_SemanticChunker", chunkerify(count, size))
    starts = sorted({0, *(heading.offset for heading in headings_of(text)), len(text)})
    spans: list[Span] = []
    cut = 0
    for start, end in itertools.pairwise(starts):
        # semchunk gives a section's chunks all at once, so what they will hold is reckoned before.
        cut += math.ceil((end - start) * (size / (size - overlap) if count(text[start:end]) > size else 1))
        check_volume(cut, of=len(text))
        _, offsets = chunker(text[start:end], offsets=True, overlap=overlap or None)
        spans += [(start + first, start + last) for first, last in offsets]
    return _as_chunks(text, spans)


class _SemanticChunker(Protocol):
    """semchunk's chunker as called here; its own annotations are a union over every kind of call."""

    def __call__(
        self, text: str, *, offsets: bool, overlap: int | None
    ) -> tuple[list[str], list[tuple[int, int]]]: ...


def _checked(size: int, overlap: int) -> int:
    if size < 1 or overlap < 0:
        raise InvalidInputError(
            f"Chunks of {size} tokens with {overlap} of overlap are not possible.",
            remedy="Use a size of at least 1 and an overlap of at least 0.",
        )
    return min(overlap, size - 1)


def _as_chunks(text: str, spans: Sequence[Span] | Iterator[Span]) -> tuple[Chunk, ...]:
    chunks: list[Chunk] = []
    characters = 0
    for index, (start, end) in enumerate(spans):
        characters += end - start
        check_volume(characters, of=len(text), chunks=index + 1)
        chunks.append(Chunk(text[start:end], index, start, end))
    return tuple(chunks)
