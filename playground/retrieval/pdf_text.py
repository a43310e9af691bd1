"""The text layer of PDF files."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from playground.errors import DocumentError
from playground.retrieval.json_records import JsonRecord

if TYPE_CHECKING:
    from pypdf import PdfReader

__all__ = ["TEXT_LIMIT", "read_pdf"]

PAGE_LIMIT = 20_000
TEXT_LIMIT = 200_000_000  # characters of all pages: one page may be listed any number of times
_PAGE_BREAK = "\n\n"
_LISTED = 8  # ranges of pages that a warning names


def read_pdf(name: str, data: bytes, warn: Callable[[str], None]) -> tuple[JsonRecord, ...]:
    """Read a PDF as one record, titled as its properties say, pages parted by a blank line.

    Where each page starts in the text is kept as ``pageStarts`` in the meta data, in code points. A form feed
    would do as well inside the text, but XML cannot carry one into a prompt.

    Raises:
        DocumentError: When it is encrypted or damaged, has too many pages, or no text layer.
    """
    try:
        reader = _opened(name, data)
        pages = _pages(name, reader)
        title = (reader.metadata.title if reader.metadata else None) or ""
        filled = _is_filled_form(reader)
    except (DocumentError, RecursionError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  # whatever a damaged file makes of the library
        raise DocumentError(
            f"{name} is damaged: its pages cannot be read ({type(error).__name__}).",
            remedy="Open it in a viewer, print it as PDF again and load that.",
            name=name,
        ) from None
    blank = [number for number, text in enumerate(pages, 1) if not text]
    if len(blank) == len(pages):
        raise DocumentError(
            f"{name} has no text layer on any of its pages ({len(pages):,}): they seem to be scanned pictures.",
            remedy="Recognise its text (OCR), save it as a searchable PDF and load that.",
            name=name,
        )
    if blank:
        warn(f"There is no text on {_ranges(blank)} of {len(pages):,}; such pages are empty or pictures.")
    if filled:
        warn("The file is a form; what was entered into its fields was left out.")
    starts, position = [], 0
    for page in pages:
        starts.append(position)
        position += len(page) + len(_PAGE_BREAK)
    title = " ".join(str(title).split())
    return (JsonRecord(0, _PAGE_BREAK.join(pages), id=name, title=title, meta={"pageStarts": starts}),)


def _opened(name: str, data: bytes) -> PdfReader:
    from pypdf import PdfReader  # noqa: PLC0415  # only for a PDF
    from pypdf.errors import DependencyError  # noqa: PLC0415

    try:
        reader = PdfReader(io.BytesIO(data))
    except DependencyError:  # opening tries the empty password, and AES needs a package that is not required
        raise _encrypted(name) from None
    if reader.is_encrypted:
        raise _encrypted(name)
    if len(reader.pages) > PAGE_LIMIT:
        raise DocumentError(
            f"{name} has {len(reader.pages):,} pages, the limit is {PAGE_LIMIT:,}.",
            remedy="Split the file.",
            name=name,
        )
    return reader


def _encrypted(name: str) -> DocumentError:
    return DocumentError(
        f"{name} is encrypted.",
        remedy="Open it in a viewer, print it as PDF without protection and load that.",
        name=name,
    )


def _pages(name: str, reader: PdfReader) -> list[str]:
    pages: list[str] = []
    characters = 0
    for page in reader.pages:
        pages.append(page.extract_text().strip())
        characters += len(pages[-1])
        if characters > TEXT_LIMIT:
            raise DocumentError(
                f"{name} holds more than {TEXT_LIMIT:,} characters.", remedy="Split the file.", name=name
            )
    if not pages:
        raise DocumentError(f"{name} has no pages.", remedy="Choose a file that has text in it.", name=name)
    return pages


def _is_filled_form(reader: PdfReader) -> bool:
    try:
        return any((reader.get_form_text_fields() or {}).values())
    except (RecursionError, MemoryError):
        raise
    except Exception:  # noqa: BLE001  # a damaged form is no reason to refuse pages that can be read
        return False


def _ranges(numbers: Sequence[int]) -> str:
    """Write page numbers for people: ``pages 2, 5–7``."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    shown = [str(first) if first == last else f"{first}–{last}" for first, last in spans[:_LISTED]]
    more = " and others" if len(spans) > _LISTED else ""
    return f"{'page' if len(numbers) == 1 else 'pages'} {', '.join(shown)}{more}"
