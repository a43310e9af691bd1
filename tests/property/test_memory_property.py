from __future__ import annotations

import asyncio
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from playground.memory import InMemoryMemoryStore, MemoryScope, MemorySession

WORDS = st.sampled_from(["deploy", "region", "Friday", "card", "limit", "漢字", "émigré"])
TEXTS = st.lists(WORDS, min_size=1, max_size=6).map(" ".join)


@given(st.lists(TEXTS, min_size=1, max_size=12), TEXTS, st.integers(0, 5), st.randoms())
def test_recall_does_not_depend_on_the_order_of_remembering(
    texts: list[str], query: str, k: int, random: Random
) -> None:
    numbered = list(enumerate(texts))
    shuffled = list(numbered)
    random.shuffle(shuffled)

    async def recalled(order: list[tuple[int, str]]) -> list[tuple[str, float]]:
        session = MemorySession(InMemoryMemoryStore(), MemoryScope(user_id="ada"), clock=lambda: 1)
        for number, text in order:
            await session.remember(text, id=f"m{number}")
        found = await session.recall(query, k)
        assert all(0 < memory.score <= 1 for memory in found)
        return [(memory.id, memory.score) for memory in found]

    first = asyncio.run(recalled(numbered))
    assert first == asyncio.run(recalled(shuffled))
    assert len(first) <= k
    assert first == sorted(first, key=lambda pair: (-pair[1], pair[0]))
