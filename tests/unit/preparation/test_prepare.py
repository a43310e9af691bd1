"""The request that a preparation selects, and what it tells (3.1, 3.4, 5-7)."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest

from playground.preparation import CompactionResult, ContextTool
from tests.preparation import ESTIMATOR, FixedClock, ScriptedPlugin, call, item, message, pad, pair, result
from tests.unit.preparation.calls import budget_of, filled, listening, prepare, stubbed

TOOL = {"name": "get_weather", "description": "Get weather", "parameters": {"type": "object", "properties": {}}}


def roles(items: list[dict[str, Any]]) -> list[Any]:
    return [one.get("role", one["type"]) for one in items]


def test_a_request_is_developer_message_history_and_input_in_order() -> None:
    """3.1."""
    context, _ = stubbed(system_prompt="Be helpful")
    opaque = {"type": "reasoning", "id": "r", "encrypted_content": "abc"}
    context.add_input_items([message("user", "One"), message("assistant", "Two"), opaque])
    context.add_user_message("Three")
    prepared = prepare(context)
    assert roles(prepared.input) == ["developer", "user", "assistant", "reasoning", "user"]
    assert prepared.input[3] == opaque
    assert prepared.input[-1]["content"] == [{"type": "input_text", "text": "Three"}]


def test_the_budget_counts_what_is_returned() -> None:
    """6: available and utilization by formula; the parts add up."""
    context, _ = stubbed(system_prompt="Be helpful", max_context_tokens=2000)
    context.register_plugin(ScriptedPlugin("board", ["Plan: none"], instructions="Use it."))
    context.tools.register(TOOL)
    context.add_input_items([pad(50), *pair("c1")])
    context.add_user_message("Hello world")
    prepared = prepare(context)
    budget = prepared.budget
    developer, *rest = prepared.input
    assert budget.system_message_tokens == ESTIMATOR.text(developer["content"][0]["text"])
    assert budget.conversation_tokens + budget.current_input_tokens == sum(item(one).tokens for one in rest)
    assert budget.current_input_tokens == 8
    assert budget.tools_tokens == 48
    assert budget.total_used == budget.breakdown.total() == sum(budget.breakdown.flat().values())
    assert budget.available == 2000 - 100 - budget.total_used
    assert budget.utilization_percent == budget.total_used / 1900 * 100
    assert budget.breakdown.plugin_contents == {"board": ESTIMATOR.text("Plan: none")}


def test_a_prepared_request_does_not_change_any_more() -> None:
    """7.3: neither the context nor whoever holds the result alters the other."""
    context, _ = stubbed()
    context.tools.register(TOOL)
    context.add_input_items(pair("c1"))
    context.add_user_message("Hello")
    prepared = prepare(context)
    before = copy.deepcopy(prepared)
    context.add_assistant_response("Hi")
    context.clear_conversation()
    context.tools.unregister("get_weather")
    assert prepared == before
    other, _ = stubbed()
    other.add_user_message("Hello")
    other.tools.register(TOOL)
    held = prepare(other)
    held.input[1]["content"].clear()
    actions = asyncio.run(other.consolidate()).actions
    held.tools[0]["description"] = "x" * 1000
    assert asyncio.run(other.consolidate()).actions == actions
    held.budget.breakdown.plugin_contents["x"] = 5  # type: ignore[index]  # a plain dict after all
    assert other.current_input[0]["content"]
    assert other.last_budget is not None
    assert other.last_budget.breakdown.plugin_contents == {}


def test_events_come_in_order_once_the_result_stands() -> None:
    """6, 7.1.12: updated, then critical or warning, then prepared."""
    for total, more in (
        (629, []),
        (630, ["budget:warning"]),
        (809, ["budget:warning"]),
        (810, ["budget:critical"]),
    ):
        context, _ = filled(total)
        told = listening(context)
        revisions: list[Any] = []
        context.on("budget:updated", lambda _, c=context, r=revisions: r.append(c.last_preparation))  # type: ignore[misc]
        prepared = prepare(context)
        assert [name for name, _ in told] == ["budget:updated", *more, "context:prepared"]
        assert told[0][1].budget == prepared.budget
        assert told[0][1].timestamp == FixedClock().ms
        assert told[-1][1].compacted is False
        assert revisions[0].revision == 1


def test_a_listener_cannot_alter_what_is_returned() -> None:
    """7.3, 8.5: the request is copied and the state set before anybody is told."""
    context, _ = stubbed()
    context.add_user_message("Hello")
    context.register_plugin(ScriptedPlugin("board", ["Plan"]))

    def scribble(event: Any) -> None:
        event.budget.breakdown.plugin_contents["board"] = 10**6
        context.clear_conversation()

    context.on("budget:updated", scribble)
    prepared = prepare(context)
    assert roles(prepared.input) == ["developer", "user"]
    assert prepared.budget.breakdown.total() == prepared.budget.total_used
    assert context.last_budget == prepared.budget


def test_a_raising_listener_does_not_fail_a_preparation() -> None:
    context, _ = stubbed()

    def fail(_: Any) -> None:
        raise ValueError

    context.on("context:prepared", fail)
    assert prepare(context).budget.total_used


def test_pruning_happens_before_counting() -> None:
    """11.4, 25.1: history is not rewritten."""
    context, _ = stubbed()
    context.add_input_items([message("assistant", "text", call("open")), message("user", result("orphan"))])
    context.add_user_message("Next")
    prepared = prepare(context)
    assert roles(prepared.input) == ["developer", "assistant", "user"]
    assert prepared.input[1]["content"] == [{"type": "output_text", "text": "text"}]
    assert prepared.budget.conversation_tokens == 4 + ESTIMATOR.text("text")
    assert len(context.conversation) == 2
    assert len(context.conversation[0]["content"]) == 2


def test_preparing_clears_the_last_thinking() -> None:
    """7.1.2."""
    context, _ = stubbed()
    context.add_assistant_response([{"type": "thinking", "thinking": "Hm", "persistInHistory": False}])
    assert context.last_thinking == "Hm"
    prepare(context)
    assert context.last_thinking is None


def test_template_variables_are_resolved_at_each_rendering() -> None:
    """3.2.1."""
    context, _ = stubbed(system_prompt="{{MODEL}} for {{USER_ID}} by {{AGENT_ID}}", agent_id="a", user_id="u")
    assert "no-such-model for u by a" in prepare(context).input[0]["content"][0]["text"]
    context.model = "another-model"
    assert "another-model for u by a" in prepare(context).input[0]["content"][0]["text"]


def test_the_clock_and_zone_make_the_date_line() -> None:
    """3.2.5."""
    context, _ = stubbed(clock=FixedClock(1_767_268_800_000), timezone="Europe/Berlin", date_granularity="hour")
    text = prepare(context).input[0]["content"][0]["text"]
    assert text.endswith("Current date and time: 2026-01-01 13:00 UTC+01:00")


def test_preparing_twice_without_a_change_gives_the_same_bytes() -> None:
    context, _ = stubbed(system_prompt="Be helpful")
    context.tools.register(TOOL)
    context.add_input_items([pad(50), *pair("c1")])
    first, second = prepare(context), prepare(context)
    assert (first.input, first.tools, first.budget) == (second.input, second.tools, second.budget)


def test_tools_are_the_enabled_ones_with_their_present_descriptions() -> None:
    """3.4, 4.4, 27: counted and returned as they are shown."""
    context, _ = stubbed()
    said = ["short"]
    context.tools.register(ContextTool("dynamic", lambda: said[0]))
    context.tools.register(TOOL)
    first = prepare(context)
    assert [tool["description"] for tool in first.tools] == ["short", "Get weather"]
    assert first.tools == context.tools.definitions()
    said[0] = "much longer than before"
    context.tools.enable("get_weather", False)
    second = prepare(context)
    assert [tool["description"] for tool in second.tools] == ["much longer than before"]
    assert second.budget.tools_tokens == 20 + 10 + 2 + 7 + ESTIMATOR.data({"type": "object", "properties": {}})


@pytest.mark.parametrize("count", [0, 1, 2])
def test_the_worked_example_of_tools(count: int) -> None:
    """4.4: 0, 48 and 76 tokens."""
    context, _ = stubbed()
    for number in range(count):
        context.tools.register({**TOOL, "name": f"get_weathe{number}"})
    assert prepare(context).budget.tools_tokens == (0, 48, 76)[count]


def test_an_inferred_window_is_the_models_and_the_default_otherwise() -> None:
    """5: configured window."""
    context, _ = stubbed(max_context_tokens=None)
    assert budget_of(context).max_tokens == 128_000
    context.model = "gpt-4o-mini"
    assert prepare(context).budget.max_tokens == context.max_context_tokens == 128_000
    context.model = "claude-sonnet-4-5"
    assert prepare(context).budget.max_tokens == context.max_context_tokens != 128_000
    explicit, _ = stubbed(max_context_tokens=1000)
    explicit.model = "claude-sonnet-4-5"
    assert prepare(explicit).budget.max_tokens == 1000


def test_another_model_clears_the_cached_budget() -> None:
    """5, 10."""
    context, _ = stubbed()
    prepare(context)
    context.model = "no-such-model"
    kept = context.last_budget
    context.model = "another"
    assert kept is not None
    assert context.last_budget is None
    assert context.last_preparation is not None


def test_the_last_event_says_whether_anything_was_freed() -> None:
    """6, 7.3: context:prepared carries what the result says."""
    for freed, compacted in ((0, False), (7, True)):
        context, stub = filled(850)
        stub.does = lambda *_, freed=freed: CompactionResult(tokens_freed=freed)
        told: list[Any] = []
        context.on("context:prepared", told.append)
        prepared = prepare(context)
        assert (prepared.compacted, told[0].compacted, told[0].budget) == (
            compacted,
            compacted,
            prepared.budget,
        )


def test_every_event_has_a_budget_of_its_own() -> None:
    """7.3: what a listener scribbles on reaches neither the result nor another listener's event."""
    context, _ = stubbed()
    context.register_plugin(ScriptedPlugin("board", ["Plan"]))

    def scribble(event: Any) -> None:
        event.budget.breakdown.plugin_contents["board"] = 10**6

    for name in ("budget:updated", "context:prepared"):
        context.on(name, scribble)
    prepared = prepare(context)
    assert prepared.budget.breakdown.plugin_contents == {"board": 2}
    assert context.last_budget == prepared.budget
