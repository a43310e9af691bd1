"""The budget of a request (6) and the error for one that does not fit (24)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import InvalidInputError
from playground.preparation.budget import BudgetBreakdown, PreparationBudget, make_budget, overflow
from playground.preparation.results import ContextPreparation, PreparedContext

PARTS = {
    "system_prompt": 3, "persistent_instructions": 5, "plugin_instructions": 7,
    "plugin_contents": {"working_memory": 11, "b": 13}, "instructions": 17, "tools": 19, "native_tools": 23,
    "response_format": 29, "conversation": 31, "current_input": 37,
}  # fmt: skip


def budget(**changes: Any) -> PreparationBudget:
    settings = {"max_tokens": 1000, "response_reserve": 100, "system_tokens": 50}
    return make_budget(**{**settings, **changes}, breakdown=BudgetBreakdown(**PARTS))


def test_6_the_parts_add_up_and_headings_stand_as_overhead() -> None:
    made = budget()
    assert made.breakdown.system_overhead == 50 - (3 + 5 + 7 + 11 + 13)
    assert made.breakdown.total() == made.total_used == 50 + 17 + 19 + 23 + 29 + 31 + 37
    assert sum(made.breakdown.flat().values()) == made.total_used
    assert (made.system_message_tokens, made.tools_tokens) == (50, 19 + 23 + 29)
    assert (made.conversation_tokens, made.current_input_tokens) == (31, 37)
    assert made.limit == 900
    assert made.available == 900 - made.total_used
    assert made.utilization_percent == made.total_used / 900 * 100
    assert made.content_capacity == 900 - 71
    assert made.content_used == 50 + 17 + 31 + 37


def test_26h_the_extra_parts_are_always_there_and_the_record_is_camel_case() -> None:
    made = make_budget(max_tokens=10, response_reserve=0, system_tokens=0, breakdown=BudgetBreakdown())
    data = json.loads(made.to_json())
    assert data == {
        "maxTokens": 10, "responseReserve": 0, "systemMessageTokens": 0, "toolsTokens": 0,
        "conversationTokens": 0, "currentInputTokens": 0, "totalUsed": 0, "available": 10,
        "utilizationPercent": 0.0,
        "breakdown": {
            "systemPrompt": 0, "persistentInstructions": 0, "pluginInstructions": 0, "pluginContents": {},
            "systemOverhead": 0, "instructions": 0, "tools": 0, "nativeTools": 0, "responseFormat": 0,
            "conversation": 0, "currentInput": 0,
        },
    }  # fmt: skip
    assert PreparationBudget.from_json(made.to_json()) == made
    assert PreparationBudget.from_json(budget().to_json()) == budget()


def test_plugin_names_are_recorded_as_they_are() -> None:
    assert json.loads(budget().to_json())["breakdown"]["pluginContents"] == {"working_memory": 11, "b": 13}
    assert budget().breakdown.flat() == {
        "systemPrompt": 3, "persistentInstructions": 5, "pluginInstructions": 7, "plugin:working_memory": 11,
        "plugin:b": 13, "systemOverhead": 11, "instructions": 17, "tools": 19, "nativeTools": 23,
        "responseFormat": 29, "conversation": 31, "currentInput": 37,
    }  # fmt: skip


def test_a_window_without_room_is_full() -> None:
    made = budget(response_reserve=1000)
    assert (made.limit, made.utilization_percent) == (0, 100.0)
    assert made.available == -made.total_used
    assert budget(response_reserve=2000).utilization_percent == 100.0


@given(system=st.integers(0, 500), window=st.integers(1, 5000), reserve=st.integers(0, 5000))
def test_whatever_the_sizes_the_sums_agree(system: int, window: int, reserve: int) -> None:
    made = budget(system_tokens=system, max_tokens=window, response_reserve=reserve)
    assert made.breakdown.total() == made.total_used == made.content_used + made.tools_tokens
    assert made.total_used + made.available == made.limit
    assert (made.content_used <= made.content_capacity) == (made.total_used <= made.limit)


def test_24_an_overflow_tells_sizes_log_and_the_largest_parts() -> None:
    made = budget(max_tokens=206)
    error = overflow(made, "the input is too large", ["moved a", "dropped b"], remedy="Shorten it.")
    assert (error.code, error.status) == ("CONTEXT_OVERFLOW", 413)
    assert str(error) == (
        "Context overflow: the input is too large. It has 206 tokens, 106 fit: 100 too many. Shorten it."
    )
    assert error.budget.to_json() == {
        "actualTokens": 206, "maxTokens": 106, "overageTokens": 100, "breakdown": made.breakdown.flat(),
        "degradationLog": ["moved a", "dropped b"],
    }  # fmt: skip
    assert error.get_degradation_summary() == "moved a\ndropped b"
    assert error.get_top_consumers(2) == [("currentInput", 37), ("conversation", 31)]
    assert len(error.get_top_consumers()) == 5
    assert error.get_top_consumers(0) == []
    assert str(overflow(made)).startswith("Context overflow: the request does not fit. It has 206")


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="other"):
        BudgetBreakdown.parse({"other": 1})


def test_a_notebook_shows_a_request_as_parts_with_names_escaped() -> None:
    breakdown = BudgetBreakdown(plugin_contents={"<b>\ud800": 7}, conversation=1_200)
    made = make_budget(max_tokens=2_100, response_reserve=100, system_tokens=9, breakdown=breakdown)
    page = made._repr_html_()
    page.encode()
    assert "<b>1,209 of 2,000 tokens, 60 %</b>" in page
    assert "plugin:&lt;b&gt;\ufffd</td>" in page
    assert "systemOverhead" in page
    assert "responseFormat" not in page
    prepared = PreparedContext([], made, compacted=True, compaction_log=("moved <i>x</i>",), tools=[])
    assert page in prepared._repr_html_()
    assert "<li>moved &lt;i&gt;x&lt;/i&gt;</li>" in prepared._repr_html_()
    assert (
        ContextPreparation(revision=3, prepared_at=0, budget=made)._repr_html_().startswith("<p>revision 3</p>")
    )
