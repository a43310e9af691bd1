"""The last check of a request (9)."""

from __future__ import annotations

import copy
from types import SimpleNamespace
from typing import Any

import pytest

from playground.errors import ContextOverflowError, InvalidInputError
from playground.preparation import AgentContext, PreparedContext
from playground.preparation.chat_import import ImportedConversation
from tests.preparation import (
    ESTIMATOR,
    NOW,
    FixedClock,
    ScriptedPlugin,
    call,
    message,
    native,
    pad,
    pair,
    result,
)
from tests.unit.preparation.calls import listening, prepare, stubbed, traces

TOOL = {"name": "get_weather", "description": "Get weather", "parameters": {"type": "object", "properties": {}}}


def selected() -> tuple[AgentContext, PreparedContext]:
    context, _ = stubbed(system_prompt="Be helpful")
    context.register_plugin(ScriptedPlugin("board", ["Plan"]))
    context.tools.register(TOOL)
    context.add_input_items([pad(50), *pair("c1")])
    context.add_user_message("Hello world")
    return context, prepare(context)


def request_of(prepared: PreparedContext, **more: Any) -> dict[str, Any]:
    return {"model": "no-such-model", "input": prepared.input, "tools": prepared.tools, **more}


def test_the_prepared_request_passes_and_changes_nothing() -> None:
    """9.5, 27: same revision, no event."""
    context, prepared = selected()
    told = listening(context)
    before = traces(context)
    assert context.validate_request_budget(request_of(prepared)) == prepared.budget
    assert traces(context) == before
    assert told == []


def test_separate_parts_are_counted() -> None:
    """9.2: instructions, native tools and response format; also from an object."""
    context, prepared = selected()
    more = {
        "instructions": "x" * 35,
        "native_tools": [{"type": "web_search"}],
        "response_format": {"type": "json_object"},
    }
    budget = context.validate_request_budget(request_of(prepared, **more))
    assert budget.breakdown.instructions == 10
    assert budget.breakdown.native_tools == ESTIMATOR.data({"type": "web_search"}) + 10
    assert budget.breakdown.response_format == ESTIMATOR.data({"type": "json_object"})
    assert budget.breakdown.total() == budget.total_used
    again = context.validate_request_budget(SimpleNamespace(**request_of(prepared, **more)))
    assert again == budget


def test_counts_that_changed_are_recorded_on_the_same_revision_and_told_once() -> None:
    """9.5, 26e: last_budget follows."""
    context, prepared = selected()
    told = listening(context)
    at_event: list[Any] = []
    context.on("budget:updated", lambda event: at_event.append((event.budget, context.last_budget)))
    grown = request_of(prepared, instructions="x" * 35)
    for _ in range(2):
        budget = context.validate_request_budget(grown)
    assert [name for name, _ in told] == ["budget:updated"]
    assert at_event == [(budget, budget)]
    assert context.last_budget == budget
    assert context.last_preparation is not None
    assert context.last_preparation.budget == budget
    assert context.last_preparation.revision == 1


def test_an_auxiliary_check_changes_nothing_at_all() -> None:
    """9.5: record_preparation false."""
    context, prepared = selected()
    before, conversation = traces(context), context.conversation
    told = listening(context)
    grown = request_of(prepared, instructions="x" * 35)
    budget = context.validate_request_budget(grown, record_preparation=False)
    assert budget.total_used == prepared.budget.total_used + 10
    assert traces(context) == before
    assert context.conversation == conversation
    assert told == []


def test_a_request_that_grew_too_large_is_refused_and_not_recorded() -> None:
    """9.4."""
    context, prepared = selected()
    before = traces(context)
    told = listening(context)
    for record in (True, False):
        with pytest.raises(ContextOverflowError) as caught:
            context.validate_request_budget(
                request_of(prepared, instructions="x" * 3500), record_preparation=record
            )
        assert caught.value.budget.actual_tokens == prepared.budget.total_used + 1000
    assert traces(context) == before
    assert told == []


def test_before_any_preparation_it_only_checks() -> None:
    """9: all of a developer message is overhead, everything else conversation."""
    context, _ = stubbed()
    told = listening(context)
    request = {"input": [message("developer", "x" * 35), message("user", "Hello world")]}
    budget = context.validate_request_budget(request)
    assert (budget.breakdown.system_overhead, budget.system_message_tokens) == (10, 10)
    assert (budget.conversation_tokens, budget.current_input_tokens) == (8, 0)
    assert context.last_preparation is None
    assert context.last_budget is None
    assert told == []


