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
from functools import partial
from typing import Any, Protocol, cast

from playground.errors import InvalidInputError
from playground.retrieval.borders import cluster_border
from playground.retrieval.headings import headings_of
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
SEPARATORS = ("\n\n\n", "\n\n", "\n", ". ", " ", "")

CountText = Callable[[str], int]
Span = tuple[int, int]
CountSpan = Callable[[int, int], int]


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


def approximate_tokens(text: str) -> int:
    """Count four characters a token, rounded up."""
    return math.ceil(len(text) / 4)


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
    return _as_chunks(text, _windows(text, 0, len(text), size, overlap, _characters_per_token(text, count)))


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
    return _as_chunks(text, _recursive(text, 0, len(text), size, overlap, count))


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
    return _as_chunks(text, _packed_blocks(text, size, overlap, count))


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


def _span_count(text: str, count: CountText) -> CountSpan:
    """Count slices of ``text``; the default needs no slice, so that long chunks of short pieces stay linear."""
    if count is approximate_tokens:
        return lambda first, last: math.ceil((last - first) / 4)
    return lambda first, last: count(text[first:last])


def _characters_per_token(text: str, count: CountText) -> float:
    return len(text) / max(1, count(text))


def _windows(text: str, start: int, end: int, size: int, overlap: int, per_token: float) -> Iterator[Span]:
    window = max(1, math.floor(size * per_token))
    step = max(1, math.floor((size - overlap) * per_token))
    position = start
    while position < end:
        first = cluster_border(text, position, start)
        if position + window >= end:
            yield first, end
            return
        last = cluster_border(text, position + window, first)
        yield first, last
        # A window that a long cluster shortened must not leave a gap behind it.
        position = min(position + step, max(last, position + 1))


def _recursive(text: str, start: int, end: int, size: int, overlap: int, count: CountText) -> Iterator[Span]:
    tokens = _span_count(text, count)

    def fits(first: int, last: int) -> bool:
        return tokens(first, last) <= size

    carried = math.floor(overlap * _characters_per_token(text[start:end], count))
    first = last = start
    for piece_start, piece_end in _pieces(text, start, end, SEPARATORS, size, count):
        if last > first and not fits(first, piece_end):
            yield first, last
            first = _carry(text, max(first + 1, last - carried), last, partial(fits, last=piece_end))
        elif last == first:
            first = piece_start
        last = piece_end
    if last > first:
        yield first, last


def _carry(text: str, earliest: int, last: int, fits: Callable[[int], bool]) -> int:
    """Return the earliest start in ``[earliest, last]`` from which the next piece still fits."""
    low, high = min(earliest, last), last
    while low < high:
        middle = (low + high) // 2
        if fits(middle):
            high = middle
        else:
            low = middle + 1
    # Forward, not back: an earlier start might not fit.
    while low < last and cluster_border(text, low, 0) != low:
        low += 1
    return low


def _pieces(
    text: str, start: int, end: int, separators: Sequence[str], size: int, count: CountText
) -> Iterator[Span]:
    piece = text[start:end]
    if count(piece) <= size:
        if end > start:
            yield start, end
        return
    separator, *rest = separators
    if not separator:
        yield from _windows(text, start, end, size, 0, _characters_per_token(piece, count))
        return
    first = start
    while first < end:
        found = text.find(separator, first, end)
        last = end if found < 0 else found + len(separator)
        yield from _pieces(text, first, last, rest, size, count)
        first = last


def _packed_blocks(text: str, size: int, overlap: int, count: CountText) -> Iterator[Span]:
    headings = {heading.offset for heading in headings_of(text)}
    tokens = _span_count(text, count)
    first = last = 0
    for start, end in _blocks(text, headings):
        if last > first and (start in headings or tokens(first, end) > size):
            yield first, last
            first = start
        if tokens(start, end) > size:
            if start > first:
                yield first, start
            yield from _recursive(text, start, end, size, overlap, count)
            first = end
        last = end
    if last > first:
        yield first, last


def _blocks(text: str, headings: set[int]) -> Iterator[Span]:
    """Part a text at blank lines and headings; every character belongs to exactly one block."""
    start = offset = 0
    fence = ""
    blank = False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        mark = bare[:3] if bare[:3] in {"```", "~~~"} else ""
        if not fence and offset > start and (offset in headings or (blank and bare)):
            yield start, offset
            start = offset
        if mark and not fence:
            fence = mark
        elif mark and mark == fence and not bare.strip(mark[0]):
            fence = ""
        blank = not bare
        offset += len(line)
    if offset > start:
        yield start, offset
