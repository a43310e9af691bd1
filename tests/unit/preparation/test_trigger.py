"""When a strategy runs, and what it is asked to free (section 12, 27)."""

from __future__ import annotations

import pytest

from playground.errors import ContextOverflowError
from playground.preparation import CompactionResult
from tests.preparation import NOW, FixedClock, StubStrategy, pad
from tests.unit.preparation.calls import budget_of, filled, listening, prepare, stubbed


def test_27_exactly_the_critical_share_does_not_trigger() -> None:
    context, stub = filled(810)
    assert prepare(context).budget.total_used == 810
    assert stub.targets == []


def test_27_one_token_more_runs_the_strategy_once_with_226_tokens_to_free() -> None:
    context, stub = filled(811)
    prepare(context)
    assert stub.targets == [811 - 585]


@pytest.mark.parametrize(("threshold", "stays"), [(0.75, 585), (0.70, 540), (0.95, 720), (0.05, 0)])
def test_12_the_target_is_a_tenth_below_the_lower_threshold(threshold: float, stays: int) -> None:
    context, stub = filled(850)
    stub.threshold = threshold
    prepare(context)
    assert stub.targets == [850 - stays]


def test_12_the_threshold_is_read_at_every_use() -> None:
    class Moving(StubStrategy):
        reads = 0

        def __getattribute__(self, name: str) -> object:
            if name == "threshold":
                Moving.reads += 1
                return 0.75 if Moving.reads <= 2 else 0.70
            return super().__getattribute__(name)

    context, _ = filled(850, strategy=(moving := Moving()))
    while Moving.reads < 2:
        assert moving.threshold == 0.75
    prepare(context)
    prepare(context)
    assert moving.targets == [850 - 540] * 2


def test_27_an_overflow_runs_the_strategy_once_and_records_nothing() -> None:
    context, stub = filled(950)
    with pytest.raises(ContextOverflowError) as caught:
        prepare(context)
    budget = caught.value.budget
    assert (budget.actual_tokens, budget.max_tokens, budget.overage_tokens) == (950, 900, 50)
    assert (caught.value.code, len(stub.targets)) == ("CONTEXT_OVERFLOW", 1)
    assert context.last_preparation is None


def test_7_1_11_a_request_that_fits_is_returned_above_the_line_and_without_a_second_pass() -> None:
    context, stub = filled(890)
    prepared = prepare(context)
    assert (prepared.budget.total_used, prepared.compacted, len(stub.targets)) == (890, False, 1)


def test_12_tools_are_no_part_of_the_capacity_that_the_gate_looks_at() -> None:
    context, stub = stubbed()
    context.tools.register(
        {
            "name": "get_weather",
            "description": "Get weather",
            "parameters": {"type": "object", "properties": {}},
        }
    )
    system = budget_of(context).system_message_tokens
    context.add_input_items([pad(767 - system)])  # of 852; 0.9 of it are 766.8
    prepare(context)
    assert stub.targets == [767 - 553]


def test_12_the_events_come_in_order_and_with_the_budget_before_also_on_the_first_call() -> None:
    context, stub = filled(850)
    stub.does = lambda pass_, target: CompactionResult(tokens_freed=7, log=("freed 7",))
    told = listening(context)
    prepare(context)
    names = [name for name, _ in told]
    assert names == [
        "compaction:starting",
        "context:compacted",
        "budget:updated",
        "budget:critical",
        "context:prepared",
    ]
    starting, compacted = told[0][1], told[1][1]
    assert (starting.budget.total_used, starting.target_tokens_to_free) == (850, 265)
    assert starting.timestamp > 0
    assert (compacted.tokens_freed, compacted.log) == (7, ("freed 7",))
    assert stub.budgets[0].total_used == 850


def test_12_a_later_compaction_too_sees_the_budget_as_it_is_now() -> None:
    """Not the cached one of the preparation before, neither in the event nor in the strategy's hands."""
    clock = FixedClock()
    context, stub = filled(500, clock=clock)
    prepare(context)
    context.add_input_items([pad(350)])
    told = listening(context)
    clock.ms += 5_000
    prepare(context)
    assert (told[0][0], told[0][1].budget.total_used) == ("compaction:starting", 850)
    assert told[0][1].timestamp == NOW + 5_000
    assert stub.budgets[0] == told[0][1].budget
    assert stub.targets == [told[0][1].target_tokens_to_free] == [850 - 585]


def test_12_a_threshold_is_a_share_and_one_is_one() -> None:
    """The critical line is lower, so that it decides: 0.9 - 0.1 of 900."""
    context, stub = filled(850)
    stub.threshold = 1
    prepare(context)
    assert stub.targets == [850 - 720]
