"""The ways to bring context into the requests of a long task that are compared, by name.

Only what they place, where and when differs. A strategy lives through one play.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

from playground.compiler.refresh import DEFAULT_CONTEXT_REFRESH
from playground.evaluation.compiler_host import CompilerDefaultPasses, CompilerHost, CompilerRestarted
from playground.evaluation.hosts import FirstMessage, LastMessages, SystemMessage, SystemMessageWithState
from playground.evaluation.moments import Setting, Strategy
from playground.evaluation.world import World

__all__ = ["DESCRIPTIONS", "LABELS", "STRATEGIES", "StrategyName", "make_strategy"]

StrategyName = Literal[
    "compiler",
    "compiler-restarted",
    "compiler-default-passes",
    "first-message",
    "system-message",
    "system-message-with-state",
    "last-messages",
]
STRATEGIES: tuple[StrategyName, ...] = get_args(StrategyName)
LABELS: dict[StrategyName, str] = {
    "compiler": "Compiler",
    "compiler-restarted": "Compiler, restarted",
    "compiler-default-passes": f"Compiler, {DEFAULT_CONTEXT_REFRESH.max_passes} passes",
    "first-message": "First message",
    "system-message": "System message",
    "system-message-with-state": "System and state",
    "last-messages": "Last messages",
}
DESCRIPTIONS: dict[StrategyName, str] = {
    "compiler": "records are appended when a refresh is due, working memory ends each request",
    "compiler-restarted": "the same, with a new process every tenth step, from recorded state and history",
    "compiler-default-passes": "the same, with the default limit of retrievals",
    "first-message": "records are retrieved once, into the first message; no working memory",
    "system-message": "records are retrieved for each request, into its system message; no working memory",
    "system-message-with-state": "the same, with working memory in the system message too",
    "last-messages": "no records, no working memory and no summary: the last messages that fit",
}
_MAKERS: dict[StrategyName, Callable[[Setting, World], Strategy]] = {
    "compiler": CompilerHost,
    "compiler-restarted": CompilerRestarted,
    "compiler-default-passes": CompilerDefaultPasses,
    "first-message": FirstMessage,
    "system-message": SystemMessage,
    "system-message-with-state": SystemMessageWithState,
    "last-messages": LastMessages,
}


def make_strategy(name: StrategyName, setting: Setting, world: World) -> Strategy:
    """Return a strategy at the start of a play."""
    return _MAKERS[name](setting, world)
