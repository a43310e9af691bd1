"""Word documents as Markdown, by way of HTML: mammoth's own Markdown loses the tables."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable

from playground.errors import DocumentError
from playground.retrieval.archives import checked_names
from playground.retrieval.headings import first_title
from playground.retrieval.html_markdown import html_markdown
from playground.retrieval.json_records import JsonRecord

__all__ = ["read_docx"]

_MAIN_PART = "word/document.xml"
# An entry that tells what else the archive is, with what to do.
_OTHERS = (
    ("xl/workbook.xml", "an Excel workbook", "Save each sheet as CSV and load that."),
    ("ppt/presentation.xml", "a presentation", "Export it as PDF and load that."),
    ("META-INF/container.xml", "an electronic book", "Convert it to HTML or PDF and load that."),
    ("META-INF/manifest.xml", "an OpenDocument file", "Save it as DOCX and load that."),
)
_BESIDE = re.compile(r"word/(?:header|footer|comments)\d*\.xml")
_TAG = re.compile(rb"<[^>]*+>?")
_STYLES = "p[style-name='Title'] => h1:fresh"


def read_docx(name: str, data: bytes, warn: Callable[[str], None]) -> tuple[JsonRecord, ...]:
    """Read a Word document as one record of Markdown, titled by its first heading.

    Pictures give their description, macros are left out, nothing outside the file is read. Headers, footers
    and comments are left out with a warning.

    Raises:
        DocumentError: When it is no Word document, damaged, unsafe to unpack, or has no text.
    """
    names = checked_names(name, data)
    if _MAIN_PART not in names:
        raise _other(name, names)
    markdown = _markdown(name, data)
    if not markdown:
        raise DocumentError(
            f"{name} holds no text.",
            remedy="If it is a picture of a page, recognise its text (OCR) and load that.",
            name=name,
        )
    if any(entry.startswith("word/media/") for entry in names):
        warn("The document holds pictures; only their descriptions were read.")
    if _says_more(data, names):
        warn("Headers, footers and comments were left out.")
    return (JsonRecord(0, markdown, id=name, title=first_title(markdown)),)


def _markdown(name: str, data: bytes) -> str:
    import mammoth  # noqa: PLC0415  # only for a Word document

    try:
        html = mammoth.convert_to_html(
            io.BytesIO(data),
            style_map=_STYLES,
            include_embedded_style_map=False,
            external_file_access=False,
            convert_image=mammoth.images.img_element(lambda _: {"src": ""}),
        ).value
    except (RecursionError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001  # whatever a damaged document makes of the library
        raise DocumentError(
            f"{name} is damaged: its text cannot be read ({type(error).__name__}).",
            remedy="Open it in a word processor, save it again and load that.",
            name=name,
        ) from None
    return html_markdown(html)[1]


def _says_more(data: bytes, names: frozenset[str]) -> bool:
    """Whether there are words beside the text; a page number is none."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = (archive.read(entry) for entry in sorted(names) if _BESIDE.fullmatch(entry))
        return any(re.search(r"[^\W\d_]", _TAG.sub(b"", part).decode(errors="ignore")) for part in parts)


def _other(name: str, names: frozenset[str]) -> DocumentError:
    for entry, kind, remedy in _OTHERS:
        if entry in names:
            return DocumentError(f"{name} is {kind}, not a Word document.", remedy=remedy, name=name)
    return DocumentError(
        f"{name} is a ZIP archive, not a Word document.",
        remedy="Unpack it and load the files in it.",
        name=name,
    )
