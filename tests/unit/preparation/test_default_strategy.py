"""The plain strategy (13.1): plugins first, then the oldest groups."""

from __future__ import annotations

import asyncio
from typing import Any

from playground.preparation import AgentContext
from tests.preparation import ScriptedPlugin, bare, call, message, native, pad, pair, result
from tests.unit.preparation.calls import prepare


class Ordered(ScriptedPlugin):
    """Writes down when it was asked, and for how much."""

    def __init__(self, name: str, asked: list[Any], frees: int | None = 50) -> None:
        super().__init__(name, frees=frees)
        self.asked = asked

    async def compact(self, target: int) -> int:
        self.asked.append((self.name, target))
        return await super().compact(target)


def context_with(*plugins: ScriptedPlugin, total: int = 850) -> AgentContext:
    context = bare(strategy="default")
    for plugin in plugins:
        context.register_plugin(plugin)
    context.add_input_items([*pair("a"), pad(100, "one"), *pair("b"), pad(100, "two")])
    context.add_input_items([pad(total - asyncio.run(context.calculate_budget()).total_used)])
    return context


def test_13_1_plugins_are_asked_in_a_fixed_order_for_what_is_still_to_free() -> None:
    asked: list[Any] = []
    names = ("zeta", "working_memory", "rigid", "in_context_memory")
    context = context_with(*[Ordered(name, asked, None if name == "rigid" else 50) for name in names])
    prepare(context)
    assert asked == [("in_context_memory", 310), ("working_memory", 260), ("zeta", 210)]


def test_13_1_no_more_is_taken_than_the_target() -> None:
    asked: list[Any] = []
    context = context_with(Ordered("in_context_memory", asked, 400), Ordered("working_memory", asked, 400))
    prepared = prepare(context)
    assert asked == [("in_context_memory", 310)]
    assert len(context.conversation) == 7
    assert prepared.compaction_log == (
        "default: 310 tokens to free",
        "the plugin in_context_memory gave up 310 tokens",
        "default: 310 tokens freed",
    )


def test_13_1_then_the_oldest_go_whatever_they_are() -> None:
    context = context_with()
    prepared = prepare(context)
    assert [item.get("id") for item in context.conversation] == []
    assert prepared.compaction_log[0] == "default: 310 tokens to free"
    assert prepared.compaction_log[1] == "dropped look group of 2 items, 13 tokens (calls a)"
    context = context_with()
    context.clear_conversation("again")
    context.add_input_items([*pair("a"), pad(400, "one"), pad(400, "two")])
    prepare(context)
    assert [item.get("id") for item in context.conversation] == ["two"]


def test_25_11_a_message_of_several_calls_goes_with_all_its_results_or_stays() -> None:
    context = bare(strategy="default")
    several = message("assistant", call("a"), call("b"))
    context.add_input_items([several, message("user", result("a", "x " * 600)), native("b"), pad(350, "new")])
    context.add_input_items([pad(100, "newer")])
    prepare(context)
    assert [item.get("id") for item in context.conversation] == ["new", "newer"]


def test_25_11_it_stays_whole_while_one_of_its_results_is_current() -> None:
    context = bare(strategy="default")
    several = message("assistant", call("a"), call("b"))
    context.add_input_items([pad(500, "old"), several, message("user", result("a", "x " * 300))])
    context.add_tool_results([{"tool_use_id": "b", "content": "x " * 300}])
    prepare(context)
    assert len(context.conversation) == 2


def test_13_1_consolidation_does_nothing() -> None:
    context = context_with()
    done = asyncio.run(context.consolidate())
    assert (done.performed, done.tokens_changed) == (False, 0)
    assert done.actions == ("default: nothing to consolidate",)
    assert len(context.conversation) == 7
