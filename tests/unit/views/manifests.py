"""Hand-made manifests for the tests of views and charts: every kind, every reason."""

from __future__ import annotations

from typing import Any

from playground.compiler.manifest import (
    BudgetSummary,
    ContextManifest,
    EntryKind,
    ManifestEntry,
    PlacementSummary,
    Reason,
    SourceErrorSummary,
    SourceSummary,
)

SELECTED = {"mandatory", "ranked", "reallocated"}


def entry(
    kind: EntryKind, record_id: str, tokens: int, reason: Reason, *, score: float | None = 0.5, source: str = ""
) -> ManifestEntry:
    """One entry; the source is the kind unless given."""
    digest = "sha256:" + "0" * 64
    selected = reason in SELECTED
    return ManifestEntry(source or kind, kind, record_id, None, digest, None, tokens, selected, reason, score)


def manifest(*entries: ManifestEntry, failed: tuple[str, ...] = (), **budget: Any) -> ContextManifest:
    """A manifest with these entries; budget fields overwrite the example's."""
    rows = entries or example_entries()
    sources = []
    for name in ("memory", "rag", "transcript", "skills"):
        mine = [row for row in rows if row.source == name]
        selected = [row for row in mine if row.selected]
        error = SourceErrorSummary(name="OSError", message="unreachable") if name in failed else None
        sources.append(
            SourceSummary(
                id=name,
                kind=name,
                status="failed" if error else "ok",
                selected=len(selected),
                excluded=len(mine) - len(selected),
                tokens=sum(row.tokens for row in selected),
                error=error,
            )
        )
    numbers: dict[str, Any] = {
        "input_tokens": 192_000,
        "used_tokens": 31_412,
        "context_tokens": 1_000,
        "working_memory_tokens": 300,
        "shares": {"memory": 280, "rag": 280, "transcript": 120, "skills": 120},
        "selected_tokens": 960,
        "ratio": 0.25,
        "max_tokens": 1_000,
        "required_tokens": 150,
        "frame_tokens": 20,
        "rest_tokens": 800,
        "share_ratios": {"memory": 0.35, "rag": 0.35, "transcript": 0.15, "skills": 0.15},
    }
    return ContextManifest(
        entries=rows,
        sources=tuple(sources),
        budget=BudgetSummary(**{**numbers, **budget}),
        placement=PlacementSummary(append=True, ephemeral_tail=True),
    )


def example_entries() -> tuple[ManifestEntry, ...]:
    """Eleven entries over all kinds."""
    return (
        entry("working-memory", "goal", 40, "mandatory", score=None),
        entry("working-memory", "observation/o1", 30, "ranked", score=None),
        entry("memory", "m1", 100, "ranked", score=0.9),
        entry("memory", "m2", 60, "ranked", score=0.8),
        entry("rag", "1", 200, "ranked", score=0.7),
        entry("rag", "2", 310, "reallocated", score=0.65),
        entry("rag", "3", 400, "budget", score=0.6),
        entry("rag", "4", 90, "limit", score=0.1),
        entry("transcript", "c#1", 70, "ranked", score=0.4),
        entry("skills", "body/cards", 110, "mandatory", score=1.0),
        entry("skills", "catalog/cards", 25, "duplicate", score=0.3),
    )
