"""The errors of the second system (24)."""

from __future__ import annotations

import json
from types import MappingProxyType

import pytest

from playground.errors import (
    AIError,
    ContextBusyError,
    ContextChangedError,
    ContextOverflowError,
    InvalidToolProtocolError,
    OverflowBudget,
    PlaygroundError,
)

BUDGET = OverflowBudget(950, 900, 50, {"conversation": 900, "systemOverhead": 50}, ("dropped 2 items",))


@pytest.mark.parametrize(
    ("error", "code", "status", "retryable"),
    [
        (AIError("x"), "AI_ERROR", None, False),
        (InvalidToolProtocolError("x"), "INVALID_TOOL_PROTOCOL", None, False),
        (ContextOverflowError(budget=BUDGET), "CONTEXT_OVERFLOW", 413, False),
        (ContextChangedError("x"), "CONTEXT_CHANGED", None, True),
        (ContextBusyError(operation="rollover"), "CONTEXT_BUSY", None, True),
    ],
)
def test_24_codes_are_upper_case_as_hosts_know_them(
    error: AIError, code: str, status: int | None, retryable: bool
) -> None:
    assert isinstance(error, PlaygroundError)
    assert (error.code, error.status, error.retryable) == (code, status, retryable)


def test_an_overflow_gives_its_sizes_to_a_log_but_no_text_of_the_request() -> None:
    error = ContextOverflowError("Context overflow: too many.", budget=BUDGET)
    assert error.to_json() == {
        "code": "CONTEXT_OVERFLOW",
        "message": "Context overflow: too many.",
        "actual_tokens": 950,
        "max_tokens": 900,
        "overage_tokens": 50,
    }
    assert str(ContextOverflowError(budget=BUDGET)) == (
        "Context overflow: the request does not fit. It has 950 tokens, 900 fit: 50 too many."
    )


def test_a_busy_context_names_what_holds_it() -> None:
    assert "rollover" in str(ContextBusyError(operation="rollover"))
    assert ContextBusyError(operation="rollover").operation == "rollover"


def test_a_protocol_error_names_id_namespace_and_both_places() -> None:
    error = InvalidToolProtocolError("Twice.", namespace="function", call_id="a", positions=[3, 7])
    assert (error.namespace, error.call_id, error.positions) == ("function", "a", (3, 7))


def test_24_no_more_consumers_are_told_than_are_asked_for() -> None:
    error = ContextOverflowError(budget=OverflowBudget(3, 2, 1, {"b": 1, "a": 1, "c": 9}))
    assert error.get_top_consumers(2) == [("c", 9), ("a", 1)]
    assert error.get_top_consumers(0) == error.get_top_consumers(-1) == []


def test_24_the_numbers_of_an_overflow_are_recorded_in_camel_case_whatever_holds_them() -> None:
    budget = OverflowBudget(3, 2, 1, MappingProxyType({"plugin:notes": 3}), ("dropped 1 item",))
    assert json.loads(json.dumps(budget.to_json())) == {
        "actualTokens": 3,
        "maxTokens": 2,
        "overageTokens": 1,
        "breakdown": {"plugin:notes": 3},
        "degradationLog": ["dropped 1 item"],
    }
