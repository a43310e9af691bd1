"""The worked cases of section 27, one test a bullet, in its order.

"Bare" is a context without features and tools, window 1,000, reserve 100; ``filled(n)`` fills its history so
that a request counts exactly ``n`` tokens. The stub records its calls and removes nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest

from playground.errors import (
    AIError,
    ContextBusyError,
    ContextOverflowError,
    InvalidInputError,
    InvalidRequestError,
)
from playground.preparation import AgentContext, ContextTool
from playground.preparation.compactors import ContextComponent, TruncateCompactor
from playground.preparation.item_counting import item_tokens
from playground.preparation.memory_storage import InMemoryContextStorage
from playground.preparation.strategies import strategy_registry
from tests.preparation import ESTIMATOR, NOW, ScriptedPlugin, StubStrategy, bare, call, message, pair, result
from tests.unit.preparation.calls import budget_of, filled, listening, prepare, stubbed

GET_WEATHER = {
    "name": "get_weather",
    "description": "Get weather",
    "parameters": {"type": "object", "properties": {}},
}


def remembering(**settings: Any) -> AgentContext:
    """A context with notes, and the algorithmic strategy."""
    defaults: dict[str, Any] = {
        "features": ["working_memory"],
        "strategy": "algorithmic",
        "max_context_tokens": 3000,
    }
    return bare(**{**defaults, **settings})


def execute(context: AgentContext, tool: str, **arguments: Any) -> Any:
    return asyncio.run(context.tools.execute(tool, arguments))


def get(context: AgentContext, key: str) -> Any:
    return execute(context, "store_get", store="notes", key=key)


def forced(context: AgentContext) -> Any:
    """Prepare for a window that is too small for what is there, so that the strategy runs."""
    used = budget_of(context).total_used
    return prepare(context, model_max_context_tokens=int(used / 0.95) + 100)


# Estimator and budget


def test_27_1_texts() -> None:
    counts = [ESTIMATOR.text(text) for text in ("", "Hello world", "thirteen char", "a" * 1000)]
    assert counts == [0, 4, 4, 286]


def test_27_2_a_users_hello_is_eight_tokens_of_current_input() -> None:
    context, _ = stubbed()
    context.add_user_message("Hello world")
    assert prepare(context).budget.current_input_tokens == 8


def test_27_3_images() -> None:
    assert [ESTIMATOR.image(detail="low"), ESTIMATOR.image(1920, 1080)] == [85, 2125]
    assert [ESTIMATOR.image(256, 256), ESTIMATOR.image()] == [255, 1000]
    for detail, tokens in (("low", 89), ("high", 1004)):
        url = {"url": "data:image/png;base64," + "A" * 100_000, "detail": detail}
        assert (
            item_tokens(message("user", {"type": "input_image_url", "image_url": url}), ESTIMATOR)[0] == tokens
        )


def test_27_4_one_tool_is_48_tokens_and_two_are_76() -> None:
    context, _ = stubbed()
    found = [prepare(context).budget.tools_tokens]
    for name in ("get_weather", "get_weathe2"):
        context.tools.register({**GET_WEATHER, "name": name})
        found.append(prepare(context).budget.tools_tokens)
    assert found == [0, 48, 76]


def test_27_5_available_and_utilization() -> None:
    context, _ = filled(333)
    budget = prepare(context).budget
    assert budget.available == budget.max_tokens - budget.response_reserve - budget.total_used == 567
    assert budget.utilization_percent == 333 / 900 * 100


def test_27_6_the_developer_message_comes_first_and_its_date_line_last() -> None:
    context, _ = stubbed(system_prompt="Be helpful")
    context.add_user_message("Hi")
    prepared = prepare(context)
    assert len(prepared.input) == 2
    assert prepared.input[0]["role"] == "developer"
    text = prepared.input[0]["content"][0]["text"]
    assert "Be helpful" in text
    assert text.splitlines()[-1].startswith("Current date and time: 2026-09-21 ")


# Capacity


def test_27_7_an_unknown_model_has_128000_tokens_and_the_reserve_is_4096() -> None:
    context = AgentContext(model="no-such-model", features=())
    budget = prepare(context).budget
    assert (budget.max_tokens, budget.response_reserve) == (128_000, 4096)


def test_27_8_a_provider_gives_an_inferred_window() -> None:
    context, _ = stubbed(max_context_tokens=None)
    before = context.max_context_tokens
    assert prepare(context, model_max_context_tokens=8192).budget.max_tokens == 8192
    assert context.max_context_tokens == before == 128_000


# Trigger, target, one pass


def test_27_9_exactly_nine_tenths_do_not_compact_and_one_token_more_does() -> None:
    context, stub = filled(810)
    prepare(context)
    assert stub.targets == []
    context, stub = filled(811)
    prepare(context)
    assert stub.targets == [811 - 585] == [226]


def test_27_10_what_a_strategy_cannot_make_fit_overflows() -> None:
    context, stub = filled(950)
    with pytest.raises(ContextOverflowError) as caught:
        prepare(context)
    budget = caught.value.budget
    assert caught.value.code == "CONTEXT_OVERFLOW"
    assert (budget.actual_tokens, budget.max_tokens, budget.overage_tokens) == (950, 900, 50)
    assert len(stub.targets) == 1
    assert context.last_preparation is None


def test_27_11_too_many_tools() -> None:
    context, _ = stubbed()
    for number in range(100):
        context.tools.register({**GET_WEATHER, "name": f"tool_{number}", "description": "x" * 1000})
    with pytest.raises(ContextOverflowError, match=r"(?i)too many tools"):
        prepare(context)


# Options and freshness


def test_27_12_no_argument_is_needed_and_tools_are_the_enabled_ones() -> None:
    context, _ = stubbed()
    context.tools.register(ContextTool("dynamic", lambda: "as it is now"))
    context.tools.register(GET_WEATHER)
    context.tools.disable("get_weather")
    assert [tool["description"] for tool in prepare(context).tools] == ["as it is now"]


@pytest.mark.parametrize("late", [False, True])
def test_27_13_a_failing_hook_is_logged_and_called_once(late: bool, caplog: pytest.LogCaptureFixture) -> None:
    context, _ = stubbed()

    def fail(_: Any) -> Any:
        if not late:
            raise ValueError
        return fail_later()

    async def fail_later() -> None:
        raise ValueError

    plugin = ScriptedPlugin("tracker", at_hook=fail)
    context.register_plugin(plugin)
    context.add_user_message("Hi")

    async def run() -> None:
        await context.prepare()
        await asyncio.sleep(0.01)

    with caplog.at_level(logging.WARNING):
        asyncio.run(run())
    assert "tracker" in caplog.text
    (snapshot,) = plugin.snapshots
    assert (len(snapshot.messages), len(snapshot.current_input)) == (0, 1)
    assert context.last_preparation is not None


def test_27_14_a_message_during_rendering_is_rendered_in_a_second_attempt() -> None:
    """8.2 too."""
    context, _ = stubbed()
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)

    async def run() -> Any:
        gate = asyncio.Event()
        plugin.at_content = gate.wait  # type: ignore[assignment]
        preparing = asyncio.create_task(context.prepare())
        await asyncio.sleep(0)
        context.add_user_message("Meanwhile")
        gate.set()
        return await preparing

    prepared = asyncio.run(run())
    assert prepared.input[-1]["content"][0]["text"] == "Meanwhile"
    assert (plugin.renderings, len(plugin.snapshots)) == (2, 1)


def test_27_15_a_second_operation_is_rejected_and_the_first_resolves() -> None:
    context, _ = stubbed()
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)

    async def run() -> Any:
        gate = asyncio.Event()
        plugin.at_content = gate.wait  # type: ignore[assignment]
        preparing = asyncio.create_task(context.prepare())
        await asyncio.sleep(0)
        with pytest.raises(ContextBusyError):
            await context.prepare()
        with pytest.raises(ContextBusyError):
            await context.consolidate()
        gate.set()
        return await preparing

    assert asyncio.run(run()).budget.total_used


# Diagnostics, validation


def test_27_16_revisions_rise_by_one_and_times_never_fall() -> None:
    context, _ = stubbed()
    assert context.last_preparation is None
    found: list[Any] = []
    for _ in range(2):
        prepare(context)
        found.append(context.last_preparation)
    first, second = found
    assert first is not None
    assert second is not None
    assert second.revision == first.revision + 1 == 2
    assert second.prepared_at >= first.prepared_at == NOW


def test_27_17_an_estimate_of_an_over_full_context_compacts_nothing() -> None:
    context, stub = filled(1200)
    budget = budget_of(context)
    assert budget.total_used > budget.limit
    assert not stub.targets
    assert context.last_preparation is None
    context.clear_conversation()
    prepared = prepare(context)
    context.add_input_items([message("user", "later")])
    assert budget_of(context) == prepared.budget


def test_27_18_validating_the_prepared_request_changes_nothing() -> None:
    context, _ = stubbed()
    context.add_user_message("Hi")
    prepared = prepare(context)
    told = listening(context)
    context.validate_request_budget({"model": context.model, "input": prepared.input, "tools": prepared.tools})
    assert told == []
    assert context.last_preparation is not None
    assert context.last_preparation.revision == 1


# Protocol


def test_27_19_a_call_without_result_is_dropped_from_the_request_alone() -> None:
    context, _ = stubbed()
    context.add_input_items([message("assistant", "text", call("a")), message("assistant", call("b"))])
    context.add_user_message("Next")
    before = context.conversation
    prepared = prepare(context)
    assert [item["role"] for item in prepared.input] == ["developer", "assistant", "user"]
    assert prepared.input[1]["content"] == [{"type": "output_text", "text": "text"}]
    assert prepared.budget.conversation_tokens == 4 + 2
    assert context.conversation == before


def test_27_20_a_result_without_call_is_dropped_from_the_request() -> None:
    context, _ = stubbed()
    context.add_input_items([message("user", result("a"))])
    assert len(prepare(context).input) == 1
    assert len(context.conversation) == 1


@pytest.mark.parametrize(
    "items",
    [
        [*pair("a"), message("user", result("a"))],
        [message("assistant", call("a")), message("assistant", call("a"))],
    ],
    ids=["results", "calls"],
)
def test_27_21_one_id_twice_is_an_invalid_protocol(items: list[Any]) -> None:
    context, _ = stubbed()
    context.add_input_items(items)
    with pytest.raises(AIError) as caught:
        prepare(context)
    assert caught.value.code == "INVALID_TOOL_PROTOCOL"


def test_27_22_removing_one_result_removes_the_group_of_three_items() -> None:
    context, stub = stubbed()
    context.add_input_items(
        [message("assistant", call("a"), call("b")), message("user", result("a")), message("user", result("b"))]
    )
    context.add_input_items([message("user", "x" * 2900)])

    async def remove(given: Any, _: int) -> None:
        assert await given.remove_messages([2]) > 0

    stub.does = remove
    prepare(context)
    assert len(context.conversation) == 1


# Spill and memory


def test_27_23_a_large_result_moves_to_the_notes() -> None:
    context = remembering()
    text = "x y " * 500
    context.add_input_items(pair("toolu_01ABC12345678", text, name="read_file"))
    context.add_user_message("Next")
    prepared = forced(context)
    key = "raw.tool_result.read_file.12345678"
    assert get(context, key) == {"found": True, "key": key, "entry": {"value": text}}
    assert context.conversation == []
    developer = prepared.input[0]["content"][0]["text"]
    assert key in developer
    assert text not in json.dumps(prepared.input)
    assert prepared.compacted


@pytest.mark.parametrize(("length", "moved"), [(1022, False), (1023, True)])
def test_27_24_1024_bytes_of_json_stay_and_one_more_goes(length: int, moved: bool) -> None:
    context = remembering()
    context.add_input_items(pair("c1", "x" * length))
    context.add_input_items([message("user", "filler " * 300)])
    context.add_user_message("Next")
    forced(context)
    assert get(context, "raw.tool_result.look.c1")["found"] is moved


@pytest.mark.parametrize("pairs", [10, 15])
@pytest.mark.parametrize("memory", [True, False])
def test_27_25_more_than_ten_pairs_go_oldest_first(pairs: int, memory: bool) -> None:
    features = ["working_memory"] if memory else []
    used = budget_of(with_pairs(pairs, features=features)).total_used
    context = with_pairs(pairs, features=features, max_context_tokens=int(used / 0.95) + 100)
    asyncio.run(context.consolidate())
    gone = max(0, pairs - 10)
    left = [item["content"][0].get("id") for item in context.conversation[:-1:2]]
    assert left == [f"call_{number:02}" for number in range(gone, pairs)]
    if memory:
        assert execute(context, "store_list", store="notes")["total"] == gone


def with_pairs(count: int, **settings: Any) -> AgentContext:
    context = remembering(**settings)
    for number in range(count):
        context.add_input_items(pair(f"call_{number:02}", "small"))
    context.add_input_items([message("user", "x" * 700)])
    return context


def test_27_26_notes_are_read_by_their_exact_key() -> None:
    context = remembering()
    execute(context, "store_set", store="notes", key="data", description="d", value="secret", tier="raw")
    listed = execute(context, "store_get", store="notes")
    assert listed == {"found": True, "entries": [{"key": "raw.data", "description": "d", "tier": "raw"}]}
    assert get(context, "raw.data")["entry"] == {"value": "secret"}
    assert get(context, "data")["found"] is False


def test_27_27_all_notes_are_listed_filtered_and_cleaned_up() -> None:
    context = remembering()
    for number in range(30):
        tier = "raw" if number % 2 else "findings"
        execute(context, "store_set", store="notes", key=f"k{number}", description="d", value=number, tier=tier)
    everything = execute(context, "store_list", store="notes")
    assert everything["total"] == len(everything["entries"]) == 30
    raw = execute(context, "store_list", store="notes", pattern="raw.*", tier="raw")
    assert raw["total"] == 15
    cleaned = execute(context, "store_action", store="notes", action="cleanup_raw")
    assert (cleaned["success"], cleaned["deleted"]) == (True, 15)
    assert execute(context, "store_list", store="notes")["total"] == 15
    assert execute(context, "store_action", store="notes", action="unknown")["success"] is False
    board = bare(features=["in_context_memory"], max_context_tokens=3000, strategy=StubStrategy())
    assert execute(board, "store_action", store="whiteboard", action="clear")["success"] is False
    assert execute(board, "store_action", store="whiteboard", action="clear", confirm=True)["success"] is True


def test_27_28_a_tier_gives_prefix_and_priority() -> None:
    context = remembering()
    written = execute(
        context,
        "store_set",
        store="notes",
        key="raw.data",
        description="d",
        value=1,
        tier="findings",
        priority="low",
    )
    assert written["key"] == "findings.data"
    (entry,) = context.plugins["working_memory"].get_contents()
    assert (entry["key"], entry["priority"]) == ("findings.data", "high")


# Oversized input


def test_27_29_an_oversized_message_is_refused_and_not_cut() -> None:
    context, _ = stubbed(max_context_tokens=200, response_reserve=50)
    told = listening(context)
    context.add_user_message("x" * 10_000)
    with pytest.raises(ContextOverflowError, match="too large"):
        prepare(context)
    assert [name for name, _ in told] == ["input:oversized"]
    assert len(context.current_input[0]["content"][0]["text"]) == 10_000


def oversized_result(**settings: Any) -> AgentContext:
    context = AgentContext(model="no-such-model", max_context_tokens=500, response_reserve=100, **settings)
    context.add_user_message("Read it")
    context.add_assistant_response([call("c1", "read_file")])
    text = "The quick brown fox jumps over the lazy dog. " * 112
    context.add_tool_results([{"tool_use_id": "c1", "content": text[:5000]}])
    return context


def test_27_30_an_oversized_result_is_cut_with_a_marker() -> None:
    context = oversized_result(features=())
    told = listening(context)
    prepared = prepare(context)
    assert prepared.budget.total_used <= 400
    assert "4.9 KB" in prepared.input[-1]["content"][0]["content"]
    (event,) = [value for name, value in told if name == "input:oversized"]
    assert event.result.accepted
    assert event.result.warning


def test_27_30_with_the_default_features_the_same_window_is_too_small() -> None:
    """Their texts alone are larger: explicit, never silent."""
    with pytest.raises(ContextOverflowError):
        prepare(oversized_result())


# Consolidation, sessions, end, registry


def test_27_31_nothing_is_consolidated_below_the_line() -> None:
    context = remembering()
    context.add_input_items(pair("c1", "x " * 1000))
    prepare(context)
    before = context.conversation
    done = asyncio.run(context.consolidate())
    assert (done.performed, done.tokens_changed, len(done.actions)) == (False, 0, 1)
    assert context.conversation == before


def test_27_32_a_session_comes_back_without_its_current_input() -> None:
    storage = InMemoryContextStorage()
    settings: dict[str, Any] = {
        "storage": storage,
        "features": ["in_context_memory"],
        "strategy": StubStrategy(),
    }
    context = bare(**settings, system_prompt="Be helpful")
    context.add_input_items(pair("c1"))
    context.add_user_message("Waiting")
    execute(context, "store_set", store="whiteboard", key="plan", value="go")
    session_id = asyncio.run(context.save())
    other = bare(**settings)
    assert asyncio.run(other.load(session_id)) is True
    assert other.conversation == context.conversation
    assert other.system_prompt == "Be helpful"
    assert execute(other, "store_get", store="whiteboard", key="plan")["found"]
    assert other.current_input == []
    assert asyncio.run(other.load("unknown")) is False
    with pytest.raises(InvalidRequestError, match="No storage"):
        asyncio.run(bare(strategy=StubStrategy()).save())


def test_27_33_a_destroyed_context_says_so() -> None:
    context, _ = stubbed()
    context.destroy()
    with pytest.raises(InvalidRequestError, match="destroyed"):
        prepare(context)
    with pytest.raises(InvalidRequestError, match="destroyed"):
        context.add_user_message("x")
    assert asyncio.run(context.get_snapshot()).available is False


class Own(StubStrategy):
    def __init__(self) -> None:
        super().__init__(name="worked-case")


def test_27_34_the_registry_knows_its_own() -> None:
    registry = strategy_registry()
    assert {"default", "algorithmic"} <= set(registry.list())
    registry.register(Own)
    try:
        with pytest.raises(InvalidInputError, match="already registered"):
            registry.register(Own)
        assert bare(strategy="worked-case").strategy.name == "worked-case"
    finally:
        assert registry.remove("worked-case") is True
    with pytest.raises(InvalidInputError, match="not found"):
        registry.get("worked-case")
    with pytest.raises(InvalidInputError, match="Cannot remove built-in"):
        registry.remove("algorithmic")
    assert registry.remove("worked-case") is False


def test_27_35_a_truncating_compactor_keeps_the_beginning_of_a_text_and_the_end_of_a_list() -> None:
    compact = TruncateCompactor().compact
    truncating = {"strategy": "truncate"}
    text = asyncio.run(compact(ContextComponent("a", "x" * 1000, metadata=truncating), 50))
    assert text.content.startswith("x" * 200)
    assert text.content != "x" * len(text.content)
    assert text.metadata["originalLength"] == 1000
    items = [{"id": number, "text": "x" * 40} for number in range(20)]
    kept = asyncio.run(compact(ContextComponent("b", items, metadata=truncating), 100))
    assert 0 < len(kept.content) < 20
    assert kept.content[-1]["id"] == 19
    short = ContextComponent("c", "short", metadata=truncating)
    assert asyncio.run(compact(short, 50)) is short
