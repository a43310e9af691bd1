"""What an adapter may add to a preparation (5, 7.2)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from playground.cancel import CancelToken
from playground.errors import CallCancelledError, InvalidInputError
from playground.preparation import RequestOptions
from tests.preparation import ESTIMATOR, ScriptedPlugin, pad
from tests.unit.preparation.calls import filled, prepare, stubbed

VISIBLE = [{"name": "visible", "description": "Seen", "parameters": {"type": "object"}}]
FORMAT = {"type": "json_object"}
NATIVE = {"type": "web_search"}


def test_separate_instructions_count_but_are_not_in_the_input() -> None:
    """3.1, 5, 6: they are on the content's side."""
    context, _ = stubbed()
    plain, added = prepare(context), prepare(context, instructions="x" * 35)
    assert added.input == plain.input
    assert added.budget.breakdown.instructions == 10
    assert added.budget.total_used == plain.budget.total_used + 10
    assert added.budget.content_capacity == plain.budget.content_capacity
    assert added.budget.content_used == plain.budget.content_used + 10


def test_instructions_are_part_of_what_triggers_compaction() -> None:
    """5, 12: 800 tokens are under nine tenths of 900, 811 are not."""
    context, stub = filled(801)
    prepare(context)
    assert not stub.targets
    prepare(context, instructions="x" * 35)
    assert stub.targets == [811 - 585]


def test_only_the_visible_definitions_count() -> None:
    """7.2, 25.4: get_tools decides, whatever the manager has enabled."""
    context, _ = stubbed()
    context.tools.register({"name": "hidden", "description": "x" * 500})
    prepared = prepare(context, get_tools=lambda: VISIBLE)
    assert prepared.tools == VISIBLE
    assert prepared.tools[0] is not VISIBLE[0]
    assert prepared.budget.tools_tokens == 20 + 10 + 2 + 2 + ESTIMATOR.data({"type": "object"})
    assert prepare(context, get_tools=list).budget.tools_tokens == 0


async def late_tools() -> list[Any]:
    return []


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "get_tools", [late_tools, lambda: None, lambda: "abc", lambda: VISIBLE[0], lambda: [5]]
)
def test_get_tools_returns_definitions_synchronously(get_tools: Any) -> None:
    """7.2: an awaitable is a TypeError."""
    context, _ = stubbed()
    with pytest.raises(TypeError) as caught:
        prepare(context, get_tools=get_tools)
    assert isinstance(caught.value, InvalidInputError)
    assert context.last_preparation is None


def test_request_options_are_asked_with_the_tools_of_the_rendering() -> None:
    """7.2: what they get is a copy."""
    context, _ = stubbed()
    seen: list[Any] = []

    def options(tools: Any) -> dict[str, Any]:
        seen.append([tool["name"] for tool in tools])
        tools[0]["name"] = "scribbled"
        return {"response_format": FORMAT, "native_tools": [NATIVE]}

    prepared = prepare(context, get_tools=lambda: VISIBLE, get_request_options=options)
    assert seen == [["visible"]]
    assert prepared.tools == VISIBLE
    parts = prepared.budget.breakdown
    assert parts.response_format == ESTIMATOR.data(FORMAT)
    assert parts.native_tools == ESTIMATOR.data(NATIVE) + 10
    assert prepared.budget.tools_tokens == parts.tools + parts.native_tools + parts.response_format


@pytest.mark.parametrize(
    ("given", "tokens"),
    [
        (None, 10),
        ({}, 10),
        ({"instructions": None}, 10),
        ({"instructions": "x" * 70}, 20),
        ({"instructions": ""}, 0),
        (RequestOptions("x" * 70), 20),
    ],
)
def test_supplied_instructions_replace_the_static_ones(given: Any, tokens: int) -> None:
    """7.2: None adds nothing."""
    context, _ = stubbed()
    prepared = prepare(context, instructions="x" * 35, get_request_options=lambda _: given)
    assert prepared.budget.breakdown.instructions == tokens


@pytest.mark.parametrize(
    "options", [{"instructions": 5}, {"get_request_options": lambda _: {"instructions": 5}}]
)
def test_instructions_are_a_text(options: Any) -> None:
    context, _ = stubbed()
    with pytest.raises(InvalidInputError, match="instructions are 5"):
        prepare(context, **options)


def test_tools_and_options_are_asked_again_after_a_compaction() -> None:
    """7.1.10, 7.2: and what they return then is what is sent."""
    context, _ = filled(850)
    tools = [[], VISIBLE]
    asked: list[int] = []

    def options(given: Any) -> dict[str, Any]:
        asked.append(len(given))
        return {"instructions": "x" * 7 * len(asked)}

    prepared = prepare(context, get_tools=lambda: tools[len(asked)], get_request_options=options)
    assert asked == [0, 1]
    assert prepared.tools == VISIBLE
    assert prepared.budget.breakdown.instructions == 4


@pytest.mark.parametrize(
    ("explicit", "provider", "window"),
    [
        (None, 8192, 8192),
        (None, 500_000, 500_000),
        (1000, 8192, 1000),
        (1000, 700, 700),
        (1000, None, 1000),
        (1000, True, 1000),
        (1000, "700", 1000),
        (1000, float("nan"), 1000),
        (1000, float("inf"), 1000),
        (1000, -5, 1000),
    ],
)
def test_a_providers_capacity_counts_for_one_request(explicit: int | None, provider: Any, window: int) -> None:
    """5, 27: the owner's window stays what it is."""
    context, _ = stubbed(max_context_tokens=explicit)
    before = context.max_context_tokens
    assert prepare(context, model_max_context_tokens=provider).budget.max_tokens == window
    assert context.max_context_tokens == before
    assert context.model == "no-such-model"


