"""What the tests of context preparation share: bare contexts, items of exact size, scripted parts."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from playground.preparation import BasePlugin, CompactionResult, ConsolidationResult, PreparationEstimator
from playground.preparation.items import Item, Json, read_item, text_message

if TYPE_CHECKING:
    from playground.preparation import AgentContext

NOW = 1_790_000_000_000  # ms
ESTIMATOR = PreparationEstimator()


@dataclass
class FixedClock:
    """A clock that stands until it is told to move."""

    ms: int = NOW

    def __call__(self) -> int:
        return self.ms


def bare(**settings: Any) -> AgentContext:
    """A context without features and tools: window 1,000, reserve 100, a clock that stands."""
    from playground.preparation import AgentContext

    defaults: dict[str, Any] = {
        "model": "no-such-model",
        "max_context_tokens": 1000,
        "response_reserve": 100,
        "features": {},
        "clock": FixedClock(),
    }
    return AgentContext(**{**defaults, **settings})


def pad(tokens: int, message_id: str = "pad", role: str = "user") -> Json:
    """A message worth exactly ``tokens``, 5 or more."""
    text = "x" * math.floor((tokens - 4) * 3.5)
    message = text_message(role, text, message_id)
    assert item(message).tokens == tokens
    return message


def item(data: Json) -> Item:
    return read_item(data, ESTIMATOR)


def items(*data: Json) -> tuple[Item, ...]:
    return tuple(map(item, data))


def message(role: str, *blocks: Json | str) -> Json:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": block} if isinstance(block, str) else block for block in blocks]
    return {"type": "message", "role": role, "content": content}


def call(call_id: str, name: str = "look", *, custom: bool = False, **more: Any) -> Json:
    """A block that calls a function tool, or a custom one."""
    if custom:
        return {"type": "custom_tool_use", "id": call_id, "name": name, "input": "x", **more}
    return {"type": "tool_use", "id": call_id, "name": name, "arguments": "{}", **more}


def result(call_id: str, content: Any = "done", *, custom: bool = False, **more: Any) -> Json:
    kind = "custom_tool_result" if custom else "tool_result"
    return {"type": kind, "tool_use_id": call_id, "content": content, **more}


def native(call_id: str, output: Any = "done", *, custom: bool = False) -> Json:
    kind = "custom_tool_call_output" if custom else "function_call_output"
    return {"type": kind, "call_id": call_id, "output": output}


def pair(call_id: str, content: Any = "done", name: str = "look", **arguments: Any) -> list[Json]:
    """A call in one message and its result in the next."""
    block = call(call_id, name, arguments=json.dumps(arguments))
    return [message("assistant", block), message("user", result(call_id, content))]


@dataclass
class StubStrategy:
    """Records its calls and removes nothing, unless it is given something to do."""

    name: str = "stub"
    threshold: float = 0.75
    does: Callable[[Any, int], Any] | None = None
    targets: list[int] = field(default_factory=list)
    budgets: list[Any] = field(default_factory=list)
    consolidations: int = 0

    async def compact(self, context: Any, target_to_free: int) -> Any:
        self.targets.append(target_to_free)
        self.budgets.append(context.budget)
        if self.does is None:
            return CompactionResult()
        answer = self.does(context, target_to_free)
        return await answer if inspect.isawaitable(answer) else answer

    async def consolidate(self, context: Any) -> ConsolidationResult:
        self.consolidations += 1
        return ConsolidationResult(performed=False, tokens_changed=0, actions=())


class ScriptedPlugin(BasePlugin):
    """Shows what it is given; ``at_content`` and ``at_hook`` run inside, and may be asynchronous.

    Attributes:
        contents: What it shows, one text a rendering; the last one from then on.
        renderings: How often its content was asked for.
        snapshots: What its hook saw.
    """

    def __init__(
        self,
        name: str = "scripted",
        contents: Sequence[str | None] = (None,),
        *,
        instructions: str | None = None,
        at_content: Callable[[], Awaitable[None] | None] | None = None,
        at_hook: Callable[[Any], Any] | None = None,
        frees: int | None = None,
    ) -> None:
        self.name = name
        self.contents = tuple(contents)
        self.instructions = instructions
        self.at_content = at_content
        self.at_hook = at_hook
        self.frees = frees
        self.renderings = 0
        self.snapshots: list[Any] = []
        self.destroyed = False

    def get_instructions(self) -> str | None:
        return self.instructions

    async def get_content(self) -> str | None:
        content = self.contents[min(self.renderings, len(self.contents) - 1)]
        self.renderings += 1
        if self.at_content is not None:
            answer = self.at_content()
            if inspect.isawaitable(answer):
                await answer
        return content

    def on_before_prepare(self, snapshot: Any) -> Any:
        self.snapshots.append(snapshot)
        return None if self.at_hook is None else self.at_hook(snapshot)

    def is_compactable(self) -> bool:
        return self.frees is not None

    async def compact(self, target: int) -> int:
        freed, self.frees = min(target, self.frees or 0), 0
        return freed

    def destroy(self) -> None:
        self.destroyed = True
