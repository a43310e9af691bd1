"""HTML as Markdown: what a reader sees, with its headings, lists, tables and code.

Pure, and without recursion, so that the depth of a page costs no stack. Left out is what is no text of the
page: scripts, styles, comments, form fields, media, and everything hidden by an attribute or an inline style
(rules of style sheets are not applied). Links keep their text and pictures their description: addresses cost
tokens and nobody searches for them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from playground.errors import DocumentError
from playground.retrieval.html_nodes import BLOCKS, children_of, is_hidden, text_of, verbatim_of
from playground.retrieval.html_tables import table_markdown
from playground.retrieval.json_records import JsonRecord
from playground.retrieval.markdown_writer import MarkdownWriter

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["DEPTH_LIMIT", "html_markdown", "read_html"]

DEPTH_LIMIT = 5_000  # open elements; the parser's time grows with the square, browsers stop at 512
_TAG = re.compile(r"<(/?)([a-zA-Z][^\s/<>]*)[^<>]*>")
# Elements without content, and those that the next of their kind ends: HTML leaves out their end tags.
_END_LEFT_OUT = (
    "area base br col embed hr img input link meta source track wbr p li dt dd tr td th thead tbody tfoot "
    "colgroup caption option optgroup rp rt body head html"
)
_UNCLOSED = frozenset(_END_LEFT_OUT.split())
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})


def read_html(name: str, text: str) -> tuple[JsonRecord, ...]:
    """Read a page as one record of Markdown. Its title is that of its head, else its first heading.

    Raises:
        DocumentError: When the page nests deeper than ``DEPTH_LIMIT`` or shows no text.
    """
    if _depth_exceeds(text, DEPTH_LIMIT):
        raise DocumentError(
            f"{name} nests too deep: more than {DEPTH_LIMIT:,} elements are open at once.",
            remedy="Open it in a browser, print it as PDF and load that.",
            name=name,
        )
    title, markdown = html_markdown(text)
    if not markdown:
        raise DocumentError(
            f"{name} shows no text: it may be made by scripts when a browser opens it.",
            remedy="Open it in a browser, print it as PDF and load that.",
            name=name,
        )
    return (JsonRecord(0, markdown, id=name, title=title),)


def html_markdown(text: str) -> tuple[str, str]:
    """Return the title of a page's head, empty where it has none, and its body as Markdown. O(n)."""
    from selectolax.lexbor import LexborHTMLParser, SelectolaxError  # noqa: PLC0415  # only then

    try:
        page = LexborHTMLParser(text)
    except SelectolaxError:  # the parser takes any markup, and fails for want of memory only
        raise MemoryError from None
    named = page.head.css_first("title") if page.head is not None else None
    title = " ".join(named.text().split()) if named is not None else ""
    writer = MarkdownWriter()
    if page.body is not None:
        _walk(page.body, writer)
    return title, writer.result()


def _walk(root: LexborNode, writer: MarkdownWriter) -> None:
    """Visit each element on the way down and, by its tag alone, on the way up."""
    waiting: list[LexborNode | str] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, str):
            _leave(node, writer)
        elif node.tag == "-text":
            writer.text(node.text_content or "")
        elif not is_hidden(node) and _enter(node, writer):
            waiting.append(node.tag or "")
            waiting.extend(reversed(children_of(node)))


def _enter(node: LexborNode, writer: MarkdownWriter) -> bool:
    """Open an element; false when it is written as a whole already."""
    tag = node.tag or ""
    if tag in _HEADINGS:
        writer.heading(int(tag[1]), text_of(node)[0])
    elif tag == "pre":
        writer.code(verbatim_of(node))
    elif tag == "br":
        writer.line_break()
    elif tag == "img":
        writer.text(f" {node.attributes.get('alt') or ''} ")
    elif tag == "code":
        writer.inline_code(text_of(node)[0])
    elif tag == "table" and (table := table_markdown(node)) is not None:
        caption, rows = table
        writer.paragraph(caption)
        writer.block(rows)
    else:
        if tag in BLOCKS:
            writer.end_paragraph()
        _open(tag, node, writer)
        return True
    return False


def _open(tag: str, node: LexborNode, writer: MarkdownWriter) -> None:
    if tag in {"ul", "ol", "menu"}:
        writer.open_list(first=_first_number(node) if tag == "ol" else None)
    elif tag == "li":
        writer.open_item()
    elif tag == "dd":
        writer.open_prefix("- ", "  ")
    elif tag == "blockquote":
        writer.open_prefix("> ", "> ")


def _leave(tag: str, writer: MarkdownWriter) -> None:
    if tag in BLOCKS:
        writer.end_paragraph()
    if tag in {"ul", "ol", "menu"}:
        writer.close_list()
    elif tag in {"li", "dd", "blockquote"}:
        writer.close_prefix()


def _first_number(node: LexborNode) -> int:
    start = node.attributes.get("start") or ""
    # CommonMark 0.31, section 5.2: nine digits at most.
    return int(start) if re.fullmatch(r"[0-9]{1,9}", start) else 1


def _depth_exceeds(text: str, limit: int) -> bool:
    """Tell before parsing whether a page nests too deep, from its tags alone.

    What hides a tag from this look, such as an angle bracket in an attribute, only costs the time limit.
    """
    depth = 0
    for match in _TAG.finditer(text):
        closes, tag = match.groups()
        if tag.lower() in _UNCLOSED or match.group().endswith("/>"):
            continue
        depth = max(0, depth - 1) if closes else depth + 1
        if depth > limit:
            return True
    return False