def test_the_counts_are_split_as_they_were_prepared() -> None:
    """9: another developer text is overhead; the last items are current input."""
    context, prepared = selected()
    request = copy.deepcopy(request_of(prepared))
    request["input"][0]["content"][0]["text"] += "!"
    budget = context.validate_request_budget(request, record_preparation=False)
    assert budget.breakdown.system_prompt == 0
    assert budget.breakdown.system_overhead == budget.system_message_tokens
    assert budget.current_input_tokens == 8
    grown = request_of(prepared, input=[*prepared.input, message("user", "x" * 35)])
    budget = context.validate_request_budget(grown, record_preparation=False)
    assert budget.current_input_tokens == 14
    assert budget.conversation_tokens == prepared.budget.conversation_tokens + 8


def test_the_prepared_input_is_what_the_request_held_of_it() -> None:
    """9: pruned items are not looked for."""
    context, _ = stubbed()
    context.add_input_items([message("assistant", "Two", call("c1"))])
    context.add_tool_results([{"tool_use_id": "c1", "content": "x"}, {"tool_use_id": "gone", "content": "x"}])
    prepared = prepare(context)
    assert context.validate_request_budget(request_of(prepared)) == prepared.budget


def test_an_item_of_the_input_that_was_pruned_is_not_looked_for() -> None:
    """9: one of the two was left."""
    context, _ = stubbed()
    orphan, asked = message("user", result("gone")), message("user", "Hello world")
    context.add_conversation(ImportedConversation(None, (message("user", "One"),), (orphan, asked)))
    prepared = prepare(context)
    assert len(prepared.input) == 3
    assert context.validate_request_budget(request_of(prepared)) == prepared.budget


def test_a_text_as_input_is_current_input() -> None:
    """9."""
    context, prepared = selected()
    budget = context.validate_request_budget({"input": "Hello world"}, record_preparation=False)
    assert (budget.current_input_tokens, budget.total_used) == (8, 8)
    assert prepared.budget.total_used > 8
    assert context.validate_request_budget({}, record_preparation=False).total_used == 0


def test_unmatched_blocks_do_not_count_and_the_request_stays_as_it_is() -> None:
    """9.1."""
    context, _ = stubbed()
    request = {
        "input": [message("assistant", "text", call("open")), message("user", result("gone")), native("n")]
    }
    before = copy.deepcopy(request)
    budget = context.validate_request_budget(request)
    assert budget.total_used == 4 + 2 + 4 + ESTIMATOR.text("done")
    assert request == before


@pytest.mark.parametrize(
    ("explicit", "model", "provider", "window"),
    [
        (1000, "no-such-model", None, 1000),
        (1000, None, None, 1000),
        (1000, {"id": "gpt-4o-mini"}, None, 1000),
        (1000, "gpt-4o-mini", None, 1000),
        (None, "claude-sonnet-4-5", None, "claude-sonnet-4-5"),
        (None, "unknown-model", None, 128_000),
        (None, "gpt-4o-mini", 700, 700),
        (1000, "gpt-4o-mini", 2000, 1000),
    ],
)
def test_the_requests_model_gives_the_capacity(
    explicit: int | None, model: Any, provider: int | None, window: Any
) -> None:
    """9.3, 5: the owner's model and window stay."""
    context, _ = stubbed(max_context_tokens=explicit)
    if isinstance(window, str):
        window = stubbed(model=window, max_context_tokens=None)[0].max_context_tokens
    budget = context.validate_request_budget({"model": model, "input": "Hi"}, model_max_context_tokens=provider)
    assert budget.max_tokens == window
    assert context.model == "no-such-model"


def test_it_runs_no_preparation_no_compaction_and_no_hook() -> None:
    """9.6."""
    context, stub = stubbed()
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    context.add_input_items([pad(850)])
    context.validate_request_budget({"input": context.conversation})
    assert not stub.targets
    assert not plugin.snapshots
    assert plugin.renderings == 0


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"input": 5}, "input of the request is a int"),
        ({"input": [{"role": "user"}]}, "type"),
        ({"input": "x", "tools": {"name": "x"}}, "tools"),
        ({"input": "x", "tools": ["x"]}, "tools"),
        ({"input": "x", "native_tools": "x"}, "native_tools"),
        ({"input": "x", "instructions": 5}, "instructions are 5"),
    ],
)
def test_a_malformed_request_is_told(request_: Any, said: str) -> None:
    context, _ = stubbed()
    with pytest.raises(InvalidInputError, match=said):
        context.validate_request_budget(request_)


