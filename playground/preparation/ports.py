"""What others put into a context: plugins, stores, strategies, storages, clocks and signals.

The protocols say what is asked of each. An optional method is looked for by name, so that older ones keep
working.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from playground.errors import CallCancelledError
from playground.preparation.results import ConsolidationResult, SessionSummary

__all__ = [
    "BasePlugin",
    "Clock",
    "CompactionStrategy",
    "ContextPlugin",
    "ContextStorage",
    "StoreAction",
    "StoreHandler",
    "StoreSchema",
    "is_cancelled",
    "raise_if_cancelled",
]

Clock = Callable[[], int]
"""Returns the time in milliseconds since 1970."""


@runtime_checkable
class ContextPlugin(Protocol):
    """Something that adds to the developer message and may bring tools. ``BasePlugin`` has the defaults.

    A plugin may also have ``on_before_prepare(snapshot)``, which is called once a preparation and never
    awaited, and the methods of a ``StoreHandler``.
    """

    name: str

    def get_instructions(self) -> str | None:
        """Return what the model is told of it."""

    async def get_content(self) -> str | None:
        """Return what the model sees of it now; None or an empty text shows nothing."""

    def get_contents(self) -> Any:
        """Return what it holds, for inspection."""

    def get_token_size(self) -> int:
        """Return what it believes that its content counts; nothing relies on it."""

    def get_instructions_token_size(self) -> int:
        """Return what it believes that its instructions count; nothing relies on it."""

    def is_compactable(self) -> bool:
        """Whether ``compact`` may be called."""

    async def compact(self, target: int) -> int:
        """Give up about ``target`` tokens of content; return those really given up."""

    def get_tools(self) -> Sequence[Any]:
        """Return the tools that it brings."""

    def destroy(self) -> None:
        """Let go of everything."""

    def get_state(self) -> Any:
        """Return JSON-ready data from which ``restore_state`` makes the same again."""

    def restore_state(self, state: Any) -> None:
        """Become what ``get_state`` returned."""


class BasePlugin:
    """A plugin that shows nothing and does nothing; subclass it and override what you need."""

    name: str = ""

    def get_instructions(self) -> str | None:
        """Return no instructions."""
        return None

    async def get_content(self) -> str | None:
        """Return no content."""
        return None

    def get_contents(self) -> Any:
        """Return nothing for inspection."""
        return None

    def get_token_size(self) -> int:
        """Return 0; nothing relies on it."""
        return 0

    def get_instructions_token_size(self) -> int:
        """Return 0; nothing relies on it."""
        return 0

    def is_compactable(self) -> bool:
        """Whether ``compact`` may be called: no."""
        return False

    async def compact(self, target: int) -> int:  # noqa: ARG002  # for those who override it
        """Give up nothing."""
        return 0

    def get_tools(self) -> Sequence[Any]:
        """Return no tools."""
        return ()

    def destroy(self) -> None:
        """Let go of nothing."""

    def get_state(self) -> Any:
        """Return no state."""
        return {}

    def restore_state(self, state: Any) -> None:
        """Ignore a state."""


@dataclass(frozen=True, slots=True)
class StoreAction:
    """Something that a store can do beyond the four common tools.

    Attributes:
        name: What the model calls it.
        description: One line, for the model.
        parameters: Its parameters by name, each with a line for the model.
        destructive: Whether it is refused without ``confirm: true``.
    """

    name: str
    description: str
    parameters: Mapping[str, str] = field(default_factory=dict)
    destructive: bool = False


@dataclass(frozen=True, slots=True)
class StoreSchema:
    """How a store presents itself to the model.

    Attributes:
        store_id: What tools call it, ``notes`` for example.
        display_name: What headings call it.
        description: What it is.
        usage_hint: When to use it.
        actions: What ``store_action`` offers.
    """

    store_id: str
    display_name: str
    description: str
    usage_hint: str = ""
    actions: tuple[StoreAction, ...] = ()


@runtime_checkable
class StoreHandler(Protocol):
    """A store behind the ``store_*`` tools; a plugin that has these methods is one.

    It may also have ``async store_action(action, params)``.
    """

    def get_store_schema(self) -> StoreSchema:
        """Return how the store presents itself now."""

    async def store_get(self, key: str | None = None) -> Mapping[str, Any]:
        """Return an entry, or without a key what the store returns for none."""

    async def store_set(self, key: str, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Write an entry."""

    async def store_delete(self, key: str) -> Mapping[str, Any]:
        """Delete an entry."""

    async def store_list(self, filter: Mapping[str, Any] | None = None) -> Mapping[str, Any]:  # noqa: A002
        """List entries."""


@runtime_checkable
class CompactionStrategy(Protocol):
    """Decides what goes when a request is over the critical line.

    It may also have ``display_name``, ``description`` and ``required_plugins``.
    """

    @property
    def name(self) -> str:
        """What the registry calls it."""

    @property
    def threshold(self) -> float:
        """The share that sets how far to reclaim, 0 to 1; read at every use."""

    async def compact(self, context: Any, target_to_free: int) -> Any:
        """Free about so many tokens through the context's methods; return a ``CompactionResult``."""

    async def consolidate(self, context: Any) -> ConsolidationResult:
        """Tidy up after a run."""


@runtime_checkable
class ContextStorage(Protocol):
    """Where sessions are kept, as text; the last writer wins."""

    async def save(self, session_id: str, text: str) -> None:
        """Write a session whole; it is acknowledged once it is durable."""

    async def load(self, session_id: str) -> str | None:
        """Return a session's text, None if there is none."""

    async def delete(self, session_id: str) -> bool:
        """Remove a session with its journal; whether there was one."""

    async def list(self) -> tuple[SessionSummary, ...]:
        """List the sessions, by id."""

    async def append_journal(self, session_id: str, lines: Sequence[str]) -> None:
        """Append lines to a session's journal, all or none."""

    async def read_journal(self, session_id: str) -> tuple[str, ...]:
        """Return the lines of a session's journal, oldest first."""


def is_cancelled(signal: Any) -> bool:
    """Whether a signal is set: a token's ``cancelled``, as a value or a method, or an event's ``is_set()``."""
    if signal is None:
        return False
    cancelled = getattr(signal, "cancelled", None)
    if cancelled is None:
        cancelled = getattr(signal, "is_set", None)
    return bool(cancelled() if callable(cancelled) else cancelled)


def raise_if_cancelled(signal: Any) -> None:
    """Raise once a signal is set.

    Raises:
        CallCancelledError: When it is.
    """
    if is_cancelled(signal):
        raise CallCancelledError("The call was cancelled.")
