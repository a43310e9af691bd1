"""Taking forgotten memories out of a file that was kept: an archive, a stored package, a list. Pure.

Records are taken out by their id, texts and digests wherever they stand. Packages stay readable: an entry keeps
its id, its digest becomes zeros and its text says that it was forgotten.
"""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath
from typing import Any

from playground.errors import DocumentError, InvalidInputError, ProjectError
from playground.escaping import escape_attribute
from playground.memory import MemoryTombstone
from playground.memory.markdown_file import from_markdown
from playground.retrieval.archives import checked_names
from playground.workspace.traces import FORGOTTEN, Traces
from playground.workspace.vectors import VectorTable

__all__ = ["SUFFIXES", "Redaction"]

SUFFIXES = frozenset({".zip", ".npz", ".json", ".jsonl", ".md", ".txt", ".csv", ".html", ".xml"})
"""What can be looked into."""

_ARCHIVE = b"PK\x03\x04"  # what archives begin with
DEPTH = 3  # archives inside archives
_DROPPED: Any = object()
_REVISIONS = ("revision", "revisions")
_RECORDED = ("recordedAt", "recorded_at")
_TOMBSTONE = ("forgottenAt", "forgotten_at")
_IN_BLOCK = r'(<record source="[^"]*" kind="memory" id="(?:{ids})"[^>]*>\n).*?(\n</record>)'
_NO_DIGEST = "sha256:" + "0" * 64


