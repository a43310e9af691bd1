"""What a file holds, told by its content: documents, memories, chats, skills, or a whole project.

Bytes in, values out. Only archives are refused here, because one that means harm is not looked into; whatever
else is odd is a document, and its loader says what is wrong.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal, get_args

from playground.errors import DocumentError, InvalidInputError
from playground.memory import MemoryKind
from playground.memory.markdown_file import from_markdown
from playground.retrieval.archives import checked_names
from playground.retrieval.decoding import decode

__all__ = ["MaterialKind", "Told", "tell_kind"]

MaterialKind = Literal["documents", "memories", "chats", "skills"]
Form = Literal["", "exported lines", "exported file", "exported archive", "project"]
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_JSON_STARTS = (b"{", b"[")
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_FRONT_MATTER = b"---"
# No set, because any JSON is looked for in it.
_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
# What a memory has and a document has not; each in both spellings.
_MEMORY_FIELDS = {
    "recordedAt", "recorded_at", "expiresAt", "expires_at", "validFrom", "valid_from", "validTo", "valid_to",
    "importance", "writer",
}  # fmt: skip
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Told:
    """What a file holds.

    Attributes:
        kind: As what it is read.
        rule: What says so, in a few words.
        form: How it is written, where that makes a difference.
    """

    kind: MaterialKind
    rule: str
    form: Form = ""


def tell_kind(name: str, data: bytes) -> Told:
    """Say what a file holds. O(bytes); of a list of records, and of JSON Lines, the first one is looked at.

    Args:
        name: The file's name; only ``SKILL.md`` means something by itself.
        data: Its content.

    Raises:
        DocumentError: For a ZIP archive that is not safe to look into; see ``checked_names``.
    """
    if data.startswith(_ZIP):
        return _told_of_archive(name, data)
    if PurePosixPath(name).name.casefold() == "skill.md":
        return Told("skills", "the name SKILL.md")
    start = data.lstrip()
    if start.startswith(_JSON_STARTS + _BOMS + (_FRONT_MATTER,)):
        try:
            text = decode(name, data, lambda _: None).lstrip("\ufeff")
        except DocumentError:
            return _nothing_special()
        if text.startswith("---"):
            return _told_of_front_matter(text)
        return _told_of_record(_first_record(text))
    return _nothing_special()


def _told_of_archive(name: str, data: bytes) -> Told:
    names = checked_names(name, data, entities=True)
    if _is_project_archive(names):
        return Told("documents", "a project.json in it", "project")
    if any(PurePosixPath(path).name.casefold() == "skill.md" for path in names):
        return Told("skills", "a SKILL.md in it")
    pages = sorted(path for path in names if path.endswith(".md") and "/" not in path)
    if pages and _is_exported_page(data, pages[0]):
        return Told("memories", "files of exported memories in it", "exported archive")
    return _nothing_special()


def _is_project_archive(names: Iterable[str]) -> bool:
    """Whether an archive holds a project: its ``project.json`` at the top, or in the one folder there."""
    return any(path.name == "project.json" and len(path.parts) <= 2 for path in map(PurePosixPath, names))


def _is_exported_page(archive: bytes, page: str) -> bool:
    with zipfile.ZipFile(io.BytesIO(archive)) as unpacked:
        content = unpacked.read(page)
    try:
        from_markdown(content.decode())
    except (InvalidInputError, UnicodeDecodeError):
        return False
    return True


def _told_of_front_matter(text: str) -> Told:
    try:
        from_markdown(text)
    except InvalidInputError:
        return _nothing_special()
    return Told("memories", "the front matter of an exported memory", "exported file")


def _first_record(text: str) -> Any:
    """Return the first value of a file: of a list its first item; ``None`` where it is no JSON."""
    start = len(text) - len(text.lstrip())
    if text.startswith("[", start):
        inner = start + 1
        while text[inner : inner + 1].isspace():
            inner += 1
        found = _parsed(text, inner)
        return [found] if isinstance(found, list) else found
    return _parsed(text, start)


def _parsed(text: str, start: int) -> Any:
    try:
        return _DECODER.raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _told_of_record(value: Any) -> Told:
    if isinstance(value, list):  # a list of chats, each a list of messages
        inner = value[0][0] if value[0] else None
        return Told("chats", "messages with a role") if _is_message(inner) else _nothing_special()
    if not isinstance(value, Mapping):
        return _nothing_special()
    if isinstance(value.get("messages"), list):
        return Told("chats", "objects with messages")
    if _is_message(value):
        return Told("chats", "messages with a role")
    if isinstance(value.get("memory"), Mapping) and "version" in value:
        return Told("memories", "lines of exported memories", "exported lines")
    if "revisions" in value:
        return Told("memories", "records with revisions")
    if "text" in value and (_MEMORY_FIELDS & value.keys() or value.get("kind") in get_args(MemoryKind)):
        return Told("memories", "fields that only memories have")
    return _nothing_special()


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("role") in _ROLES


def _nothing_special() -> Told:
    return Told("documents", "no mark of another kind")
