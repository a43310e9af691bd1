from __future__ import annotations

import math
from typing import Any

import pytest

from playground import (
    DEFAULT_CONTEXT_BUDGET,
    ContextBudget,
    ContextCandidate,
    InvalidInputError,
    compile_context,
)
from tests.builders import ONLY_RAG, compiled, offer, selected


def context_tokens(input_tokens: int, used_tokens: int, **budget: Any) -> int:
    package = compile_context(
        results=[], messages=[], input_tokens=input_tokens, used_tokens=used_tokens, budget=budget
    )
    return package.manifest.budget.context_tokens


@pytest.mark.parametrize(
    ("input_tokens", "used_tokens", "ratio", "max_tokens", "expected"),
    [
        (10_000, 2_000, 0.5, 100_000, 4_000),
        (10_000, 2_000, 0.5, 3_999, 3_999),
        (10_001, 2_000, 0.5, 100_000, 4_000),
        (192_000, 9, 0.25, 8_192, 8_192),
        (192_000, 9, 0.042669, 8_192, 8_192),
        (192_000, 9, 0.042, 8_192, math.floor(0.042 * 191_991)),
        (32_768, 0, 0.25, 8_192, 8_192),
        (32_764, 0, 0.25, 8_192, 8_191),
        (5, 5, 1, 8_192, 0),
    ],
)
def test_r11_context_tokens_are_the_floor_of_the_smaller_of_ratio_and_maximum(
    input_tokens: int, used_tokens: int, ratio: float, max_tokens: int, expected: int
) -> None:
    assert context_tokens(input_tokens, used_tokens, ratio=ratio, max_tokens=max_tokens) == expected


def test_r11_the_two_numbers_of_a_request_are_recorded_as_given() -> None:
    budget = compile_context(results=[], messages=[], input_tokens=120_000, used_tokens=1_009).manifest.budget
    assert (budget.input_tokens, budget.used_tokens) == (120_000, 1_009)


@pytest.mark.parametrize(
    ("name", "value"), [("ratio", 0.5), ("max_tokens", 1), ("shares", {}), ("working_memory_tokens", 1)]
)
def test_r14_the_default_budget_cannot_be_changed(name: str, value: object) -> None:
    before = DEFAULT_CONTEXT_BUDGET.model_dump()
    with pytest.raises((ValueError, TypeError, AttributeError)):
        setattr(DEFAULT_CONTEXT_BUDGET, name, value)
    assert DEFAULT_CONTEXT_BUDGET.model_dump() == before


def test_r14_the_shares_of_the_default_budget_cannot_be_changed_either() -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        setattr(DEFAULT_CONTEXT_BUDGET.shares, "rag", 0.1)  # noqa: B010  # the type says so as well
    with pytest.raises(TypeError):
        DEFAULT_CONTEXT_BUDGET.shares["rag"] = 0.1  # type: ignore[index]  # that is the point
    assert DEFAULT_CONTEXT_BUDGET.shares["rag"] == 0.35


def test_r14_the_defaults_are_the_documented_figures() -> None:
    budget = DEFAULT_CONTEXT_BUDGET
    assert (budget.ratio, budget.max_tokens, budget.working_memory_tokens) == (0.25, 8192, 2048)
    assert dict(budget.shares.items()) == {"memory": 0.35, "rag": 0.35, "transcript": 0.15, "skills": 0.15}


def test_budgets_of_equal_content_are_equal_and_hash_alike() -> None:
    one = ContextBudget(ratio=0.5, shares={"rag": 0.1})
    two = ContextBudget(shares={"rag": 0.1}, ratio=0.5)
    assert one == two
    assert hash(one) == hash(two)


def test_r15_a_partial_budget_keeps_the_defaults_of_the_other_fields_and_kinds() -> None:
    budget = ContextBudget.parse({"shares": {"rag": 0.05}})
    assert budget.shares.rag == 0.05
    assert (budget.shares.memory, budget.shares.transcript, budget.shares.skills) == (0.35, 0.15, 0.15)
    assert (budget.ratio, budget.max_tokens, budget.working_memory_tokens) == (0.25, 8192, 2048)


def test_r15_a_partial_budget_given_to_a_compile_is_merged_the_same_way() -> None:
    budget = compile_context(
        results=[], messages=[], input_tokens=4_000, used_tokens=0, budget={"shares": {"rag": 0.1}}
    ).manifest.budget
    assert budget.context_tokens == 1_000
    assert budget.shares == {"memory": 350, "rag": 100, "transcript": 150, "skills": 150}


def test_r15_shares_that_sum_to_one_in_decimal_fractions_are_accepted() -> None:
    shares = {"memory": 0.1, "rag": 0.2, "transcript": 0.3, "skills": 0.4}
    assert ContextBudget(shares=shares).shares.skills == 0.4
    assert ContextBudget(shares={**shares, "skills": 0.4 + 5e-10})
    with pytest.raises(InvalidInputError):
        ContextBudget(shares={**shares, "skills": 0.4 + 1e-8})


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "bad",
    [
        *({"ratio": value} for value in (0, -0.1, 1.5, 1.0000001, NAN, INF, True, "0.5", None, 10**400)),
        *(
            {name: value}
            for name in ("max_tokens", "working_memory_tokens")
            for value in (-1, 0.5, 100.0, NAN, INF, True, "7", None, 10**400)
        ),
        *({"shares": {"rag": value}} for value in (-0.01, 1.1, NAN, INF, True, "0.1", None)),
        {"shares": {"memory": 0.5, "rag": 0.51, "transcript": 0, "skills": 0}},
        {"shares": {"rag": 0.36}},
        {"shares": {"web": 0.1}},
        {"shares": 0.5},
        {"tokens": 5},
        5,
        None,
    ],
    ids=repr,
)
def test_r16_a_malformed_budget_is_refused_as_the_callers_mistake(bad: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        compile_context(results=[], messages=[], input_tokens=10, used_tokens=0, budget=bad)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


def test_r16_the_refusal_names_the_field_and_how_the_shares_exceed_one() -> None:
    with pytest.raises(InvalidInputError, match=r"ratio"):
        ContextBudget(ratio=0)
    with pytest.raises(InvalidInputError, match=r"shares.*1\.01"):
        ContextBudget(shares={"rag": 0.36})


def test_r17_a_request_that_is_over_full_gives_zero_tokens_and_no_error() -> None:
    package = compile_context(
        results=[offer(ContextCandidate("a", "text", 1.0))], messages=[], input_tokens=100, used_tokens=500
    )
    assert package.manifest.budget.context_tokens == 0
    assert package.blocks == ()
    assert [entry.reason for entry in package.manifest.entries] == ["budget"]


def test_the_smallest_budget_that_holds_a_record_is_found_by_one_token() -> None:
    record = ContextCandidate("a", "text", 1.0)
    full = compiled(offer(record), shares=ONLY_RAG)
    need = full.manifest.budget.frame_tokens + full.manifest.entries[0].tokens
    assert selected(compiled(offer(record), context_tokens=need, shares=ONLY_RAG)) == ["a"]
    assert selected(compiled(offer(record), context_tokens=need - 1, shares=ONLY_RAG)) == []
