"""How long entries of a memory store matter, and the rule that ranks them by the tasks they belong to.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from playground.errors import InvalidInputError
from playground.values import shown

__all__ = ["Priority", "PriorityRule", "Scope", "TaskScope", "read_scope", "scope_data", "task_priority"]

PLAIN_SCOPES = ("session", "plan", "persistent")
DONE = frozenset({"completed", "failed", "cancelled", "skipped"})  # states of a task that is over

Priority = Literal["critical", "high", "normal", "low"]


@dataclass(frozen=True, slots=True)
class TaskScope:
    """The scope of an entry that belongs to tasks."""

    task_ids: tuple[str, ...]


Scope = Literal["session", "plan", "persistent"] | TaskScope

PriorityRule = Callable[[Scope, Priority], Priority]
"""Says which priority an entry that is not pinned has now, from its scope and what was asked for."""


def read_scope(scope: object) -> Scope:
    """Return a scope from its data: a name, or ``{"type": "task", "taskIds": [...]}``.

    Raises:
        InvalidInputError: For anything else.
    """
    if isinstance(scope, TaskScope):
        return scope
    if isinstance(scope, str) and scope in PLAIN_SCOPES:
        return scope  # type: ignore[return-value]  # the names are those of the type
    if isinstance(scope, Mapping) and scope.get("type") == "task":
        ids = scope.get("taskIds")
        if isinstance(ids, list | tuple) and ids and all(isinstance(task, str) for task in ids):
            return TaskScope(tuple(ids))
    raise InvalidInputError(
        f"The scope is {shown(scope)}.",
        remedy=f'Use one of {list(PLAIN_SCOPES)} or {{"type": "task", "taskIds": [...]}}.',
    )


def scope_data(scope: Scope) -> Any:
    """Return a scope as ``read_scope`` reads it."""
    return scope if isinstance(scope, str) else {"type": "task", "taskIds": list(scope.task_ids)}


def task_priority(states: Callable[[], Mapping[str, str]]) -> PriorityRule:
    """Return the rule that ranks entries by the tasks they belong to.

    Critical while one of its tasks is ``in_progress``, high while one is not over, low when all are; normal for
    the plan, high for what is persistent. An entry of the session, or of tasks that nobody knows, keeps what
    was asked for.

    Args:
        states: Returns the states of the tasks by their ids, as they are now.
    """

    def rule(scope: Scope, asked: Priority) -> Priority:
        if scope == "plan":
            return "normal"
        if scope == "persistent":
            return "high"
        known = states() if isinstance(scope, TaskScope) else {}
        found = (
            {known[task] for task in scope.task_ids if task in known} if isinstance(scope, TaskScope) else ()
        )
        if not found:
            return asked
        if "in_progress" in found:
            return "critical"
        return "low" if DONE.issuperset(found) else "high"

    return rule
