"""Asking sources: all at once, bounded in time, collected in source order.

Not pure: this is where a compile meets the outside world. What a source raises becomes a failed result; a
call that its caller cancelled is never swallowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from playground.cancel import CancelToken
from playground.compiler.budget import ContextBudget
from playground.compiler.values import (
    KINDS,
    WORKING_MEMORY_SOURCE,
    ContextCandidate,
    ContextSource,
    ContextSourceRequest,
    Kind,
    ScopedSource,
    SourceResult,
)
from playground.concurrency import in_thread, outcome_within, until_done
from playground.errors import (
    CallCancelledError,
    InvalidInputError,
    SourceError,
    SourceTimeoutError,
    ends_execution,
)
from playground.scope import MemoryScope
from playground.values import as_float, shown

__all__ = ["DEFAULT_TIME_LIMIT", "budget_hints", "check_sources", "query_sources"]

DEFAULT_TIME_LIMIT = 30.0  # seconds that one source may take
MOST_CANDIDATES = 1_000_000  # that one source may answer; a bound on time and memory, not on use


def check_sources(
    sources: Sequence[ContextSource], scope: MemoryScope | None = None
) -> tuple[ContextSource, ...]:
    """Return the sources as a tuple.

    Args:
        sources: In the order in which they are asked.
        scope: What they will be asked to stay within, checked where a source says what it is pinned to.

    Raises:
        InvalidInputError: When one lacks id, kind, required or query, two share an id, a kind is unknown, or
            the scope contradicts what a source is pinned to.
    """
    if not isinstance(sources, Iterable):
        raise InvalidInputError("The sources are not a list.", remedy="Pass a list of sources.")
    seen: set[str] = set()
    checked = tuple(sources)
    for source in checked:
        if not isinstance(source, ContextSource) or not callable(source.query):
            raise InvalidInputError(
                f"A {type(source).__name__} is no source.", remedy="Give it id, kind, required and query."
            )
        if not isinstance(source.id, str) or not source.id:
            raise InvalidInputError(
                f"The id of a {type(source).__name__} is {shown(source.id)}.", remedy="Give a non-empty string."
            )
        if not isinstance(source.required, bool):
            raise InvalidInputError(
                f"The required flag of source {source.id!r} is {shown(source.required)}.",
                remedy="Give True or False.",
            )
        if source.id == WORKING_MEMORY_SOURCE:
            raise InvalidInputError(
                f"A source has the id {source.id!r}, which names working memory.", remedy="Give it another id."
            )
        if source.kind not in KINDS:
            raise InvalidInputError(
                f"Source {source.id!r} is of the unknown kind {shown(source.kind)}.",
                remedy=f"Use one of {KINDS}.",
            )
        if source.id in seen:
            raise InvalidInputError(
                f"Two sources have the id {source.id!r}.", remedy="Give one of them another id."
            )
        seen.add(source.id)
        if scope is not None and isinstance(source, ScopedSource):
            source.scope_within(scope)
    return checked


def budget_hints(budget: ContextBudget, *, context_tokens: int, tail_tokens: int = 0) -> dict[Kind, int]:
    """Return the tokens of each kind's whole share, as a hint for its sources; floors, never negative."""
    rest = max(0, context_tokens - tail_tokens)
    return {kind: int(share * rest) for kind, share in budget.shares.items()}


