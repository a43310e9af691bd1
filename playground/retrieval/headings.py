"""Markdown headings and the path of headings above a place in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from playground.errors import InvalidInputError

__all__ = [
    "HEADING_LIMIT",
    "TITLE_LENGTH",
    "Heading",
    "HeadingPaths",
    "fence_after",
    "first_title",
    "headings_of",
]

TITLE_LENGTH = 300  # code points of a title that are kept: every chunk below repeats it
HEADING_LIMIT = 500_000  # as many as a document may have chunks
# A heading or the border of fenced code, and the rest of its line; only a line feed ends a line.
_MARKED_LINE = re.compile(r"^ {0,3}(?:(#{1,6})(?=[ \t]|\r?$)|(`{3,}|~{3,}))([^\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Heading:
    """One ``#`` heading.

    Attributes:
        level: 1 to 6.
        title: Text without the marks, at most ``TITLE_LENGTH`` of it.
        offset: Where its line starts, in code points.
    """

    level: int
    title: str
    offset: int


def headings_of(text: str) -> tuple[Heading, ...]:
    """Return the ``#`` headings outside fenced code, in order. O(n).

    Raises:
        InvalidInputError: When there are more than ``HEADING_LIMIT``.

    References:
        CommonMark 0.31, sections 4.2 (ATX headings) and 4.5 (fenced code blocks).
    """
    found = tuple(islice(_each_heading(text), HEADING_LIMIT + 1))
    if len(found) > HEADING_LIMIT:
        raise InvalidInputError(
            f"A text of {len(text):,} characters has more than {HEADING_LIMIT:,} headings.",
            remedy="Split the document.",
        )
    return found


def first_title(text: str) -> str:
    """Return the title of the first heading that has one, empty where none has."""
    return next((heading.title for heading in _each_heading(text) if heading.title), "")


def fence_after(fence: str, mark: str, rest: str) -> str:
    """Return the fence of the code that is open after a line of backticks or tildes; empty when none is.

    Args:
        fence: The one that is open before it; empty when none is.
        mark: The backticks or tildes that begin the line, at least three.
        rest: What follows them.

    References:
        CommonMark 0.31, section 4.5: as many marks of the same kind, or more, with nothing behind them close.
    """
    if not fence:
        return mark
    return "" if mark[0] == fence[0] and len(mark) >= len(fence) and not rest.strip() else fence


class HeadingPaths:
    """The titles in force at any place of one text. Building is O(headings), a look-up O(log headings).

    Args:
        headings: Of the text, in order.
    """

    def __init__(self, headings: Iterable[Heading]) -> None:
        self._offsets: list[int] = []
        self._paths: list[tuple[str, ...]] = []
        open_now: list[Heading] = []  # levels rise, so there are six at most
        for heading in headings:
            while open_now and open_now[-1].level >= heading.level:
                open_now.pop()
            open_now.append(heading)
            self._offsets.append(heading.offset)
            self._paths.append(tuple(above.title for above in open_now))

    def at(self, offset: int) -> tuple[str, ...]:
        """Return the titles in force at ``offset``, outermost first; a heading that starts there counts."""
        position = bisect_right(self._offsets, offset)
        return self._paths[position - 1] if position else ()


def _each_heading(text: str) -> Iterator[Heading]:
    fence = ""
    for line in _MARKED_LINE.finditer(text) if "#" in text else ():
        heading, mark, rest = line.groups()
        if mark:
            fence = fence_after(fence, mark, rest)
        elif heading and not fence:
            yield Heading(len(heading), _title(rest), line.start())


def _title(rest: str) -> str:
    """Strip white space and a closing run of ``#``; string methods, because a pattern would backtrack."""
    body = rest.strip()
    opened = body.rstrip("#")
    if opened != body and (not opened or opened[-1] in " \t"):
        body = opened.rstrip()
    return body[:TITLE_LENGTH]
