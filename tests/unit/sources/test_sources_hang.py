"""A source that hangs holds up nobody else: not the other sources, not later queries."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.compiler.querying import query_sources
from playground.compiler.values import ContextSource, ContextSourceRequest
from playground.concurrency import run_sync
from playground.errors import SourceTimeoutError
from playground.memory import InMemoryMemoryStore, MemoryScope, MemorySession
from playground.messages import as_messages
from playground.retrieval.embedding import Progress
from playground.retrieval.index import Vectors
from playground.sources import (
    ChatRecord,
    InMemoryChatStore,
    MemorySource,
    RagSource,
    SkillRegistry,
    SkillsSource,
    TranscriptSource,
)

ADA = MemoryScope(user_id="ada")
MANY = 40  # more than the threads that the event loop's own pool has


class StuckEmbedder:
    """An embedder that waits until the test is over."""

    model_id = "stuck"
    weights_digest = "sha256:0"
    dims = 2

    def __init__(self, over: threading.Event) -> None:
        self._over = over

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        self._over.wait(30)
        return np.ones((len(texts), 2), dtype=np.float32)


@pytest.fixture
def over() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def memory(over: threading.Event) -> ContextSource:
    session = MemorySession(InMemoryMemoryStore(), ADA, embedder=StuckEmbedder(over))
    run_sync(session.remember("deploy"))
    return MemorySource(session, id="stuck")


def rag(over: threading.Event) -> ContextSource:
    return RagSource(lambda *_: over.wait(30) and [], id="stuck")


def transcript(over: threading.Event) -> ContextSource:
    chat = ChatRecord("c", ADA, as_messages([{"role": "user", "content": "deploy"}]))
    return TranscriptSource(InMemoryChatStore([chat]), ADA, embedder=StuckEmbedder(over), id="stuck")


def skills(over: threading.Event) -> ContextSource:
    registry = SkillRegistry.from_records([{"name": "deploy", "description": "Deploys.", "body": "b"}])
    return SkillsSource(registry, matcher=lambda *_: over.wait(30) and 1.0, id="stuck")


@pytest.mark.parametrize("make", [memory, rag, transcript, skills])
def test_r153_queries_that_hang_leave_threads_for_later_ones(
    make: Callable[[threading.Event], ContextSource], over: threading.Event
) -> None:
    stuck, request = make(over), ContextSourceRequest("deploy")
    sound: list[Any] = [
        RagSource(lambda *_: [{"text": "t", "index": 0, "score": 1.0}]),
        skills(_set()),
    ]

    async def many() -> list[Any]:
        for _ in range(MANY):
            (late,) = await query_sources([stuck], request, time_limit=0.01)
            assert isinstance(late.error, SourceTimeoutError)
        return list(await query_sources(sound, request, time_limit=10))

    assert [len(result.candidates) for result in run_sync(many())] == [1, 1]


def _set() -> threading.Event:
    event = threading.Event()
    event.set()
    return event