def test_a_smaller_capacity_compacts_old_history() -> None:
    """5: the selected provider's capacity decides before compaction."""
    context, stub = filled(500)
    prepare(context)
    assert not stub.targets
    prepare(context, model_max_context_tokens=640)
    assert stub.targets == [500 - 351]


def signals() -> list[Any]:
    token, event = CancelToken(), threading.Event()
    token.cancel()
    event.set()
    return [token, event]


@pytest.mark.parametrize("number", range(2))
def test_a_signal_that_is_set_ends_it_before_hooks(number: int) -> None:
    """7.2."""
    context, _ = stubbed()
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    with pytest.raises(CallCancelledError):
        prepare(context, signal=signals()[number])
    assert not plugin.snapshots
    assert plugin.renderings == 0


def test_a_signal_that_is_set_meanwhile_ends_it_between_awaits() -> None:
    """7.2."""
    context, _ = stubbed()
    token = CancelToken()
    first, second = ScriptedPlugin("first", at_content=token.cancel), ScriptedPlugin("second")
    for plugin in (first, second):
        context.register_plugin(plugin)
    with pytest.raises(CallCancelledError):
        prepare(context, signal=token)
    assert second.renderings == 0
    assert context.last_preparation is None


def test_signal_and_summarize_reach_the_strategy() -> None:
    """7.2."""
    context, stub = filled(850)
    seen: list[Any] = []

    def look(given: Any, _: int) -> None:
        seen.extend([given.signal, given.summarize])

    stub.does = look
    token = CancelToken()

    async def summarize(*_: Any) -> str:
        return ""

    prepare(context, signal=token, summarize=summarize)
    assert seen == [token, summarize]


def test_a_signal_set_by_the_strategy_ends_it_after_the_strategy() -> None:
    """7.2, 7.1: nothing is recorded."""
    context, stub = filled(850)
    token = CancelToken()
    stub.does = lambda *_: token.cancel()
    with pytest.raises(CallCancelledError):
        prepare(context, signal=token)
    assert context.last_preparation is None
    assert prepare(context).budget.total_used == 850


def test_the_window_follows_a_model_that_is_set_while_rendering() -> None:
    """5, 8.2."""
    context, _ = stubbed(max_context_tokens=None)

    def change() -> None:
        context.model = "claude-sonnet-4-5"

    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    plugin.at_content = lambda: change() if plugin.renderings == 1 else None
    context.add_input_items([pad(20)])
    assert prepare(context).budget.max_tokens == context.max_context_tokens != 128_000


@pytest.mark.parametrize("moment", ["listener", "callback"])
def test_a_signal_that_is_set_before_the_strategy_ends_it_there(moment: str) -> None:
    """7.2: nothing is compacted and nothing recorded."""
    context, stub = filled(850)
    token = CancelToken()
    if moment == "listener":
        context.on("compaction:starting", lambda _: token.cancel())
    else:
        context.set_before_compaction_callback(lambda _: token.cancel())
    with pytest.raises(CallCancelledError):
        prepare(context, signal=token)
    assert stub.targets == []
    assert context.last_preparation is None


def test_a_hosts_later_change_of_its_definitions_is_no_part_of_the_selected_request() -> None:
    """7.2, 7.3, 17: a consolidation counts the tools as the preparation saw them."""
    context, _ = filled(500)
    tools = [{"name": "visible", "description": "Seen", "parameters": {"type": "object"}}]
    prepared = prepare(context, get_tools=lambda: tools)
    before = asyncio.run(context.consolidate()).actions
    tools[0]["description"] = "x" * 3000
    assert prepared.tools[0]["description"] == "Seen"
    assert asyncio.run(context.consolidate()).actions == before


def test_a_hosts_later_change_of_its_options_is_no_part_of_the_selected_request() -> None:
    """7.2, 7.3, 17: neither of the response format nor of the native tools."""
    context, _ = filled(500)
    options = {"response_format": {"type": "json_object"}, "native_tools": [{"type": "web_search"}]}
    prepare(context, get_request_options=lambda _: options)
    before = asyncio.run(context.consolidate()).actions
    for part in (options["response_format"], options["native_tools"][0]):  # type: ignore[index]
        part["more"] = "x" * 350  # type: ignore[index]
        assert asyncio.run(context.consolidate()).actions == before


def test_7_2_native_tools_are_objects_at_prepare_as_at_validation() -> None:
    """Prepare takes what validate_request_budget refuses."""
    context, _ = stubbed()
    with pytest.raises(InvalidInputError, match="native tools"):
        prepare(context, get_request_options=lambda _: {"native_tools": ["web_search"]})


@pytest.mark.parametrize("name", ["get_tools", "get_request_options", "summarize"])
def test_7_2_what_is_no_function_is_refused_before_anything_runs(name: str) -> None:
    context, _ = stubbed()
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    options: dict[str, Any] = {name: ["look"]}
    with pytest.raises(InvalidInputError, match=f"{name} is"):
        prepare(context, **options)
    assert (plugin.renderings, plugin.snapshots) == (0, [])
