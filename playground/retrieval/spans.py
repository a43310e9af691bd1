"""Where a text is cut: the borders that the chunkers give, as offsets in code points, end exclusive.

Pure. Spans come in order, and nothing of the text is left out between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from playground.borders import cluster_border
from playground.retrieval.headings import fence_after, headings_of

__all__ = [
    "CountText",
    "Span",
    "approximate_tokens",
    "block_spans",
    "characters_per_token",
    "recursive_spans",
    "windows",
]

SEPARATORS = ("\n\n\n", "\n\n", "\n", ". ", " ", "")

_FENCE = re.compile(r"`{3,}|~{3,}")

CountText = Callable[[str], int]
Span = tuple[int, int]
CountSpan = Callable[[int, int], int]


def approximate_tokens(text: str) -> int:
    """Count four characters a token, rounded up."""
    return math.ceil(len(text) / 4)


def characters_per_token(text: str, count: CountText) -> float:
    """Return how many characters of this text a token stands for."""
    return len(text) / max(1, count(text))


def windows(text: str, start: int, end: int, size: int, overlap: int, per_token: float) -> Iterator[Span]:
    """Yield windows of equal length over ``text[start:end]``; see ``chunk_fixed``.

    Args:
        text: What is cut.
        start: Where the first window starts, in code points.
        end: Where the last one ends, exclusive.
        size: Tokens a window.
        overlap: Tokens shared by neighbours, below ``size``.
        per_token: Characters a token.
    """
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


def recursive_spans(
    text: str, start: int, end: int, size: int, overlap: int, count: CountText
) -> Iterator[Span]:
    """Yield greedily packed pieces of ``text[start:end]``; see ``chunk_recursive``, and ``windows``."""
    tokens = _span_count(text, count)

    def fits(first: int, last: int) -> bool:
        return tokens(first, last) <= size

    carried = math.floor(overlap * characters_per_token(text[start:end], count))
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


def block_spans(text: str, size: int, overlap: int, count: CountText) -> Iterator[Span]:
    """Yield whole blocks of Markdown, gathered; see ``chunk_blocks``."""
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
            yield from recursive_spans(text, start, end, size, overlap, count)
            first = end
        last = end
    if last > first:
        yield first, last


def _span_count(text: str, count: CountText) -> CountSpan:
    """Count slices of ``text``; the default needs no slice, so that long chunks of short pieces stay linear."""
    if count is approximate_tokens:
        return lambda first, last: math.ceil((last - first) / 4)
    return lambda first, last: count(text[first:last])


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
        yield from windows(text, start, end, size, 0, characters_per_token(piece, count))
        return
    first = start
    while first < end:
        found = text.find(separator, first, end)
        last = end if found < 0 else found + len(separator)
        yield from _pieces(text, first, last, rest, size, count)
        first = last


def _blocks(text: str, headings: set[int]) -> Iterator[Span]:
    """Part a text at blank lines and headings; every character belongs to exactly one block."""
    start = offset = 0
    fence = ""
    blank = False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        mark = _FENCE.match(bare)
        if not fence and offset > start and (offset in headings or (blank and bare)):
            yield start, offset
            start = offset
        if mark:
            fence = fence_after(fence, mark.group(), bare[mark.end() :])
        blank = not bare
        offset += len(line)
    if offset > start:
        yield start, offset