async def query_sources(
    sources: Sequence[ContextSource],
    request: ContextSourceRequest,
    *,
    hints: Mapping[Kind, int] | None = None,
    time_limit: float = DEFAULT_TIME_LIMIT,
    even_blank: bool = False,
) -> tuple[SourceResult, ...]:
    """Ask all sources concurrently and return one result each, in source order.

    Args:
        sources: Unique ids, see ``check_sources``.
        request: What each is asked; ``budget_tokens`` is replaced by the hint of its kind, and each source gets
            a signal of its own, which is set when nobody waits for it any more. Where there is accounting, its
            ``request_id`` gets the source's id at its end.
        hints: Tokens of each kind's share.
        time_limit: Seconds that each source may take; then it counts as failed.
        even_blank: Ask although the query is blank: for records that no query has to find.

    Returns:
        Status ``skipped`` for every source when the query is blank; else ``ok``, or ``failed`` with the error.

    Raises:
        CallCancelledError: When ``request.signal`` is set, before or while the sources are asked.
        Exception: What a source raised, where its ``fatal_execution`` is set.
    """
    request.signal.raise_if_cancelled()
    if not request.query.strip() and not even_blank:
        return tuple(_result(source, request, status="skipped") for source in sources)
    signals = [CancelToken(request.signal) for _ in sources]
    tasks = [
        asyncio.create_task(
            _ask(source, request, (hints or {}).get(source.kind, 0), as_float(time_limit), signal)
        )
        for source, signal in zip(sources, signals, strict=True)
    ]
    try:
        await until_done(tasks, request.signal)
    finally:
        for task, signal in zip(tasks, signals, strict=True):
            if not task.done():
                signal.cancel()
                task.cancel()
    return tuple(task.result() for task in tasks)


async def _ask(
    source: ContextSource, request: ContextSourceRequest, hint: int, time_limit: float, signal: CancelToken
) -> SourceResult:
    asked = replace(
        request, budget_tokens=hint, signal=signal, accounting=_accounting_of(source, request.accounting)
    )
    found: Sequence[ContextCandidate] | None = None
    error: BaseException | None
    try:
        found, error = await outcome_within(time_limit, _answer, source, asked)
    except TimeoutError:
        signal.cancel()
        error = SourceTimeoutError(
            f"Source {source.id!r} did not answer within {time_limit:g} s.",
            remedy="Raise the time limit or narrow what the source searches.",
            source_id=source.id,
        )
    if error is None:
        try:
            return _result(source, request, candidates=found)
        except Exception as unusable:  # noqa: BLE001  # candidates that were never properly made
            error = unusable
    # A source may say that it was cancelled though nobody asked for that: then it has failed.
    if ends_execution(error) or (isinstance(error, CallCancelledError) and request.signal.cancelled):
        raise error
    if not isinstance(error, Exception):
        error = _unexpected(source, error)
    return _result(source, request, status="failed", error=error)


async def _answer(source: ContextSource, asked: ContextSourceRequest) -> Sequence[ContextCandidate]:
    found: object = await source.query(asked)
    # Any other sequence may be made while it is read, or never end.
    if isinstance(found, Sequence) and not isinstance(found, list | tuple):
        found = await in_thread(list, islice(found, MOST_CANDIDATES + 1))
    if not isinstance(found, list | tuple) or not all(isinstance(item, ContextCandidate) for item in found):
        raise SourceError(
            f"Source {source.id!r} answered something other than a list of ContextCandidate.",
            remedy="Return a list; nothing found is an empty list.",
            source_id=source.id,
        )
    if len(found) > MOST_CANDIDATES:
        raise SourceError(
            f"Source {source.id!r} answered {len(found):,} candidates or more.",
            remedy=f"Answer at most {MOST_CANDIDATES:,}; the request says how many are wanted.",
            source_id=source.id,
        )
    return found


def _accounting_of(source: ContextSource, accounting: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return the accounting with a request id of the source's own: one of each query, equal on a replay."""
    if accounting is None or "request_id" not in accounting:
        return accounting
    return {**accounting, "request_id": f"{accounting['request_id']}/{source.id}"}


def _unexpected(source: ContextSource, error: BaseException) -> SourceError:
    """Return what stands for an error that is none of a source's: nobody outside may take it for its own."""
    cancelled = isinstance(error, asyncio.CancelledError)
    what = "was cancelled from inside" if cancelled else f"raised {type(error).__name__}"
    unexpected = SourceError(f"Source {source.id!r} {what}.", remedy="Mend the source.", source_id=source.id)
    unexpected.__cause__ = error
    return unexpected


def _result(source: ContextSource, request: ContextSourceRequest, **fields: Any) -> SourceResult:
    return SourceResult(
        source_id=source.id,
        kind=source.kind,
        required=source.required,
        query=request.query,
        limit=request.limit,
        **fields,
    )
