"""Markdown headings and the path of headings above a place in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["TITLE_LENGTH", "Heading", "HeadingPaths", "headings_of"]

TITLE_LENGTH = 300  # code points of a title that are kept: every chunk below repeats it
_HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\r?$)")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


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

    References:
        CommonMark 0.31, sections 4.2 (ATX headings) and 4.5 (fenced code blocks).
    """
    found: list[Heading] = []
    if "#" not in text:
        return ()
    fence = ""
    offset = 0
    for line in text.split("\n"):
        opened = _FENCE.match(line)
        if opened:
            mark = opened.group(1)
            if not fence:
                fence = mark
            elif mark[0] == fence[0] and len(mark) >= len(fence) and not line[opened.end() :].strip():
                fence = ""
        elif not fence and (match := _HEADING.match(line)):
            found.append(Heading(len(match.group(1)), _title(line[match.end() :]), offset))
        offset += len(line) + 1
    return tuple(found)


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


def _title(rest: str) -> str:
    """Strip white space and a closing run of ``#``; string methods, because a pattern would backtrack."""
    body = rest.strip()
    opened = body.rstrip("#")
    if opened != body and (not opened or opened[-1] in " \t"):
        body = opened.rstrip()
    return body[:TITLE_LENGTH]
