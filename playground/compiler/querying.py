"""Asking sources: all at once, bounded in time, collected in source order.

Not pure: this is where a compile meets the outside world. What a source raises becomes a failed result; a
cancelled call is never swallowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from playground.cancel import CancelToken
from playground.compiler.budget import ContextBudget
from playground.compiler.values import (
    KINDS,
    ContextCandidate,
    ContextSource,
    ContextSourceRequest,
    Kind,
    SourceResult,
)
from playground.concurrency import run_sync
from playground.errors import CallCancelledError, InvalidInputError, SourceError, SourceTimeoutError

__all__ = ["DEFAULT_TIME_LIMIT", "budget_hints", "check_sources", "query_sources", "run_sync"]

DEFAULT_TIME_LIMIT = 30.0  # seconds that one source may take
SIGNAL_SECONDS = 0.05  # how often a caller's signal is looked at while sources are asked


def check_sources(sources: Sequence[ContextSource]) -> tuple[ContextSource, ...]:
    """Return the sources as a tuple.

    Raises:
        InvalidInputError: When one lacks id, kind, required or query, two share an id, or a kind is unknown.
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
        if source.kind not in KINDS:
            raise InvalidInputError(
                f"Source {source.id!r} is of the unknown kind {source.kind!r}.", remedy=f"Use one of {KINDS}."
            )
        if source.id in seen:
            raise InvalidInputError(
                f"Two sources have the id {source.id!r}.", remedy="Give one of them another id."
            )
        seen.add(source.id)
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
) -> tuple[SourceResult, ...]:
    """Ask all sources concurrently and return one result each, in source order.

    Args:
        sources: Unique ids, see ``check_sources``.
        request: What each is asked; ``budget_tokens`` is replaced by the hint of its kind, and each source gets
            a signal of its own, which is set when nobody waits for it any more.
        hints: Tokens of each kind's share.
        time_limit: Seconds that each source may take; then it counts as failed.

    Returns:
        Status ``skipped`` for every source when the query is blank; else ``ok``, or ``failed`` with the error.

    Raises:
        CallCancelledError: When ``request.signal`` is set, before or while the sources are asked.
    """
    request.signal.raise_if_cancelled()
    if not request.query.strip():
        return tuple(_result(source, request, status="skipped") for source in sources)
    signals = [CancelToken(request.signal) for _ in sources]
    tasks = [
        asyncio.create_task(_ask(source, request, (hints or {}).get(source.kind, 0), time_limit, signal))
        for source, signal in zip(sources, signals, strict=True)
    ]
    try:
        waiting = set(tasks)
        while waiting:
            # A token may be set by any thread and wakes nobody up; it is looked at often enough.
            done, waiting = await asyncio.wait(waiting, timeout=SIGNAL_SECONDS, return_when="FIRST_EXCEPTION")
            request.signal.raise_if_cancelled()
            for task in done:
                task.result()
    finally:
        for task, signal in zip(tasks, signals, strict=True):
            if not task.done():
                signal.cancel()
                task.cancel()
    return tuple(task.result() for task in tasks)


async def _ask(
    source: ContextSource, request: ContextSourceRequest, hint: int, time_limit: float, signal: CancelToken
) -> SourceResult:
    asked = replace(request, budget_tokens=hint, signal=signal)
    limit = asyncio.timeout(time_limit)
    try:
        async with limit:
            found = await _answer(source, asked)
        return _result(source, request, candidates=_checked(source, found))
    except CallCancelledError:
        raise
    except asyncio.CancelledError:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        # Nobody cancelled this task: the source raised it, or something inside the source was cancelled.
        return _result(source, request, status="failed", error=_unexpected(source, "was cancelled from inside"))
    except Exception as error:  # noqa: BLE001  # a source may raise anything; the manifest says what
        if not limit.expired():
            return _result(source, request, status="failed", error=error)
        signal.cancel()
        late = SourceTimeoutError(
            f"Source {source.id!r} did not answer within {time_limit:g} s.",
            remedy="Raise the time limit or narrow what the source searches.",
            source_id=source.id,
        )
        return _result(source, request, status="failed", error=late)


async def _answer(source: ContextSource, asked: ContextSourceRequest) -> object:
    """Return the source's answer; what would end the event loop or this task comes as a ``SourceError``."""
    try:
        return await source.query(asked)
    except (Exception, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:
        raise _unexpected(source, f"raised {type(error).__name__}") from error


def _unexpected(source: ContextSource, what: str) -> SourceError:
    return SourceError(f"Source {source.id!r} {what}.", remedy="Mend the source.", source_id=source.id)


def _result(source: ContextSource, request: ContextSourceRequest, **fields: Any) -> SourceResult:
    return SourceResult(
        source_id=source.id,
        kind=source.kind,
        required=source.required,
        query=request.query,
        limit=request.limit,
        **fields,
    )


def _checked(source: ContextSource, found: object) -> tuple[ContextCandidate, ...]:
    if isinstance(found, Sequence) and all(isinstance(item, ContextCandidate) for item in found):
        return tuple(found)
    raise SourceError(
        f"Source {source.id!r} answered something other than a list of ContextCandidate.",
        remedy="Return a list; nothing found is an empty list.",
        source_id=source.id,
    )
