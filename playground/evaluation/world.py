"""What the sources of the long task know, at each of its steps."""

from __future__ import annotations

from playground.compiler.values import ContextSource
from playground.concurrency import run_sync
from playground.evaluation.embedder import HashingEmbedder
from playground.evaluation.notes import SCOPE, STEP_MS
from playground.evaluation.task import LongTask, Step
from playground.memory import InMemoryMemoryStore, MemorySession
from playground.messages import Message
from playground.retrieval.chunking import Chunk
from playground.retrieval.index import ExactIndex
from playground.retrieval.search import ChunkSearch
from playground.scope import MemoryScope
from playground.sources import MemorySource, RagSource, SkillsSource, TranscriptSource
from playground.sources.chats import ChatRecord, InMemoryChatStore
from playground.sources.skill_files import SkillRegistry

__all__ = ["World"]


class World:
    """Memories that are revised and forgotten as the script says; documents, past chats and skills that stay.

    Time is the script's: one minute a step. Every source is required, so that none can fail or time out and
    change a figure unseen.
    """

    def __init__(self, task: LongTask) -> None:
        self._task = task
        self._embedder = HashingEmbedder()
        self._now = 0
        scope = MemoryScope(user_id=SCOPE)
        self._memory = MemorySession(
            InMemoryMemoryStore(), scope, embedder=self._embedder, clock=lambda: self._now
        )
        for record in task.of_kind("memory"):
            run_sync(self._memory.remember(record.texts[0][1], id=record.id))
        self.sources: tuple[ContextSource, ...] = (
            MemorySource(self._memory, required=True),
            RagSource(self._document_search(), required=True),
            TranscriptSource(self._chats(scope), scope, embedder=self._embedder, required=True),
            SkillsSource(SkillRegistry(task.skills), required=True),
        )

    def advance(self, step: Step) -> tuple[str, ...]:
        """Let happen what the script says before a step; return the ids of what was forgotten."""
        self._now = step.index * STEP_MS
        for name in step.revised:
            record = self._task.records[name]
            revision = [since for since, _ in record.texts].index(step.index)
            run_sync(self._memory.revise(name, record.texts[revision][1], expected_revision=revision))
        for name in step.forgotten:
            run_sync(self._memory.forget(name))
        return step.forgotten

    def _document_search(self) -> ChunkSearch:
        chunks = [
            Chunk(record.texts[0][1], index, 0, len(record.texts[0][1]))
            for index, record in enumerate(self._task.of_kind("document"))
        ]
        vectors = self._embedder.embed([chunk.text for chunk in chunks])
        index = ExactIndex([str(chunk.index) for chunk in chunks], vectors)
        return ChunkSearch(
            chunks, index=index, embed_query=lambda query: self._embedder.embed([query])[0], fusion="convex"
        )

    def _chats(self, scope: MemoryScope) -> InMemoryChatStore:
        chats: dict[str, list[Message]] = {}
        for record in self._task.of_kind("chat"):
            said = chats.setdefault(record.id.removeprefix("chat/").partition("#")[0], [])
            said.append(Message("assistant" if len(said) % 2 else "user", record.texts[0][1]))
        return InMemoryChatStore(ChatRecord(name, scope, tuple(said)) for name, said in chats.items())
