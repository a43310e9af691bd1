"""Refresh: when the sources are asked again, and what they are asked.

Pure functions of the step, the state and the history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from playground.compiler.manifest import Refresh
from playground.compiler.placement import is_compiler_block
from playground.messages import COMPACTION_SUMMARY, Message, is_summary, text_of
from playground.values import RecordedValue, whole_number
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = [
    "COMPACTION_SUMMARY",
    "DEFAULT_CONTEXT_REFRESH",
    "QUERY_LENGTH",
    "ContextRefresh",
    "LastRefresh",
    "RewriteQuery",
    "build_query",
    "due_reason",
]

QUERY_LENGTH = 2000  # code points of a query at most


def _count(value: object) -> int:
    return whole_number(value, "A refresh setting")


Count = Annotated[int, BeforeValidator(_count), Field(ge=1)]
Number = Annotated[int, BeforeValidator(_count)]

RewriteQuery = Callable[[str], Any]
"""``rewrite_query(query) -> str``, plain or async."""


class ContextRefresh(RecordedValue):
    """How often the sources are asked."""

    min_steps: Count = 2
    """Model steps since the last retrieval, of whatever cause, before a changed task causes one, at least 1."""
    max_passes: Count = 6
    """Retrievals in one run, at least 1."""
    candidates_per_source: Count = 16
    """What each source is asked for, at least 1."""
    rewrite_query: RewriteQuery | None = Field(default=None, exclude=True)
    """Makes a better query of each, by a model for example; none by default. A blank answer asks nobody."""


class LastRefresh(RecordedValue):
    """The last retrieval: when it was and which task was active."""

    step: Number
    """Its model step."""
    active_task_id: str | None = None
    """The active task then, or when a refresh was last used up at the limit; no task is a value too."""


# A quarter of a 200,000-token window holds six full default budgets, and sixteen chunks of 512 tokens fill one.
DEFAULT_CONTEXT_REFRESH = ContextRefresh()


def due_reason(
    *,
    last: LastRefresh | None,
    step: int,
    active_task_id: str | None,
    requested: bool,
    redacted: bool = False,
    min_steps: int,
) -> Refresh | None:
    """Return why a refresh is due, or ``None``; of several reasons the first that stands here.

    Only a changed task is bound by ``min_steps``.
    """
    if redacted:
        return "redacted"
    if last is None:
        return "initial"
    if requested:
        return "host-request"
    if active_task_id != last.active_task_id and step - last.step >= min_steps:
        return "task-changed"
    return None


def build_query(messages: Sequence[Message], working_memory: WorkingMemorySnapshot | None) -> str:
    """Return the active task's title and the latest user text, on two lines, cut to ``QUERY_LENGTH``.

    The latest user text is that of the last user message with text in it that is neither a compiler's block
    nor a summary that compaction wrote. Empty parts are left out; nothing at all gives the empty string.
    """
    task = working_memory.active_task if working_memory else None
    parts = [task.title.strip() if task else "", _latest_user_text(messages)]
    return "\n".join(part for part in parts if part)[:QUERY_LENGTH]


def _latest_user_text(messages: Sequence[Message]) -> str:
    for message in reversed(messages):
        if message.role != "user" or is_compiler_block(message) or is_summary(message):
            continue
        if text := text_of(message).strip():
            return text
    return ""
