"""Which binary format the first bytes of a file belong to."""

from __future__ import annotations

__all__ = ["EMPTY_ZIP_FILE", "LEGACY_OFFICE_FILE", "PDF_FILE", "RICH_TEXT_FILE", "ZIP_FILE", "binary_kind"]

PDF_FILE = "a PDF"
ZIP_FILE = "a ZIP archive or an Office document"
EMPTY_ZIP_FILE = "an empty ZIP archive"
LEGACY_OFFICE_FILE = "a legacy Office document"
RICH_TEXT_FILE = "a Rich Text document"
# First bytes of the formats people try most often.
_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"%PDF-", PDF_FILE),
    (b"PK\x03\x04", ZIP_FILE),
    (b"PK\x05\x06", EMPTY_ZIP_FILE),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", LEGACY_OFFICE_FILE),
    (b"{\\rtf", RICH_TEXT_FILE),
    (b"\x89PNG\r\n\x1a\n", "a PNG picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF87a", "a GIF picture"),
    (b"GIF89a", "a GIF picture"),
    (b"II*\0", "a TIFF picture"),
    (b"MM\0*", "a TIFF picture"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a RAR archive"),
    (b"\xfd7zXZ\0", "an xz archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"\x7fELF", "a program"),
    (b"\xcf\xfa\xed\xfe", "a program"),
    (b"\xca\xfe\xba\xbe", "a program"),
    (b"PAR1", "a Parquet table"),
)


def binary_kind(data: bytes) -> str | None:
    """Name the binary format whose signature ``data`` begins with, ``None`` for what may be text."""
    if data[:2] == b"MZ" and b"\0" in data[:64]:  # two letters alone may begin a text
        return "a program"
    return next((kind for signature, kind in _SIGNATURES if data.startswith(signature)), None)
