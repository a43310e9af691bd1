"""What section 26 decided: nine tests, so that nobody changes one of them unseen."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from playground.errors import ContextOverflowError
from playground.preparation import AgentContext
from playground.preparation.memory_storage import InMemoryContextStorage
from tests.preparation import ESTIMATOR, ScriptedPlugin, bare, pad, pair
from tests.unit.preparation.calls import filled, prepare, stubbed


def test_26a_the_developer_message_gets_no_framing() -> None:
    context, _ = stubbed()
    prepared = prepare(context)
    assert prepared.budget.total_used == ESTIMATOR.text(prepared.input[0]["content"][0]["text"])


def test_26b_lengths_are_code_points() -> None:
    context, _ = stubbed()
    context.add_user_message("😀" * 7)
    assert prepare(context).budget.current_input_tokens == 4 + 2


def test_26c_response_format_and_native_tools_count_with_the_tools() -> None:
    context, _ = stubbed()
    options = {"response_format": {"type": "json_object"}, "native_tools": [{"type": "web_search"}]}
    budget = prepare(context, get_request_options=lambda _: options).budget
    assert budget.tools_tokens == budget.breakdown.response_format + budget.breakdown.native_tools > 0
    assert budget.content_capacity == 900 - budget.tools_tokens


def test_26d_a_group_whose_spill_fails_stays_and_the_others_go() -> None:
    context = bare(features=["working_memory"], strategy="algorithmic", max_context_tokens=3000)
    unwritable = [pair("bad1")[0], {**pair("bad1")[1]}]
    unwritable[1]["content"][0]["content"] = {"no json": object(), "text": "x" * 3000}
    context.add_input_items([*unwritable, *pair("good1", "y " * 3000)])
    prepared = prepare(context)
    assert [item["content"][0].get("id") for item in context.conversation][:1] == ["bad1"]
    assert len(context.conversation) == 2
    assert "raw.tool_result.look.good1" in prepared.input[0]["content"][0]["text"]


def test_26e_the_cached_budget_follows_a_recorded_validation() -> None:
    context, _ = stubbed()
    prepared = prepare(context)
    budget = context.validate_request_budget({"input": prepared.input, "instructions": "x" * 35})
    assert context.last_budget == budget != prepared.budget


def test_26f_loading_a_session_clears_the_last_preparation() -> None:
    context, _ = stubbed(storage=InMemoryContextStorage())
    prepare(context)

    async def save_and_load(context: AgentContext) -> None:
        await context.load(await context.save())

    assert context.last_preparation is not None
    asyncio.run(save_and_load(context))
    cleared: Any = context.last_preparation
    assert cleared is None


def test_26g_an_oversized_message_of_a_user_is_an_overflow() -> None:
    context, _ = stubbed()
    context.add_user_message("x" * 10_000)
    with pytest.raises(ContextOverflowError, match="too large"):
        prepare(context)


def test_26h_the_additional_parts_are_always_there() -> None:
    context, _ = stubbed()
    parts = prepare(context).budget.breakdown.flat()
    assert {name: parts[name] for name in ("instructions", "nativeTools", "responseFormat")} == {
        "instructions": 0,
        "nativeTools": 0,
        "responseFormat": 0,
    }
    assert "systemOverhead" in parts


def test_26i_each_phase_has_two_attempts_of_its_own() -> None:
    context, _ = filled(850)
    plugin = ScriptedPlugin()

    def interfere() -> None:
        if plugin.renderings in {1, 3}:
            context.add_input_items([pad(5)])

    plugin.at_content = interfere
    context.register_plugin(plugin)
    prepare(context)
    assert plugin.renderings == 4
