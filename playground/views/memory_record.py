"""One memory in full: its fields in words, and how it came to be what it is.

Pure. Texts come from records and stay untrusted plain text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from playground.memory import MemoryRecord, MemoryRevision
from playground.views.direction import isolated
from playground.views.word_changes import WordPiece, word_changes
from playground.views.words import count, joined, plural
from playground.views.working_memory import cited, moment

__all__ = ["MemoryView", "RevisionRow", "memory_view"]

TEXT_SHOWN = 20_000  # code points of the newest text; an export has it whole
REVISIONS_SHOWN = 50  # the newest ones; the rest is counted
_NONE = "–"


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One revision, and what it changed."""

    revision: str
    """``Revision 2``."""
    writer: str
    when: str
    fields: tuple[str, ...]
    """What changed beside the text: ``kind: semantic → episodic``."""
    words: tuple[WordPiece, ...]
    """The text as it came of the one before; the whole text for the first."""


@dataclass(frozen=True, slots=True)
class MemoryView:
    """One memory."""

    id: str
    total: str
    """``3 revisions``."""
    text: str
    """What is remembered now, as far as it is shown."""
    state: str
    """Why recall passes over it; empty when it does not."""
    facts: tuple[tuple[str, str], ...]
    """Names and values."""
    rows: tuple[RevisionRow, ...]
    """The revisions, newest first."""
    earlier: str
    """How many revisions are not shown; empty when all are."""


def memory_view(record: MemoryRecord, *, now: int) -> MemoryView:
    """Return a memory for people.

    Args:
        record: Any.
        now: The time in ms; whether it is valid is judged by it.
    """
    latest, revisions = record.latest, record.revisions
    rows = [_row(None, revisions[0]), *(_row(before, after) for before, after in pairwise(revisions))]
    hidden = len(rows) - REVISIONS_SHOWN
    return MemoryView(
        id=isolated(record.id),
        total=plural(len(revisions), "revision"),
        text=_shown(latest.text),
        state=_state(latest, now),
        facts=(
            ("Kind", latest.kind),
            ("Origin", latest.origin),
            ("Importance", _importance(latest)),
            ("Recorded", _time(latest.recorded_at)),
            ("Valid", _validity(latest)),
            ("Expires", _expiry(latest)),
            ("Written by", isolated(latest.writer)),
            ("Sources", _sources(latest)),
            ("Whose", _whose(record)),
        ),
        rows=tuple(reversed(rows))[:REVISIONS_SHOWN],
        earlier=f"{plural(hidden, 'earlier revision')} not shown." if hidden > 0 else "",
    )


def _shown(text: str) -> str:
    rest = len(text) - TEXT_SHOWN
    return text if rest <= 0 else f"{text[:TEXT_SHOWN]}…\n({plural(rest, 'more character')})"


def _row(before: MemoryRevision | None, after: MemoryRevision) -> RevisionRow:
    return RevisionRow(
        revision=f"Revision {count(after.revision)}",
        writer=isolated(after.writer),
        when=_time(after.recorded_at),
        fields=() if before is None else tuple(_field_changes(before, after)),
        words=word_changes(after.text if before is None else before.text, after.text),
    )


def _field_changes(before: MemoryRevision, after: MemoryRevision) -> Iterator[str]:
    told = {
        "kind": lambda revision: revision.kind,
        "origin": lambda revision: revision.origin,
        "importance": _importance,
        "valid": _validity,
        "expires": _expiry,
        "sources": _sources,
    }
    for name, words in told.items():
        old, new = words(before), words(after)
        if old != new:
            yield f"{name}: {old} → {new}"


def _state(latest: MemoryRevision, now: int) -> str:
    if latest.expires_at is not None and latest.expires_at <= now:
        return "It has expired: no recall finds it."
    if latest.valid_from is not None and now < latest.valid_from:
        return "It is not valid yet: no recall finds it until then."
    if latest.valid_to is not None and latest.valid_to <= now:
        return "It is not valid any more: no recall finds it."
    return ""


def _importance(revision: MemoryRevision) -> str:
    return _NONE if revision.importance is None else f"{revision.importance:.2f}"


def _validity(revision: MemoryRevision) -> str:
    start, end = revision.valid_from, revision.valid_to
    ends = [
        f"from {_time(start)}" if start is not None else "",
        f"until {_time(end)}" if end is not None else "",
    ]
    return " ".join(filter(None, ends)) or "always"


def _expiry(revision: MemoryRevision) -> str:
    return "never" if revision.expires_at is None else _time(revision.expires_at)


def _sources(revision: MemoryRevision) -> str:
    return joined(map(cited, revision.sources)) or _NONE


def _whose(record: MemoryRecord) -> str:
    fields = record.scope.fields()
    return joined(f"{name.removesuffix('_id')} {isolated(value)}" for name, value in fields.items()) or _NONE


def _time(time_ms: int) -> str:
    return moment(time_ms) or f"{count(time_ms)} ms"
