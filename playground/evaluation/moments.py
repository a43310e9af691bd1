"""What a host sees at a step, what it makes of it, and what is the same for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from playground.compiler.budget import ContextBudget
from playground.compiler.manifest import ContextManifest
from playground.evaluation.task import Step
from playground.messages import Message
from playground.models import ModelSpec
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["Moment", "Sent", "Setting", "Strategy"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What is the same for all strategies."""

    model: ModelSpec
    budget: ContextBudget
    candidates_per_source: int
    max_passes: int
    """Of the compiler that is not held to the default."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One step, as a host sees it just before the model call.

    Attributes:
        step: The step of the script.
        history: All messages so far, already shortened where they had to be.
        notes: Working memory, for strategies that show it.
        changed: Whether the user wrote or a memory changed, which makes the host ask for a refresh.
        forgotten: Whether a memory was forgotten just before.
    """

    step: Step
    history: tuple[Message, ...]
    notes: WorkingMemorySnapshot
    changed: bool
    forgotten: bool


@dataclass(frozen=True, slots=True)
class Sent:
    """What a strategy made of a moment.

    Attributes:
        request: The messages that are sent.
        history: The history once the call succeeded; the answer follows.
        lasting: How many of the request's first messages the strategy means to send again as they are.
        added_tokens: Estimate of what it added to this request.
        retrieved: Whether sources were asked.
        manifest: The compiler's, for strategies that use it.
    """

    request: tuple[Message, ...]
    history: tuple[Message, ...]
    lasting: int
    added_tokens: int
    retrieved: bool
    manifest: ContextManifest | None = None


class Strategy(Protocol):
    """Shortens a history, takes forgotten records out of it, and prepares each request."""

    def shorten(self, history: tuple[Message, ...]) -> tuple[Message, ...]:
        """Return a history that leaves room in the window."""

    def forget(self, history: tuple[Message, ...], record_ids: Sequence[str]) -> tuple[Message, ...]:
        """Return a history without what the strategy knows to hold these records."""

    def prepare(self, moment: Moment) -> Sent:
        """Return the request of one step."""
