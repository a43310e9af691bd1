"""Hosts without the compiler's blocks: records in the first message, in the system message, or nowhere.

They read the same sources as the compiler, with the same queries under the same budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from playground.compiler.compile import compile_context
from playground.compiler.querying import query_sources
from playground.compiler.refresh import build_query
from playground.compiler.values import ContextPackage, ContextSourceRequest
from playground.concurrency import run_sync
from playground.evaluation.compaction import compacted, last_messages
from playground.evaluation.moments import Moment, Sent, Setting
from playground.evaluation.world import World
from playground.messages import Message
from playground.tokens import TokenEstimator
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = ["TIME_LIMIT", "FirstMessage", "Host", "LastMessages", "SystemMessage", "SystemMessageWithState"]

TIME_LIMIT = 600.0  # seconds; a slow machine must not change a figure


class Host:
    """What most strategies share: compaction, and not knowing where a record stands."""

    def __init__(self, setting: Setting, world: World) -> None:
        self.setting = setting
        self.world = world
        self.estimator = TokenEstimator()

    def shorten(self, history: tuple[Message, ...]) -> tuple[Message, ...]:
        """Summarise the oldest part where the window is filled too far."""
        return compacted(history, context_window=self.setting.model.context_window, estimator=self.estimator)

    def forget(self, history: tuple[Message, ...], record_ids: Sequence[str]) -> tuple[Message, ...]:  # noqa: ARG002
        """Change nothing: such a host has no record of what stands where."""
        return history

    def retrieve(self, moment: Moment, working_memory: WorkingMemorySnapshot | None = None) -> ContextPackage:
        """Ask the sources and compile what fits, as if nothing had been placed before."""
        request = ContextSourceRequest(
            query=build_query(moment.history, moment.notes),
            limit=self.setting.candidates_per_source,
            messages=moment.history,
        )
        results = run_sync(query_sources(self.world.sources, request, time_limit=TIME_LIMIT))
        return compile_context(
            results=results,
            messages=moment.history,
            input_tokens=self.setting.model.input_tokens,
            used_tokens=self.estimator.estimate(moment.history),
            budget=self.setting.budget,
            working_memory=working_memory,
            estimator=self.estimator,
        )


class FirstMessage(Host):
    """Retrieval once, before the first message; nothing after."""

    def prepare(self, moment: Moment) -> Sent:
        """Put the records before the task, at the first step."""
        if moment.step.index:
            return _unchanged(moment)
        block = self.retrieve(moment)
        history = tuple(
            replace(message, content=f"{block.xml}\n\n{message.content}") if message.role == "user" else message
            for message in moment.history
        )
        return Sent(history, history, len(history), block.manifest.budget.selected_tokens, True)


class SystemMessage(Host):
    """Retrieval at each step, written into the system message of that request alone."""

    with_state = False

    def prepare(self, moment: Moment) -> Sent:
        """Write what fits now behind the system message; nothing of it joins the history."""
        package = self.retrieve(moment, moment.notes if self.with_state else None)
        added = "\n".join(block.text for block in package.blocks)
        request = tuple(
            replace(message, content=f"{message.content}\n\n{added}") if message.role == "system" else message
            for message in moment.history
        )
        tokens = package.manifest.budget.selected_tokens
        return Sent(request, moment.history, len(request), tokens, True)


class SystemMessageWithState(SystemMessage):
    """Retrieval and working memory at each step, both in the system message."""

    with_state = True


class LastMessages(Host):
    """No retrieval and no summary: as many last messages as the window allows."""

    def shorten(self, history: tuple[Message, ...]) -> tuple[Message, ...]:
        """Drop the oldest messages."""
        return last_messages(
            history, context_window=self.setting.model.context_window, estimator=self.estimator
        )

    def prepare(self, moment: Moment) -> Sent:
        """Send the history as it is."""
        return _unchanged(moment)


def _unchanged(moment: Moment) -> Sent:
    return Sent(moment.history, moment.history, len(moment.history), 0, False)
