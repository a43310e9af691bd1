"""What of a project has a vector, and how far a run of embedding is.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from playground.views.words import count, plural
from playground.workspace import Project
from playground.workspace.build_samples import embedded_texts

__all__ = ["EmbeddingView", "embedding_view", "progress_text"]


@dataclass(frozen=True, slots=True)
class EmbeddingView:
    """What has a vector."""

    model: str
    total: int
    missing: tuple[str, ...]
    """Texts without a vector."""
    sentence: tuple[tuple[str, bool], ...]
    """Text and whether it is bold."""

    @property
    def complete(self) -> bool:
        """Whether every text has a vector."""
        return not self.missing


def embedding_view(project: Project, *, model: str) -> EmbeddingView:
    """Say which of the texts that are searched have a vector of ``model``."""
    texts = embedded_texts(project)
    same = project.vectors.model_id == model
    missing = tuple(text for text in texts if not (same and text in project.vectors))
    done = len(texts) - len(missing)
    sentence = (
        (count(done), True),
        (" of ", False),
        (count(len(texts)), True),
        (f" texts have a vector of {model}.", False),
    )
    return EmbeddingView(model, len(texts), missing, sentence)


def progress_text(done: int, total: int) -> str:
    """Say how far a run is; before the first batch the model is still being loaded."""
    return f"{count(done)} of {plural(total, 'text')}" if done else "Loading the model"
