"""What a preparation that fails leaves behind (7.1, 7.1.7, 8.2, 11.5, 16, 24)."""

from __future__ import annotations

from typing import Any

import pytest

from playground.errors import AIError, ContextOverflowError, InvalidInputError, InvalidToolProtocolError
from playground.preparation import CompactionResult
from tests.preparation import ScriptedPlugin, call, message, pad, pair, result
from tests.unit.preparation.calls import budget_of, filled, listening, prepare, stubbed, traces


def test_a_request_that_does_not_fit_is_an_overflow_after_one_compaction() -> None:
    """7.1.11, 24: what was counted stands in the error; the target is no condition."""
    context, stub = filled(950)
    told = listening(context)
    with pytest.raises(ContextOverflowError, match="950") as caught:
        prepare(context)
    error = caught.value
    assert (error.code, error.status) == ("CONTEXT_OVERFLOW", 413)
    assert (error.budget.actual_tokens, error.budget.max_tokens, error.budget.overage_tokens) == (950, 900, 50)
    assert sum(error.budget.breakdown.values()) == 950
    assert error.get_top_consumers(1)[0][0] == "conversation"
    assert stub.targets == [950 - 585]
    assert [name for name, _ in told] == ["compaction:starting"]
    assert context.last_preparation is None


@pytest.mark.parametrize(("total", "fits"), [(899, True), (900, True), (901, False)])
def test_what_fills_the_limit_exactly_fits(total: int, fits: bool) -> None:
    """7.1.11: also when it stays above the critical line."""
    context, stub = filled(total)
    if fits:
        assert prepare(context).budget.available == 900 - total
    else:
        with pytest.raises(ContextOverflowError):
            prepare(context)
    assert len(stub.targets) == 1


def test_a_failure_keeps_revision_diagnostics_and_input() -> None:
    """7.1."""
    context, stub = stubbed()
    context.add_user_message("Hello")
    prepare(context)
    before = traces(context)
    context.add_input_items([pad(900)])
    for _ in range(2):
        with pytest.raises(ContextOverflowError):
            prepare(context)
    assert traces(context) == before
    context.clear_conversation()
    prepare(context)
    assert context.last_preparation is not None
    assert context.last_preparation.revision == 2
    assert len(stub.targets) == 2


def test_what_a_strategy_raises_is_raised_and_what_it_removed_stays_removed() -> None:
    """12, 8.4: there is no rollback; the flag is cleared."""
    context, stub = filled(850)
    context.add_user_message("Hello")
    failure = RuntimeError("strategy")

    async def fail(given: Any, _: int) -> None:
        await given.remove_messages([0])
        raise failure

    stub.does = fail
    with pytest.raises(RuntimeError) as caught:
        prepare(context)
    assert caught.value is failure
    assert context.conversation == []
    assert len(context.current_input) == 1
    assert context.last_preparation is None
    stub.does = None
    assert not prepare(context).compacted


def test_what_was_lost_before_an_overflow_stands_in_the_error() -> None:
    """24, 7.1: the history stays as compaction left it."""
    context, stub = filled(850)
    pending = {**call("late"), "async": True}
    context.add_input_items([message("assistant", pending, "x" * 3300)])
    stub.does = lambda given, _: given.remove_messages([0])
    with pytest.raises(ContextOverflowError) as caught:
        prepare(context)
    assert "pad" in caught.value.get_degradation_summary()
    assert len(context.conversation) == 1


@pytest.mark.parametrize(("more", "said"), [("input", "too large"), ("tools", "too many tools")])
def test_what_was_lost_before_the_room_went_stands_in_the_error_too(more: str, said: str) -> None:
    """24: after a compaction the input, or the tools, may find no room any more."""
    context, stub = filled(850)
    context.add_user_message("Hello")
    context.register_plugin(ScriptedPlugin(contents=["", "x" * 3500 if more == "input" else ""]))
    definitions = [[], [{"name": "late", "description": "x" * 3500 if more == "tools" else ""}]]
    stub.does = lambda given, _: given.remove_messages([0])
    with pytest.raises(ContextOverflowError, match=said) as caught:
        prepare(context, get_tools=lambda: definitions[len(stub.targets)])
    assert "dropped user message pad" in caught.value.get_degradation_summary()


