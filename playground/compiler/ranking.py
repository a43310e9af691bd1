"""Ranking: the order of candidates, and which of them are settled before any budget is looked at.

Pure. Every order is total: descending score, then source order, then id, revision, digest and the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter

from playground.compiler.candidates import revision_order
from playground.compiler.manifest import Reason
from playground.compiler.values import ContextCandidate, PlacedEntry, SourceResult

__all__ = ["mandatory_count", "ranked", "settle_repeated_texts", "settled_in_source", "twin_groups"]


def settled_in_source(
    result: SourceResult,
    listed: Sequence[ContextCandidate],
    placed: Sequence[PlacedEntry],
    standing: Sequence[PlacedEntry],
) -> list[Reason | None]:
    """Return the reasons that follow from identity: limit, already placed, superseded, offered twice."""
    settled: list[Reason | None] = [None] * len(listed)
    first = len(listed) if result.limit is None else mandatory_count(listed) + result.limit
    if len(listed) > first:
        settled[first:] = ["limit"] * (len(listed) - first)
    placed = [entry for entry in placed if entry.source == result.source_id]
    if not placed and len(set(map(attrgetter("record_id"), listed))) == len(listed):
        return settled
    newest: dict[str, int] = {}
    known = [(entry.record_id, entry.revision) for entry in placed]
    known += [(candidate.record_id, candidate.revision) for candidate in listed]
    for record_id, revision in known:
        newest[record_id] = max(newest.get(record_id, -1), revision_order(revision))
    here = {(entry.record_id, entry.digest) for entry in standing if entry.source == result.source_id}
    seen: set[str] = set()
    for index, candidate in enumerate(listed):
        if settled[index] is not None:
            continue
        if (candidate.record_id, candidate.digest) in here:
            settled[index] = "already-placed"
        elif revision_order(candidate.revision) < newest[candidate.record_id]:
            settled[index] = "superseded"
        elif candidate.record_id in seen:
            settled[index] = "duplicate"
        else:
            seen.add(candidate.record_id)
    return settled


def mandatory_count(listed: Sequence[ContextCandidate]) -> int:
    """Return how many mandatory candidates lead a list in rank order."""
    return next((i for i, candidate in enumerate(listed) if not candidate.mandatory), len(listed))


def settle_repeated_texts(
    mandatory: Sequence[int],
    optional: Sequence[int],
    candidates: Sequence[ContextCandidate],
    settled: list[Reason | None],
    standing: Sequence[PlacedEntry],
) -> list[int]:
    """Mark contenders whose text is in the history or mandatory anyway; return the mandatory ones left."""
    taken: set[str | None] = {entry.digest for entry in standing}
    kept = []
    for i in mandatory:
        if settled[i] is not None:
            continue
        if candidates[i].digest in taken:
            settled[i] = "duplicate"
        else:
            taken.add(candidates[i].digest)
            kept.append(i)
    if taken:
        for i in optional:
            if settled[i] is None and candidates[i].digest in taken:
                settled[i] = "duplicate"
    return kept


def ranked(contenders: Sequence[int], candidates: Sequence[ContextCandidate]) -> list[int]:
    """Return contenders by descending score, then in source order, then as in their source."""
    # Contenders come in source order and in rank order within a source, and the sort is stable.
    scores = list(map(attrgetter("score"), candidates))
    return sorted(contenders, key=scores.__getitem__, reverse=True)


def twin_groups(ranking: Sequence[int], candidates: Sequence[ContextCandidate]) -> dict[int, int]:
    """Return a group number for each of the ranked candidates whose text another one shares."""
    everything = list(map(attrgetter("digest"), candidates))
    if len(set(everything)) == len(everything):
        return {}
    digests = [everything[i] for i in ranking]
    groups: dict[str | None, list[int]] = {}
    for i, digest in zip(ranking, digests, strict=True):
        groups.setdefault(digest, []).append(i)
    shared = [members for members in groups.values() if len(members) > 1]
    return {i: number for number, members in enumerate(shared) for i in members}
