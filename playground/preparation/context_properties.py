"""What a context is set to and what it remembers: the second half of ``AgentContext``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from playground.preparation.budget import PreparationBudget
from playground.preparation.capacity import configured_window
from playground.preparation.context_state import BeforeCompaction, ContextState
from playground.preparation.items import detached
from playground.preparation.ports import CompactionStrategy, ContextPlugin
from playground.preparation.results import ContextPreparation
from playground.preparation.strategies import strategy_registry
from playground.preparation.tool_manager import ToolManager

__all__ = ["ContextProperties", "named_strategy"]


class ContextProperties:
    """Settings, parts, listeners and diagnostics. What changes a request counts as a change of the host's."""

    _state: ContextState

    @property
    def model(self) -> str:
        """The model that it prepares for; another one re-infers a window that was not given."""
        return self._state.model

    @model.setter
    def model(self, model: str) -> None:
        self._state.change(model=model)

    @property
    def system_prompt(self) -> str | None:
        """The system prompt, with its variables."""
        return self._state.system_prompt

    @system_prompt.setter
    def system_prompt(self, prompt: str | None) -> None:
        self._state.change(system_prompt=prompt)

    @property
    def strategy(self) -> CompactionStrategy:
        """What compacts; takes a registered name too."""
        return self._state.strategy

    @strategy.setter
    def strategy(self, strategy: str | CompactionStrategy) -> None:
        self._state.change(strategy=named_strategy(strategy))

    @property
    def max_context_tokens(self) -> int:
        """The configured window, in tokens; no request changes it."""
        return configured_window(self.model, self._state.settings.max_context_tokens)

    @property
    def response_reserve(self) -> int:
        """What is kept free for the answer, in tokens."""
        return self._state.settings.response_reserve

    @property
    def critical_compaction_threshold(self) -> float:
        """The share of the content capacity above which it compacts."""
        return self._state.settings.critical_compaction_threshold

    @property
    def tools(self) -> ToolManager:
        """All tools, shared with whoever runs them."""
        return self._state.tools

    @property
    def plugins(self) -> Mapping[str, ContextPlugin]:
        """The plugins by name, in the order of their registration; see ``register_plugin``."""
        return MappingProxyType(dict(self._state.plugins))

    @property
    def last_preparation(self) -> ContextPreparation | None:
        """Diagnostics of the last preparation, a copy; None before the first."""
        found = self._state.preparation
        if found is None:
            return None
        copies = {"budget": found.budget.model_copy(deep=True), "compaction": detached(found.compaction)}
        return found.model_copy(update=copies)

    @property
    def last_budget(self) -> PreparationBudget | None:
        """The cached budget, a copy; None before the first preparation, and after another model was set."""
        found = self._state.last_budget
        return None if found is None else found.model_copy(deep=True)

    def register_plugin(self, plugin: ContextPlugin) -> None:
        """Add a plugin with its tools and store.

        Raises:
            InvalidInputError: When it lacks a method.
            InvalidRequestError: When its name, or that of a tool or store, is taken; nothing was added then.
        """
        self._state.register_plugin(plugin)

    def on(self, event: str, listener: Callable[[Any], object]) -> Callable[[], None]:
        """Listen to an event; returns what ends it. See ``events.EVENTS``."""
        self._state.ensure_alive()
        return self._state.events.on(event, listener)

    def set_before_compaction_callback(self, callback: BeforeCompaction | None) -> None:
        """Have a function called, and awaited, before a strategy runs; what it raises is only logged."""
        self._state.ensure_alive()
        self._state.before_compaction = callback


def named_strategy(strategy: str | CompactionStrategy) -> CompactionStrategy:
    """Return a strategy, made anew where a registered name is given.

    Raises:
        InvalidInputError: When none has the name.
    """
    return strategy_registry().create(strategy) if isinstance(strategy, str) else strategy
