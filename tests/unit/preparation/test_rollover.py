"""A rollover: older history becomes one summary (section 17)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from playground.errors import (
    ContextBusyError,
    ContextChangedError,
    InvalidInputError,
    InvalidRequestError,
    InvalidToolProtocolError,
)
from playground.preparation import AgentContext, RolloverResult
from playground.preparation.items import Json
from tests.preparation import ScriptedPlugin, bare, call, message, native, pair, result
from tests.unit.preparation.calls import budget_of, listening, prepare

REASONING = {"type": "reasoning", "id": "r", "encrypted_content": "secret"}
UNACKNOWLEDGED = {"version": 1, "status": "unacknowledged", "invocationId": "i"}


def turn(number: int, *between: Json) -> list[Json]:
    return [
        {**message("user", f"question {number}"), "id": f"q{number}"},
        *between,
        {**message("assistant", f"answer {number}"), "id": f"a{number}"},
    ]


def context_of(*data: Json) -> AgentContext:
    context = bare(max_context_tokens=5000)
    context.add_input_items(data)
    return context


def roll(context: AgentContext, keep: int = 2, summarize: Any = None, **more: Any) -> RolloverResult:
    def short(items: list[Json]) -> str:
        return "They talked."

    return asyncio.run(context.rollover(summarize=summarize or short, preserve_recent_turns=keep, **more))


def ids(context: AgentContext) -> list[Any]:
    return [item.get("id") for item in context.conversation]


def test_17_all_but_the_recent_turns_become_one_summary() -> None:
    context = context_of(*[item for number in range(5) for item in turn(number)])
    kept = context.conversation[6:]
    result = roll(context)
    assert context.conversation[1:] == kept
    summary = context.conversation[0]
    assert (summary["role"], summary["id"]) == ("user", "a2_summary")
    assert summary["content"][0]["text"] == "[Earlier conversation summarized]\nThey talked."
    assert (result.performed, result.messages_summarized, result.messages_retained) == (True, 6, 4)
    assert result.summary == "They talked."
    assert result.tokens_after == budget_of(context).conversation_tokens < result.tokens_before


def test_17_the_callback_gets_copies_of_what_goes_and_may_answer_later() -> None:
    context = context_of(*[item for number in range(3) for item in turn(number)])
    seen: list[Any] = []

    async def later(items: list[Json]) -> str:
        seen.extend(item["id"] for item in items)
        items[0]["content"].clear()
        items.clear()
        await asyncio.sleep(0)
        return "  Later.  "

    assert roll(context, summarize=later).summary == "Later."
    assert seen == ["q0", "a0"]
    assert ids(context)[1:] == ["q1", "a1", "q2", "a2"]


def test_17_the_default_keeps_eight_turns() -> None:
    context = context_of(*[item for number in range(9) for item in turn(number)])
    asyncio.run(context.rollover(summarize=lambda items: "s"))
    assert ids(context)[1:3] == ["q1", "a1"]


def test_17_results_are_no_turns() -> None:
    context = context_of(*turn(0), *turn(1, *pair("x")), *turn(2, *pair("y")))
    roll(context)
    assert ids(context)[1:3] == ["q1", None]


def test_17_the_cut_moves_left_past_every_group_that_reaches_over_it() -> None:
    outer, inner = call("outer"), call("inner")
    context = context_of(
        *turn(0),
        {**message("assistant", inner), "id": "inner"},
        {**message("assistant", outer), "id": "outer"},
        message("user", result("inner")),
        *turn(1, message("user", result("outer"))),
        *turn(2),
    )
    roll(context)
    assert ids(context)[:3] == ["a0_summary", "inner", "outer"]


def test_17_what_only_a_provider_reads_stays_exact_and_in_its_place() -> None:
    context = context_of(*turn(0, REASONING, native("elsewhere")), *turn(1), *turn(2))
    roll(context)
    assert context.conversation[1:3] == [REASONING, native("elsewhere")]
    assert ids(context) == ["a0_summary", "r", None, "q1", "a1", "q2", "a2"]
    first = context_of(REASONING, *turn(0), *turn(1), *turn(2))
    roll(first)
    assert ids(first)[:2] == ["r", "a0_summary"]


def test_17_19_evidence_and_open_calls_are_not_summarised() -> None:
    proof = [message("assistant", call("e")), message("user", result("e", persistence=UNACKNOWLEDGED))]
    later = message("assistant", {**call("l"), "async": True})
    context = context_of(*turn(0, *proof, later), *turn(1), *turn(2))
    result_ = roll(context)
    assert context.conversation[1:4] == [*proof, later]
    assert result_.messages_summarized == 2


@pytest.mark.parametrize("answer", ["", "  \n", None, 3, ["text"]])
def test_17_a_summary_that_says_nothing_is_refused_and_changes_nothing(answer: Any) -> None:
    context = context_of(*[item for number in range(4) for item in turn(number)])
    before = context.conversation
    with pytest.raises(InvalidInputError, match="summary"):
        roll(context, summarize=lambda items: answer)
    assert context.conversation == before


CHANGES: dict[str, Callable[[AgentContext], object]] = {
    "message": lambda context: context.add_user_message("New"),
    "items": lambda context: context.add_input_items([message("user", "New")]),
    "prompt": lambda context: setattr(context, "system_prompt", "New"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_17_a_context_that_changes_meanwhile_is_left_as_it_then_is(change: str) -> None:
    context = context_of(*[item for number in range(4) for item in turn(number)])
    after: list[Any] = []

    async def slow(items: list[Json]) -> str:
        CHANGES[change](context)
        after.extend([context.conversation, context.current_input])
        return "s"

    with pytest.raises(ContextChangedError):
        roll(context, summarize=slow)
    assert [context.conversation, context.current_input] == after


def test_17_a_waiting_input_is_refused() -> None:
    context = context_of(*[item for number in range(4) for item in turn(number)])
    context.add_user_message("Now?")
    with pytest.raises(InvalidRequestError, match="waits"):
        roll(context)
    context.add_assistant_response("Yes.")
    assert roll(context).performed


def test_17_with_nothing_older_the_callback_is_not_called() -> None:
    def never(items: list[Json]) -> str:
        raise AssertionError

    for data in ([], turn(0), [*turn(0), *turn(1)], [REASONING, *turn(0), *turn(1)]):
        context = context_of(*data)
        told = listening(context)
        before = budget_of(context).conversation_tokens
        assert roll(context, summarize=never) == RolloverResult(False, 0, len(data), before, before)
        assert told == []


def test_17_a_summary_alone_is_not_summarised_again() -> None:
    context = context_of(*[item for number in range(4) for item in turn(number)])
    assert roll(context).performed
    before = context.conversation
    assert not roll(context).performed
    assert context.conversation == before
    context.add_input_items(turn(9))
    assert roll(context).messages_summarized == 3


def test_17_listeners_get_the_result_and_the_reason() -> None:
    context = context_of(*[item for number in range(4) for item in turn(number)])
    told = listening(context)
    result_ = roll(context, reason="too long")
    assert [(name, value.result, value.reason) for name, value in told] == [
        ("context:rolled_over", result_, "too long")
    ]


def test_10_the_cached_budget_goes_and_the_last_preparation_stays() -> None:
    context = context_of(*[item for number in range(4) for item in turn(number)])
    prepare(context)
    before = context.last_preparation
    roll(context)
    assert context.last_budget is None
    assert context.last_preparation == before
    assert prepare(context).input[1]["id"] == "a1_summary"


def test_8_3_it_excludes_and_is_excluded_and_lets_go_again() -> None:
    context = context_of(*[item for number in range(4) for item in turn(number)])
    refused: list[str] = []

    async def busy(items: list[Json]) -> str:
        for operation in (context.prepare, context.consolidate):
            with pytest.raises(ContextBusyError) as caught:
                await operation()
            refused.append(caught.value.operation)
        raise RuntimeError

    with pytest.raises(RuntimeError):
        roll(context, summarize=busy)
    assert refused == ["rollover", "rollover"]

    async def during() -> None:
        with pytest.raises(ContextBusyError):
            await context.rollover(summarize=lambda items: "s")

    context.register_plugin(ScriptedPlugin(at_content=during))
    prepare(context)
    assert roll(context).performed


@pytest.mark.parametrize(
    "wrong", [{"preserve_recent_turns": -1}, {"preserve_recent_turns": True}, {"summarize": "x"}, {"reason": 3}]
)
def test_malformed_arguments_are_told(wrong: dict[str, Any]) -> None:
    context = context_of(*turn(0))
    arguments = {"summarize": lambda items: "s", **wrong}
    with pytest.raises(InvalidInputError):
        asyncio.run(context.rollover(**arguments))


def test_11_5_duplicates_are_told() -> None:
    context = context_of(*pair("a"), *pair("a"), *turn(0))
    with pytest.raises(InvalidToolProtocolError):
        roll(context)


def test_17_keeping_no_turn_summarises_everything_that_may_go() -> None:
    context = context_of(*turn(0), REASONING, *turn(1))
    assert roll(context, keep=0).messages_summarized == 4
    assert ids(context) == ["a1_summary", "r"]
