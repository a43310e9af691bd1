"""Sources refuse malformed arguments where they are made, not at the first query."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from playground.errors import InvalidInputError
from playground.memory import InMemoryMemoryStore, MemorySession
from playground.sources import (
    InMemoryChatStore,
    MemorySource,
    RagSource,
    SkillRegistry,
    SkillsSource,
    TranscriptSource,
)

SCOPE = {"user_id": "ada"}


def transcript(**options: Any) -> TranscriptSource:
    return TranscriptSource(InMemoryChatStore(), SCOPE, **options)


def memory(**options: Any) -> MemorySource:
    return MemorySource(MemorySession(InMemoryMemoryStore(), SCOPE), **options)


def skills(**options: Any) -> SkillsSource:
    return SkillsSource(SkillRegistry(), **options)


def rag(**options: Any) -> RagSource:
    return RagSource(lambda *_: [], **options)


@pytest.mark.parametrize(
    "make",
    [
        *(
            lambda weight=weight: transcript(neighbour_weight=weight)
            for weight in ("1", math.inf, math.nan, -1, None, True, 10**400)
        ),
        lambda: transcript(roles="user"),
        lambda: transcript(roles=["king"]),
        lambda: transcript(roles=5),
        lambda: transcript(exclude_chat_id=5),
        lambda: transcript(id=5),
        lambda: TranscriptSource(5, SCOPE),  # type: ignore[arg-type]
        lambda: TranscriptSource(InMemoryChatStore(), "ada"),  # type: ignore[arg-type]
        *(lambda score=score: memory(min_score=score) for score in (math.nan, "0.5", -1, 2, True)),
        lambda: memory(kinds="semantic"),
        lambda: memory(kinds=["odd"]),
        lambda: memory(id=""),
        lambda: MemorySource(5),  # type: ignore[arg-type]
        lambda: MemorySource(store=5, scope=SCOPE),  # type: ignore[arg-type]
        lambda: MemorySource(store=InMemoryMemoryStore(), scope="ada"),  # type: ignore[arg-type]
        lambda: SkillsSource([]),  # type: ignore[arg-type]
        lambda: skills(tool_name=""),
        lambda: skills(tool_name=None),
        lambda: skills(matcher=5),
        lambda: skills(id=None),
        lambda: skills(receipts=["deploy"]),
        lambda: skills(skip_standing_bodies=None),
        lambda: rag(id=""),
        lambda: rag(id=None),
        *(lambda make=make: make(required="false") for make in (memory, rag, skills, transcript)),
    ],
)
def test_a_malformed_argument_is_an_error_with_a_remedy(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        make()
    assert caught.value.remedy
