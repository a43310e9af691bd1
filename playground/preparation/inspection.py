"""What people see of a context: what it holds, and what a model would see.

Pure but for the context itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from playground.preparation.budget import PreparationBudget
from playground.preparation.context_state import ContextState
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.item_counting import item_tokens
from playground.preparation.items import Json
from playground.preparation.results import PreparedContext

__all__ = ["ContextInspection", "ContextView", "PluginInspection", "ViewedItem", "inspection", "view"]


@dataclass(frozen=True, slots=True)
class PluginInspection:
    """One plugin.

    Attributes:
        name: Its name.
        compactable: Whether a strategy may shrink it.
        contents: What it shows of itself for inspection.
    """

    name: str
    compactable: bool
    contents: Any


@dataclass(frozen=True, slots=True)
class ContextInspection:
    """What a context holds; nothing of it once the context was destroyed.

    Attributes:
        available: Whether the context is alive.
        model: Its model.
        strategy: The name of its strategy.
        system_prompt: The prompt, with its variables.
        plugins: The plugins, in order.
        tools: Names of the tools that are shown.
        messages: How many items the history has.
        current_input: How many items wait for an answer.
        budget: The cached budget, or an estimate.
    """

    available: bool = False
    model: str = ""
    strategy: str = ""
    system_prompt: str | None = None
    plugins: tuple[PluginInspection, ...] = ()
    tools: tuple[str, ...] = ()
    messages: int = 0
    current_input: int = 0
    budget: PreparationBudget | None = None


@dataclass(frozen=True, slots=True)
class ViewedItem:
    """One item of a prepared request.

    Attributes:
        item: The item.
        tokens: What it counts.
    """

    item: Json
    tokens: int


@dataclass(frozen=True, slots=True)
class ContextView:
    """What a model would see; nothing once the context was destroyed.

    Attributes:
        available: Whether the context is alive.
        items: The request's items, in order.
        tools: The definitions.
        budget: What the request counts.
    """

    available: bool = False
    items: tuple[ViewedItem, ...] = ()
    tools: tuple[Json, ...] = ()
    budget: PreparationBudget | None = None


def inspection(state: ContextState, budget: PreparationBudget) -> ContextInspection:
    """Return what a context holds."""
    plugins = [
        PluginInspection(plugin.name, plugin.is_compactable(), plugin.get_contents())
        for plugin in state.plugins.values()
    ]
    return ContextInspection(
        available=True,
        model=state.model,
        strategy=state.strategy.name,
        system_prompt=state.system_prompt,
        plugins=tuple(plugins),
        tools=tuple([name for name in state.tools.names if state.tools.enabled(name)]),
        messages=len(state.conversation.history),
        current_input=len(state.conversation.current_input),
        budget=budget,
    )


def view(prepared: PreparedContext, estimator: PreparationEstimator) -> ContextView:
    """Return what a model would see of a prepared request."""
    developer, *items = prepared.input
    first = ViewedItem(developer, prepared.budget.system_message_tokens)
    rest = [ViewedItem(item, item_tokens(item, estimator)[0]) for item in items]
    return ContextView(
        available=True, items=(first, *rest), tools=tuple(prepared.tools), budget=prepared.budget
    )
