"""Forgetting memories of a project so that this process keeps nothing of them either, in any session."""

from __future__ import annotations

import gc
import time
from collections.abc import Sequence

from playground.app.caches import drop_material
from playground.app.embedding_job import is_embedding
from playground.app.material import change_project
from playground.app.projects import library
from playground.digests import text_digest
from playground.errors import InvalidRequestError
from playground.memory.ranking import forget_vectors
from playground.retrieval.user_cache import forget_cached
from playground.workspace import Project
from playground.workspace.memories import Forgetting, forget_memories
from playground.workspace.samples import is_sample

__all__ = ["forget"]


def forget(name: str, record_ids: Sequence[str]) -> Forgetting:
    """Erase memories from a project, from what was kept beside it, and from this process.

    Of a sample they are erased from the session's version alone: the sample comes with the package.

    Args:
        name: The project.
        record_ids: Which memories; unknown ones are no error.

    Returns:
        What went; see ``Forgetting``.

    Raises:
        InvalidRequestError: While the project is being embedded: that run holds its texts.
        PlaygroundError: When the project or the vector cache cannot be written.
    """
    if is_embedding(name):
        raise InvalidRequestError(
            "The project is being embedded at this moment, which holds its texts.",
            remedy="Cancel the embedding, or wait for its end, and forget then.",
        )
    now = time.time_ns() // 1_000_000
    try:
        if is_sample(name):
            return _forgotten_in_session(name, record_ids, now)
        return library().forget(name, record_ids, now=now)
    finally:
        drop_material()
        gc.collect()  # values that refer to each other would stay until the next time it runs by itself


def _forgotten_in_session(name: str, record_ids: Sequence[str], now: int) -> Forgetting:
    outcomes: list[Forgetting] = []
    texts: list[str] = []

    def forgotten(project: Project) -> Project:
        gone = [record for record in project.memories if record.id in record_ids]
        texts.extend(revision.text for record in gone for revision in record.revisions)
        outcomes.append(forget_memories(project, record_ids, now=now))
        return outcomes[-1].project

    change_project(name, forgotten)
    (outcome,) = outcomes
    forget_vectors(map(text_digest, texts))
    forget_cached(outcome.vector_keys)
    return outcome
