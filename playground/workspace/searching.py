"""How a project's records are found for a question: with vectors where they are at hand, else by words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from playground.cancel import CancelToken
from playground.errors import EmbeddingUnavailableError
from playground.retrieval.corpus import search_text
from playground.retrieval.index import ExactIndex, VectorIndex, Vectors
from playground.retrieval.search import ChunkSearch, Fusion, SearchMode
from playground.sources import Skill
from playground.sources.skills import Matcher, lexical_overlap
from playground.workspace.project import Project
from playground.workspace.texts import skill_text

if TYPE_CHECKING:
    from playground.retrieval.embedding import Embedder, Progress

__all__ = [
    "ProjectEmbedder",
    "SearchPlan",
    "chunk_search",
    "project_embedder",
    "search_plan",
    "skill_matcher",
]


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How a query will be searched.

    Attributes:
        mode: What really happens.
        notice: Why it is not what was asked for, and what to do; empty when it is.
    """

    mode: SearchMode
    notice: str = ""


class ProjectEmbedder:
    """Answers from the project's own vectors first and asks the model only for other texts.

    Without a model an unknown text raises ``EmbeddingUnavailableError``. Vectors of another model, or of other
    weights, are left aside. torch is not loaded while all texts are known.
    """

    def __init__(self, project: Project, embedder: Embedder | None = None) -> None:
        table = project.vectors
        self._table = table if embedder is None or _same_model(project, embedder) else type(table)()
        self._embedder = embedder

    @property
    def model_id(self) -> str:
        """The model's name."""
        return self._embedder.model_id if self._embedder else self._table.model_id

    @property
    def weights_digest(self) -> str:
        """The model's weights."""
        return self._embedder.weights_digest if self._embedder else self._table.weights_digest

    @property
    def dims(self) -> int:
        """Numbers a vector."""
        return self._table.dims or (self._embedder.dims if self._embedder else 0)

    def knows(self, text: str) -> bool:
        """Whether the text's vector is at hand without a model."""
        return text in self._table

    def forget(self, texts: Sequence[str]) -> int:
        """Drop the vectors of these texts where the model under it keeps any, and return how many went.

        Those that came with the project stay: they are a file that is saved with its texts.
        """
        stored = getattr(self._embedder, "forget", None)
        return 0 if stored is None else int(stored(texts))

    def embed(
        self, texts: Sequence[str], *, progress: Progress | None = None, signal: CancelToken | None = None
    ) -> Vectors:
        """Embed texts; see ``Embedder.embed``."""
        known, rows = self._table.known(texts)
        if len(known) == len(texts):
            if progress is not None:
                progress(len(texts), len(texts))
            return rows
        if self._embedder is None:
            raise EmbeddingUnavailableError(
                "No embedding model is loaded and the project has no vector of this text.",
                remedy="Load the embedding model, or search lexically.",
                model=self._table.model_id,
            )
        here = set(known)
        missing = [at for at in range(len(texts)) if at not in here]

        def counted(done: int, _total: int) -> None:
            if progress is not None:
                progress(len(known) + done, len(texts))

        fresh = self._embedder.embed([texts[at] for at in missing], progress=counted, signal=signal)
        vectors = np.empty((len(texts), fresh.shape[1]), dtype=np.float32)
        vectors[missing] = fresh
        if known:
            vectors[known] = rows
        return vectors


def project_embedder(project: Project, embedder: Embedder | None = None) -> ProjectEmbedder | None:
    """Return what embeds a project's texts, or ``None`` when it has neither vectors nor a model."""
    return ProjectEmbedder(project, embedder) if len(project.vectors) or embedder is not None else None


