"""One pass of a strategy: callback, log, results of any shape, and what survives a failure (section 12)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from playground.cancel import CancelToken
from playground.errors import CallCancelledError, InvalidInputError
from playground.preparation import AgentContext, CompactionResult, ContextTool
from tests.preparation import ScriptedPlugin, StubStrategy, call, message, native, pad, pair, result
from tests.unit.preparation.calls import filled, listening, prepare, stubbed


class Sync:
    """An older strategy: synchronous, without names for people, answering in a mapping or nothing."""

    name = "sync"
    threshold = 0.75

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def compact(self, context: Any, target: int) -> Any:
        return self.answer

    def consolidate(self, context: Any) -> Any:
        return self.answer


def removing(
    *indices: Any, then: BaseException | None = None, **settings: Any
) -> tuple[AgentContext, StubStrategy]:
    """A full context whose strategy removes some indices, and raises afterwards if it is to."""
    context, stub = filled(700, **settings)
    context.add_input_items([*pair("a"), pad(120, "m", role="assistant")])

    async def does(pass_: Any, target: int) -> CompactionResult:
        freed = await pass_.remove_messages(list(indices))
        if then is not None:
            raise then
        return CompactionResult(tokens_freed=freed, log=("done",))

    stub.does = does
    return context, stub


def test_12_the_callback_is_awaited_before_the_strategy() -> None:
    context, stub = filled(850)
    seen: list[Any] = []

    async def callback(starting: Any) -> None:
        await asyncio.sleep(0)
        seen.append((starting.budget.total_used, starting.target_tokens_to_free, list(stub.targets)))

    context.set_before_compaction_callback(callback)
    prepare(context)
    assert seen == [(850, 265, [])]


def test_12_a_callback_that_fails_is_told_and_stops_nothing() -> None:
    for kind in (ValueError, KeyError):
        context, stub = filled(850)

        def callback(starting: Any, kind: type[Exception] = kind) -> None:
            raise kind("secret")

        context.set_before_compaction_callback(callback)
        prepared = prepare(context)
        assert prepared.compaction_log == (f"the callback before compaction raised {kind.__name__}",)
        assert len(stub.targets) == 1


@pytest.mark.parametrize(
    ("answer", "compacted", "log"),
    [
        (None, False, ()),
        ({"tokensFreed": 5, "messagesRemoved": 1, "pluginsCompacted": ["p"], "log": ["a"]}, True, ("a",)),
        ({"tokens_freed": 5, "log": ("two\nlines",)}, True, ("two lines",)),
        ({"tokensFreed": 0}, False, ()),
        ({"tokensFreed": True, "log": "one"}, False, ("one",)),
        ({"tokensFreed": float("nan"), "log": [1, None]}, False, ()),
        ("nonsense", False, ()),
    ],
)
def test_12_older_strategies_of_any_shape_keep_working(
    answer: Any, compacted: bool, log: tuple[str, ...]
) -> None:
    context, _ = filled(850, strategy=Sync(answer))
    prepared = prepare(context)
    assert (prepared.compacted, prepared.compaction_log) == (compacted, log)


def test_12_a_report_reaches_the_diagnostics() -> None:
    context, stub = filled(850)
    stub.does = lambda pass_, target: CompactionResult(report={"summary": 1})
    prepare(context)
    assert context.last_preparation is not None
    assert context.last_preparation.compaction == {"summary": 1}


def test_4_2_what_a_strategy_removes_is_told_by_the_context_even_if_the_strategy_says_nothing() -> None:
    context, stub = removing(1, 0)

    async def silent(pass_: Any, target: int) -> None:
        await pass_.remove_messages([1, 0])

    stub.does = silent
    prepared = prepare(context)
    assert prepared.compacted
    assert prepared.compaction_log == (
        "dropped user message pad (686 tokens)",
        "dropped look group of 2 items, 13 tokens (calls a)",
        "removed 3 items from the history",
    )


@pytest.mark.parametrize("error", [RuntimeError("no"), asyncio.CancelledError(), KeyboardInterrupt()], ids=repr)
def test_12_a_strategy_that_raises_fails_the_preparation_and_its_losses_are_told(error: BaseException) -> None:
    context, _ = removing(0, then=error)
    told = listening(context)
    with pytest.raises(type(error)) as caught:
        prepare(context)
    assert caught.value is error
    log = ("dropped user message pad (686 tokens)", "removed 1 item from the history")
    assert caught.value.degradation_log == log  # type: ignore[attr-defined]
    assert [(name, value.tokens_freed, value.log) for name, value in told[1:]] == [
        ("context:compacted", 686, log)
    ]
    assert len(context.conversation) == 3  # partial effects stay
    assert (context.last_preparation, context.last_budget) == (None, None)


def test_a_strategy_that_is_cancelled_tells_its_losses_too() -> None:
    context, _ = removing(0, then=asyncio.CancelledError())
    told = listening(context)
    with pytest.raises(asyncio.CancelledError):
        prepare(context)
    assert [name for name, _ in told] == ["compaction:starting", "context:compacted"]


def test_7_2_a_signal_reaches_strategies_and_stops_their_removals() -> None:
    token = CancelToken()
    context, stub = removing()

    async def does(pass_: Any, target: int) -> None:
        assert pass_.signal is token
        token.cancel()
        await pass_.remove_messages([0])

    stub.does = does
    with pytest.raises(CallCancelledError):
        prepare(context, signal=token)
    assert len(context.conversation) == 4


def test_7_2_summarize_reaches_strategies() -> None:
    async def summarize() -> None: ...

    context, stub = filled(850)
    seen: list[Any] = []
    stub.does = lambda pass_, target: seen.append(pass_.summarize)
    prepare(context, summarize=summarize)
    assert seen == [summarize]


def test_12_missing_plugins_only_warn() -> None:
    context, stub = filled(850)
    stub.required_plugins = ("working_memory",)  # type: ignore[attr-defined]
    prepared = prepare(context)
    assert prepared.compaction_log == ("the strategy stub works best with working_memory, which is not there",)


def test_25_2_removing_one_item_removes_its_whole_group() -> None:
    """27: calls a and b in one message, results in two."""
    context, stub = stubbed()
    several = message("assistant", call("a"), call("b"))
    context.add_input_items([pad(850), several, message("user", result("a")), message("user", result("b"))])
    freed: list[int] = []

    async def does(pass_: Any, target: int) -> None:
        held = sum(pass_.estimate_tokens(item) for item in pass_.conversation[1:])
        freed.extend([await pass_.remove_messages([3]), held])

    stub.does = does
    prepare(context)
    assert freed[0] == freed[1] > 0
    assert [item.get("id") for item in context.conversation] == ["pad"]


@pytest.mark.parametrize("bad", [[-1], [99], [True], ["0"], [None], [1.0], [], [4]])
def test_12_bad_indices_and_the_current_input_are_ignored(bad: list[Any]) -> None:
    context, stub = removing()
    context.add_user_message("now")
    freed: list[int] = []

    async def does(pass_: Any, target: int) -> None:
        freed.append(await pass_.remove_messages([*bad]))

    stub.does = does
    prepare(context)
    assert (freed, len(context.conversation)) == ([0], 4)


def test_12_repeated_indices_count_once() -> None:
    context, _ = removing(1, 2, 1, 2)
    assert prepare(context).compaction_log[0] == "dropped look group of 2 items, 13 tokens (calls a)"


def test_11_3_proposals_of_protected_groups_free_nothing() -> None:
    context, stub = filled(400)
    opaque = {"type": "reasoning", "id": "r", "encrypted_content": "x" * 700}
    context.add_input_items(
        [opaque, native("elsewhere", "y" * 700), message("assistant", call("w"), call("v"))]
    )
    context.add_input_items([message("user", result("w"))])
    context.add_tool_results([{"tool_use_id": "v", "content": "z" * 200}])
    freed: list[int] = []

    async def does(pass_: Any, target: int) -> None:
        freed.append(await pass_.remove_messages([1, 2, 3, 4]))
        assert [pass_.is_protected(place) for place in range(6)] == [False, True, True, True, True, True]

    stub.does = does
    prepare(context)
    assert freed == [0]


def test_12_indices_that_are_no_list_are_refused() -> None:
    for wrong in (3, "01", {"0": 1}):
        context, stub = filled(850)

        async def does(pass_: Any, target: int, wrong: Any = wrong) -> None:
            await pass_.remove_messages(wrong)

        stub.does = does
        with pytest.raises(InvalidInputError, match="indices"):
            prepare(context)


def test_12_what_a_strategy_sees_is_a_copy_and_indices_follow_each_removal() -> None:
    context, stub = removing()
    sizes: list[int] = []

    async def does(pass_: Any, target: int) -> None:
        pass_.conversation[0]["content"].clear()
        pass_.budget.breakdown.plugin_contents["x"] = 1
        sizes.append(len(pass_.conversation))
        await pass_.remove_messages([0])
        sizes.append(len(pass_.conversation))
        assert pass_.conversation[0]["content"][0]["id"] == "a"
        assert await pass_.remove_messages([0]) == 13

    stub.does = does
    prepared = prepare(context)
    assert sizes == [4, 3]
    assert [item["id"] for item in context.conversation] == ["m"]
    assert prepared.budget.breakdown.plugin_contents == {}


def test_12_a_plugin_is_compacted_by_name_and_others_give_nothing() -> None:
    context, stub = filled(850)
    context.register_plugin(ScriptedPlugin("giver", frees=30))
    context.register_plugin(ScriptedPlugin("keeper"))
    freed: list[Any] = []

    async def does(pass_: Any, target: int) -> None:
        for name in ("giver", "keeper", "nobody", None):
            freed.append(await pass_.compact_plugin(name, 20))
        freed.append(pass_.plugins_compacted)

    stub.does = does
    prepare(context)
    assert freed == [20, 0, 0, 0, ("giver",)]


def test_4_2_entries_that_a_plugin_gives_up_are_told() -> None:
    context, stub = filled(2750, features=("working_memory",), max_context_tokens=3000)
    store = context.plugins["working_memory"].store  # type: ignore[attr-defined]
    for number in range(5):
        store.set(f"k{number}", "a note", number)

    async def does(pass_: Any, target: int) -> None:
        await pass_.compact_plugin("working_memory", 10)

    stub.does = does
    log = prepare(context).compaction_log
    assert sorted(log) == ["evicted k0 from notes", "evicted k1 from notes", "evicted k2 from notes"]


def test_12_a_tool_describes_its_calls_and_its_failures_are_swallowed() -> None:
    context, stub = filled(850)
    described: list[Any] = []
    for name, says in (("good", lambda args: f"of {args['x']}"), ("bad", lambda args: 1 / 0), ("mute", None)):
        context.tools.register(ContextTool(name, "", describe_call=says))  # type: ignore[arg-type]

    def does(pass_: Any, target: int) -> None:
        described.extend(pass_.describe_tool_call(name, '{"x": 1}') for name in ("good", "bad", "mute", "none"))

    stub.does = does
    prepare(context, get_tools=list)
    assert described == ["of 1", None, None, None]


def test_12_a_whole_conversation_is_replaced_all_or_nothing() -> None:
    context, stub = removing()
    kept = context.conversation
    freed: list[int] = []

    async def does(pass_: Any, target: int) -> None:
        await refused(pass_, [message("nobody", "x")], "role")
        await refused(pass_, [*pass_.conversation, *pair("a")], "Two calls")
        freed.append(await pass_.compact_conversation([message("user", "In short."), *pass_.conversation[1:]]))

    async def refused(pass_: Any, proposal: list[Any], words: str) -> None:
        with pytest.raises(Exception, match=words):
            await pass_.compact_conversation(proposal)
        assert list(pass_.conversation) == kept

    stub.does = does
    prepared = prepare(context)
    assert freed[0] == 686 - 7
    assert context.conversation[1:] == kept[1:]
    assert prepared.compaction_log == ("replaced user message pad", "replaced 1 item of the history by 1")


def test_11_3_a_proposal_keeps_protected_items_exact_and_in_order() -> None:
    context, stub = filled(850)
    opaque = [{"type": "reasoning", "id": f"r{number}", "encrypted_content": "x"} for number in (1, 2)]
    context.add_input_items(opaque)
    problems: list[str] = []

    async def does(pass_: Any, target: int) -> None:
        pad_, one, two = pass_.conversation
        for proposal in ([pad_, one], [pad_, one, {**two, "encrypted_content": "y"}], [pad_, two, one]):
            with pytest.raises(InvalidInputError) as caught:
                await pass_.compact_conversation(proposal)
            problems.append(caught.value.problem)
        assert await pass_.compact_conversation([one, two]) > 700

    stub.does = does
    prepare(context)
    assert problems[0] == "The proposal lacks item 2, which is protected: opaque."
    assert problems[1] == problems[0]
    assert "lacks item" in problems[2]
    assert context.conversation == opaque


def test_11_2_a_proposal_parts_no_call_from_its_result() -> None:
    context, stub = removing()
    context.add_input_items([message("user", result("orphan"))])  # alone before, so alone it may stay

    async def does(pass_: Any, target: int) -> None:
        pad_, called, answered, last, orphan = pass_.conversation
        for proposal in ([pad_, called, last, orphan], [pad_, answered, last, orphan]):
            with pytest.raises(InvalidInputError, match="parts a call"):
                await pass_.compact_conversation(proposal)
        assert await pass_.compact_conversation([last, orphan]) > 600

    stub.does = does
    prepare(context)
    assert len(context.conversation) == 2


def test_12_what_a_proposal_keeps_is_found_among_items_that_look_alike() -> None:
    context, stub = filled(800)
    opaque = [{"type": "unknown", "content": number} for number in (1, 2, 3)]
    context.add_input_items([*pair("a"), *pair("b"), *opaque])
    logs: list[tuple[str, ...]] = []

    async def does(pass_: Any, target: int) -> None:
        held = pass_.conversation
        await pass_.compact_conversation(held[3:])
        logs.append(pass_.log)

    stub.does = does
    prepare(context)
    assert logs[0][1:] == (
        "replaced assistant message at position 1",
        "replaced user message at position 2",
        "replaced 3 items of the history by 0",
    )


def test_12_the_event_comes_before_the_callback_and_that_before_the_strategy() -> None:
    context, stub = filled(850)
    order: list[str] = []
    context.on("compaction:starting", lambda _: order.append("event"))
    context.set_before_compaction_callback(lambda _: order.append("callback"))
    stub.does = lambda *_: order.append("strategy")
    prepare(context)
    assert order == ["event", "callback", "strategy"]
