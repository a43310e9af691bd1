"""What each kind asked for, was granted and used, and how unused shares moved.

One row a kind. ``granted`` is the kind's share of the pool before reallocation; ``used`` adds what mandatory
records cost, which no share pays for; ``out`` is the part of a share that its kind left to the second pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from playground.compiler.manifest import ContextManifest, EntryKind, ManifestEntry
from playground.views.palette import Slot
from playground.views.record_key import record_key
from playground.views.words import KIND_LABELS, KIND_ORDER, MINUS, count, entry_slot, plural

__all__ = ["SourceRow", "SourceSegment", "SourcesView", "sources_view"]

HEADROOM = 1.05  # the scale ends this much behind the longest bar that is not cut
DEMANDING = frozenset({"mandatory", "ranked", "reallocated", "budget"})
Title = Callable[[str, str], str]


@dataclass(frozen=True, slots=True)
class SourceSegment:
    """One selected record inside its kind's bar, in parts of the scale."""

    key: str
    start: float
    end: float
    slot: Slot
    reallocated: bool
    title: str
    tokens: int
    reason: str


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One kind; numbers in tokens, positions in parts of the scale."""

    kind: EntryKind
    name: str
    used: int
    granted: int
    demand: int
    moved: str
    moved_tokens: int
    used_end: float
    granted_at: float | None
    demand_end: float
    cut: bool
    """Whether the demand goes on beyond the scale."""
    segments: tuple[SourceSegment, ...]
    description: str


@dataclass(frozen=True, slots=True)
class SourcesView:
    """The rows in the order of the kinds, working memory first."""

    rows: tuple[SourceRow, ...]
    status: Literal["ok", "partial"]
    """``partial`` when an optional source failed."""
    rest: str = ""
    """Used beside the records: ``Plus 101 tokens of block text, together 8,117``; may be empty."""


def sources_view(manifest: ContextManifest, *, title: Title) -> SourcesView:
    """Return one row per kind.

    Args:
        manifest: The compile.
        title: What people call a record, from source and record id.
    """
    groups = {kind: [entry for entry in manifest.entries if entry.kind == kind] for kind in KIND_ORDER}
    granted = {kind: _granted(manifest, kind) for kind in KIND_ORDER}
    used = {kind: sum(entry.tokens for entry in groups[kind] if entry.selected) for kind in KIND_ORDER}
    scale = max(1.0, HEADROOM * max(*used.values(), *granted.values()))
    rows = tuple(_row(kind, groups[kind], granted[kind], scale, title) for kind in KIND_ORDER)
    failed = any(source.status == "failed" for source in manifest.sources)
    frames = manifest.budget.selected_tokens - sum(used.values())
    rest = (
        f"Plus {plural(frames, 'token')} of block text, together {count(manifest.budget.selected_tokens)}"
        if frames > 0
        else ""
    )
    return SourcesView(rows=rows, status="partial" if failed else "ok", rest=rest)


def _granted(manifest: ContextManifest, kind: EntryKind) -> int:
    if kind == "working-memory":
        return min(manifest.budget.working_memory_tokens, manifest.budget.context_tokens)
    return manifest.budget.shares[kind]


def _row(kind: EntryKind, entries: list[ManifestEntry], granted: int, scale: float, title: Title) -> SourceRow:
    selected = [entry for entry in entries if entry.selected]
    # Grouped by reason, so that what reallocation added stands at the end of the bar.
    selected.sort(key=lambda entry: ("mandatory", "ranked", "reallocated").index(entry.reason))
    segments = []
    start = 0
    for entry in selected:
        segments.append(
            SourceSegment(
                key=record_key(entry.source, entry.record_id),
                start=start / scale,
                end=(start + entry.tokens) / scale,
                slot=entry_slot(entry),
                reallocated=entry.reason == "reallocated",
                title=title(entry.source, entry.record_id),
                tokens=entry.tokens,
                reason=entry.reason,
            )
        )
        start += entry.tokens
    demand = sum(entry.tokens for entry in entries if entry.reason in DEMANDING)
    moved, words = _moved(kind, selected, granted)
    name = KIND_LABELS[kind]
    return SourceRow(
        kind=kind,
        name=name,
        used=start,
        granted=granted,
        demand=demand,
        moved=words,
        moved_tokens=moved,
        used_end=start / scale,
        granted_at=granted / scale if granted else None,
        demand_end=min(1.0, demand / scale),
        cut=demand > scale,
        segments=tuple(segments),
        description=f"{name}: {count(demand)} tokens wanted, {count(granted)} granted, {count(start)} used",
    )


def _moved(kind: EntryKind, selected: list[ManifestEntry], granted: int) -> tuple[int, str]:
    if kind == "working-memory":
        return 0, "–"
    came = sum(entry.tokens for entry in selected if entry.reason == "reallocated")
    if came:
        return came, f"+{count(came)} in"
    left = granted - sum(entry.tokens for entry in selected if entry.reason == "ranked")
    return (-left, f"{MINUS}{count(left)} out") if left > 0 else (0, "–")
