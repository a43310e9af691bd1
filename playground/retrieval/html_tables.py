"""HTML tables as Markdown tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.errors import DocumentError
from playground.retrieval.html_nodes import children_of, is_hidden, text_of

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

__all__ = ["CELL_LIMIT", "table_markdown"]

CELL_LIMIT = 2_000_000  # cells of one table
SPAN_LIMIT = 100  # columns or rows that one cell is taken to cover; 1,000 and 65,534 in the standard
REPEATED = 200  # characters of a cell that is repeated in each row it covers; longer ones stand once
_SECTIONS = frozenset({"thead", "tbody", "tfoot"})


def table_markdown(table: LexborNode) -> tuple[str, str] | None:
    """Return caption and rows of a table, ``None`` for one that only arranges a page.

    The first row is the header, as Markdown knows no table without. A cell that covers several rows is repeated
    in each, so that a row says everything by itself; one that covers several columns leaves the others empty.
    A table that holds another table, or has one column, arranges a page. O(cells).

    Raises:
        DocumentError: When there are more than ``CELL_LIMIT`` cells.
    """
    caption = ""
    rows: list[list[str]] = []
    covered: dict[int, tuple[int, str]] = {}
    cells = 0
    for part in _parts(table):
        if part.tag == "caption":
            caption = text_of(part)[0]
            continue
        row = _row(part, covered)
        if row is None:
            return None
        cells += len(row)
        if cells > CELL_LIMIT:
            raise DocumentError(
                f"A table has more than {CELL_LIMIT:,} cells.", remedy="Save the table as CSV and load that."
            )
        if any(row):
            rows.append(row)
    width = max(map(len, rows), default=0)
    if width < 2:
        return None
    header, *body = rows
    lines = [header + [""] * (width - len(header)), ["---"] * width, *body]
    return caption, "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _parts(table: LexborNode) -> list[LexborNode]:
    """Return the captions and rows of a table, in order."""
    found: list[LexborNode] = []
    for child in children_of(table):
        if is_hidden(child):
            continue
        if child.tag in _SECTIONS:
            found.extend(row for row in children_of(child) if row.tag == "tr" and not is_hidden(row))
        elif child.tag in {"tr", "caption"}:
            found.append(child)
    return found


def _row(row: LexborNode, covered: dict[int, tuple[int, str]]) -> list[str] | None:
    """Return the cells of a row, with those that hang into it from above; ``None`` if one holds a table."""
    cells: list[str] = []
    hanging = {column: text for column, (_, text) in covered.items()}
    for column in list(covered):
        left, text = covered.pop(column)
        if left > 1:
            covered[column] = (left - 1, text)
    for cell in children_of(row):
        if cell.tag not in {"td", "th"} or is_hidden(cell):
            continue
        while len(cells) in hanging:
            cells.append(hanging.pop(len(cells)))
        text, arranges = text_of(cell)
        if arranges:
            return None
        text = text.replace("|", "\\|")
        below = _span(cell, "rowspan") - 1
        for offset in range(_span(cell, "colspan")):
            shown = text if offset == 0 else ""
            if below:
                covered[len(cells)] = (below, shown if len(text) <= REPEATED else "")
            cells.append(shown)
    while len(cells) in hanging:
        cells.append(hanging.pop(len(cells)))
    return cells


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return min(max(int(value), 1), SPAN_LIMIT) if value.isascii() and value.isdigit() and len(value) < 9 else 1
