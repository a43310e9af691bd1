"""A strategy cannot change a context that its host has changed meanwhile (8.4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from playground.errors import ContextChangedError
from playground.preparation import AgentContext
from tests.preparation import ScriptedPlugin, StubStrategy, call, message, pad, pair
from tests.unit.preparation.calls import filled, listening, prepare, stubbed

CHANGES: dict[str, Callable[[AgentContext], object]] = {
    "user message": lambda context: context.add_user_message("New"),
    "items": lambda context: context.add_input_items([message("user", "New")]),
    "answer": lambda context: context.add_assistant_response("New"),
    "same length": lambda context: context.replace_last_assistant_response("New"),
    "cleared": lambda context: context.clear_conversation("test"),
    "prompt": lambda context: setattr(context, "system_prompt", "New"),
    "model": lambda context: setattr(context, "model", "another"),
}
METHODS: dict[str, Callable[[Any], Any]] = {
    "remove_messages": lambda pass_: pass_.remove_messages([0]),
    "remove_messages of nothing": lambda pass_: pass_.remove_messages([]),
    "compact_plugin": lambda pass_: pass_.compact_plugin("giver", 10),
    "compact_conversation": lambda pass_: pass_.compact_conversation([]),
}


def full() -> tuple[AgentContext, Any, ScriptedPlugin]:
    context, stub = filled(700)
    context.add_input_items([*pair("a"), pad(120, "m", role="assistant")])
    context.register_plugin(giver := ScriptedPlugin("giver", frees=30))
    return context, stub, giver


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("change", CHANGES)
def test_8_4_every_controlled_method_refuses_a_changed_context(change: str, method: str) -> None:
    context, stub, giver = full()

    async def does(pass_: Any, target: int) -> None:
        CHANGES[change](context)
        after.append((context.conversation, context.current_input))
        await METHODS[method](pass_)

    after: list[Any] = []
    stub.does = does
    with pytest.raises(ContextChangedError) as caught:
        prepare(context)
    assert caught.value.retryable
    assert (context.conversation, context.current_input) == after[0]  # the host's observation survives
    assert (giver.frees, context.last_preparation) == (30, None)


@pytest.mark.parametrize("moment", ["listener", "callback"])
def test_8_4_the_snapshot_is_older_than_the_event_and_the_callback(moment: str) -> None:
    context, stub, _ = full()
    if moment == "listener":
        context.on("compaction:starting", lambda starting: context.add_user_message("New"))
    else:
        context.set_before_compaction_callback(lambda starting: context.add_user_message("New"))
    stub.does = lambda pass_, target: pass_.remove_messages([0])
    with pytest.raises(ContextChangedError):
        prepare(context)
    assert len(context.current_input) == 1


def test_8_4_a_strategys_own_removals_are_no_change() -> None:
    context, stub, _ = full()

    async def does(pass_: Any, target: int) -> None:
        assert await pass_.remove_messages([0]) > 0
        assert await pass_.compact_plugin("giver", 10) == 10
        assert await pass_.remove_messages([0]) == 13

    stub.does = does
    prepare(context)
    assert [item["id"] for item in context.conversation] == ["m"]


def test_8_4_equal_items_that_are_others_are_a_change() -> None:
    context, stub, _ = full()

    async def does(pass_: Any, target: int) -> None:
        same = context.conversation
        context.clear_conversation("again")
        context.add_input_items(same)
        await pass_.remove_messages([0])

    stub.does = does
    with pytest.raises(ContextChangedError):
        prepare(context)


def test_8_4_a_change_after_the_last_removal_is_rendered_and_counted() -> None:
    context, stub, _ = full()

    async def does(pass_: Any, target: int) -> None:
        await pass_.remove_messages([0])
        context.add_user_message("New")

    stub.does = does
    prepared = prepare(context)
    assert prepared.input[-1]["content"] == [{"type": "input_text", "text": "New"}]
    assert prepared.budget.current_input_tokens == 5


def test_8_4_what_was_removed_before_the_change_is_told() -> None:
    context, stub, _ = full()
    told = listening(context)

    async def does(pass_: Any, target: int) -> None:
        await pass_.remove_messages([0])
        context.add_user_message("New")
        await pass_.remove_messages([0])

    stub.does = does
    with pytest.raises(ContextChangedError) as caught:
        prepare(context)
    log = ("dropped user message pad (686 tokens)", "removed 1 item from the history")
    assert caught.value.degradation_log == log  # type: ignore[attr-defined]
    assert told[-1][1].log == log


def test_8_4_a_listener_of_the_oversized_input_may_change_the_context() -> None:
    """The pass works on the context as it is once the strategy begins."""
    context, stub = stubbed()
    stub.does = lambda given, _: given.remove_messages([0, 1])
    context.add_input_items([pad(300), *pair("c0"), message("assistant", call("big"))])
    context.add_tool_results([{"tool_use_id": "big", "content": "A sentence. " * 800}])
    context.on("input:oversized", lambda _: context.clear_conversation("host"))
    assert len(prepare(context).input) == 1


def test_8_4_a_threshold_that_changes_the_context_is_no_reason_to_fail() -> None:
    """The same moment by another way: the threshold is the host's code too."""

    class Clearing(StubStrategy):
        def __getattribute__(self, name: str) -> Any:
            if name == "threshold" and "held" in vars(self):
                self.held.clear_conversation("host")
            return super().__getattribute__(name)

    strategy = Clearing(does=lambda given, _: given.remove_messages([0]))
    context, _ = filled(850, strategy=strategy)
    vars(strategy)["held"] = context
    assert len(prepare(context).input) == 1
