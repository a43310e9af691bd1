"""Asking sources: all at once, bounded in time, collected in source order.

Not pure: this is where a compile meets the outside world. What a source raises becomes a failed result; a
cancelled call is never swallowed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

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
from playground.errors import CallCancelledError, InvalidInputError, SourceError, SourceTimeoutError

__all__ = ["DEFAULT_TIME_LIMIT", "budget_hints", "check_sources", "query_sources", "run_sync"]

DEFAULT_TIME_LIMIT = 30.0  # seconds that one source may take
_Result = TypeVar("_Result")


def check_sources(sources: Sequence[ContextSource]) -> tuple[ContextSource, ...]:
    """Return the sources as a tuple.

    Raises:
        InvalidInputError: When two share an id, or one is of an unknown kind.
    """
    seen: set[str] = set()
    for source in sources:
        if source.kind not in KINDS:
            raise InvalidInputError(
                f"Source {source.id!r} is of the unknown kind {source.kind!r}.", remedy=f"Use one of {KINDS}."
            )
        if source.id in seen:
            raise InvalidInputError(
                f"Two sources have the id {source.id!r}.", remedy="Give one of them another id."
            )
        seen.add(source.id)
    return tuple(sources)


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
        request: What each is asked; ``budget_tokens`` is replaced by the hint of its kind.
        hints: Tokens of each kind's share.
        time_limit: Seconds that each source may take; then its signal is set and it counts as failed.

    Returns:
        Status ``skipped`` for every source when the query is blank; else ``ok``, or ``failed`` with the error.

    Raises:
        CallCancelledError: When ``request.signal`` is set.
    """
    request.signal.raise_if_cancelled()
    if not request.query.strip():
        return tuple(_result(source, request, status="skipped") for source in sources)
    asked = (_ask(source, request, (hints or {}).get(source.kind, 0), time_limit) for source in sources)
    return tuple(await asyncio.gather(*asked))


def run_sync(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine from synchronous code and return its result.

    All of them run on one private event-loop thread: ``asyncio.run`` fails where a loop runs already, as in
    Jupyter, and locks made on one loop break on another.
    """
    return asyncio.run_coroutine_threadsafe(coroutine, _private_loop()).result()


async def _ask(
    source: ContextSource, request: ContextSourceRequest, hint: int, time_limit: float
) -> SourceResult:
    signal = CancelToken(request.signal)
    asked = replace(request, budget_tokens=hint, signal=signal)
    try:
        found = await asyncio.wait_for(source.query(asked), time_limit)
        return _result(source, request, candidates=_checked(source, found))
    except CallCancelledError:
        raise
    except TimeoutError:
        signal.cancel()
        error = SourceTimeoutError(
            f"Source {source.id!r} did not answer within {time_limit:g} s.",
            remedy="Raise the time limit or narrow what the source searches.",
            source_id=source.id,
        )
        return _result(source, request, status="failed", error=error)
    except Exception as error:  # noqa: BLE001  # a source may raise anything; the manifest says what
        return _result(source, request, status="failed", error=error)


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


_loop_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None


def _private_loop() -> asyncio.AbstractEventLoop:
    global _loop  # noqa: PLW0603  # one loop a process, started with the first call
    with _loop_lock:
        if _loop is None:
            loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="playground-loop", daemon=True).start()
            _loop = loop
        return _loop