def test_too_many_tools_are_told_as_such() -> None:
    """7.1.7, 27."""
    context, stub = stubbed()
    for number in range(100):
        context.tools.register({"name": f"tool_{number}", "description": "x" * 1000})
    with pytest.raises(ContextOverflowError, match=r"(?i)too many tools"):
        prepare(context)
    assert not stub.targets


def test_a_reserve_that_leaves_nothing_is_told_as_such() -> None:
    """7.1.7: no tool is to blame."""
    context, _ = stubbed(response_reserve=1000)
    with pytest.raises(ContextOverflowError, match="reserve of 1,000"):
        prepare(context)


def test_tools_that_leave_exactly_nothing_are_too_many() -> None:
    """7.1.7: capacity 0 or less."""
    context, _ = stubbed(response_reserve=0, max_context_tokens=48)
    context.tools.register(
        {
            "name": "get_weather",
            "description": "Get weather",
            "parameters": {"type": "object", "properties": {}},
        }
    )
    with pytest.raises(ContextOverflowError, match="too many tools"):
        prepare(context)


def test_a_system_message_beyond_the_capacity_is_never_silent() -> None:
    """16, 7.1.11: without input there is nothing to refuse or cut; the fit test raises."""
    context, stub = stubbed(system_prompt="x" * 4000)
    told = listening(context)
    with pytest.raises(ContextOverflowError, match="does not fit"):
        prepare(context)
    assert len(stub.targets) == 1
    assert [name for name, _ in told] == ["compaction:starting"]


@pytest.mark.parametrize(
    "items",
    [
        [message("assistant", call("c1")), message("assistant", call("c1")), message("user", result("c1"))],
        [*pair("c1"), message("user", result("c1"))],
    ],
    ids=["calls", "results"],
)
def test_an_id_that_comes_twice_fails_prepare_validate_and_consolidate(items: list[Any]) -> None:
    """11.5, 7.1.6."""
    context, _ = stubbed()
    context.add_input_items(items)
    with pytest.raises(AIError) as caught:
        prepare(context)
    assert caught.value.code == "INVALID_TOOL_PROTOCOL"
    with pytest.raises(InvalidToolProtocolError):
        context.validate_request_budget({"input": items})
    with pytest.raises(InvalidToolProtocolError):
        budget_of(context)
    assert context.last_preparation is None


@pytest.mark.parametrize("threshold", [None, True, "0.75", 1.5, float("nan")])
def test_a_threshold_that_is_no_share_is_told(threshold: Any) -> None:
    """12: it is read at its use."""
    context, stub = filled(850)
    stub.threshold = threshold
    with pytest.raises(InvalidInputError, match="threshold of the strategy stub"):
        prepare(context)
    assert not stub.targets


def test_compacted_means_that_something_was_freed() -> None:
    """7.3."""
    context, stub = filled(850)
    assert not prepare(context).compacted
    stub.does = lambda *_: CompactionResult(tokens_freed=5, log=("did something",), report={"kept": 1})
    prepared = prepare(context)
    assert prepared.compacted
    assert prepared.compaction_log == ("did something",)
    assert context.last_preparation is not None
    assert context.last_preparation.compaction == {"kept": 1}


def test_a_clock_that_is_none_fails_before_anything_is_recorded() -> None:
    """7.1."""
    ticks = iter([1, 1, 1, -5])  # a date line and a stamp each
    context, _ = stubbed(clock=lambda: next(ticks))
    prepare(context)
    with pytest.raises(TypeError, match="clock"):
        prepare(context)
    assert context.last_preparation is not None
    assert context.last_preparation.revision == 1
