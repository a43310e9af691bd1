"""The editable table of blocks: its rows, what is wrong with them, and the blocks that they are. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from playground.blocks.compile import BLOCK_KINDS, BLOCK_ROLES, ContextBlock
from playground.escaping import replace_surrogates
from playground.views.direction import without_overrides
from playground.views.notices import Notice
from playground.views.words import joined, shortened

__all__ = [
    "FIELDS",
    "TableRow",
    "blocks_of",
    "pin_labels",
    "rows_of",
    "rows_of_frame",
    "table_fault",
    "table_frame",
]

TableRow = Mapping[str, Any]
"""One row by field; text fields are texts, and what is missing is ``None``."""
FIELDS = ("id", "kind", "source", "role", "priority", "required", "content", "retention_reason")
_BELOW = "What stands below is the last result that could be made."
_ID_SHOWN = 60  # code points of an id in a notice


def rows_of(blocks: Iterable[ContextBlock]) -> tuple[TableRow, ...]:
    """Return blocks as rows, also those of a file that were not checked yet.

    A priority, required flag or content that the compiler would refuse becomes ``None``, never another value.
    """
    return tuple(_row({name: getattr(block, name) for name in FIELDS}) for block in blocks)


def table_frame(rows: Sequence[TableRow]) -> pd.DataFrame:
    """Return rows as a frame for the editor, with a fixed type a column."""
    columns: dict[str, pd.Series[Any]] = {
        name: pd.Series(
            [row[name] for row in rows],
            dtype={"priority": "float64", "required": "boolean"}.get(name, "object"),
        )
        for name in FIELDS
    }
    return pd.DataFrame(columns, columns=list(FIELDS))


def rows_of_frame(frame: pd.DataFrame) -> tuple[TableRow, ...]:
    """Return what the editor holds as rows."""
    return tuple(_row(row) for row in frame.to_dict("records"))


def table_fault(rows: Sequence[TableRow], *, below: bool = True) -> Notice | None:
    """Return the notice of the first fault, which names the block and what to do; ``None`` without one.

    Args:
        rows: The table.
        below: Whether an earlier result stands below the notice.
    """
    fault = _first_fault(rows)
    if fault is None:
        return None
    title, remedy = fault
    return Notice("warning", title, ((f"{remedy} {_BELOW}" if below else remedy, False),))


def blocks_of(rows: Iterable[TableRow]) -> tuple[ContextBlock, ...]:
    """Return the blocks of rows without a fault."""
    return tuple(ContextBlock(**row) for row in rows)


def pin_labels(ids: Sequence[str]) -> dict[str, str]:
    """Return what a list says of each block, by id and unique: its id in one line, numbered where two agree."""
    labels: dict[str, str] = {}
    taken: set[str] = set()
    for block_id in ids:
        name = label = shortened(without_overrides(" ".join(block_id.split())), _ID_SHOWN)
        number = 1
        while label in taken:
            number += 1
            label = f"{name} ({number})"
        labels[block_id] = label
        taken.add(label)
    return labels


def _first_fault(rows: Sequence[TableRow]) -> tuple[str, str] | None:
    """Return what is wrong, and what to do."""
    seen: dict[str, int] = {}
    for number, row in enumerate(rows, start=1):
        block_id = str(row["id"])
        name = shortened(without_overrides(block_id), _ID_SHOWN)
        if not block_id.strip():
            return (f"Row {number:,} has no id", "Give the block one, or take its row out.")
        if block_id in seen:
            return (
                f"Row {number:,} has the id of row {seen[block_id]:,}: {name}",
                "Give every block an id of its own.",
            )
        seen[block_id] = number
        for field, known in (("kind", BLOCK_KINDS), ("role", BLOCK_ROLES)):
            if row[field] not in known:
                what = f"the unknown {field} {shortened(without_overrides(row[field]), _ID_SHOWN)}"
                return (
                    f"Block {name} has {what if row[field] else f'no {field}'}",
                    f"Choose one in its column: {joined(known)}.",
                )
        if row["priority"] is None:
            return (f"Block {name} has no priority", "Give a finite number; the higher goes in first.")
        if row["required"] is None:
            return (
                f"Block {name} is neither required nor optional",
                "Tick its box if it must be in; otherwise tick it and clear it again.",
            )
        if row["content"] is None:
            return (
                f"Block {name} has no content that can be read",
                "Write a text in its column, or take its row out.",
            )
    return None


def _row(cells: Mapping[Any, Any]) -> TableRow:
    required, content = cells["required"], cells["content"]
    return {
        **{name: _text(cells[name]) for name in FIELDS},
        "priority": _priority(cells["priority"]),
        "required": required if isinstance(required, bool) else None,
        "content": replace_surrogates(content) if isinstance(content, str) else None,
    }


def _text(value: object) -> str:
    return "" if _missing(value) else replace_surrogates(str(value))


def _priority(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _missing(value: object) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value)) or value is pd.NA
