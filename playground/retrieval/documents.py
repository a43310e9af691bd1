"""Reading files into documents: Markdown, text, HTML, PDF, DOCX, CSV, JSON and JSON Lines.

What a file is comes from its content first and its name second. One unreadable file never stops the others:
it becomes a typed error that names the file and what to do. Bytes in, values out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from playground.errors import DocumentError
from playground.retrieval.binary_types import binary_type_of
from playground.retrieval.decoding import decode, replace_unstorable
from playground.retrieval.free_names import FreeNames
from playground.retrieval.headings import first_title
from playground.retrieval.json_records import JsonRecord, read_json_records
from playground.retrieval.media_types import CSV, HTML, JSON, JSON_LINES, MARKDOWN, TEXT, media_type_of
from playground.retrieval.notes import few_notes
from playground.retrieval.parsing import TIME_LIMIT, Parser

__all__ = ["SIZE_LIMIT", "Document", "LoadResult", "LoadWarning", "check_size", "load_documents"]

SIZE_LIMIT = 200 * 1024 * 1024  # bytes of one file
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Document:
    """One text to search in.

    Attributes:
        id: Unique within a load and within a project.
        title: What people see.
        text: The whole text; offsets of chunks point into it, in code points.
        source_name: The file it came from.
        media_type: What the file was, one of ``playground.retrieval.media_types``. The text of HTML and DOCX
            files is Markdown made of them.
        meta: Further fields of a JSON record or CSV row, as they came; ``pageStarts``, the offset of each page,
            for a PDF.
    """

    id: str
    title: str
    text: str
    source_name: str = ""
    media_type: str = TEXT
    meta: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LoadWarning:
    """Something a person should know about a file that was read all the same."""

    name: str
    message: str


@dataclass(frozen=True, slots=True)
class LoadResult:
    """Everything a load gave: nothing is dropped without a warning or an error that says so."""

    documents: tuple[Document, ...]
    warnings: tuple[LoadWarning, ...] = ()
    errors: tuple[DocumentError, ...] = ()


def load_documents(
    files: Iterable[tuple[str, bytes]], *, size_limit: int = SIZE_LIMIT, time_limit: float = TIME_LIMIT
) -> LoadResult:
    """Read files into documents, in the order given. O(bytes).

    HTML, PDF, DOCX and CSV are parsed in a process of their own, which one of the files may end.

    Args:
        files: Pairs of file name and content.
        size_limit: Largest file that is read, in bytes.
        time_limit: Seconds that parsing one file may take.

    Returns:
        Documents with unique ids (a repeated id gets ``~2``, ``~3`` … and a warning), the first 20 warnings
        of each file and how many more there are, and one ``DocumentError`` for each file that could not be
        read.
    """
    documents: list[Document] = []
    warnings: list[LoadWarning] = []
    errors: list[DocumentError] = []
    ids = FreeNames()
    with Parser(time_limit=time_limit) as parser:
        for given, data in files:
            notes: list[str] = []
            name = replace_unstorable(given, notes.append)
            try:
                read = _read(name, data, size_limit, parser, notes.append)
            except DocumentError as error:
                errors.append(error)
                continue
            documents.extend(_with_unique_ids(read, ids, notes.append))
            warnings.extend(LoadWarning(name, note) for note in few_notes(notes))
    return LoadResult(tuple(documents), tuple(warnings), tuple(errors))


def check_size(name: str, size: int, limit: int = SIZE_LIMIT) -> None:
    """Refuse a file that is larger than ``limit``; both in bytes.

    Raises:
        DocumentError: When it is.
    """
    if size > limit:
        raise DocumentError(
            f"{name} has {size:,} bytes, the limit is {limit:,}.",
            remedy="Split the file into smaller ones.",
            name=name,
        )


def _read(name: str, data: bytes, size_limit: int, parser: Parser, warn: Warn) -> list[Document]:
    check_size(name, len(data), size_limit)
    media_type = binary_type_of(name, data) if data.strip() else None
    if media_type is not None:
        return [_from_record(name, media_type, record) for record in parser.read(name, media_type, data, warn)]
    text = decode(name, data, warn)
    media_type = media_type_of(name, text, warn)
    if media_type in {JSON, JSON_LINES}:
        return [
            _from_record(name, media_type, record) for record in read_json_records(name, text, media_type, warn)
        ]
    text = replace_unstorable(text, warn)
    if media_type in {HTML, CSV}:
        records = parser.read(name, media_type, text.encode("utf-8"), warn)
        return [_from_record(name, media_type, record) for record in records]
    title = first_title(text) if media_type == MARKDOWN else ""
    return [Document(name, title or _stem(name), text, name, media_type)]


def _from_record(name: str, media_type: str, record: JsonRecord) -> Document:
    identifier = record.id if record.id is not None else f"{name}#{record.position}"
    title = record.title or (_stem(name) if identifier == name else identifier)
    return Document(identifier, title, record.text, name, media_type, record.meta)


def _stem(name: str) -> str:
    return PurePosixPath(name.replace("\\", "/")).stem or name


def _with_unique_ids(read: Iterable[Document], ids: FreeNames, warn: Warn) -> Iterator[Document]:
    for document in read:
        identifier = ids.take(document.id)
        if identifier != document.id:
            warn(f"The id {document.id!r} occurs more than once; a later document became {identifier!r}.")
            document = replace(document, id=identifier)  # noqa: PLW2901  # the same document under a free id
        yield document
