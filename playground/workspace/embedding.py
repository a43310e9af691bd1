"""Embedding a project: one run over all of its texts that have no vector yet.

The app's job and the command line are this function, with a thread around it and a progress bar below it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from playground.cancel import CancelToken
from playground.errors import EmbeddingUnavailableError
from playground.retrieval.embedding import Embedder
from playground.retrieval.embedding_cache import CachedEmbedder, EmbeddingCache, vector_key
from playground.retrieval.index import Vectors, are_unit
from playground.workspace.additions import with_vectors
from playground.workspace.project import Project
from playground.workspace.texts import all_texts
from playground.workspace.vectors import VectorTable

__all__ = [
    "BATCH",
    "EmbeddingProgress",
    "EmbeddingRun",
    "embed_project",
    "embedded_texts",
    "unheld_keys",
    "with_embedding",
]

BATCH = 16  # texts between two looks at the signal; about a second on one slow core


@dataclass(frozen=True, slots=True)
class EmbeddingProgress:
    """How far a run is.

    Attributes:
        state: ``loading`` until the first vector is there, then ``embedding``.
        done: Texts that have a vector now.
        total: Texts that had none.
        part: How much of the work that is, 0 to 1: long texts take longer than short ones.
    """

    state: Literal["loading", "embedding"]
    done: int
    total: int
    part: float


@dataclass(frozen=True, slots=True)
class EmbeddingRun:
    """What a run gave.

    Attributes:
        vectors: What the project has afterwards; ``None`` where nothing was won.
        done: Texts that have a vector now and had none.
        total: Texts that had none.
        computed: How many of them the model was asked for; the rest was in the cache.
    """

    vectors: VectorTable | None
    done: int
    total: int
    computed: int

    @property
    def stopped(self) -> bool:
        """Whether the signal ended the run before every text had its vector."""
        return self.done < self.total


def embedded_texts(project: Project) -> tuple[str, ...]:
    """Return every text whose vector a project ships, each once; blank ones have none. See ``all_texts``."""
    return tuple(dict.fromkeys(text for text in all_texts(project) if text.strip()))


def embed_project(
    project: Project,
    embedder: Embedder,
    cache: EmbeddingCache,
    *,
    on_progress: Callable[[EmbeddingProgress], None] | None = None,
    signal: CancelToken | None = None,
) -> EmbeddingRun:
    """Give every text of a project a vector. O(texts) calls of the model; none for texts that it has seen.

    The run gives vectors and not a project, because material may be added to it meanwhile.

    Args:
        project: What is embedded. Vectors it has of the same model and weights stay.
        embedder: The model.
        cache: Keeps each batch as soon as it is made, so that a run which is cut off goes on where it stopped.
        on_progress: Called when it is known what there is to do, when the model is there, and after each batch.
        signal: Stops the run after the batch at hand; what was made by then is in the result.

    Raises:
        CallCancelledError: When the signal came before the first batch: nothing was won.
        EmbeddingUnavailableError: When the model cannot be loaded, or gives what is no unit vector.
    """
    signal = signal or CancelToken()
    tell = on_progress or (lambda _: None)
    model = CachedEmbedder(embedder, cache)
    texts = embedded_texts(project)
    table = project.vectors
    same = (table.model_id, table.weights_digest) == (model.model_id, model.weights_digest)
    known, rows = table.known(texts) if same else ([], np.empty((0, 0), dtype=np.float32))
    here = set(known)
    # Texts of like length share a batch, so that little padding is computed.
    missing = sorted((text for at, text in enumerate(texts) if at not in here), key=len, reverse=True)
    tell(EmbeddingProgress("loading", 0, len(missing), 0.0))
    if missing:
        # The shortest text alone: its vector says that the model is there.
        model.embed(missing[-1:], signal=signal)
    signal.raise_if_cancelled()
    tell(EmbeddingProgress("embedding", 0, len(missing), 0.0))
    fresh = _batches(model, missing, tell, signal)
    done = sum(map(len, fresh))
    stopped = done < len(missing)
    vectors = None
    # Half of another model's vectors must not push out a whole set; a cache keeps them all the same.
    if not stopped or (fresh and (same or not len(table))):
        vectors = VectorTable.of(
            [*(texts[at] for at in known), *missing[:done]],
            _joined([*([rows] if known else []), *fresh], model.model_id),
            model_id=model.model_id,
            weights_digest=model.weights_digest,
        )
    return EmbeddingRun(vectors, done, len(missing), model.computed)


def with_embedding(project: Project, vectors: VectorTable) -> Project:
    """Give a project the vectors of a run that began before its latest changes.

    Only vectors of texts that it still holds join it: what was forgotten during the run stays forgotten. Those
    that it had of the same model stay.

    Args:
        project: As it is now.
        vectors: What the run gave.
    """
    texts = embedded_texts(project)
    own = project.vectors
    same = (own.model_id, own.weights_digest) == (vectors.model_id, vectors.weights_digest)
    fresh, rows = vectors.known(texts)
    others = [text for text in texts if text not in vectors] if same else []
    stayed, stayed_rows = own.known(others)
    parts = [part for part in (rows, stayed_rows) if len(part)]
    return with_vectors(
        project,
        VectorTable.of(
            [*(texts[at] for at in fresh), *(others[at] for at in stayed)],
            _joined(parts, vectors.model_id),
            model_id=vectors.model_id,
            weights_digest=vectors.weights_digest,
        ),
    )


def unheld_keys(project: Project, vectors: VectorTable) -> tuple[bytes, ...]:
    """Return the keys of those vectors that no text of the project has: erase them in the run's cache too."""
    held = {vector_key(text) for text in embedded_texts(project)}
    return tuple(key for key in vectors.digests if key not in held)


def _batches(
    model: Embedder, texts: Sequence[str], tell: Callable[[EmbeddingProgress], None], signal: CancelToken
) -> list[Vectors]:
    made: list[Vectors] = []
    length, left = sum(map(len, texts)), len(texts)
    covered = 0
    for start in range(0, len(texts), BATCH):
        if signal.cancelled:
            break
        some = texts[start : start + BATCH]
        # Without the signal: a batch that was begun is kept.
        made.append(_sound(model.embed(some), model.model_id))
        covered += sum(map(len, some))
        left -= len(some)
        tell(EmbeddingProgress("embedding", len(texts) - left, len(texts), covered / length))
    return made


def _sound(rows: Vectors, model_id: str) -> Vectors:
    if not are_unit(rows):
        raise EmbeddingUnavailableError(
            f"{model_id} gave a vector that is not finite or not of length 1.",
            remedy="Choose another model, or search lexically.",
            model=model_id,
        )
    return rows


def _joined(parts: Sequence[Vectors], model_id: str) -> Vectors:
    if len({part.shape[1] for part in parts}) > 1:
        raise EmbeddingUnavailableError(
            f"{model_id} gives vectors of another length than when the known ones were made.",
            remedy="Clear the vector cache and embed again, or search lexically.",
            model=model_id,
        )
    return np.concatenate(parts) if parts else np.empty((0, 0), dtype=np.float32)
