"""A project as the four sources of a compile."""

from __future__ import annotations

from typing import TYPE_CHECKING

from playground.compiler.values import ContextSource
from playground.memory import InMemoryMemoryStore, MemorySession
from playground.retrieval.search import Fusion, SearchMode
from playground.sources import (
    InMemoryChatStore,
    MemorySource,
    RagSource,
    SkillRegistry,
    SkillsSource,
    TranscriptSource,
)
from playground.sources.transcript import NEIGHBOUR_WEIGHT
from playground.workspace.project import Project
from playground.workspace.searching import chunk_search, project_embedder, skill_matcher

if TYPE_CHECKING:
    from playground.retrieval.embedding import Embedder

__all__ = ["project_sources"]


def project_sources(
    project: Project,
    embedder: Embedder | None = None,
    mode: SearchMode = "hybrid",
    *,
    fusion: Fusion = "rrf",
    neighbour_weight: float = NEIGHBOUR_WEIGHT,
    embed_chunks: bool = True,
) -> list[ContextSource]:
    """Return the sources ``memory``, ``rag``, ``transcript`` and ``skills``, in this order.

    Args:
        project: What they read.
        embedder: Embeds questions and records that came without vectors. Without it the vectors that came with
            the project are used; a question that has none is searched by words, which each candidate's
            ``match`` says and ``search_plan`` says beforehand.
        mode: ``hybrid``, ``dense`` or ``lexical``. Memories and skills are ranked by meaning in the first two.
        fusion: How ``hybrid`` joins two rankings of documents.
        neighbour_weight: How much a past message's neighbours count; see ``TranscriptSource``.
        embed_chunks: Whether ``embedder`` also embeds chunks of documents that came without vectors.

    A project whose scope sets no field has no memory and no transcript source: they would read everybody's.
    """
    own = None if mode == "lexical" else project_embedder(project, embedder)
    sources: list[ContextSource] = []
    if project.scope.fields():
        store = InMemoryMemoryStore(project.memories, project.forgotten)
        sources.append(MemorySource(MemorySession(store, project.scope, embedder=own)))
    chunks = chunk_search(project, embedder=embedder, mode=mode, fusion=fusion, embed_chunks=embed_chunks)
    sources.append(RagSource(chunks))
    if project.scope.fields():
        sources.append(
            TranscriptSource(
                InMemoryChatStore(project.chats),
                project.scope,
                exclude_chat_id=project.chat_id or None,
                neighbour_weight=neighbour_weight,
                embedder=own,
                mode="dense" if mode == "dense" else "hybrid",
            )
        )
    sources.append(SkillsSource(SkillRegistry(project.skills), matcher=skill_matcher(own)))
    return sources
