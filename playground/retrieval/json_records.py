"""JSON and JSON Lines as records with a text.

A record is an object with ``text`` (or ``content``), and optionally ``id`` and ``title``; everything else is
kept as its meta data. A file is one object, a list of objects, or one object a line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal

from playground.errors import DocumentError
from playground.retrieval.decoding import UNSTORABLE, warn_of_replaced

__all__ = [
    "DEPTH_LIMIT",
    "RECORD_LIMIT",
    "VALUE_LIMIT",
    "JsonRecord",
    "check_depth",
    "check_values",
    "finite_json",
    "is_json_lines",
    "looks_like_records",
    "parse_json",
    "read_json_records",
    "replaced_everywhere",
]

DEPTH_LIMIT = 64  # levels; far below the interpreter's recursion limit, so that values can be written again
RECORD_LIMIT = 250_000  # records of a file
VALUE_LIMIT = 5_000_000  # values of a file, of some 100 bytes each
_TEXT_FIELDS = ("text", "content")
# A string, closed or not; possessive, so that no part is looked at twice.
_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_MAY_BE_TEXT = "Correct it, or rename the file to .txt if it is plain text."
_JSON: Literal["application/json"] = "application/json"
_JSON_LINES: Literal["application/jsonl"] = "application/jsonl"


@dataclass(frozen=True, slots=True)
class JsonRecord:
    """One record of a file; ``position`` counts from 0."""

    position: int
    text: str
    id: str | None = None
    title: str = ""
    meta: Mapping[str, Any] = field(default_factory=dict)


def looks_like_records(text: str) -> Literal["application/json", "application/jsonl"] | None:
    """Say which kind of JSON records ``text`` is, or ``None`` when it is prose.

    Only the first line is parsed for JSON Lines, so that prose costs nothing.
    """
    start = text.lstrip()[:1]
    if start not in {"{", "["}:
        return None
    first, _, rest = text.lstrip().partition("\n")
    if start == "{" and rest.strip() and _is_record(_try_parse(first)):
        return _JSON_LINES
    value = None if _holds_too_much(text) else _try_parse(text)
    items = value if isinstance(value, list) else [value]
    return _JSON if items and all(map(_is_record, items)) else None


def read_json_records(
    name: str, text: str, media_type: str, warn: Callable[[str], None]
) -> tuple[JsonRecord, ...]:
    """Read every record of a file; a file with one bad record is refused as a whole.

    Raises:
        DocumentError: When the file is not JSON, nests deeper than ``DEPTH_LIMIT``, holds more than
            ``RECORD_LIMIT`` records or ``VALUE_LIMIT`` values, or a record has no text.
    """
    values = _lines(name, text) if media_type == _JSON_LINES else _whole(name, text)
    if len(values) > RECORD_LIMIT:
        raise DocumentError(
            f"{name} has more than {RECORD_LIMIT:,} records.",
            remedy="Split the file into smaller ones.",
            name=name,
        )
    counts: list[int] = []
    records = tuple(
        _record(name, position, where, value, counts.append) for position, (where, value) in enumerate(values)
    )
    warn_of_replaced(sum(counts), warn)
    if not records:
        raise DocumentError(f"{name} holds no record.", remedy="Add at least one object with text.", name=name)
    return records


def parse_json(name: str, text: str, where: str = "", *, remedy: str = _MAY_BE_TEXT) -> Any:
    """Parse JSON of a file.

    Args:
        name: The file's name, for the error.
        text: What is parsed.
        where: Which part of the file it is, ``line 3: ``.
        remedy: What to do about text that is no JSON.

    Raises:
        DocumentError: When it is no JSON, holds a number that is none or too many values, or nests deeper than
            Python reads.
    """
    check_values(name, text)
    try:
        return finite_json(text)
    except RecursionError:
        raise _too_deep(name, where) from None
    except ValueError as error:
        raise DocumentError(
            f"{name} is not valid JSON: {where}{error}.",
            remedy=remedy,
            name=name,
        ) from None


def is_json_lines(text: str) -> bool:
    """Whether the first line is JSON by itself and others follow. O(characters of that line)."""
    first, _, rest = text.lstrip().partition("\n")
    if not rest.strip():
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


def finite_json(text: str) -> Any:
    """Parse JSON in which every number is finite, as those of other languages write it.

    Raises:
        ValueError: When it is no JSON, or holds ``NaN``, ``Infinity`` or a number too large for a float.
        RecursionError: When it nests deeper than Python reads.
    """
    return json.loads(text, parse_constant=_refuse_number, parse_float=_finite)


def check_values(name: str, text: str) -> None:
    """Refuse JSON of more values than memory has room for, before any of them takes it. O(n).

    Raises:
        DocumentError: When it holds more than ``VALUE_LIMIT``.
    """
    if _holds_too_much(text):
        raise DocumentError(
            f"{name} holds more than {VALUE_LIMIT:,} values.",
            remedy="Split the file into smaller ones, or leave out what is no text.",
            name=name,
        )


def check_depth(name: str, value: Any, where: str = "") -> None:
    """Refuse a JSON value that nests too deep to be written again.

    Raises:
        DocumentError: When it has more than ``DEPTH_LIMIT`` levels.
    """
    if _depth_exceeds(value, DEPTH_LIMIT):
        raise _too_deep(name, where)


def replaced_everywhere(value: Any, count: Callable[[int], object]) -> Any:
    """Return a JSON value whose texts and keys every store can hold; tells of each how much was replaced."""
    if isinstance(value, str):
        clean, replaced = UNSTORABLE.subn("\ufffd", value)
        count(replaced)
        return clean
    if isinstance(value, dict):
        pairs = ([replaced_everywhere(part, count) for part in pair] for pair in value.items())
        return dict(pairs)
    if isinstance(value, list):
        return [replaced_everywhere(item, count) for item in value]
    return value


def _whole(name: str, text: str) -> list[tuple[str, Any]]:
    value = parse_json(name, text)
    if isinstance(value, list):
        return [(f"record {number}", item) for number, item in enumerate(value, 1)]
    return [("record 1", value)]


def _lines(name: str, text: str) -> list[tuple[str, Any]]:
    check_values(name, text)
    # Only line feeds end a line of JSON Lines; U+2028 and its like may stand inside a string.
    numbered = ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1))
    filled = islice(((number, line) for number, line in numbered if line), RECORD_LIMIT + 1)
    return [(f"line {number}", parse_json(name, line, f"line {number}: ")) for number, line in filled]


def _record(name: str, position: int, where: str, value: Any, count: Callable[[int], object]) -> JsonRecord:
    if not _is_record(value):
        raise DocumentError(
            f"{name}, {where}: there is no text.",
            remedy='Give each record a non-empty string "text" (or "content"); "id" and "title" are optional.',
            name=name,
        )
    check_depth(name, value, f"{where}: ")
    clean = replaced_everywhere(value, count)
    text_field = _text_field(clean)
    identifier = clean.get("id")
    has_id = isinstance(identifier, str | int) and not isinstance(identifier, bool) and identifier != ""
    title = clean.get("title")
    used = {text_field, "id" if has_id else "", "title" if isinstance(title, str) else ""}
    return JsonRecord(
        position=position,
        text=clean[text_field],
        id=str(identifier) if has_id else None,
        title=title if isinstance(title, str) else "",
        meta={key: item for key, item in clean.items() if key not in used},
    )


def _is_record(value: Any) -> bool:
    return isinstance(value, dict) and bool(_text_field(value))


def _text_field(record: Mapping[str, Any]) -> str:
    for name in _TEXT_FIELDS:
        text = record.get(name)
        if isinstance(text, str) and text.strip():
            return name
    return ""


def _try_parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse_number(digits)


def _refuse_number(digits: str) -> float:
    raise ValueError(f"{digits[:50]} is not a finite number")


def _holds_too_much(text: str) -> bool:
    # Each value but the first follows a comma, or the bracket of what holds it.
    return _marks(text) > VALUE_LIMIT and _marks(_STRING.sub("", text)) > VALUE_LIMIT


def _marks(text: str) -> int:
    return sum(map(text.count, ",[{"))


def _too_deep(name: str, where: str) -> DocumentError:
    return DocumentError(
        f"{name} nests too deep: {where}more than {DEPTH_LIMIT} levels.",
        remedy="Flatten the records.",
        name=name,
    )


def _depth_exceeds(value: Any, limit: int) -> bool:
    level = [value]
    for _ in range(limit):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
