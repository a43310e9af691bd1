"""Blocks in a file of one's own: JSON, JSON Lines or CSV, told apart by their content."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from playground.blocks import ContextBlock, blocks_from_table
from playground.errors import DocumentError
from playground.retrieval.decoding import decode
from playground.retrieval.json_records import (
    RECORD_LIMIT,
    check_depth,
    check_values,
    is_json_lines,
    parse_json,
)
from playground.values import shown

__all__ = ["BlockFile", "blocks_from_file"]

_FORMS = "Give a list of blocks, an object with blocks, one block a line, or CSV with a header."
_JSON_ENDINGS = {".json", ".jsonl", ".ndjson"}
_JSON_STARTS = ("{", "[")
_DELIMITERS = ",;\t|"
_HEADER = re.compile("[^\r\n]*")
# Both spellings, as in other formats that are recorded.
_REQUEST_KEYS = {
    "blocks": "blocks",
    "budgetTokens": "budget_tokens",
    "budget_tokens": "budget_tokens",
    "pinnedOptionalIds": "pinned_optional_ids",
    "pinned_optional_ids": "pinned_optional_ids",
}
_RESULT_KEYS = {
    **dict.fromkeys(("messages", "blockStats", "estimatedTokens"), ""),  # all of it is computed anew
    "included": "included",
    "omitted": "omitted",
    "budgetTokens": "budget_tokens",
}
_ORDER_LOST = "An earlier result does not say where its omitted blocks stood; they follow the included ones."


@dataclass(frozen=True, slots=True)
class BlockFile:
    """What a file asks for.

    Attributes:
        name: What the file is called in a message.
        blocks: In the order of the file, not checked yet.
        budget_tokens: The file's own budget as it came, ``None`` where it has none.
        pinned_optional_ids: The ids that the file itself pins, not checked yet.
        warnings: What is odd about it.
    """

    name: str
    blocks: tuple[ContextBlock, ...]
    budget_tokens: object = None
    pinned_optional_ids: tuple[Any, ...] = ()
    warnings: tuple[str, ...] = ()


def blocks_from_file(name: str, data: bytes, *, ending: str = "") -> BlockFile:
    """Read the blocks of a file. O(bytes).

    What begins like JSON is JSON; anything else is CSV, unless the file's name says JSON. JSON is a list of
    blocks, one block, blocks a line, a request (``blocks``, ``budgetTokens``, ``pinnedOptionalIds``), or an
    earlier result (``included``, ``omitted``). Of a key that stands twice in an object the last one counts, as
    in all JSON that this package reads.

    Args:
        name: What the file is called in a message.
        data: Its content; the caller bounds it.
        ending: Of its name, with the dot.

    Raises:
        DocumentError: When it is in none of these forms, or holds too many blocks.
        InvalidInputError: When a row is no block.
    """
    warnings: list[str] = []
    text = decode(name, data, warnings.append).lstrip("\ufeff")
    if text.lstrip().startswith(_JSON_STARTS) or ending.lower() in _JSON_ENDINGS:
        return _from_json(name, text, warnings)
    return BlockFile(name, blocks_from_table(_csv_rows(name, text)), warnings=tuple(warnings))


def _from_json(name: str, text: str, warnings: list[str]) -> BlockFile:
    check_values(name, text)
    # A line of its own is a block, an object; a list is all there is.
    lines = text.lstrip().startswith("{") and is_json_lines(text)
    value = _lines(name, text) if lines else _parsed(name, text)
    fields: dict[str, Any] = {"blocks": value}
    if isinstance(value, dict):
        if "blocks" in value:
            fields = _fields(name, value, _REQUEST_KEYS)
        elif {"included", "omitted"} <= value.keys():
            fields = _fields(name, value, _RESULT_KEYS)
            included, omitted = (_list(name, fields, part) for part in ("included", "omitted"))
            fields["blocks"] = [*included, *omitted]
            if included and omitted:
                warnings.append(_ORDER_LOST)
        else:
            fields = {"blocks": [value]}
    rows = _list(name, fields, "blocks")
    _check_count(name, len(rows))
    return BlockFile(
        name,
        blocks_from_table(rows),
        budget_tokens=fields.get("budget_tokens"),
        pinned_optional_ids=tuple(_list(name, {"pinned_optional_ids": [], **fields}, "pinned_optional_ids")),
        warnings=tuple(warnings),
    )


def _lines(name: str, text: str) -> list[Any]:
    # Only line feeds end a line of JSON Lines; U+2028 and its like may stand inside a string.
    numbered = ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1))
    filled = islice(((number, line) for number, line in numbered if line), RECORD_LIMIT + 1)
    return [_parsed(name, line, f"line {number}: ") for number, line in filled]


def _parsed(name: str, text: str, where: str = "") -> Any:
    value = parse_json(name, text, where, remedy=_FORMS)
    check_depth(name, value, where)
    return value


def _fields(name: str, value: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    unknown = next((key for key in value if key not in keys), None)
    if unknown is not None:
        remedy = f"Use {', '.join(key for key in keys if '_' not in key)}."
        raise DocumentError(f"{name} has the unknown key {shown(unknown)}.", remedy=remedy, name=name)
    return {keys[key]: item for key, item in value.items() if item is not None}


def _list(name: str, fields: Mapping[str, Any], field: str) -> list[Any]:
    found = fields.get(field)
    if not isinstance(found, list):
        what = field.replace("_", " ")
        raise DocumentError(f"{name}: {shown(found)} is no list of {what}.", remedy=_FORMS, name=name)
    return found


def _check_count(name: str, count: int) -> None:
    if count > RECORD_LIMIT:
        raise DocumentError(
            f"{name} has more than {RECORD_LIMIT:,} blocks.", remedy="Leave some of them out.", name=name
        )


def _csv_rows(name: str, text: str) -> list[dict[str, str]]:
    """Return the rows of a table by column; names of columns hold no delimiter, so that the header tells it."""
    found = _HEADER.match(text := text.lstrip("\r\n"))
    first = found[0] if found else ""
    delimiter = max(_DELIMITERS, key=first.count)
    header, *rows = _parsed_rows(name, text, delimiter, spaces=f"{delimiter} " in first)
    columns = [column.strip() for column in header]
    while columns and not columns[-1]:  # spreadsheets write columns that were empty
        columns.pop()
    _check_columns(name, columns)
    _check_count(name, len(rows))
    for number, row in enumerate(rows, 1):
        if any(row[len(columns) :]):
            raise DocumentError(
                f"Row {number:,} of {name} has more cells than the header.",
                remedy="Put texts with a delimiter in them between double quotation marks.",
                name=name,
            )
    return [dict(zip(columns, row, strict=False)) for row in rows]


def _parsed_rows(name: str, text: str, delimiter: str, *, spaces: bool) -> list[list[str]]:
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=spaces, strict=True
    )
    # A cell may be as long as the file, and the limit is one for all that runs in this process.
    limit = csv.field_size_limit(max(len(text), csv.field_size_limit()))
    try:
        return list(islice((row for row in reader if any(map(str.strip, row))), RECORD_LIMIT + 2))
    except csv.Error as error:
        raise DocumentError(
            f"{name} is not valid CSV: line {reader.line_num:,}: {error}.",
            remedy="Put texts between double quotation marks, and double those inside.",
            name=name,
        ) from None
    finally:
        csv.field_size_limit(limit)


def _check_columns(name: str, columns: Sequence[str]) -> None:
    if "id" not in columns:
        raise DocumentError(
            f"{name} is no JSON, and as CSV its first row names no column id.", remedy=_FORMS, name=name
        )
    twice = next((column for column in columns if columns.count(column) > 1), None)
    if twice is not None:
        raise DocumentError(
            f"{name} has the column {shown(twice)} more than once.", remedy="Leave one of them out.", name=name
        )
