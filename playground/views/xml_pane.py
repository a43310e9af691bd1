"""The rendered text of a compile, cut into records so that each can be found and marked.

Pure. All pieces of all records give the blocks' text, character for character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from playground.compiler.manifest import ContextManifest, ManifestEntry
from playground.compiler.values import ContextPackage
from playground.views.palette import Slot
from playground.views.record_key import record_key
from playground.views.words import entry_slot, plural

__all__ = ["XmlRecord", "XmlView", "xml_view"]

_TAG = re.compile(r"</?[a-z_]+(?: [a-z_]+=\"[^\"]*\")*>")
_LISTED = re.compile(r"- \[[^\]\n]*\] ")
_VALUE = re.compile(r"\"[^\"]*\"")


@dataclass(frozen=True, slots=True)
class XmlRecord:
    """A stretch of the rendered text: one record, or the block's own lines between records."""

    key: str
    """Empty for the block's own lines."""
    slot: Slot
    half: bool
    """Whether reallocation let it in."""
    pieces: tuple[tuple[str, str], ...]
    """Role (``text``, ``tag``, ``value`` or ``block``) and text; all pieces of all records give the XML."""


@dataclass(frozen=True, slots=True)
class XmlView:
    """The text of all blocks."""

    records: tuple[XmlRecord, ...]
    total: str
    """``8,139 tokens``."""

    @property
    def text(self) -> str:
        """The XML, character for character."""
        return "".join(text for record in self.records for _, text in record.pieces)


def xml_view(package: ContextPackage) -> XmlView:
    """Return the rendered text cut into records by the blocks' spans. O(characters)."""
    entries = _selected_entries(package.manifest)
    records: list[XmlRecord] = []
    for number, block in enumerate(package.blocks):
        text, at = block.text, 0
        if number:
            records.append(_frame("\n"))
        for span in block.spans:
            if span.start > at:
                records.append(_frame(text[at : span.start]))
            entry = entries.get((span.source, span.record_id))
            records.append(
                XmlRecord(
                    key=record_key(span.source, span.record_id),
                    slot=entry_slot(entry) if entry else "secondary",
                    half=entry is not None and entry.reason == "reallocated",
                    pieces=_record_pieces(text[span.start : span.end]),
                )
            )
            at = span.end
        if at < len(text):
            records.append(_frame(text[at:]))
    return XmlView(tuple(records), plural(package.manifest.budget.selected_tokens, "token"))


def _selected_entries(manifest: ContextManifest) -> dict[tuple[str, str], ManifestEntry]:
    return {(entry.source, entry.record_id): entry for entry in manifest.entries if entry.selected}


def _frame(text: str) -> XmlRecord:
    return XmlRecord(key="", slot="secondary", half=False, pieces=tuple(_pieces(text, "block")))


def _record_pieces(text: str) -> tuple[tuple[str, str], ...]:
    listed = _LISTED.match(text)
    if listed:
        return (("tag", listed.group()), *_pieces(text[listed.end() :], "tag"))
    return tuple(_pieces(text, "tag"))


def _pieces(text: str, role: str) -> Iterator[tuple[str, str]]:
    """Split into tags, attribute values and the rest; record text is escaped, so no tag is in it."""
    at = 0
    for tag in _TAG.finditer(text):
        if tag.start() > at:
            yield ("text", text[at : tag.start()])
        at = tag.start()
        for value in _VALUE.finditer(text, tag.start(), tag.end()):
            yield (role, text[at : value.start()])
            yield ("value", value.group())
            at = value.end()
        yield (role, text[at : tag.end()])
        at = tag.end()
    if at < len(text):
        yield ("text", text[at:])
