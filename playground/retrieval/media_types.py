"""What a file is: the shape of the text first, then the name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from playground.retrieval.json_records import looks_like_records

__all__ = ["JSON", "JSON_LINES", "MARKDOWN", "TEXT", "media_type_of"]

MARKDOWN = "text/markdown"
TEXT = "text/plain"
JSON = "application/json"
JSON_LINES = "application/jsonl"

_BY_SUFFIX = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".mdx": MARKDOWN,
    ".json": JSON,
    ".jsonl": JSON_LINES,
    ".ndjson": JSON_LINES,
    ".txt": TEXT,
    ".text": TEXT,
    ".log": TEXT,
    ".rst": TEXT,
    "": TEXT,
}


def media_type_of(name: str, text: str, warn: Callable[[str], None]) -> str:
    """Return the media type of decoded text.

    A name that promises JSON is believed (a broken JSON file must not turn into prose); any other name gives
    way to content that parses as JSON records with text.
    """
    suffix = PurePosixPath(name.replace("\\", "/")).suffix.lower()
    named = _BY_SUFFIX.get(suffix)
    if named in {JSON, JSON_LINES}:
        return named
    if found := looks_like_records(text):
        warn("The content is JSON records although the name does not say so; it was read as such.")
        return found
    if named is None:
        warn(f"Files of type {suffix} are read as plain text.")
    return named or TEXT
