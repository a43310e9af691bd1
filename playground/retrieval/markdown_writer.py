"""Writing Markdown block by block: paragraphs, headings, lists, quotes, code and tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["MarkdownWriter"]

PREFIX_LIMIT = 16  # nested lists and quotes that are indented; deeper ones stay at that depth
_BREAK = "\0"  # stands for a line break until the paragraph ends; decoded text holds no NUL
_SPACE = re.compile(r"[\t\n\r\f][ \t\n\r\f]*| [ \t\n\r\f]+")  # what HTML takes for one space and is not yet
# What would open a heading or fenced code where the page has a plain line.
_MISTAKABLE = re.compile(r"^(#{1,6}(?=[ \t]|$)|`{3}|~{3})", re.MULTILINE)
_CLOSING_MARKS = re.compile(r"(?:(?<=[ \t])|^)#+$")
_BACKTICKS = re.compile(r"`+")


@dataclass(slots=True)
class _Prefix:
    """What the first line of an item or quote begins with, and every later one."""

    first: str
    rest: str
    used: bool = False


class MarkdownWriter:
    """Gathers inline text into paragraphs and sets blocks under one another. Linear in what is written."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self._inline: list[str] = []
        self._prefixes: list[_Prefix] = []
        self._lists: list[int | None] = []  # the next number, ``None`` for bullets
        self._in_list = False  # whether the last block belongs to a list that is still open

    def result(self) -> str:
        """Return everything written, without blank lines around it."""
        self.end_paragraph()
        return "".join(self._blocks).strip("\n")

    def text(self, text: str) -> None:
        """Add inline text; runs of white space become one space."""
        self._inline.append(text.replace(_BREAK, "\ufffd"))

    def inline_code(self, text: str) -> None:
        """Add code to the paragraph."""
        self.text(f"`{text}`" if text and "`" not in text else text)

    def line_break(self) -> None:
        """End the line but not the paragraph."""
        self._inline.append(_BREAK)

    def end_paragraph(self) -> None:
        """Write the inline text gathered so far as a paragraph, if there is any."""
        gathered, self._inline = "".join(self._inline), []
        lines = (_SPACE.sub(" ", line).strip() for line in gathered.split(_BREAK))
        text = "\n".join(filter(None, lines))
        if text:
            self.block(_MISTAKABLE.sub(r"\\\1", text))

    def paragraph(self, text: str) -> None:
        """Write a paragraph of its own."""
        self.end_paragraph()
        self.text(text)
        self.end_paragraph()

    def heading(self, level: int, text: str) -> None:
        """Write a heading, always at the start of a line so that it opens a section, in a list too."""
        self.end_paragraph()
        text = " ".join(text.split())
        if not text:
            return
        closing = _CLOSING_MARKS.search(text)
        if closing:  # else they would be taken for the end of the heading
            text = f"{text[: closing.start()]}\\{closing.group()}"
        self._flush_left(f"{'#' * level} {text}")

    def code(self, text: str) -> None:
        """Write fenced code, the fence longer than any in it, always at the start of a line as headings are."""
        self.end_paragraph()
        if text.strip():
            fence = "`" * max(3, 1 + max((len(run) for run in _BACKTICKS.findall(text)), default=0))
            self._flush_left(f"{fence}\n{text.strip(chr(10))}\n{fence}")

    def block(self, text: str) -> None:
        """Write lines as they are, under the prefixes that are open."""
        self.end_paragraph()
        prefixes = self._prefixes[:PREFIX_LIMIT]
        opens = any(not prefix.used for prefix in prefixes)
        first = "".join(prefix.rest if prefix.used else prefix.first for prefix in prefixes)
        rest = "".join(prefix.rest for prefix in prefixes)
        for prefix in prefixes:
            prefix.used = True
        self._separate(tight=opens and self._in_list)
        self._blocks.append(first + text.replace("\n", f"\n{rest}"))
        self._in_list = bool(self._lists)

    def open_list(self, *, first: int | None) -> None:
        """Begin a list that counts from ``first``, or one of bullets."""
        self.end_paragraph()
        self._in_list = self._in_list and bool(self._lists)
        self._lists.append(first)

    def close_list(self) -> None:
        """End the innermost list."""
        self.end_paragraph()
        self._lists.pop()
        self._in_list = self._in_list and bool(self._lists)

    def open_item(self) -> None:
        """Begin an item of the innermost list."""
        number = self._lists[-1] if self._lists else None
        if number is None:
            self.open_prefix("- ", "  ")
        else:
            self._lists[-1] = number + 1
            marker = f"{number}. "
            self.open_prefix(marker, " " * len(marker))

    def open_prefix(self, first: str, rest: str) -> None:
        """Begin lines with ``first`` once and with ``rest`` from then on."""
        self.end_paragraph()
        self._prefixes.append(_Prefix(first, rest))

    def close_prefix(self) -> None:
        """End what ``open_prefix`` or ``open_item`` began last."""
        self.end_paragraph()
        self._prefixes.pop()

    def _flush_left(self, text: str) -> None:
        self._separate(tight=False)
        self._blocks.append(text)
        for prefix in self._prefixes[:PREFIX_LIMIT]:
            prefix.used = True

    def _separate(self, *, tight: bool) -> None:
        if self._blocks:
            self._blocks.append("\n" if tight else "\n\n")
