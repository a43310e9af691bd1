"""At which scope a source counts under a compiler that has one of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from playground.errors import InvalidInputError
from playground.memory import InMemoryMemoryStore, MemoryScope, MemorySession
from playground.sources import InMemoryChatStore, MemorySource, TranscriptSource

ADA = MemoryScope(user_id="ada")
CHAT = MemoryScope(chat_id="c")
BOB = MemoryScope(user_id="bob", chat_id="c")


def session_source() -> MemorySource:
    return MemorySource(MemorySession(InMemoryMemoryStore(), ADA))


def store_source() -> MemorySource:
    return MemorySource(store=InMemoryMemoryStore(), scope=ADA)


def transcript_source() -> TranscriptSource:
    return TranscriptSource(InMemoryChatStore(), ADA)


def test_r189_a_session_source_counts_at_the_scope_of_its_session() -> None:
    assert session_source().scope_within(CHAT) == ADA
    assert session_source().scope_within(MemoryScope()) == ADA


@pytest.mark.parametrize("make", [store_source, transcript_source])
def test_r189_a_store_or_transcript_source_counts_at_its_pinned_scope_narrowed(make: Callable[[], Any]) -> None:
    assert make().scope_within(CHAT) == MemoryScope(user_id="ada", chat_id="c")
    assert make().scope_within({"user_id": "ada", "agent_id": "x"}) == MemoryScope(user_id="ada", agent_id="x")
    assert make().scope_within(MemoryScope()) == ADA, "R187: left out is not widened"


@pytest.mark.parametrize("make", [session_source, store_source, transcript_source])
def test_r186_r189_a_scope_that_contradicts_the_pinned_one_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidInputError, match="user_id"):
        make().scope_within(BOB)
    with pytest.raises(InvalidInputError):
        make().scope_within("ada")
