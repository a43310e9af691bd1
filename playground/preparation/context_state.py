"""What a context is made of: settings, conversation, plugins, tools, and what the last preparation left.

The operations work on this one object; ``AgentContext`` is its public face. Not thread-safe but for the lock
that lets one operation in at a time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from playground.errors import ContextBusyError, InvalidRequestError
from playground.preparation.budget import PreparationBudget
from playground.preparation.capacity import configured_window, effective_window
from playground.preparation.composition import Developer
from playground.preparation.context_settings import ContextSettings
from playground.preparation.conversation import Conversation
from playground.preparation.events import Events
from playground.preparation.hooks import cancel_all
from playground.preparation.items import Item
from playground.preparation.journal import EntryKind, HistoryJournal
from playground.preparation.plugins import Plugins
from playground.preparation.ports import Clock, CompactionStrategy, ContextPlugin
from playground.preparation.results import ContextPreparation, ContextPrepareOptions, ContextSnapshot
from playground.preparation.tool_manager import ToolManager
from playground.values import whole_number

__all__ = ["BeforeCompaction", "ContextState", "Selected"]

_log = logging.getLogger(__name__)

BeforeCompaction = Callable[[Any], Awaitable[object] | object]


@dataclass(frozen=True, slots=True)
class Selected:
    """What must be known later of the request that was selected last.

    Attributes:
        developer: Its developer message.
        input_items: How many of its items were current input.
        options: The same tools and request options again, as a consolidation counts them.
    """

    developer: Developer
    input_items: int
    options: ContextPrepareOptions


class ContextState:
    """Everything that a context holds.

    Attributes:
        settings: What the host configured.
        conversation: History and current input; its counter also counts changes of what is here.
        tools: The tools, also those that plugins brought.
        plugins: The plugins by name.
        events: The listeners.
        before_compaction: Is awaited before a strategy runs.
        hook_tasks: What asynchronous hooks still do.
        preparation: Diagnostics of the last preparation.
        selected: What else is known of it.
        last_budget: The budget of the last preparation, as long as it is one of this model.
        revision: How many preparations succeeded.
        journal: What came in and is in no storage yet.
        session_id: The session that was last saved or loaded.
        agent_state: What an agent keeps beside it.
    """

    def __init__(self, settings: ContextSettings) -> None:
        self.settings = settings
        self.estimator = settings.estimator
        self.conversation = Conversation(settings.estimator)
        self.tools = ToolManager()
        self.plugins = Plugins(self.tools)
        self.events = Events()
        self.before_compaction: BeforeCompaction | None = None
        self.hook_tasks: set[asyncio.Future[object]] = set()
        self.preparation: ContextPreparation | None = None
        self.selected: Selected | None = None
        self.last_budget: PreparationBudget | None = None
        self.revision = 0
        self.journal = HistoryJournal()
        self.session_id: str | None = None
        self.agent_state: Any = None
        self._destroyed = False
        self._operation: str | None = None
        self._lock = threading.Lock()

    @property
    def model(self) -> str:
        """The owner's model."""
        return self.settings.model

    @property
    def system_prompt(self) -> str | None:
        """The system prompt, with its variables."""
        return self.settings.system_prompt

    @property
    def strategy(self) -> CompactionStrategy:
        """The strategy that compacts."""
        return self.settings.strategy

    @property
    def clock(self) -> Clock:
        """The clock, see ``now``."""
        return self.now

    @property
    def destroyed(self) -> bool:
        """Whether the context was destroyed."""
        return self._destroyed

    def change(self, **settings: Any) -> None:
        """Change settings; counts as a change of the host's.

        Raises:
            InvalidInputError: When one is malformed; nothing has changed then.
        """
        self.ensure_alive()
        changed = replace(self.settings, **settings)
        if changed.model != self.settings.model:
            self.last_budget = None
        self.settings = changed
        self.conversation.bump()

    def register_plugin(self, plugin: ContextPlugin) -> None:
        """Add a plugin; counts as a change of the host's. See ``Plugins.register``."""
        self.ensure_alive()
        self.plugins.register(plugin)
        self.conversation.bump()

    def ensure_alive(self) -> None:
        """Raise once the context was destroyed.

        Raises:
            InvalidRequestError: When it was.
        """
        if self._destroyed:
            raise InvalidRequestError("The context was destroyed.", remedy="Make another one.")

    @contextmanager
    def exclusive(self, operation: str) -> Iterator[None]:
        """Hold the context for one operation.

        Raises:
            ContextBusyError: At once, when another one holds it.
        """
        self.ensure_alive()
        with self._lock:
            if self._operation is not None:
                raise ContextBusyError(operation=self._operation)
            self._operation = operation
        try:
            yield
        finally:
            with self._lock:
                self._operation = None

    def now(self) -> int:
        """Return the clock's time in milliseconds.

        Raises:
            InvalidInputError: When the clock returns no whole number.
        """
        return whole_number(self.settings.clock(), "The clock's time")

    def window(self, *, request_model: str | None = None, provider: object = None) -> int:
        """Return the window that counts for a request, in tokens; see ``effective_window``."""
        explicit = self.settings.max_context_tokens
        return effective_window(
            configured=configured_window(self.model, explicit),
            explicit=explicit is not None,
            owner_model=self.model,
            request_model=request_model,
            provider=provider,
        )

    def variables(self) -> Mapping[str, str | None]:
        """Return what a system prompt may name."""
        settings = self.settings
        return {"AGENT_ID": settings.agent_id, "MODEL": settings.model, "USER_ID": settings.user_id}

    def snapshot(self) -> ContextSnapshot:
        """Return the conversation as it stands, as copies."""
        held = self.conversation
        return ContextSnapshot(
            messages=tuple([item.out() for item in held.history]),
            current_input=tuple([item.out() for item in held.current_input]),
        )

    def record(self, kind: EntryKind, items: Iterable[Item]) -> None:
        """Tell the journal of items that came in; without a storage there is none."""
        if self.settings.storage is not None:
            self.journal.record(kind, items, turn=self.conversation.turn, at=self.now())

    def take_up(self, history: Iterable[Item], *, turn: int) -> None:
        """Put a stored history in place of everything here; diagnostics are forgotten."""
        self.conversation.clear()
        self.conversation.replace_history(history, host=True)
        self.conversation.turn, self.conversation.last_thinking = turn, None
        self.journal.restart()
        self.forget_preparation()

    def forget_preparation(self) -> None:
        """Forget diagnostics and cached budget; revisions go on counting."""
        self.preparation = self.selected = self.last_budget = None

    def destroy(self) -> None:
        """Let go of everything, once; what a plugin raises is logged."""
        if self._destroyed:
            return
        self._destroyed = True
        cancel_all(self.hook_tasks)
        for plugin in self.plugins.values():
            try:
                plugin.destroy()
            except Exception as error:  # noqa: BLE001  # a plugin may raise anything
                _log.warning("destroy of the plugin %s raised %s.", plugin.name, type(error).__name__)
        self.plugins.clear()
        self.conversation.clear()
        self.forget_preparation()
        self.events.clear()
