from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, TypeVar

from playground.compiler.values import ContextCandidate, ContextSource, ContextSourceRequest
from playground.messages import as_messages

T = TypeVar("T")


def run(awaitable: Awaitable[T]) -> T:
    async def main() -> T:
        return await awaitable

    return asyncio.run(main())


def ask(
    source: ContextSource, query: str = "How do I deploy?", *, messages: Sequence[Any] = (), **fields: Any
) -> list[ContextCandidate]:
    request = ContextSourceRequest(query=query, messages=as_messages(messages), **fields)
    return list(run(source.query(request)))