class Redaction:
    """What is taken out of files.

    Args:
        stones: What is left of the forgotten memories.
        traces: Their texts and digests, as far as they are known.
    """

    def __init__(self, stones: Iterable[MemoryTombstone], traces: Traces) -> None:
        self._stones = {stone.id: stone for stone in stones}
        self._traces = traces
        ids = "|".join(re.escape(escape_attribute(name)) for name in sorted(self._stones))
        self._in_block = re.compile(_IN_BLOCK.format(ids=ids), re.DOTALL) if ids else None

    def found_in(self, name: str, data: bytes) -> bool:
        """Whether a file that is not to be changed holds a forgotten text or digest; looks into archives."""
        if name.lower().endswith(".zip"):
            return self.of(name, data) is not data
        if data.startswith(_ARCHIVE) and (clean := self.of(name, data)) is not None:
            return clean is not data
        text = _decoded(data)
        return self._traces.in_bytes(data) if text is None else self._traces.in_text(text)

    def of(self, name: str, data: bytes) -> bytes | None:
        """Return a file without what was forgotten: the very same bytes when it holds nothing of it.

        Returns:
            ``None`` when it holds some and cannot be rewritten, or when nobody can say, as of a damaged
            archive.
        """
        return self._of(name, data, DEPTH)

    def _of(self, name: str, data: bytes, depth: int) -> bytes | None:
        suffix = PurePosixPath(name.lower()).suffix
        # Office documents are archives, too, and a name can say anything.
        if suffix in {".zip", ".npz"} or data.startswith(_ARCHIVE):
            clean = self._vectors(name, data, depth)
            return None if clean is None or self._traces.in_bytes(clean) else clean
        match suffix:
            case ".jsonl":
                clean = self._text(data, self._lines)
            case ".json":
                clean = self._text(data, self._document)
            case ".md":
                clean = self._text(data, self._markdown)
            case _:
                clean = self._text(data, self._without)
        if clean is None or (_decoded(clean) is None and self._traces.in_bytes(clean)):
            return None
        return clean

    def _text(self, data: bytes, rewrite: Callable[[str], str | None]) -> bytes | None:
        text = _decoded(data)
        if text is None:
            return data  # no text; its bytes are looked through
        clean = rewrite(text)
        if clean is None or self._traces.in_text(clean):
            return None
        return data if clean == text else clean.encode(_encoding(data), "surrogatepass")

    def _lines(self, text: str) -> str:
        lines = []
        for line in text.split("\n"):
            if not line.strip():
                lines.append(line)
            elif (clean := self._json(line, indent=None)) is not _DROPPED:
                lines.append(clean)
        return "\n".join(lines)

    def _document(self, text: str) -> str | None:
        clean = self._json(text, indent=2 if "\n " in text else None)
        return None if clean is _DROPPED else clean

    def _json(self, text: str, *, indent: int | None) -> Any:
        """Return JSON without what was forgotten, or ``_DROPPED`` when nothing is left of it.

        The same text comes back when it holds none of it; what is no JSON is taken as plain text.
        """
        try:
            value = json.loads(text)
            clean = self._clean(value, top=2)
            if clean is _DROPPED:
                return _DROPPED
            if clean == value:
                return text
            end = "\n" if text.endswith("\n") else ""
            return json.dumps(clean, ensure_ascii=False, indent=indent) + end
        except (ValueError, RecursionError):
            return self._without(text)

    def _clean(self, value: Any, *, top: int = 0) -> Any:
        """Return a value without records and texts that were forgotten; ``top`` levels may be bare records."""
        if isinstance(value, str):
            clean = self._without(value)
            return FORGOTTEN if self._traces.in_text(clean) else clean
        if isinstance(value, list):
            items = (self._clean(item, top=top - 1) for item in value)
            return [item for item in items if item is not _DROPPED]
        if not isinstance(value, dict):
            return value
        if self._is_record(value, bare=top > 0):
            return _DROPPED
        fields = {key: self._clean(field) for key, field in value.items() if not self._traces.in_text(key)}
        if value.get("kind") == "memory" and self._is_forgotten(value.get("recordId")) and "digest" in value:
            fields["digest"] = _NO_DIGEST  # a package's entry
        if fields.get("memory") is _DROPPED:
            return _DROPPED  # a line that holds nothing but the record
        return {key: field for key, field in fields.items() if field is not _DROPPED}

    def _is_record(self, value: dict[str, Any], *, bare: bool) -> bool:
        if not self._is_forgotten(value.get("id")):
            return False
        if any(field in value for field in _TOMBSTONE):
            return False
        if any(isinstance(value.get(field), dict | list) for field in _REVISIONS):
            return True
        return "text" in value and (
            any(field in value for field in (*_REVISIONS, *_RECORDED)) or (bare and "title" not in value)
        )

    def _is_forgotten(self, identifier: Any) -> bool:
        return isinstance(identifier, str) and identifier in self._stones

    def _without(self, text: str) -> str:
        """Return a text without what was forgotten, as far as it stands in a known way."""
        if self._in_block is not None:
            text = self._in_block.sub(lambda found: f"{found[1]}{FORGOTTEN}{found[2]}", text)
        # Looking for a text is far cheaper than looking for each of its spellings.
        return self._traces.without(text) if self._traces.in_text(text) else text

    def _markdown(self, text: str) -> str | None:
        try:
            identifier, _, _ = from_markdown(text)
        except InvalidInputError:
            return self._without(text)
        return None if identifier in self._stones else self._without(text)

    def _vectors(self, name: str, data: bytes, depth: int) -> bytes | None:
        try:
            table = VectorTable.from_bytes(data, name, name)
        except ProjectError:
            return self._archive(name, data, depth)  # of another program: arrays are entries, too
        kept = table.without(self._traces.keys)
        return data if kept is table else (kept.to_bytes() if len(kept) else None)

    def _archive(self, name: str, data: bytes, depth: int) -> bytes | None:
        if not depth:
            return None
        try:
            checked_names(name, data)
        except DocumentError:
            return None
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            files = [(entry, archive.read(entry)) for entry in archive.infolist()]
        kept: list[tuple[zipfile.ZipInfo, bytes]] = []
        for entry, content in files:
            clean = (
                None if self._traces.in_text(entry.filename) else self._of(entry.filename, content, depth - 1)
            )
            if clean is not None:
                kept.append((entry, clean))
        if len(kept) == len(files) and all(new[1] is old[1] for new, old in zip(kept, files, strict=True)):
            return data
        return _packed(self._with_tombstones(kept))

    def _with_tombstones(
        self, files: list[tuple[zipfile.ZipInfo, bytes]]
    ) -> list[tuple[zipfile.ZipInfo, bytes]]:
        """Add what is left of the memories to a packed project, so that what is made of it knows of them."""
        names = [entry.filename for entry, _ in files]
        heads = [
            name.removesuffix("project.json") for name in names if PurePosixPath(name).name == "project.json"
        ]
        lines = "".join(f"{stone.to_json()}\n" for _, stone in sorted(self._stones.items())).encode()
        for head in heads:
            path = f"{head}forgotten.jsonl"
            if path not in names:
                files = [*files, (zipfile.ZipInfo(path, (1980, 1, 1, 0, 0, 0)), b"")]
            files = [(entry, _merged(data, lines) if entry.filename == path else data) for entry, data in files]
        return files


def _merged(data: bytes, lines: bytes) -> bytes:
    """Return lines and those that are new among others, each tombstone once."""
    known = {_id_of(line) for line in data.splitlines()}
    new = [line for line in lines.splitlines() if _id_of(line) not in known]
    return b"".join(line + b"\n" for line in (*data.splitlines(), *new) if line.strip())


def _id_of(line: bytes) -> Any:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value.get("id") if isinstance(value, dict) else None


def _packed(files: Iterable[tuple[zipfile.ZipInfo, bytes]]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for entry, data in files:
            fresh = zipfile.ZipInfo(entry.filename, entry.date_time)
            fresh.compress_type, fresh.external_attr = entry.compress_type, entry.external_attr
            fresh.create_system = entry.create_system
            archive.writestr(fresh, data)
    return buffer.getvalue()


def _decoded(data: bytes) -> str | None:
    """Return the text that a file holds, or ``None`` when it holds none.

    What holds a NUL is none: text of another encoding, of two bytes a letter for example, can look like that.
    """
    try:
        text = data.decode(_encoding(data))
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


def _encoding(data: bytes) -> str:
    return "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
