"""Synchronous calls of a context, and what it told its listeners."""

from __future__ import annotations

import asyncio
from typing import Any

from playground.preparation import AgentContext, PreparationBudget, PreparedContext
from playground.preparation.events import EVENTS
from playground.preparation.items import Json
from tests.preparation import StubStrategy, bare, pad

Told = list[tuple[str, Any]]


def prepare(context: AgentContext, **options: Any) -> PreparedContext:
    return asyncio.run(context.prepare(**options))


def budget_of(context: AgentContext) -> PreparationBudget:
    return asyncio.run(context.calculate_budget())


def listening(context: AgentContext) -> Told:
    """Return a list that grows by name and value of every event."""
    told: Told = []
    for name in EVENTS:
        context.on(name, lambda value, name=name: told.append((name, value)))  # type: ignore[misc]
    return told


def stubbed(**settings: Any) -> tuple[AgentContext, StubStrategy]:
    """A bare context with a strategy that records its calls."""
    stub = StubStrategy()
    return bare(**{"strategy": stub, **settings}), stub


def filled(total: int, **settings: Any) -> tuple[AgentContext, StubStrategy]:
    """A bare, stubbed context whose request counts exactly ``total`` tokens."""
    context, stub = stubbed(**settings)
    context.add_input_items([pad(total - budget_of(context).total_used)])
    return context, stub


def traces(context: AgentContext) -> Json:
    """What a failure must leave as it was: revision, diagnostics, cached budget, current input."""
    last = context.last_preparation
    return {
        "preparation": last and last.to_json(),
        "budget": context.last_budget and context.last_budget.to_json(),
        "input": context.current_input,
    }
