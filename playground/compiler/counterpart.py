"""Counterparts: what is there in the place of an entry that was left out before any budget was looked at.

Pure. The same text under another id, another copy of the same id, a newer revision, or the text itself in the
history: read off the manifest and the placements.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from playground.compiler.candidates import revision_order
from playground.compiler.manifest import ContextManifest, ManifestEntry
from playground.compiler.offers import Offers
from playground.compiler.placement import standing_placements
from playground.compiler.values import PlacedEntry

__all__ = ["Counterpart", "counterpart_of"]

_OUT_BEFORE_ITS_COPY = frozenset({"limit", "already-placed", "superseded"})


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A record that stands for another one.

    Attributes:
        source: Its source.
        record_id: Its id.
        revision: Its revision, if it has one.
        number: Its number in ``package.manifest.entries``; ``None`` where an earlier package placed it.
        step: The model step whose package placed it; ``None`` where it is an entry of this compile.
    """

    source: str
    record_id: str
    revision: int | None
    number: int | None
    step: int | None


def counterpart_of(offers: Offers, manifest: ContextManifest, number: int) -> Counterpart | None:
    """Return what is there in the place of an entry; ``None`` where it is in, or out for another reason.

    Args:
        offers: What was compiled.
        manifest: What the compile gave.
        number: Number of the entry in ``manifest.entries``.
    """
    entry = manifest.entries[number]
    if entry.reason == "duplicate":
        return _copy(manifest, number) or _same_text(offers, manifest, entry)
    if entry.reason == "superseded":
        return _newest(offers, manifest, entry)
    if entry.reason == "already-placed":
        standing = standing_placements(offers.inputs.placed, offers.inputs.messages)
        return _placed(next(placed for placed in reversed(standing) if placed.text_key == _text_key(entry)))
    return None


def _copy(manifest: ContextManifest, number: int) -> Counterpart | None:
    """The entry of the same id that was looked at before."""
    entry = manifest.entries[number]
    for other, found in _offered(manifest, entry.source, entry.record_id):
        if other < number and found.reason not in _OUT_BEFORE_ITS_COPY:
            return _entry(other, found)
    return None


def _same_text(offers: Offers, manifest: ContextManifest, entry: ManifestEntry) -> Counterpart | None:
    """The record that brings the text: in the history, else selected."""
    for placed in reversed(standing_placements(offers.inputs.placed, offers.inputs.messages)):
        if placed.digest == entry.digest:
            return _placed(placed)
    for number, other in enumerate(manifest.entries):
        if other.selected and other.digest == entry.digest and other.kind != "working-memory":
            return _entry(number, other)
    return None


def _newest(offers: Offers, manifest: ContextManifest, entry: ManifestEntry) -> Counterpart:
    """The newest revision, one that is offered now before one that was placed."""
    known = [_entry(number, found) for number, found in _offered(manifest, entry.source, entry.record_id)]
    known += [
        _placed(placed)
        for placed in reversed(offers.inputs.placed)
        if (placed.source, placed.record_id) == (entry.source, entry.record_id)
    ]
    return max(known, key=lambda one: revision_order(one.revision))


def _offered(manifest: ContextManifest, source: str, record_id: str) -> Iterator[tuple[int, ManifestEntry]]:
    pairs = zip(manifest.entries.column("source"), manifest.entries.column("record_id"), strict=True)
    for number, pair in enumerate(pairs):
        if pair == (source, record_id):
            yield number, manifest.entries[number]


def _text_key(entry: ManifestEntry) -> tuple[str, str, str]:
    return entry.source, entry.record_id, entry.digest


def _entry(number: int, entry: ManifestEntry) -> Counterpart:
    return Counterpart(entry.source, entry.record_id, entry.revision, number, None)


def _placed(placed: PlacedEntry) -> Counterpart:
    return Counterpart(placed.source, placed.record_id, placed.revision, None, placed.step)
