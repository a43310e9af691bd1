"""What a file of text is: the shape of the text first, then the name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePosixPath

from playground.retrieval.json_records import looks_like_records

__all__ = [
    "CSV",
    "DOCX",
    "HTML",
    "JSON",
    "JSON_LINES",
    "MARKDOWN",
    "PDF",
    "RESTRUCTURED",
    "TEXT",
    "TEXT_SUFFIXES",
    "looks_like_page",
    "media_type_of",
    "suffix_of",
]

MARKDOWN = "text/markdown"
TEXT = "text/plain"
RESTRUCTURED = "text/x-rst"
JSON = "application/json"
JSON_LINES = "application/jsonl"
HTML = "text/html"
CSV = "text/csv"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"

_BY_SUFFIX = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".mdx": MARKDOWN,
    ".json": JSON,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".csv": CSV,
    ".tsv": CSV,
    ".txt": TEXT,
    ".text": TEXT,
    ".log": TEXT,
    ".rst": RESTRUCTURED,
    "": TEXT,
}
TEXT_SUFFIXES = frozenset(filter(None, _BY_SUFFIX))
"""Extensions of the formats that are read as text."""

# How a whole page begins; Markdown and prose hold tags too, but not this one first.
_PAGE = re.compile(
    r"\s*(?:<\?xml[^>]*>\s*)?(?:<!--(?:(?!-->).){0,2000}-->\s*)?<(?:!doctype\s+html|html)\b", re.I | re.S
)


def looks_like_page(text: str) -> bool:
    """Whether a text begins as a whole HTML page does; tags alone do not make one."""
    return bool(_PAGE.match(text))


def media_type_of(name: str, text: str, warn: Callable[[str], None]) -> str:
    """Return the media type of decoded text.

    A name that promises JSON, HTML or CSV is believed (a broken JSON file must not turn into prose); any other
    name gives way to content that parses as JSON records with text, or that begins as an HTML page does.
    """
    suffix = suffix_of(name)
    named = _BY_SUFFIX.get(suffix)
    if named in {JSON, JSON_LINES, HTML}:
        return named
    if found := looks_like_records(text):
        warn("The content is JSON records although the name does not say so; it was read as such.")
        return found
    if named != CSV and looks_like_page(text):
        warn("The content is an HTML page although the name does not say so; it was read as such.")
        return HTML
    if named is None:
        warn(f"Files of type {suffix} are read as plain text.")
    return named or TEXT


def suffix_of(name: str) -> str:
    """Return the extension in lower case with its dot, empty where there is none."""
    return PurePosixPath(name.replace("\\", "/")).suffix.lower()
