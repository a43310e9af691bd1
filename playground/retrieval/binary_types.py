"""What a file's first bytes say it is, and whether its name agrees.

Pure. Content comes first: a file that claims by its name to be something else is refused, because one of the
two is a mistake or a trick, and only its owner knows which.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from playground.errors import DocumentError
from playground.retrieval.media_types import DOCX, PDF, TEXT_SUFFIXES, suffix_of
from playground.retrieval.signatures import (
    EMPTY_ZIP_FILE,
    LEGACY_OFFICE_FILE,
    PDF_FILE,
    RICH_TEXT_FILE,
    ZIP_FILE,
    binary_kind,
)

__all__ = ["binary_type_of"]

_PDF_HEAD = 1024  # bytes in which viewers look for the signature; mail gateways put lines before it
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")  # the stream of a protected Office document
# Names that promise one of the binary formats, with what each is called.
_PROMISES: Mapping[str, str] = MappingProxyType(
    {
        ".pdf": PDF_FILE,
        ".docx": "a Word document",
        ".doc": "a Word document",
        ".xlsx": "an Excel workbook",
        ".xls": "an Excel workbook",
        ".pptx": "a presentation",
        ".ppt": "a presentation",
        ".odt": "an OpenDocument text",
        ".rtf": RICH_TEXT_FILE,
        ".epub": "an electronic book",
        ".zip": "a ZIP archive",
    }
)
_REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        ".doc": "Save it as DOCX and load that.",
        ".odt": "Save it as DOCX and load that.",
        ".rtf": "Save it as DOCX and load that.",
        ".ppt": "Export it as PDF and load that.",
        ".pptx": "Export it as PDF and load that.",
        ".xls": "Save each sheet as CSV and load that.",
        ".xlsx": "Save each sheet as CSV and load that.",
        ".epub": "Convert it to HTML or PDF and load that.",
        ".zip": "Unpack it and load the files in it.",
    }
)
_READABLE = TEXT_SUFFIXES | {".pdf", ".docx"}
_OTHER_REMEDY = "Export it as Markdown, text, HTML, PDF, DOCX, CSV, JSON or JSON Lines and load that."


def binary_type_of(name: str, data: bytes) -> str | None:
    """Return the media type of a PDF or of what may be a DOCX, ``None`` for what must be text.

    A name without an extension promises nothing, so that content alone decides.

    Raises:
        DocumentError: For other binary formats, protected Office documents, and a name that says otherwise.
    """
    suffix, kind = suffix_of(name), binary_kind(data)
    if suffix == ".pdf" and b"%PDF-" in data[:_PDF_HEAD]:
        kind = PDF_FILE
    if kind == PDF_FILE and suffix in {".pdf", ""}:
        return PDF
    if kind == ZIP_FILE and suffix in {".docx", ""}:
        return DOCX
    if kind is not None:
        raise DocumentError(
            f"{name} is {kind}{_mismatch(suffix, kind)}.",
            remedy=_remedy(suffix, kind, data),
            name=name,
        )
    if suffix in _PROMISES:
        raise DocumentError(
            f"{name} is named like {_PROMISES[suffix]}, but its content is not one.",
            remedy="Load the original again; if it is plain text, rename it to end in .txt.",
            name=name,
        )
    return None


def _mismatch(suffix: str, kind: str) -> str:
    """Say why the file is not read: its name promises what can be read, or the format is none that can be."""
    if kind == PDF_FILE or suffix in _READABLE:
        return f" although its name ends in {suffix}"
    return ", not text"


def _remedy(suffix: str, kind: str, data: bytes) -> str:
    if kind == PDF_FILE:
        return "Rename it so that it ends in .pdf."
    if kind == EMPTY_ZIP_FILE:
        return "Choose a file that has something in it."
    if kind == LEGACY_OFFICE_FILE and _ENCRYPTED_PACKAGE in data:
        return "It seems to be protected by a password: remove it, save as DOCX and load that."
    if suffix in _REMEDIES and kind in {ZIP_FILE, LEGACY_OFFICE_FILE, _PROMISES[suffix]}:
        return _REMEDIES[suffix]
    if kind == ZIP_FILE:
        return "If it is a Word document, rename it to end in .docx; else unpack it and load the files in it."
    return _REMEDIES[".doc"] if kind in {LEGACY_OFFICE_FILE, RICH_TEXT_FILE} else _OTHER_REMEDY
