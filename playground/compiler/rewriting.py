"""Rewriting a query before the sources are asked, by whatever function the host gave.

Not pure: the function may ask a model. It is optional, so that its failure costs a warning and nothing else.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any

from playground.cancel import CancelToken
from playground.compiler.querying import until_done
from playground.compiler.refresh import QUERY_LENGTH, RewriteQuery
from playground.concurrency import in_thread
from playground.errors import CallCancelledError, ends_execution

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
    task = asyncio.create_task(_call(rewrite, query, time_limit))
    try:
        await until_done([task], signal)
        found = task.result()
    except TimeoutError:
        return query, f"no answer within {time_limit:g} s"
    except CallCancelledError:
        raise
    except Exception as error:
        if ends_execution(error):
            raise
        return query, f"{type(error).__name__} was raised"
    finally:
        task.cancel()
    if not isinstance(found, str):
        return query, f"the answer is a {type(found).__name__}"
    return found.strip()[:QUERY_LENGTH], None


async def _call(rewrite: RewriteQuery, query: str, time_limit: float) -> Any:
    try:
        async with asyncio.timeout(time_limit):
            if inspect.iscoroutinefunction(rewrite) or inspect.iscoroutinefunction(type(rewrite).__call__):
                return await rewrite(query)
            found = await in_thread(rewrite, query)
            return await found if inspect.isawaitable(found) else found
    except Exception:
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise RuntimeError("The rewriting was cancelled from inside.") from error
    except BaseException as error:
        # Nothing that the function raises may end the event loop that others use.
        raise RuntimeError(f"The rewriting raised {type(error).__name__}.") from error
