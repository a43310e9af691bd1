"""Markdown headings and the path of headings above a place in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ["Heading", "heading_path", "headings_of"]

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*\r?$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Heading:
    """One ``#`` heading.

    Attributes:
        level: 1 to 6.
        title: Text without the marks.
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
            found.append(Heading(len(match.group(1)), (match.group(2) or "").strip(), offset))
        offset += len(line) + 1
    return tuple(found)


def heading_path(headings: Sequence[Heading], offset: int) -> tuple[str, ...]:
    """Return the titles in force at ``offset``, outermost first; a heading that starts there counts."""
    path: list[Heading] = []
    for heading in headings[: bisect_right(headings, offset, key=lambda heading: heading.offset)]:
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
    return tuple(heading.title for heading in path)