def search_plan(
    project: Project,
    query: str,
    *,
    embedder: Embedder | None = None,
    mode: SearchMode = "hybrid",
    embed_chunks: bool = True,
) -> SearchPlan:
    """Say how ``query`` would be searched, without searching and without loading a model.

    Args:
        project: Whose records are searched.
        query: What the sources are asked: ``project.query(question)``.
        embedder: The model, if one may be used.
        mode: What was asked for.
        embed_chunks: See ``chunk_search``.
    """
    if mode == "lexical":
        return SearchPlan("lexical")
    own = project_embedder(project, embedder)
    if own is None or not (embedder is not None or own.knows(query)):
        return SearchPlan(
            "lexical",
            "Searched by words only: this question has no vector yet. Load the embedding model to search by "
            "meaning too.",
        )
    if embedder is None or not embed_chunks:
        return SearchPlan(mode, _lacking(project, mode))
    return SearchPlan(mode)


def chunk_search(
    project: Project,
    *,
    embedder: Embedder | None = None,
    mode: SearchMode = "hybrid",
    fusion: Fusion = "rrf",
    embed_chunks: bool = True,
) -> ChunkSearch:
    """Return the search over a project's chunks; indexes are built once a project.

    Args:
        project: Whose chunks are searched.
        embedder: Embeds the query, and chunks that have no vector yet; use a ``CachedEmbedder`` so that it
            happens once.
        mode: ``hybrid``, ``dense`` or ``lexical``.
        fusion: How ``hybrid`` joins its two rankings.
        embed_chunks: ``False`` leaves chunks without a vector to search by words: embedding many of them takes
            longer than an answer may.
    """
    own = project_embedder(project, embedder)

    def embed_query(query: str) -> Vectors | None:
        return None if own is None else own.embed([query])[0]

    index = _index(project, own, embedder, embed_chunks) if mode != "lexical" else None
    return ChunkSearch(
        project.chunks,
        index=index,
        embed_query=embed_query,
        mode=mode,
        fusion=fusion,
        lexical=project.chunk_words,
    )


def skill_matcher(own: ProjectEmbedder | None) -> Matcher:
    """Return what ranks skills: the cosine clipped at 0 where vectors are at hand, else shared words.

    Args:
        own: The project's embedder; ``None`` ranks by words.
    """
    if own is None:
        return lexical_overlap

    @lru_cache(maxsize=1)
    def query_vector(query: str) -> Vectors | None:
        try:
            vector: Vectors = own.embed([query])[0]
        except EmbeddingUnavailableError:
            return None
        return vector

    def match(query: str, skill: Skill) -> float:
        wanted = query_vector(query)
        if wanted is None:
            return lexical_overlap(query, skill)
        return min(1.0, max(0.0, float(own.embed([skill_text(skill)])[0] @ wanted)))

    return match


def _lacking(project: Project, mode: SearchMode) -> str:
    """Say how many texts need a vector, and how many chunks that concerns: a text may stand in several."""
    texts = [search_text(chunk) for chunk in project.chunks]
    without = [text for text in texts if text not in project.vectors]
    if not without:
        return ""
    different = len(set(without))
    needs = "text still needs" if different == 1 else "texts still need"
    found = "not found by meaning alone" if mode == "dense" else "found by words only"
    return (
        f"{different:,} {needs} a vector: {len(without):,} of {len(texts):,} chunks "
        f"{'is' if len(without) == 1 else 'are'} {found} until then."
    )


def _index(
    project: Project, own: ProjectEmbedder | None, embedder: Embedder | None, embed_chunks: bool
) -> VectorIndex | None:
    if own is None:
        return None
    same = embedder is None or _same_model(project, embedder)
    if not embed_chunks or embedder is None:
        return project.chunk_vectors if same and len(project.chunk_vectors) else None
    if same and len(project.chunk_vectors) == len(project.chunks):
        return project.chunk_vectors
    texts = [search_text(chunk) for chunk in project.chunks]
    return ExactIndex([str(chunk.index) for chunk in project.chunks], own.embed(texts)) if texts else None


def _same_model(project: Project, embedder: Embedder) -> bool:
    table = project.vectors
    return (table.model_id, table.weights_digest) == (embedder.model_id, embedder.weights_digest)
