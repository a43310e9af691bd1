"""Rewriting a query before the sources are asked, by whatever function the host gave.

Not pure: the function may ask a model. It is optional, so that its failure costs a warning and nothing else.
"""

from __future__ import annotations

import asyncio

from playground.cancel import CancelToken
from playground.compiler.refresh import QUERY_LENGTH, RewriteQuery
from playground.concurrency import called, outcome_within, until_done
from playground.errors import ends_execution
from playground.values import as_float

__all__ = ["QUERY_REWRITE_FAILED", "rewritten"]

QUERY_REWRITE_FAILED = "context-query-rewrite-failed"


async def rewritten(
    query: str, rewrite: RewriteQuery, *, signal: CancelToken, time_limit: float
) -> tuple[str, str | None]:
    """Return the rewritten query, cut to ``QUERY_LENGTH``, and why it stayed as it was, if it did.

    Args:
        query: Not blank.
        rewrite: A plain function runs in a thread.
        signal: Ends the waiting.
        time_limit: Seconds that the function may take.

    Raises:
        CallCancelledError: When ``signal`` is set meanwhile.
        Exception: What the function raised, where its ``fatal_execution`` is set.
    """
    limit = as_float(time_limit)
    # The task below is cancelled and left behind; a deaf function keeps only a task of its own.
    task = asyncio.create_task(outcome_within(limit, called, rewrite, query))
    try:
        await until_done([task], signal)
        found, error = task.result()
    except TimeoutError:
        return query, f"no answer within {limit:g} s"
    finally:
        task.cancel()
    if error is not None:
        if ends_execution(error):
            raise error
        return query, f"{type(error).__name__} was raised"
    if not isinstance(found, str):
        return query, f"the answer is a {type(found).__name__}"
    return str.strip(found)[:QUERY_LENGTH], None
