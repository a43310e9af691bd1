"""Writing the manifest of a compile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

from playground.compiler.budget import ContextBudget
from playground.compiler.entries import SELECTED_REASONS, ManifestEntries, ManifestEntry
from playground.compiler.manifest import (
    BudgetSummary,
    ContextManifest,
    EstimatorKind,
    Fallback,
    GrantedTokens,
    PlacementSummary,
    SourceSummary,
    summarise_error,
)
from playground.compiler.offers import Offers
from playground.compiler.selection import Selection
from playground.compiler.values import WORKING_MEMORY_SOURCE, ContextBlock
from playground.digests import text_digest

__all__ = ["describe"]


def describe(
    offers: Offers,
    budget: ContextBudget,
    selection: Selection,
    blocks: Sequence[ContextBlock],
    selected_tokens: int,
) -> ContextManifest:
    """Return the manifest: every offer with its reason, a row a source, and the numbers of the budget."""
    inputs = offers.inputs
    placements = {block.placement for block in blocks}
    tail = "ephemeral-tail" in placements
    selected = list(map(SELECTED_REASONS.__contains__, selection.reasons))
    failed = any(result.status == "failed" for result in inputs.results)
    fallback: Fallback | None = "source-failed" if failed else inputs.fallback
    return ContextManifest.model_construct(
        run_id=inputs.run_id,
        step=inputs.step,
        retrieval_pass=inputs.retrieval_pass,
        refresh=inputs.refresh,
        fallback=fallback,
        entries=_entries(offers, selection, selected),
        sources=_source_summaries(offers, selected),
        budget=BudgetSummary(
            input_tokens=inputs.input_tokens,
            used_tokens=inputs.used_tokens,
            context_tokens=selection.context_tokens,
            working_memory_tokens=budget.working_memory_tokens,
            shares=GrantedTokens(**selection.granted),
            selected_tokens=selected_tokens,
            ratio=budget.ratio,
            max_tokens=budget.max_tokens,
            required_tokens=offers.required_tokens,
            frame_tokens=selection.frame_tokens,
            rest_tokens=selection.rest_tokens,
            share_ratios=budget.shares,
        ),
        estimator=inputs.estimator_kind
        or EstimatorKind(kind=inputs.estimator.kind, calibrated=inputs.estimator.calibrated),
        placement=PlacementSummary(
            append="append" in placements,
            ephemeral_tail=tail,
            tail_kept=True if tail and inputs.tail_kept else None,
        ),
        cache_prefix_changed=inputs.cache_prefix_changed,
        redacted=True if inputs.redacted else None,
    )


def _entries(offers: Offers, selection: Selection, selected: Sequence[bool]) -> ManifestEntries:
    """Column by column, working memory first."""
    lines, candidates = offers.memory.lines, offers.candidates
    ids = [result.source_id for result in offers.inputs.results]
    kinds = [result.kind for result in offers.inputs.results]
    asked = [result.query or None for result in offers.inputs.results]
    own = list(map(attrgetter("query"), candidates))
    queries = list(map(asked.__getitem__, offers.sources))
    if own.count(None) != len(own):
        queries = [query if query is not None else theirs for query, theirs in zip(own, queries, strict=True)]
    count = len(lines)
    columns: dict[str, Sequence[Any]] = {
        "source": [WORKING_MEMORY_SOURCE] * count + list(map(ids.__getitem__, offers.sources)),
        "kind": ["working-memory"] * count + list(map(kinds.__getitem__, offers.sources)),
        "record_id": [line.record_id for line in lines] + list(map(attrgetter("record_id"), candidates)),
        "revision": [line.revision for line in lines] + list(map(attrgetter("revision"), candidates)),
        "digest": [text_digest(line.text) for line in lines] + list(map(attrgetter("digest"), candidates)),
        "query": [None] * count + queries,
        "tokens": selection.line_tokens + offers.tokens,
        "selected": [reason in SELECTED_REASONS for reason in selection.line_reasons] + list(selected),
        "reason": selection.line_reasons + selection.reasons,
        "score": [None] * count + list(map(attrgetter("score"), candidates)),
    }
    return ManifestEntries([columns[name] for name in ManifestEntry._fields])


def _source_summaries(offers: Offers, selected: Sequence[bool]) -> tuple[SourceSummary, ...]:
    summaries = []
    start = 0
    for result in offers.inputs.results:
        end = start + len(result.candidates)
        inside = selected[start:end]
        summaries.append(
            SourceSummary(
                id=result.source_id,
                kind=result.kind,
                status=result.status,
                selected=sum(inside),
                excluded=len(inside) - sum(inside),
                tokens=sum(compress(offers.tokens[start:end], inside)),
                error=summarise_error(result.error) if result.status == "failed" else None,
            )
        )
        start = end
    return tuple(summaries)
