"""A context from its settings to its end (2.3f, 3.4, 5, 23)."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

import pytest

from playground.errors import InvalidInputError, InvalidRequestError
from playground.preparation import AgentContext, ImportedConversation, PreparationEstimator
from tests.preparation import ScriptedPlugin, StubStrategy, bare, call, message
from tests.unit.preparation.calls import listening, prepare, stubbed


async def summarize(_: Any) -> str:
    return "Summary"


EVERY_METHOD: dict[str, Callable[[AgentContext], Any]] = {
    "add_user_message": lambda context: context.add_user_message("x"),
    "set_current_input": lambda context: context.set_current_input("x"),
    "add_assistant_response": lambda context: context.add_assistant_response("x"),
    "replace_last_assistant_response": lambda context: context.replace_last_assistant_response("x"),
    "add_tool_results": lambda context: context.add_tool_results([]),
    "add_input_items": lambda context: context.add_input_items([]),
    "add_conversation": lambda context: context.add_conversation(ImportedConversation(None, (), ())),
    "clear_conversation": lambda context: context.clear_conversation(),
    "register_plugin": lambda context: context.register_plugin(ScriptedPlugin()),
    "on": lambda context: context.on("budget:updated", print),
    "set_before_compaction_callback": lambda context: context.set_before_compaction_callback(None),
    "prepare": lambda context: context.prepare(),
    "validate_request_budget": lambda context: context.validate_request_budget({"input": "x"}),
    "calculate_budget": lambda context: context.calculate_budget(),
    "consolidate": lambda context: context.consolidate(),
    "rollover": lambda context: context.rollover(summarize=summarize),
    "save": lambda context: context.save(),
    "load": lambda context: context.load("x"),
    "model": lambda context: setattr(context, "model", "x"),
    "system_prompt": lambda context: setattr(context, "system_prompt", "x"),
    "strategy": lambda context: setattr(context, "strategy", StubStrategy()),
}
BUT = {"destroy", "get_snapshot", "get_view_context"}


@pytest.mark.parametrize("name", EVERY_METHOD)
def test_every_method_raises_once_the_context_was_destroyed(name: str) -> None:
    """2.3f, 27."""
    context = bare(strategy=StubStrategy())
    context.destroy()

    async def run() -> None:
        answer = EVERY_METHOD[name](context)
        if inspect.isawaitable(answer):
            await answer

    with pytest.raises(InvalidRequestError, match="destroyed"):
        asyncio.run(run())


def test_no_method_is_forgotten() -> None:
    """2.3f: a new one must be listed above."""
    methods = {name for name, _ in inspect.getmembers(AgentContext, inspect.isfunction) if name[0] != "_"}
    setters = {
        name
        for name, value in inspect.getmembers(AgentContext)
        if isinstance(value, property) and value.fset is not None
    }
    assert methods | setters == set(EVERY_METHOD) | BUT


def test_a_destroyed_context_still_answers_that_it_is_gone() -> None:
    """27."""
    context, _ = stubbed()
    context.add_user_message("Hi")
    prepare(context)
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    context.destroy()
    context.destroy()
    assert plugin.destroyed
    assert not asyncio.run(context.get_snapshot()).available
    assert not asyncio.run(context.get_view_context()).available
    assert (context.conversation, context.current_input, context.last_budget) == ([], [], None)
    assert context.last_preparation is None


def test_a_plugin_that_cannot_be_destroyed_hinders_no_other(caplog: pytest.LogCaptureFixture) -> None:
    context, _ = stubbed()
    first, second = ScriptedPlugin("first"), ScriptedPlugin("second")

    def fail() -> None:
        raise RuntimeError

    first.destroy = fail  # type: ignore[method-assign]
    for plugin in (first, second):
        context.register_plugin(plugin)
    with caplog.at_level(logging.WARNING):
        context.destroy()
    assert second.destroyed
    assert "first" in caplog.text


def test_a_context_destroyed_during_a_preparation_prepares_nothing() -> None:
    """2.3f."""
    context, _ = stubbed()
    context.register_plugin(ScriptedPlugin(at_content=context.destroy))
    with pytest.raises(InvalidRequestError, match="destroyed"):
        prepare(context)
    assert context.last_preparation is None


def test_defaults_are_those_of_the_peer() -> None:
    """3.4, 25a."""
    context = AgentContext(model="no-such-model")
    assert context.response_reserve == 4096
    assert context.strategy.name == "algorithmic"
    assert context.critical_compaction_threshold == 0.9
    assert set(context.plugins) == {"working_memory", "in_context_memory"}
    assert context.max_context_tokens == 128_000


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"model": ""}, "model"),
        ({"model": None}, "model"),
        ({"max_context_tokens": 0}, "window"),
        ({"max_context_tokens": True}, "window"),
        ({"max_context_tokens": 10.5}, "window"),
        ({"response_reserve": -1}, "reserve"),
        ({"critical_compaction_threshold": 0}, "threshold"),
        ({"critical_compaction_threshold": 1.1}, "threshold"),
        ({"critical_compaction_threshold": "0.9"}, "threshold"),
        ({"critical_compaction_threshold": float("nan")}, "threshold"),
        ({"system_prompt": 5}, "system_prompt"),
        ({"agent_id": 5}, "agent_id"),
        ({"clock": 5}, "clock"),
        ({"estimator": len}, "estimator"),
        ({"date_granularity": "second"}, "granularity"),
        ({"strategy": "no-such"}, "not found"),
        ({"strategy": object()}, "without name, threshold, compact, consolidate"),
        ({"features": ["no_such"]}, "no_such"),
        ({"features": "working_memory"}, "features"),
        ({"features": True}, "features"),
        ({"features": {5: True}}, "feature"),
    ],
)
def test_a_malformed_setting_is_told(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        bare(**settings)


@pytest.mark.parametrize(
    ("features", "names"),
    [
        (None, {"working_memory", "in_context_memory"}),
        ({"in_context_memory": False}, {"working_memory"}),
        ({"tool_catalog": True}, {"working_memory", "in_context_memory", "tool_catalog"}),
        ({"working_memory": False, "in_context_memory": False}, set()),
        ({}, set()),
        ([], set()),
        (["persistent_instructions"], {"persistent_instructions"}),
    ],
)
def test_features_are_switched_by_name_or_listed(features: Any, names: set[str]) -> None:
    """3.4: a mapping changes the defaults, a list replaces them."""
    assert set(bare(features=features).plugins) == names


def test_a_setting_that_is_malformed_changes_nothing() -> None:
    context, stub = stubbed()
    for name, value in (("model", ""), ("strategy", "no-such"), ("strategy", 5), ("system_prompt", 5)):
        with pytest.raises(InvalidInputError):
            setattr(context, name, value)
    assert (context.model, context.strategy, context.system_prompt) == ("no-such-model", stub, None)


def test_a_strategy_may_be_set_by_name_later() -> None:
    context, _ = stubbed()
    context.strategy = "default"
    assert context.strategy.name == "default"


def test_a_tokenizer_counts_everything_once_it_is_given() -> None:
    """4: one setting."""
    context, _ = stubbed(estimator=PreparationEstimator(lambda text: len(text.split()), name="words"))
    context.add_user_message("one two three")
    assert prepare(context).budget.current_input_tokens == 4 + 3


def test_a_replaced_input_is_told() -> None:
    """2.3a, 2.3d: an input that no answer followed does not go silently."""
    context, _ = stubbed()
    told = listening(context)
    first = context.add_user_message("One")
    context.add_user_message("Two")
    assert [(name, value.ids) for name, value in told] == [("input:replaced", (first,))]
    context.add_assistant_response("Answer")
    context.add_user_message("Three")
    context.add_tool_results([])
    assert len(told) == 1


def test_clearing_tells_its_reason() -> None:
    """2.3e."""
    context, _ = stubbed()
    context.add_user_message("One")
    told = listening(context)
    context.clear_conversation("new topic")
    assert [(name, value.reason) for name, value in told] == [("context:cleared", "new topic")]
    assert (context.conversation, context.current_input) == ([], [])


def test_what_is_shown_of_a_conversation_is_a_copy() -> None:
    context, _ = stubbed()
    context.set_current_input("One")
    context.add_assistant_response([call("c1")])
    for items in (context.conversation, [context.original_input]):
        assert items[0] is not None
        items[0].clear()
    assert context.conversation[0]["content"]
    assert context.original_input is not None
    assert context.original_input["content"]
    assert context.turn == 1


def test_an_imported_conversation_is_added_to_what_there_is() -> None:
    """25a: prompt below prompt, items to the history, the rest as current input."""
    context, _ = stubbed(system_prompt="Be helpful.")
    imported = ImportedConversation(
        "Be brief.", (message("user", "One"), message("assistant", "Two")), (message("user", "Three"),)
    )
    told = listening(context)
    context.add_user_message("Zero")
    context.add_conversation(imported)
    context.add_conversation(ImportedConversation("Be brief.", (), ()))
    assert context.system_prompt == "Be helpful.\n\nBe brief."
    assert [item["role"] for item in context.conversation] == ["user", "assistant"]
    assert context.current_input[0]["content"][0]["text"] == "Three"
    assert [name for name, _ in told] == ["input:replaced"]
    with pytest.raises(InvalidInputError):
        context.add_conversation(ImportedConversation("Never", (message("user", "x"), {"type": 5}), ()))
    assert len(context.conversation) == 2
    assert context.system_prompt == "Be helpful.\n\nBe brief."


def test_once_a_plugin_destroyed_the_context_no_other_is_asked_for_its_content() -> None:
    """2.3f, 7.1.1."""
    context, _ = stubbed()
    first, second = ScriptedPlugin("first", at_content=context.destroy), ScriptedPlugin("second")
    for plugin in (first, second):
        context.register_plugin(plugin)
    with pytest.raises(InvalidRequestError, match="destroyed"):
        prepare(context)
    assert (first.renderings, second.renderings) == (1, 0)


def test_ids_go_on_past_those_of_an_imported_input() -> None:
    """25a: deterministic, and none is given twice."""
    context, _ = stubbed()
    asked = {"id": "msg_7", **message("user", "Hi")}
    context.add_conversation(ImportedConversation(None, (), (asked,)))
    assert context.add_user_message("Again") == "msg_8"


@pytest.mark.parametrize("given", [None, [], {"conversation": []}], ids=repr)
def test_25a_only_an_imported_conversation_is_added(given: Any) -> None:
    context, _ = stubbed()
    with pytest.raises(InvalidInputError, match="A conversation is a"):
        context.add_conversation(given)
    assert context.conversation == []
