"""What the source system once did wrong (section 25); one test each, through the public names."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from playground.preparation import AgentContext, CompactionResult, PreparedContext
from tests.preparation import (
    ESTIMATOR,
    FixedClock,
    ScriptedPlugin,
    bare,
    call,
    item,
    message,
    native,
    pad,
    pair,
    result,
)
from tests.unit.preparation.calls import budget_of, filled, listening, prepare

SOURCE = "x y " * 500


def noted(*data: Any, total: int = 3300) -> AgentContext:
    """A context with working memory that holds some items, and padding up to a total behind them."""
    context = AgentContext(
        model="no-such-model",
        max_context_tokens=4000,
        response_reserve=500,
        features=("working_memory",),
        clock=FixedClock(),
    )
    context.add_input_items(data)
    context.add_input_items([pad(total - budget_of(context).total_used)])
    return context


def keys_of(context: AgentContext) -> list[str]:
    listing = asyncio.run(context.tools.execute("store_list", {"store": "notes"}))
    return sorted(entry["key"] for entry in listing["entries"])


def value_of(context: AgentContext, key: str) -> Any:
    return asyncio.run(context.tools.execute("store_get", {"store": "notes", "key": key}))["entry"]["value"]


def system_text(prepared: PreparedContext) -> str:
    text: str = prepared.input[0]["content"][0]["text"]
    return text


def test_25_1_the_system_message_is_counted_again_after_a_spill() -> None:
    context = noted(*pair("a", SOURCE))
    before = budget_of(context).system_message_tokens
    prepared = prepare(context)
    assert prepared.budget.system_message_tokens == ESTIMATOR.text(system_text(prepared)) > before


def test_25_1_counts_are_of_what_is_sent_and_not_of_what_is_pruned() -> None:
    context = bare()
    context.add_input_items(
        [message("assistant", "text", call("open", arguments='"' + "x" * 700 + '"')), pad(50)]
    )
    prepared = prepare(context)
    assert prepared.budget.conversation_tokens == sum(item(entry).tokens for entry in prepared.input[1:]) == 56


@pytest.mark.parametrize("lie", [0, 100_000, -5])
def test_25_1_what_a_plugin_believes_of_its_size_has_no_influence(lie: int) -> None:
    class Liar(ScriptedPlugin):
        def get_token_size(self) -> int:
            return lie

        def get_instructions_token_size(self) -> int:
            return lie

    context = bare()
    context.register_plugin(Liar("liar", ["shown " * 20], instructions="told " * 20))
    breakdown = prepare(context).budget.breakdown
    assert breakdown.plugin_contents == {"liar": ESTIMATOR.text("shown " * 20)}
    assert breakdown.plugin_instructions == ESTIMATOR.text("told " * 20)


def test_25_2_no_single_item_of_a_group_is_removed() -> None:
    for index in (1, 2, 3):
        context, stub = filled(760)
        several = message("assistant", call("a"), call("b"))
        context.add_input_items(
            [several, message("user", result("a")), message("user", result("b", "z" * 200))]
        )

        async def does(pass_: Any, target: int, index: int = index) -> None:
            await pass_.remove_messages([index])

        stub.does = does
        prepare(context)
        assert [entry.get("id") for entry in context.conversation] == ["pad"]


@pytest.mark.parametrize(
    ("plain", "richer"),
    [
        (call("c"), call("c", arguments=json.dumps({"path": "x" * 350}))),
        (call("c"), call("c", thoughtSignature="s" * 350)),
        (result("c"), result("c", error="e" * 350)),
        (
            {"type": "thinking", "thinking": "t", "persistInHistory": True},
            {"type": "thinking", "thinking": "t", "persistInHistory": True, "signature": "s" * 350},
        ),
        ({"type": "input_file", "file_id": "f"}, {"type": "input_file", "file_id": "f" * 351}),
    ],
)
def test_25_3_arguments_signatures_errors_and_file_ids_count(plain: Any, richer: Any) -> None:
    assert item(message("user", richer)).tokens - item(message("user", plain)).tokens >= 100


def test_25_4_the_dynamic_descriptions_of_the_visible_tools_count_and_are_sent() -> None:
    context = bare()
    context.tools.register({"name": "hidden", "description": "h" * 2000})
    said: list[str] = []

    def get_tools() -> list[Any]:
        said.append("now " * (10 + len(said)))
        return [{"name": "seen", "description": said[-1], "parameters": {}}]

    for _ in range(2):
        prepared = prepare(context, get_tools=get_tools)
        assert prepared.tools[0]["description"] == said[-1]
        assert prepared.budget.tools_tokens == 20 + 10 + 2 + ESTIMATOR.text(said[-1]) + 1


def test_25_5_the_first_compaction_has_its_event_its_callback_and_a_real_budget() -> None:
    context, _ = filled(850)
    seen: list[int] = []
    context.set_before_compaction_callback(lambda starting: seen.append(starting.budget.total_used))
    told = listening(context)
    prepare(context)
    assert (told[0][0], told[0][1].budget.total_used, seen) == ("compaction:starting", 850, [850])


def test_25_6_a_huge_argument_spills_under_a_shortened_description() -> None:
    context = noted(total=3000)
    context.add_input_items(pair("a", SOURCE, path="p" * 10_000))
    prepare(context)
    listing = asyncio.run(context.tools.execute("store_list", {"store": "notes"}))
    assert [len(entry["description"]) for entry in listing["entries"]] == [150]


def test_25_7_ids_that_end_alike_do_not_overwrite_each_other() -> None:
    context = noted(*pair("first-12345678", SOURCE + "1"), *pair("second-12345678", SOURCE + "2"))
    prepare(context)
    plain = "raw.tool_result.look.12345678"
    assert keys_of(context) == [plain, f"{plain}.function.1"]
    assert [value_of(context, key)[-1] for key in keys_of(context)] == ["1", "2"]


def test_25_8_a_cut_keeps_the_error() -> None:
    context = bare()
    context.add_input_items([message("assistant", call("c"))])
    context.add_tool_results([{"tool_use_id": "c", "content": "Some words. " * 500, "error": "exit 1"}])
    block = prepare(context).input[-1]["content"][0]
    assert block["error"] == "exit 1"
    assert len(block["content"]) < 6000


def test_25_9_every_result_of_the_input_is_cut_also_native_ones_behind_the_first() -> None:
    context = bare()
    context.add_input_items([message("assistant", call("a"), call("b"))])
    context.add_tool_results(
        [{"tool_use_id": "a", "content": "tiny"}, {"tool_use_id": "b", "content": "Some words. " * 500}]
    )
    blocks = prepare(context).input[-1]["content"]
    assert blocks[0]["content"] == "tiny"
    assert "[Cut to fit" in blocks[1]["content"]


def test_25_10_freed_is_what_was_measured_and_not_what_was_guessed() -> None:
    context = noted(*pair("a", SOURCE), pad(700, "old"))
    told = listening(context)
    before = budget_of(context).conversation_tokens
    after = prepare(context).budget.conversation_tokens
    assert [value.tokens_freed for name, value in told if name == "context:compacted"] == [before - after]


def test_25_11_the_default_strategy_takes_all_or_nothing_of_a_group() -> None:
    for room in range(300, 900, 50):
        context = bare(strategy="default", max_context_tokens=room + 100)
        several = message("assistant", call("a"), call("b"))
        context.add_input_items(
            [pad(60, "old"), several, message("user", result("a", "r" * 300)), native("b", "n" * 300)]
        )
        context.add_input_items([pad(60, "new")])
        prepare(context)
        left = [entry for entry in context.conversation if entry.get("id") not in ("old", "new")]
        assert len(left) in (0, 3)


def test_a_strategys_report_of_tokens_is_not_what_the_request_is_measured_by() -> None:
    context, stub = filled(850)
    stub.does = lambda pass_, target: CompactionResult(tokens_freed=700)
    assert prepare(context).budget.total_used == 850
