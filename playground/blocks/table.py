"""The rows of a plain table, as blocks. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from numbers import Real
from typing import TYPE_CHECKING, Any

from playground.blocks.compile import ContextBlock
from playground.errors import InvalidInputError
from playground.values import shown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["blocks_from_table"]

_FIELDS = tuple(field.name for field in fields(ContextBlock))
_COLUMNS = {
    **{name: name for name in _FIELDS},
    "retentionReason": "retention_reason",
    # What a compile adds to a block is found anew.
    **dict.fromkeys(("estimated_tokens", "estimatedTokens", "included"), ""),
}
_EMPTY: dict[str, Any] = {
    **dict.fromkeys(_FIELDS, ""), "role": "user", "content": None, "priority": 0, "required": False
}  # fmt: skip
_MISSING = {"NAType", "NaTType"}  # of pandas, which is not imported here
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def blocks_from_table(table: Iterable[Mapping[str, Any]] | pd.DataFrame) -> tuple[ContextBlock, ...]:
    """Return the blocks that a table's rows describe, in their order; ``compile_blocks`` checks them.

    Args:
        table: Rows by the names of a block's fields, ``retentionReason`` or ``retention_reason``, or a data
            frame with such columns. ``estimated_tokens`` and ``included`` are passed over. Where a cell is
            empty, None or NaN, ``role`` is ``user``, ``priority`` 0, ``required`` false and the rest empty, but
            a block without ``content`` is refused when it is compiled. Texts may stand for numbers, and true,
            yes, 1, false, no and 0 for flags, as they do in CSV.

    Raises:
        InvalidInputError: When a row is no mapping or has a column of an unknown name.
    """
    rows: Any = table.to_dict("records") if hasattr(table, "to_dict") and hasattr(table, "columns") else table
    if isinstance(rows, str | bytes | Mapping) or not isinstance(rows, Iterable):
        raise InvalidInputError(f"The table is a {type(rows).__name__}.", remedy="Pass a list of rows.")
    return tuple(_block(row, number) for number, row in enumerate(rows, start=1))


def _block(row: object, number: int) -> ContextBlock:
    if not isinstance(row, Mapping):
        raise InvalidInputError(f"Row {number:,} is a {type(row).__name__}.", remedy="Give it named cells.")
    cells = dict(_EMPTY)
    for name, cell in row.items():
        if not isinstance(name, str) or name not in _COLUMNS:
            raise InvalidInputError(
                f"Row {number:,} has the unknown column {shown(name)}.", remedy=f"Use {', '.join(_FIELDS)}."
            )
        if (field := _COLUMNS[name]) and not _is_empty(field, cell):
            cells[field] = _read(field, cell)
    return ContextBlock(**cells)


def _is_empty(field: str, cell: object) -> bool:
    if isinstance(cell, str):
        return not cell and field != "content"  # a text may be empty, and must not be missing
    # Only NaN differs from itself.
    return cell is None or type(cell).__name__ in _MISSING or (isinstance(cell, Real) and cell != cell)  # noqa: PLR0124


def _read(field: str, cell: Any) -> Any:
    """Return a cell as its field wants it where a text says as much; what does not is left for the check."""
    if field == "priority" and isinstance(cell, str):
        try:
            return float(cell)
        except ValueError:
            return cell
    if field == "required" and isinstance(cell, str):
        return _FLAGS.get(cell.strip().lower(), cell)
    return cell