def test_what_it_returns_is_a_copy() -> None:
    """10."""
    context, prepared = selected()
    context.validate_request_budget(request_of(prepared)).breakdown.plugin_contents["board"] = 0  # type: ignore[index]
    assert context.last_budget == prepared.budget


@pytest.mark.parametrize("model", ["gpt-4o-mini", None])
def test_a_window_above_the_registered_one_is_honoured_for_the_owners_model(model: str | None) -> None:
    """5.1, 9.3: the explicit window exactly as it is, also where the request names the owner's model."""
    context, _ = stubbed(model="gpt-4o-mini", max_context_tokens=500_000)
    assert prepare(context).budget.max_tokens == 500_000
    request = {"model": model, "input": "Hi"}
    assert context.validate_request_budget(request, record_preparation=False).max_tokens == 500_000
    other = {"model": "claude-sonnet-4-5", "input": "Hi"}
    assert context.validate_request_budget(other, record_preparation=False).max_tokens < 500_000


def test_a_text_as_input_is_current_input_before_any_preparation_too() -> None:
    """9: there is no prepared input to split it by."""
    context, _ = stubbed()
    budget = context.validate_request_budget({"input": "Hello world"})
    assert (budget.current_input_tokens, budget.conversation_tokens) == (8, 0)


def test_a_request_that_fills_the_limit_exactly_passes() -> None:
    """9.4: one token decides; it is over the limit, not at it."""
    context, _ = stubbed()
    at_the_limit = {"input": [pad(900)]}
    assert context.validate_request_budget(at_the_limit).available == 0
    with pytest.raises(ContextOverflowError) as caught:
        context.validate_request_budget({**at_the_limit, "instructions": "x"})
    assert caught.value.budget.overage_tokens == 1


def test_counts_that_moved_from_one_part_to_another_have_changed() -> None:
    """9.5: told although the total is the same."""
    context, _ = stubbed()
    context.add_user_message("x" * 70)
    prepared = prepare(context)
    told = listening(context)
    moved = [prepared.input[0], message("user", "x" * 35)]
    budget = context.validate_request_budget({"input": moved, "instructions": "x" * 35})
    assert (budget.total_used, budget == prepared.budget) == (prepared.budget.total_used, False)
    assert [name for name, _ in told] == ["budget:updated"]
    assert context.last_budget == budget


def test_a_recorded_check_keeps_the_time_of_the_preparation_and_tells_its_own() -> None:
    """9.5, 10: same revision, same preparedAt; the event has the time of the check, in ms."""
    clock = FixedClock()
    context, _ = stubbed(clock=clock)
    prepared = prepare(context)
    told = listening(context)
    clock.ms += 5_000
    context.validate_request_budget({"input": prepared.input, "instructions": "x" * 35})
    assert context.last_preparation is not None
    assert (context.last_preparation.revision, context.last_preparation.prepared_at) == (1, NOW)
    assert told[0][1].timestamp == NOW + 5_000


def test_a_listener_cannot_alter_what_a_check_recorded() -> None:
    """9.5, 10: the event's budget is a copy."""
    context, _ = stubbed()
    context.register_plugin(ScriptedPlugin("board", ["Plan"]))
    prepared = prepare(context)

    def scribble(event: Any) -> None:
        event.budget.breakdown.plugin_contents["board"] = 10**6

    context.on("budget:updated", scribble)
    budget = context.validate_request_budget({"input": prepared.input, "instructions": "x" * 35})
    assert budget.breakdown.plugin_contents == {"board": 2}
    assert context.last_budget == budget
    assert context.last_preparation is not None
    assert context.last_preparation.budget == budget


def test_a_message_of_which_nothing_is_left_is_not_the_current_input() -> None:
    """9, 9.1: the last items are those of the sanitised request."""
    context, _ = stubbed()
    context.add_input_items([message("user", "One")])
    context.add_user_message("Hello world")
    prepared = prepare(context)
    orphan = message("user", result("gone"))
    budget = context.validate_request_budget({"input": [*prepared.input, orphan]})
    assert budget == prepared.budget
