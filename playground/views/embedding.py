"""What of a project has a vector, and how far a run of embedding is.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from playground.retrieval.corpus import search_text
from playground.views.load_report import REPORT
from playground.views.notices import Notice, NoticeAction
from playground.views.words import Sentence, count, plural
from playground.workspace import Project
from playground.workspace.embedding import embedded_texts

__all__ = ["EmbeddingView", "cache_text", "embedding_view", "progress_text", "stopped_notice"]

MEGABYTE = 1_000_000  # bytes


@dataclass(frozen=True, slots=True)
class EmbeddingView:
    """What has a vector."""

    model: str
    total: int
    missing: tuple[str, ...]
    """Texts without a vector."""
    sentence: Sentence
    """Text and whether it is bold."""

    @property
    def complete(self) -> bool:
        """Whether every text has a vector."""
        return not self.missing


def embedding_view(project: Project, *, model: str) -> EmbeddingView:
    """Say which of the texts that are searched have a vector of ``model``, and what the others concern."""
    texts = embedded_texts(project)
    same = project.vectors.model_id == model
    missing = tuple(text for text in texts if not (same and text in project.vectors))
    if not missing:
        sentence: Sentence = (
            ("All ", False),
            (count(len(texts)), True),
            (f" texts have a vector of {model}.", False),
        )
    else:
        sentence = (
            (count(len(missing)), True),
            (" of ", False),
            (count(len(texts)), True),
            (f" texts still {'needs' if len(missing) == 1 else 'need'} a vector of {model}", False),
            *_concerned(project, missing),
            (".", False),
        )
    return EmbeddingView(model, len(texts), missing, sentence)


def progress_text(state: str, done: int, total: int) -> str:
    """Say what a run does now and how far it is.

    Args:
        state: ``loading``, ``embedding`` or ``stopping``.
        done: Texts that have a vector now.
        total: Texts that needed one.
    """
    if state == "loading":
        return "Loading the model: once, about 10 seconds"
    so_far = f"{count(done)} of {plural(total, 'text')}"
    return f"Stopping after this batch… {so_far}" if state == "stopping" else f"Embedding: {so_far}"


def stopped_notice(done: int, total: int) -> Notice:
    """Return the notice of a run that was cancelled."""
    actions = (NoticeAction("Dismiss", REPORT, None, mends=False),)
    if not done:
        return Notice("info", "Embedding stopped", (("No text was embedded.", False),), actions)
    sentence = (
        (count(done), True),
        (" of ", False),
        (plural(total, "text"), True),
        (" have a vector now and keep it. Embed goes on with the rest.", False),
    )
    return Notice("info", "Embedding stopped", sentence, actions)


def cache_text(path: str, size: int) -> str:
    """Say where vectors are kept between runs, and how much there is."""
    if not size:
        return f"Vectors will be kept in {path} on this computer."
    return f"Vectors are kept in {path} on this computer: {max(0.1, size / MEGABYTE):,.1f} MB."


def _concerned(project: Project, missing: tuple[str, ...]) -> Sentence:
    """Say how many chunks that is: one text may stand in several, and not every text is a chunk."""
    without = frozenset(missing)
    chunks = sum(search_text(chunk) in without for chunk in project.chunks)
    if not chunks:
        return ()
    return (
        (", which concerns ", False),
        (count(chunks), True),
        (f" of {plural(len(project.chunks), 'chunk')}", False),
    )
