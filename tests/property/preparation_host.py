"""A host of one context, with its own record of all that should be in it.

The record is plain data that the host writes itself; what the context holds is only compared with it. Every
item has an id, so that what is missing can be named.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from playground.cancel import CancelToken
from playground.errors import (
    CallCancelledError,
    ContextBusyError,
    ContextChangedError,
    ContextOverflowError,
)
from playground.preparation import (
    AgentContext,
    AlgorithmicStrategy,
    DefaultStrategy,
    InMemoryContextStorage,
    WorkingMemoryPlugin,
)
from tests.preparation import FixedClock, ScriptedPlugin, StubStrategy, message
from tests.property import preparation_reference as reference

Json = dict[str, Any]
MODELS = ("no-such-model", "another-model")
STRATEGIES = {"stub": StubStrategy, "default": DefaultStrategy, "algorithmic": AlgorithmicStrategy}


class ScriptedError(Exception):
    """What scripts raise; no error of ours."""


@dataclass
class Interference:
    """What happens at the k-th place at which a preparation gives way."""

    at: int
    action: str
    seen: int = 0
    done: bool = False


@dataclass
class Pass:
    """What a strategy was called with: everything as the host knew it then, and what the pass told."""

    history: list[Json]
    current_input: list[Json]
    log: tuple[str, ...] = ()


class WatchedStrategy:
    """Another strategy, with a look at the host before it runs and a place for interference."""

    def __init__(self, host: Host, name: str) -> None:
        self.host = host
        self.inner = STRATEGIES[name]()
        self.name = self.inner.name

    @property
    def threshold(self) -> float:
        return float(self.inner.threshold)

    async def compact(self, context: Any, target_to_free: int) -> Any:
        host = self.host
        host.passes.append(Pass(list(host.history), list(host.current_input)))
        assert target_to_free > 0
        await host.gives_way()
        return await self.inner.compact(context, target_to_free)

    async def consolidate(self, context: Any) -> Any:
        return await self.inner.consolidate(context)


@dataclass
class Host:
    """A context and what should be in it."""

    window: int
    reserve: int
    strategy: str
    memory: bool
    entries: int
    critical: float
    clock: FixedClock = field(default_factory=FixedClock)
    history: list[Json] = field(default_factory=list)
    current_input: list[Json] = field(default_factory=list)
    passes: list[Pass] = field(default_factory=list)
    interference: Interference | None = None
    made: int = 0
    storage: Any = field(default_factory=InMemoryContextStorage)

    def __post_init__(self) -> None:
        self.spilled: dict[str, Any] = {}
        self.boom = ScriptedError("scripted")
        self.token = CancelToken()
        self.context = self.new_context()

    def new_context(self) -> AgentContext:
        """A context of these settings, whose plugin and callback give way to interference."""
        context = AgentContext(
            model=MODELS[0],
            max_context_tokens=self.window,
            response_reserve=self.reserve,
            features={},
            strategy=WatchedStrategy(self, self.strategy),
            critical_compaction_threshold=self.critical,
            system_prompt="Be helpful.",
            clock=self.clock,
            storage=self.storage,
        )
        self.notes = WorkingMemoryPlugin(clock=self.clock, max_entries=self.entries) if self.memory else None
        if self.notes is not None:
            context.register_plugin(self.notes)
        self.scripted = ScriptedPlugin(contents=["Seen."], at_content=self.gives_way)
        context.register_plugin(self.scripted)
        context.set_before_compaction_callback(self.before_compaction)
        context.on("context:compacted", self.told)
        for name in ("search", "browse"):
            context.tools.register(
                {"name": name, "description": f"Use {name}. " * 4, "parameters": {"type": "object"}}
            )
            context.tools.enable(name, False)
        return context

    def told(self, event: Any) -> None:
        self.passes[-1].log = tuple(event.log)

    async def before_compaction(self, *_: Any) -> None:
        await self.gives_way()

    def new_id(self, kind: str) -> str:
        self.made += 1
        return f"{kind}_{self.made}"

    @property
    def items(self) -> list[Json]:
        return [*self.history, *self.current_input]

    def open_calls(self) -> list[tuple[str, str, bool]]:
        """Calls without a result, in order."""
        answered = [found for item in self.items for found in reference.results_of(item)]
        return [call for item in self.items for call in reference.calls_of(item) if call[:2] not in answered]

    def is_free(self, namespace: str, call_id: str) -> bool:
        """Whether a new call may have this id."""
        used = [call[:2] for item in self.items for call in reference.calls_of(item)]
        used += [found for item in self.items for found in reference.results_of(item)]
        return (namespace, call_id) not in used

    # What a host does, in the context and in the record.

    def says(self, text: str) -> None:
        message_id = self.context.add_user_message(text)
        self.current_input = [{"id": message_id, **message("user", text)}]

    def answers(self, *blocks: Json | str) -> None:
        answer = message("assistant", *blocks)
        message_id = self.context.add_assistant_response([answer])
        self.history += [*self.current_input, {"id": message_id, **answer}]
        self.current_input = []

    def gives_results(self, blocks: list[Json]) -> None:
        message_id = self.context.add_tool_results(blocks)
        self.current_input = [{"id": message_id, **message("user", *blocks)}]

    def adds(self, *items: Json) -> None:
        named = [{"id": self.new_id("item"), **item} for item in items]
        self.context.add_input_items(named)
        self.history += named

    def clears(self) -> None:
        self.context.clear_conversation("the host says so")
        self.history, self.current_input = [], []

    def reloads(self) -> None:
        """Save, forget the context, and load into a new one; the current input is not saved."""
        asyncio.run(self.context.save("s"))
        self.context.destroy()
        self.context = self.new_context()
        assert asyncio.run(self.context.load("s"))
        self.current_input = []

    # What happens inside a preparation.

    async def gives_way(self) -> None:
        """Let scripted interference in, if this is its place."""
        await asyncio.sleep(0)
        script = self.interference
        if script is None or (script.done and script.action != "churn"):
            return
        script.seen += 1
        if script.seen <= script.at:
            return
        script.done = True
        await getattr(self, f"does_{script.action}")()

    async def does_add(self) -> None:
        self.adds(message("user", "Meanwhile."))

    async def does_churn(self) -> None:
        self.adds(message("user", "Again."))

    async def does_answer(self) -> None:
        self.answers("Meanwhile.")

    async def does_say(self) -> None:
        self.says("Something else.")

    async def does_prompt(self) -> None:
        self.context.system_prompt = "Be brief."

    async def does_raise(self) -> None:
        raise self.boom

    async def does_cancel(self) -> None:
        self.token.cancel()

    async def does_cancel_task(self) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(0)

    async def does_prepare(self) -> None:
        await self._is_busy(self.context.prepare)

    async def does_consolidate(self) -> None:
        await self._is_busy(self.context.consolidate)

    async def _is_busy(self, operation: Callable[[], Any]) -> None:
        try:
            await operation()
        except ContextBusyError:
            return
        raise AssertionError("a second operation was let in")

    def may_fail_with(self, error: BaseException) -> bool:
        """Whether a preparation may fail so, given what was scripted."""
        action = self.interference.action if self.interference and self.interference.done else None
        if isinstance(error, ContextOverflowError):
            return True
        expected = {
            "add": ContextChangedError,
            "answer": ContextChangedError,
            "churn": ContextChangedError,
            "say": ContextChangedError,
            "prompt": ContextChangedError,
            "cancel": CallCancelledError,
            "cancel_task": asyncio.CancelledError,
        }
        if action == "raise":
            return error is self.boom
        return action in expected and isinstance(error, expected[action])


def as_json(value: Any) -> str:
    """Anything that is compared before and after, as text; what JSON has no form for as its type."""
    return json.dumps(value, sort_keys=True, default=lambda odd: type(odd).__name__)
