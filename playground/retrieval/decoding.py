"""Turning bytes into text that every store can hold."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable

from playground.errors import DocumentError
from playground.retrieval.signatures import binary_kind

__all__ = ["UNSTORABLE", "decode", "replace_unstorable", "warn_of_replaced"]

DETECTION_SAMPLE = 256 * 1024  # bytes that charset detection looks at; the whole file is decoded strictly
FEW_LETTERS = 16  # bytes above ASCII; fewer do not tell one code page from another
NUL_LIMIT = 10  # one NUL in this many bytes is taken for binary content or UTF-16 without its mark
# What SQLite, PostgreSQL or UTF-8 cannot hold: NUL and lone surrogates.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# ``<meta charset="…">``, ``content="text/html; charset=…"`` or ``<?xml encoding="…"?>``.
_DECLARATION = re.compile(rb"<(?:meta|\?xml)\b[^>]*?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]+)", re.IGNORECASE)
DECLARATION_HEAD = 1024  # bytes in which browsers look for it
# The code pages of the web; Python has codecs besides that are no code pages.
_CODE_PAGES = re.compile(
    r"cp125\d|windows-(?:125\d|874)|iso-8859-\d+|koi8-[ru]|shift_jis|euc-(?:jp|kr)|gb(?:2312|k|18030)|big5|macintosh"
)
_WESTERN = frozenset({"iso-8859-1", "latin1", "us-ascii", "ascii"})  # which browsers read as its superset
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    # Before UTF-16, whose little-endian mark begins the one of UTF-32.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(name: str, data: bytes, warn: Callable[[str], None]) -> str:
    """Decode UTF-8 with or without mark, UTF-16 or UTF-32 with mark, else a detected encoding, with a warning.

    What is not UTF-8 and names its code page in its first bytes, as HTML does, is read in that one.

    Raises:
        DocumentError: When the file has no text, is binary, or is in no encoding that can be told.
    """
    text = _decoded(name, data, warn) if data.strip() else ""
    if not text.lstrip("\ufeff").strip():
        raise DocumentError(f"{name} is empty.", remedy="Choose a file that has text in it.", name=name)
    return text


def replace_unstorable(text: str, warn: Callable[[str], None]) -> str:
    """Replace NUL and lone surrogates by U+FFFD, because no database takes them; offsets stay the same."""
    clean, count = UNSTORABLE.subn("\ufffd", text)
    warn_of_replaced(count, warn)
    return clean


def warn_of_replaced(count: int, warn: Callable[[str], None]) -> None:
    """Say how many characters of a file no database takes, if there are any."""
    if count:
        warn(f"{count:,} NUL or lone surrogate characters were replaced by U+FFFD.")


def _decoded(name: str, data: bytes, warn: Callable[[str], None]) -> str:
    if kind := binary_kind(data):
        raise DocumentError(
            f"{name} is {kind}, not text.", remedy="Export it as text and load that.", name=name
        )
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return _strict(name, data, encoding)
    if data.count(b"\0") * NUL_LIMIT > len(data):
        raise DocumentError(
            f"{name} is full of NUL bytes: it is binary, or UTF-16 without a byte order mark.",
            remedy="Save it as UTF-8 text.",
            name=name,
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        declared = _declared(data)
        return data.decode(declared) if declared else _detected(name, data, warn)


def _declared(data: bytes) -> str | None:
    """Return the code page that a page's head names, if the file is in it."""
    found = _DECLARATION.search(data[:DECLARATION_HEAD])
    if not found:
        return None
    encoding = found.group(1).decode("ascii").lower()
    encoding = "cp1252" if encoding in _WESTERN else encoding
    return encoding if _CODE_PAGES.fullmatch(encoding) and _reads_as(data, encoding) else None


def _strict(name: str, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{name} has the mark of {encoding.removesuffix('-sig').upper()}, but byte {error.start:,} is not.",
            remedy="Save it again as UTF-8 text.",
            name=name,
        ) from None


def _detected(name: str, data: bytes, warn: Callable[[str], None]) -> str:
    from charset_normalizer import from_bytes  # noqa: PLC0415  # only files that are not UTF-8 pay for it

    undecodable = DocumentError(
        f"{name} is in no text encoding that can be recognised.", remedy="Save it as UTF-8 text.", name=name
    )
    best = None if b"\0" in data else from_bytes(data[:DETECTION_SAMPLE]).best()
    if best is None:
        raise undecodable
    # A handful of letters is no evidence for a rare code page; files in Western Europe's are the most common.
    few = sum(byte >= 0x80 for byte in data[:DETECTION_SAMPLE]) < FEW_LETTERS
    encoding = "cp1252" if few and _reads_as(data, "cp1252") else best.encoding
    try:
        text = data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise undecodable from None
    warn(f"The file is not UTF-8; it was read as {encoding}. Check letters with accents.")
    return text


def _reads_as(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return False
    return True
