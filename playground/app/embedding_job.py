"""Embedding in the background: started by a button, watched by the page, stopped by another button.

torch is imported in the job's thread, so that the page stays alive meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Literal
from weakref import WeakSet

from playground.app.model_process import make_room
from playground.cancel import CancelToken
from playground.errors import CallCancelledError, EmbeddingUnavailableError
from playground.retrieval.embedding import Embedder, load_embedder
from playground.retrieval.embedding_cache import EmbeddingCache
from playground.retrieval.user_cache import cache_path
from playground.workspace import Project, VectorTable
from playground.workspace.embedding import EmbeddingProgress, embed_project

__all__ = ["EmbeddingJob", "is_embedding"]

State = Literal["loading", "embedding", "stopping", "done", "cancelled", "failed"]
_logger = logging.getLogger(__name__)
_jobs: WeakSet[EmbeddingJob] = WeakSet()


def is_embedding(project: str) -> bool:
    """Whether a session of this process embeds a project at this moment."""
    return any(job.running for job in tuple(_jobs) if job.project.name == project)


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
        self.error: EmbeddingUnavailableError | None = None
        self.vectors: VectorTable | None = None
        """What the project has afterwards; ``None`` while the run goes on and where nothing was won."""
        self._state: State = "loading"
        self._token = CancelToken()
        self._thread = threading.Thread(target=self._run, name="embedding", daemon=True)

    @property
    def state(self) -> State:
        """How far the run is.

        ``stopping`` lasts until the batch at hand is done. A model that is being loaded cannot be interrupted
        and gives nothing to keep: there the run counts as cancelled at once, and its thread ends by itself.
        """
        if self._token.cancelled and self._state in {"loading", "embedding"}:
            return "cancelled" if self._state == "loading" else "stopping"
        return self._state

    @property
    def running(self) -> bool:
        """Whether there is something to wait for."""
        return self.state in {"loading", "embedding", "stopping"}

    def start(self) -> None:
        """Begin."""
        _jobs.add(self)
        self._thread.start()

    def cancel(self) -> None:
        """Stop after the batch at hand."""
        self._token.cancel()

    def join(self, timeout: float | None = None) -> None:
        """Wait for the end."""
        self._thread.join(timeout)

    def _run(self) -> None:
        try:
            self._state = self._embed()
        except CallCancelledError:
            self._state = "cancelled"
        except EmbeddingUnavailableError as error:
            _logger.warning("Embedding is not possible: %s", error)
            self.error, self._state = error, "failed"
        except Exception as error:
            # A thread has nobody above it: what is not reported here would be lost.
            _logger.exception("Embedding failed unexpectedly.")
            self.error = EmbeddingUnavailableError(
                f"Embedding stopped: {type(error).__name__}.",
                remedy="The log of the app says more. Search by words goes on.",
                model=self.model,
            )
            self._state = "failed"

    def _embed(self) -> State:
        cache = EmbeddingCache(cache_path())
        try:
            run = embed_project(
                self.project, self._load(self.model), cache, on_progress=self._heard, signal=self._token
            )
        finally:
            cache.close()
        self.vectors = run.vectors
        return "cancelled" if run.stopped else "done"

    def _heard(self, progress: EmbeddingProgress) -> None:
        if progress.state == "embedding" and self._state == "loading":
            make_room()
        self.done, self.total = progress.done, progress.total
        # A run that was cancelled while the model was loaded has been told so, and stays it.
        if not self._token.cancelled:
            self._state = progress.state
