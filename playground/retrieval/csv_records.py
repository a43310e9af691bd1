"""CSV as records with a text, one a row.

A row stands for itself: it is found, budgeted and cited alone, and says its column names. As one document the
table would be cut into chunks of which only the first has the header. A column ``text`` (or ``content``) is the
text as in JSON records, with ``id`` and ``title`` beside it and the other columns as meta data; a table without
such a column gives rows of ``column: value`` lines.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence

from playground.errors import DocumentError
from playground.retrieval.json_records import JsonRecord

__all__ = ["ROW_LIMIT", "read_csv"]

ROW_LIMIT = 250_000
SAMPLE = 8 * 1024  # characters in which the delimiter is looked for; the time grows faster than their number
_DELIMITERS = ",;\t|"
_TEXT_COLUMNS = ("text", "content")
_NUMBER = re.compile(r"[+-]?[\d.,\s]*\d[\d.,\s]*%?")
_YEAR = re.compile(r"[12]\d{3}")  # a number that does head columns
_Row = tuple[int, list[str]]


def read_csv(name: str, text: str, warn: Callable[[str], None]) -> tuple[JsonRecord, ...]:
    """Read every row that has text as a record. O(n).

    The first row is the header unless a number other than a year stands in it; then columns are numbered.
    Nothing is dropped silently: blank rows, rows without text and cells without a column are warned of.

    Raises:
        DocumentError: When there is no row but a header, or more than ``ROW_LIMIT``.
    """
    rows = _rows(name, text, warn)
    if not rows:
        raise DocumentError(f"{name} holds no row.", remedy="Add a header and at least one row.", name=name)
    header = [] if any(map(_is_number, rows[0][1])) else rows.pop(0)[1]
    if not header:
        warn("The first row holds numbers, so it was read as data and the columns were numbered.")
    elif not rows:
        raise DocumentError(f"{name} holds a header but no row.", remedy="Add at least one row.", name=name)
    wide = next((number for number, row in rows if len(row) > len(header)), None)
    if header and wide is not None:
        warn(f"Row {wide:,} has more cells than the header; columns without a name were numbered.")
    columns = _columns(header, max(len(row) for _, row in rows), warn)
    folded = [column.casefold() for column in columns]
    text_column = next((name for name in _TEXT_COLUMNS if name in folded), None)
    records: list[JsonRecord] = []
    without: list[int] = []
    for number, row in rows:
        record = _record(len(records), columns, row, folded.index(text_column) if text_column else None)
        if record.text.strip():
            records.append(record)
        else:
            without.append(number)
    if not records:
        raise DocumentError(f"{name} holds no text.", remedy="Fill in at least one row.", name=name)
    if without:
        counted = "1 row has" if len(without) == 1 else f"{len(without):,} rows have"
        warn(f"{counted} no {text_column}, the first is row {without[0]:,}; left out.")
    return tuple(records)


def _record(position: int, columns: Sequence[str], row: Sequence[str], text_at: int | None) -> JsonRecord:
    cells = {column: cell for column, cell in zip(columns, row, strict=False) if cell.strip()}
    fields = {column.casefold(): column for column in reversed(list(cells))}
    identifier, title = (cells.get(fields.get(field, ""), "").strip() for field in ("id", "title"))
    if text_at is None:
        text, meta = "\n".join(f"{column}: {cell.strip()}" for column, cell in cells.items()), {}
    else:
        text = cells.get(columns[text_at], "")
        used = {columns[text_at], fields.get("id"), fields.get("title")}
        meta = {column: cell for column, cell in cells.items() if column not in used}
    return JsonRecord(position, text, id=identifier or None, title=title, meta=meta)


def _rows(name: str, text: str, warn: Callable[[str], None]) -> list[_Row]:
    """Return the rows that are not blank, with their numbers from 1."""
    delimiter, spaces = _dialect(name, text)
    try:
        return list(_parsed(name, text, delimiter, spaces=spaces, strict=True))
    except csv.Error as error:
        warn(f"Quotation marks do not match up ({error}); compare the cells with the file.")
        return list(_parsed(name, text, delimiter, spaces=spaces, strict=False))


def _parsed(name: str, text: str, delimiter: str, *, spaces: bool, strict: bool) -> Iterator[_Row]:
    # A cell may be as long as the file; this runs in a process of its own, as the limit is one for all.
    csv.field_size_limit(max(len(text), csv.field_size_limit()))
    source = io.StringIO(text, newline="")
    reader = csv.reader(source, delimiter=delimiter, skipinitialspace=spaces, strict=strict)
    found = 0
    for number, row in enumerate(reader, 1):
        if not any(cell.strip() for cell in row):
            continue
        found += 1
        if found > ROW_LIMIT + 1:
            raise DocumentError(
                f"{name} has more than {ROW_LIMIT:,} rows.",
                remedy="Split the file into smaller ones.",
                name=name,
            )
        yield number, row


def _dialect(name: str, text: str) -> tuple[str, bool]:
    """Return the delimiter and whether spaces follow it; quotation marks are double ones, doubled inside.

    The standard library's guess is taken unless another delimiter makes more rows as wide as the first:
    it counts characters, and those of prose in the cells too. What it guesses about quotation marks depends on
    whether a doubled one is in the sample.
    """
    sample = text[:SAMPLE]
    whole = sample.rpartition("\n")[0] or sample
    delimiter, spaces = ("\t" if name.lower().endswith(".tsv") else ","), False
    try:
        guess = csv.Sniffer().sniff(whole, delimiters=_DELIMITERS)
        delimiter, spaces = guess.delimiter, guess.skipinitialspace
    except csv.Error:
        pass  # it often has none for a table that a look at its rows settles
    best = max(dict.fromkeys([delimiter, *_DELIMITERS]), key=lambda one: _evenness(whole, one))
    return best, spaces and best == delimiter


def _evenness(sample: str, delimiter: str) -> float:
    """Return the share of rows as wide as the first, 0 where that has one cell."""
    widths = [len(row) for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row]
    return widths.count(widths[0]) / len(widths) if widths and widths[0] > 1 else 0.0


def _columns(header: Sequence[str], width: int, warn: Callable[[str], None]) -> list[str]:
    """Return a name for each column, unique among themselves."""
    names: dict[str, None] = {}
    numbers: dict[str, int] = {}
    for at in range(max(width, len(header))):
        given = " ".join(header[at].split()) if at < len(header) else ""
        wanted = given or f"column {at + 1}"
        name, number = wanted, numbers.get(wanted, 1)
        while name in names:
            number += 1
            name = f"{wanted}~{number}"
        numbers[wanted] = number
        if number > 1 and given:
            warn(f"The column {given!r} occurs more than once; a later one became {name!r}.")
        names[name] = None
    return list(names)


def _is_number(cell: str) -> bool:
    cell = cell.strip()
    return bool(_NUMBER.fullmatch(cell)) and not _YEAR.fullmatch(cell)
