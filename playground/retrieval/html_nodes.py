"""What of an HTML element is text, and what is hidden. No recursion: pages nest as deep as they like."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["BLOCKS", "children_of", "is_hidden", "text_of", "verbatim_of"]

_BLOCKS = (
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu nav ol p pre search section "
    "summary table tbody td tfoot th thead tr ul"
)
BLOCKS = frozenset(_BLOCKS.split())
_TEXTLESS = (
    "-comment -doctype audio canvas datalist embed head iframe input link meta noframes noscript object script "
    "select style svg template textarea title video"
)
_NO_TEXT = frozenset(_TEXTLESS.split())
_INVISIBLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|(?:opacity|font-size)\s*:\s*0(?:\.0+)?(?:%|[a-z]+)?\s*(?:!|;|$))",
    re.IGNORECASE,
)


def children_of(node: LexborNode) -> list[LexborNode]:
    """Return the direct children, texts among them."""
    return list(node.iter(include_text=True, skip_empty=False))


def is_hidden(node: LexborNode) -> bool:
    """Whether an element shows nothing: by what it is, by an attribute or by an inline style."""
    if node.tag is None or node.tag in _NO_TEXT:
        return True
    attributes = node.attributes
    if not attributes:
        return False
    # ``until-found`` is closed, not hidden: a reader who searches finds it.
    hidden = "hidden" in attributes and (attributes["hidden"] or "").lower() != "until-found"
    style = attributes.get("style") or ""
    return hidden or attributes.get("aria-hidden") == "true" or bool(style and _INVISIBLE.search(style))


def text_of(node: LexborNode) -> tuple[str, bool]:
    """Return the visible text of an element on one line, and whether a table is in it.

    The text ends at such a table: who asks will not use it.
    """
    parts: list[str] = []
    waiting: list[LexborNode | str] = list(reversed(children_of(node)))
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            parts.append(item)
        elif item.tag == "-text":
            parts.append(item.text_content or "")
        elif not is_hidden(item):
            if item.tag == "table":
                return _one_line(parts), True
            if item.tag == "img":
                parts.append(f" {item.attributes.get('alt') or ''} ")
            border = " " if item.tag in BLOCKS or item.tag == "br" else ""
            parts.append(border)
            waiting += [border, *reversed(children_of(item))]
    return _one_line(parts), False


def verbatim_of(node: LexborNode) -> str:
    """Return the visible text of an element with its spaces and lines as they are."""
    parts: list[str] = []
    waiting = [node]
    while waiting:
        item = waiting.pop()
        if item.tag == "-text":
            parts.append(item.text_content or "")
        elif item.tag == "br":
            parts.append("\n")
        elif not is_hidden(item):
            waiting.extend(reversed(children_of(item)))
    return "".join(parts)


def _one_line(parts: list[str]) -> str:
    return " ".join("".join(parts).split())
