"""A host that drives the context compiler as its contract asks, also through restarts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from playground.compiler.compiler import ContextCompiler
from playground.compiler.placement import block_text, history_messages, request_messages
from playground.compiler.refresh import DEFAULT_CONTEXT_REFRESH
from playground.compiler.state import ContextCompilerState
from playground.compiler.values import ContextPackage
from playground.digests import text_digest
from playground.evaluation.hosts import TIME_LIMIT, Host
from playground.evaluation.moments import Moment, Sent, Setting
from playground.evaluation.world import World
from playground.messages import Message, as_messages, message_to_json

__all__ = ["CompilerDefaultPasses", "CompilerHost", "CompilerRestarted"]

RUN_ID = "long-task"
RESTART_STEPS = 10  # steps from one restart to the next


class CompilerHost(Host):
    """The context compiler: blocks are appended when a refresh is due, working memory ends each request."""

    def __init__(self, setting: Setting, world: World) -> None:
        super().__init__(setting, world)
        self.compiler = self._start()

    def _start(self, state: ContextCompilerState | None = None) -> ContextCompiler:
        setting = self.setting
        return ContextCompiler(
            sources=self.world.sources,
            budget=setting.budget,
            refresh={
                "max_passes": setting.max_passes,
                "candidates_per_source": setting.candidates_per_source,
            },
            estimator=self.estimator,
            state=state,
            time_limit=TIME_LIMIT,
        )

    def forget(self, history: tuple[Message, ...], record_ids: Sequence[str]) -> tuple[Message, ...]:
        """Take every block out of the history that holds one of the records, as the compiler's state tells."""
        placed = self.compiler.state().placed
        blocks = {entry.block_digest for entry in placed if entry.record_id in record_ids}
        return tuple(message for message in history if text_digest(block_text(message) or "") not in blocks)

    def prepare(self, moment: Moment) -> Sent:
        """Ask for a package and place it; a forget makes the compiler retrieve anew."""
        before = self.compiler.state().passes
        package = self.compiler.before_model_call_sync(redacted=moment.forgotten, **self.asked(moment))
        return self.placed(moment.history, package, retrieved=self.compiler.state().passes > before)

    def asked(self, moment: Moment) -> dict[str, Any]:
        """Return what the compiler is told of a step."""
        return {
            "run_id": RUN_ID,
            "step": moment.step.index,
            "messages": moment.history,
            "model": self.setting.model,
            "working_memory": moment.notes,
            "refresh": moment.changed,
        }

    def placed(self, history: tuple[Message, ...], package: ContextPackage, *, retrieved: bool) -> Sent:
        """Return the request and the history that a package makes of a history."""
        return Sent(
            request=request_messages(history, package),
            history=history_messages(history, package),
            lasting=len(history) + (1 if package.manifest.placement.append else 0),
            added_tokens=package.manifest.budget.selected_tokens,
            retrieved=retrieved,
            manifest=package.manifest,
        )


class CompilerRestarted(CompilerHost):
    """The compiler in a process that ends again and again: its state and the history come back from JSON."""

    def prepare(self, moment: Moment) -> Sent:
        """Start again every tenth step, then go on as usual."""
        if moment.step.index % RESTART_STEPS == 0:
            recorded = self.compiler.state().to_json()
            self.compiler = self._start(ContextCompilerState.from_json(recorded))
            stored = json.dumps([message_to_json(message) for message in moment.history])
            moment = replace(moment, history=as_messages(json.loads(stored)))
        return super().prepare(moment)


class CompilerDefaultPasses(CompilerHost):
    """The compiler held to the default number of passes."""

    def __init__(self, setting: Setting, world: World) -> None:
        super().__init__(replace(setting, max_passes=DEFAULT_CONTEXT_REFRESH.max_passes), world)
