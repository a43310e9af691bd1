"""Embedding in the background: started by a button, watched by the page, stopped by another button.

torch is imported in the job's thread, so that the page stays alive meanwhile.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from playground.cancel import CancelToken
from playground.errors import CallCancelledError, EmbeddingUnavailableError
from playground.retrieval.embedding import Embedder, load_embedder
from playground.retrieval.embedding_cache import CachedEmbedder, EmbeddingCache
from playground.workspace import Project, VectorTable
from playground.workspace.build_samples import embedded_texts

__all__ = ["EmbeddingJob", "cache_path"]

_logger = logging.getLogger(__name__)


class EmbeddingJob:
    """One run over all texts of a project that have no vector yet.

    Vectors are kept on disk as they are made: a run that was cancelled goes on where it stopped. The run gives
    vectors and not a project, because material may have been added meanwhile.

    Args:
        project: What is embedded.
        model: Name or folder of the model.
        load: Finds the model by that name; runs in the job's thread.
    """

    def __init__(
        self, project: Project, model: str, *, load: Callable[[str], Embedder] = load_embedder
    ) -> None:
        self.project = project
        self.model = model
        self._load = load
        self.done = 0
        self.total = 0
        self.state: Literal["running", "done", "cancelled", "failed"] = "running"
        self.error: EmbeddingUnavailableError | None = None
        self.vectors: VectorTable | None = None
        self._token = CancelToken()
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def cancel(self) -> None:
        """Stop after the batch at hand."""
        self._token.cancel()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            self.vectors = self._embedded()
            self.state = "done"
        except CallCancelledError:
            self.state = "cancelled"
        except EmbeddingUnavailableError as error:
            _logger.warning("Embedding is not possible: %s", error.to_json())
            self.error, self.state = error, "failed"
        except Exception as error:
            # A thread has nobody above it: what is not reported here would be lost.
            _logger.exception("Embedding failed unexpectedly.")
            self.error = EmbeddingUnavailableError(
                f"Embedding stopped: {type(error).__name__}.",
                remedy="The log of the app says more. Search by words goes on.",
                model=self.model,
            )
            self.state = "failed"

    def _embedded(self) -> VectorTable:
        texts = embedded_texts(self.project)
        cache = EmbeddingCache(cache_path())
        try:
            embedder = CachedEmbedder(self._load(self.model), cache)
            table = self.project.vectors
            same = (table.model_id, table.weights_digest) == (embedder.model_id, embedder.weights_digest)
            known, rows = table.known(texts) if same else ([], None)
            here = set(known)
            missing = [text for at, text in enumerate(texts) if at not in here]
            self.total = len(missing)
            fresh = embedder.embed(missing, progress=self._report, signal=self._token)
            vectors = fresh if rows is None or not known else np.concatenate([rows, fresh])
            ordered = [*(texts[at] for at in known), *missing]
            return VectorTable.of(
                ordered, vectors, model_id=embedder.model_id, weights_digest=embedder.weights_digest
            )
        finally:
            cache.close()

    def _report(self, done: int, total: int) -> None:
        self.done, self.total = done, total


def cache_path() -> Path:
    """Return the file that keeps vectors between runs, in the user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(root) / "context-playground" / "vectors.sqlite"
