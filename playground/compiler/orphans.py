"""Orphans: records whose block left the history at a compaction, offered again beside what sources answer.

Pure. Only the latest placement of a record comes back, from the texts that the instance has retrieved; the
records compete for the budget like any other, and what does not fit is an orphan in the next step again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from playground.compiler.candidates import ContextCandidate, revision_order
from playground.compiler.values import PlacedEntry, SourceResult, TextKey

__all__ = ["kept_texts", "to_ask_again", "with_orphans"]


def to_ask_again(
    orphans: Sequence[PlacedEntry],
    results: Sequence[SourceResult],
    texts: Mapping[TextKey, ContextCandidate],
) -> tuple[PlacedEntry, ...]:
    """Return the mandatory orphans whose text is neither known nor among what the sources answered."""
    offered = {(result.source_id, c.record_id) for result in results for c in result.candidates if c.mandatory}
    return tuple(
        entry
        for entry in orphans
        if entry.mandatory and entry.text_key not in texts and (entry.source, entry.record_id) not in offered
    )


def with_orphans(
    results: Sequence[SourceResult],
    orphans: Sequence[PlacedEntry],
    texts: Mapping[TextKey, ContextCandidate],
) -> tuple[SourceResult, ...]:
    """Return the results with the orphans whose text is known among the candidates of their source.

    An orphan stays away where its source has just offered the record in that revision or a newer one. Orphans
    do not use up the source's limit.
    """
    return tuple(
        _with_known(
            result,
            [
                texts[entry.text_key]
                for entry in orphans
                if entry.source == result.source_id and entry.text_key in texts
            ],
        )
        for result in results
    )


def kept_texts(
    texts: Mapping[TextKey, ContextCandidate],
    results: Sequence[SourceResult],
    placed: Sequence[PlacedEntry],
) -> dict[TextKey, ContextCandidate]:
    """Return the texts of the latest placement of each record, so that they can come back; no others.

    Nor a text of which its source has just offered a newer revision: it is out of date, placed or not.

    Args:
        texts: Those known so far.
        results: What the sources have just offered.
        placed: Every placement, oldest first.
    """
    latest = {(entry.source, entry.record_id): entry for entry in placed}
    offered = _newest_offered(results)
    wanted = {
        entry.text_key
        for record, entry in latest.items()
        if offered.get(record, -1) <= revision_order(entry.revision)
    }
    kept = {key: text for key, text in texts.items() if key in wanted}
    for result in results:
        for candidate in result.candidates:
            key = (result.source_id, candidate.record_id, str(candidate.digest))
            if key in wanted:
                kept[key] = candidate
    return kept


def _newest_offered(results: Sequence[SourceResult]) -> dict[tuple[str, str], int]:
    newest: dict[tuple[str, str], int] = {}
    for result in results:
        for candidate in result.candidates:
            if candidate.revision is not None:
                record = (result.source_id, candidate.record_id)
                newest[record] = max(newest.get(record, -1), candidate.revision)
    return newest


def _with_known(result: SourceResult, known: Sequence[ContextCandidate]) -> SourceResult:
    offered: dict[str, int] = {}
    for candidate in result.candidates:
        order = revision_order(candidate.revision)
        offered[candidate.record_id] = max(offered.get(candidate.record_id, order), order)
    back = [one for one in known if revision_order(one.revision) > offered.get(one.record_id, -2)]
    if not back:
        return result
    merged = replace(result, candidates=(*result.candidates, *back), limit=None)
    return replace(merged, limit=_widened(merged.ranked, back, result.limit))


def _widened(
    ranked: Sequence[ContextCandidate], back: Sequence[ContextCandidate], limit: int | None
) -> int | None:
    """Return the limit under which as many of the source's own candidates are considered as before."""
    if limit is None:
        return None
    returned = set(map(id, back))
    optional = [candidate for candidate in ranked if not candidate.mandatory]
    own = 0
    for position, candidate in enumerate(optional):
        own += id(candidate) not in returned
        if own > limit:
            return position
    return len(optional)
