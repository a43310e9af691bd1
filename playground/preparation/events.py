"""What a context tells its listeners, in the order in which it happens.

A listener cannot change what is returned, and what it raises is logged.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from playground.callbacks import call_quietly
from playground.errors import InvalidInputError
from playground.preparation.budget import PreparationBudget
from playground.preparation.results import OversizedInput, RolloverResult
from playground.values import shown

__all__ = [
    "EVENTS",
    "BudgetEvent",
    "CompactionStarting",
    "ContextCleared",
    "ContextCompacted",
    "ContextPrepared",
    "Events",
    "InputReplaced",
    "OversizedEvent",
    "RolledOver",
]


@dataclass(frozen=True, slots=True)
class BudgetEvent:
    """``budget:updated``, ``budget:warning`` and ``budget:critical``; the time is in milliseconds."""

    budget: PreparationBudget
    timestamp: int


@dataclass(frozen=True, slots=True)
class CompactionStarting:
    """``compaction:starting``: the budget before it, freshly counted; the time is in milliseconds."""

    budget: PreparationBudget
    target_tokens_to_free: int
    timestamp: int


@dataclass(frozen=True, slots=True)
class ContextCompacted:
    """``context:compacted``: what a strategy did, also one that raised afterwards."""

    tokens_freed: int
    log: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContextPrepared:
    """``context:prepared``: a request was selected."""

    budget: PreparationBudget
    compacted: bool


@dataclass(frozen=True, slots=True)
class OversizedEvent:
    """``input:oversized``: the current input was refused or cut."""

    result: OversizedInput


@dataclass(frozen=True, slots=True)
class RolledOver:
    """``context:rolled_over``: older history became a summary; the reason is the host's."""

    result: RolloverResult
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class InputReplaced:
    """``input:replaced``: a current input made way before it was part of an answer; its messages' ids."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContextCleared:
    """``context:cleared``: the host emptied the conversation."""

    reason: str | None


EVENTS: dict[str, type[Any]] = {
    "budget:updated": BudgetEvent,
    "budget:warning": BudgetEvent,
    "budget:critical": BudgetEvent,
    "context:prepared": ContextPrepared,
    "compaction:starting": CompactionStarting,
    "context:compacted": ContextCompacted,
    "input:oversized": OversizedEvent,
    "context:rolled_over": RolledOver,
    "input:replaced": InputReplaced,
    "context:cleared": ContextCleared,
}
"""The events by name, with the value that comes with each."""


class Events:
    """Listeners by event, called in the order in which they were added."""

    __slots__ = ("_listeners",)

    def __init__(self) -> None:
        self._listeners: dict[str, dict[object, Callable[[Any], object]]] = {}

    def on(self, name: str, listener: Callable[[Any], object]) -> Callable[[], None]:
        """Add a listener; return a function that takes it away again, once.

        Raises:
            InvalidInputError: For an event that there is not, or a listener that cannot be called.
        """
        if not isinstance(name, str) or name not in EVENTS:
            raise InvalidInputError(
                f"No event is called {shown(name)}.", remedy=f"Use one of {sorted(EVENTS)}."
            )
        if not callable(listener):
            raise InvalidInputError(f"A listener is {shown(listener)}.", remedy="Pass a function.")
        listeners = self._listeners.setdefault(name, {})
        key = object()  # the same function may listen twice
        listeners[key] = listener

        def remove() -> None:
            listeners.pop(key, None)

        return remove

    def emit(self, name: str, value: Any) -> None:
        """Call the listeners of an event; see ``call_quietly`` for what they may raise."""
        for listener in tuple(self._listeners.get(name, {}).values()):
            call_quietly(listener, value)

    def clear(self) -> None:
        """Forget all listeners."""
        self._listeners.clear()
