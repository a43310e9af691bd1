"""The block compiler; the numbers of rules and worked cases are those of its specification."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import FrozenInstanceError, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from playground import InvalidInputError, Message, TokenEstimator
from playground.blocks import (
    BLOCK_KINDS,
    BLOCK_ROLES,
    BlockBudgetError,
    BlockStats,
    CompiledBlocks,
    ContextBlock,
    approximate_token_estimator,
    compile_blocks,
    estimate_serialized_tokens,
)
from playground.messages import TextPart


def block(block_id: str, tokens: int, priority: Any, kind: str = "memory", **more: Any) -> ContextBlock:
    """A block that costs ``tokens`` by the default estimate."""
    fields: dict[str, Any] = {"source": "caller", "role": "user", "content": "x" * (4 * tokens), **more}
    return ContextBlock(id=block_id, kind=kind, priority=priority, **fields)  # type: ignore[arg-type]  # any kind


def ids(blocks: Sequence[Any]) -> list[str]:
    return [one.id for one in blocks]


CONSTITUTION = block("constitution", 4, 100, "constitution", required=True)


# The worked cases.


def test_case_at_9_tokens_the_goal_goes_before_what_is_recent() -> None:
    recent, goal = block("recent-low", 4, 10, "recent"), block("goal-high", 5, 90, "goal")
    compiled = compile_blocks([CONSTITUTION, recent, goal], budget_tokens=9)
    assert ids(compiled.included) == ["constitution", "goal-high"]
    assert ids(compiled.omitted) == ["recent-low"]
    assert (compiled.estimated_tokens, compiled.budget_tokens) == (9, 9)
    assert compiled.block_stats == (
        BlockStats("constitution", 1, 4, 0, 0),
        BlockStats("recent", 0, 0, 1, 4),
        BlockStats("goal", 1, 5, 0, 0),
    )


PINNED = ["memory:context"]
OPTIONAL = [
    CONSTITUTION,
    block("memory:context", 5, 50),
    block("skills:index", 3, 40, "tool-catalog"),
]


@pytest.mark.parametrize(
    ("budget", "kept"),
    [(12, ["constitution", "memory:context", "skills:index"]), (9, ["constitution", "memory:context"])],
)
def test_case_a_pinned_block_stays_when_the_budget_shrinks(budget: int, kept: list[str]) -> None:
    compiled = compile_blocks(OPTIONAL, budget_tokens=budget, pinned_optional_ids=PINNED)
    assert ids(compiled.included) == kept


def test_case_pinned_blocks_that_do_not_fit_are_an_error_with_both_numbers() -> None:
    with pytest.raises(BlockBudgetError) as caught:
        compile_blocks(OPTIONAL, budget_tokens=9, pinned_optional_ids=["memory:context", "skills:index"])
    assert (caught.value.required_tokens, caught.value.budget_tokens) == (12, 9)
    assert "12 tokens" in str(caught.value)
    assert "budget is 9" in str(caught.value)


def test_case_a_required_block_of_2_tokens_does_not_fit_a_budget_of_1() -> None:
    with pytest.raises(BlockBudgetError) as caught:
        compile_blocks([block("rule", 2, 0, required=True)], budget_tokens=1)
    assert (caught.value.required_tokens, caught.value.budget_tokens) == (2, 1)


@pytest.mark.parametrize(
    "answer", [math.nan, 0, -1, 1.5, True, 1.0, math.inf, None, "3", 2**53 + 1, Fraction(2)], ids=repr
)
def test_case_an_estimator_that_answers_no_whole_number_above_zero_is_an_input_error(answer: object) -> None:
    with pytest.raises(InvalidInputError, match=r"token count of block 'b'"):
        compile_blocks([block("b", 1, 1)], budget_tokens=9, estimator=lambda text: answer)  # type: ignore[arg-type]


# Rule 1.


@pytest.mark.parametrize("budget", [0, -1, 1.0, True, False, None, "9", math.nan, 2**53 + 1], ids=repr)
def test_rule_1_a_budget_that_is_no_integer_above_zero_is_an_input_error(budget: object) -> None:
    with pytest.raises(InvalidInputError, match="budget_tokens"):
        compile_blocks([], budget_tokens=budget)  # type: ignore[arg-type]


def test_rule_1_a_budget_of_numpy_counts_as_its_number() -> None:
    compiled = compile_blocks([CONSTITUTION], budget_tokens=np.int64(4))  # type: ignore[arg-type]
    assert type(compiled.budget_tokens) is int
    assert compiled.to_json()


# Rule 2.

FAULTS: dict[str, dict[str, Any]] = {
    "id": {"id": ""},
    "duplicate id": {"id": "first"},
    "kind": {"kind": "summary"},
    "role": {"role": "developer"},
    "content": {"content": b"bytes"},
    "priority": {"priority": math.inf},
}
"""What a block can have wrong, in the order in which it is told."""


@pytest.mark.parametrize("wrong", FAULTS)
def test_rule_2_a_faulty_block_is_an_input_error_that_names_it(wrong: str) -> None:
    faulty = replace(block("second", 1, 1), **FAULTS[wrong])
    with pytest.raises(InvalidInputError, match=wrong) as caught:
        compile_blocks([block("first", 1, 1), faulty], budget_tokens=9)
    assert ("Block 2" if "id" in FAULTS[wrong] else "'second'") in str(caught.value)


@pytest.mark.parametrize("number", range(len(FAULTS)))
def test_rule_2_of_several_faults_the_first_in_the_documented_order_is_told(number: int) -> None:
    names = list(FAULTS)[number:]
    faults: dict[str, Any] = {}
    for name in reversed(names):  # an empty id stands before a duplicate one
        faults |= FAULTS[name]
    with pytest.raises(InvalidInputError, match=names[0]):
        compile_blocks(
            [block("first", 1, 1), replace(block("b", 1, 1), **faults)], budget_tokens=9, estimator=_only_first
        )


def _only_first(text: str) -> int:
    return 1 if text == "xxxx" else 0


def test_rule_2_the_count_is_looked_at_last() -> None:
    faulty = block("b", 2, math.nan)
    with pytest.raises(InvalidInputError, match="priority"):
        compile_blocks([faulty], budget_tokens=9, estimator=_only_first)
    with pytest.raises(InvalidInputError, match="token count"):
        compile_blocks([replace(faulty, priority=1)], budget_tokens=9, estimator=_only_first)


def test_rule_2_blocks_are_checked_one_after_the_other() -> None:
    uncounted, nameless = block("first", 2, 1), replace(block("b", 1, 1), id="")
    with pytest.raises(InvalidInputError, match=r"token count of block 'first'"):
        compile_blocks([uncounted, nameless], budget_tokens=9, estimator=_only_first)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("priority", value) for value in (math.nan, -math.inf, True, "5", None, 10**400, Decimal(1), 1j)),
        *(("kind", value) for value in (None, "Memory", ["memory"], 3)),
        *(("role", value) for value in (None, "User", ["user"])),
        *(("required", value) for value in ("false", 1, None, np.True_)),
        *(("id", value) for value in (None, 7, b"id")),
        *(("content", value) for value in (None, 5)),
        *(("source", value) for value in (None, 5)),
        *(("retention_reason", value) for value in (None, 5)),
    ],
    ids=repr,
)
def test_rule_2_a_field_of_the_wrong_kind_is_an_input_error(name: str, value: object) -> None:
    wrong: dict[str, Any] = {name: value}
    faulty = replace(block("b", 1, 1), **wrong)
    with pytest.raises(InvalidInputError, match=name.replace("_", " ")):
        compile_blocks([faulty], budget_tokens=9)


@pytest.mark.parametrize("kind", BLOCK_KINDS)
@pytest.mark.parametrize("role", BLOCK_ROLES)
def test_rule_2_every_kind_and_role_is_taken(kind: str, role: str) -> None:
    compiled = compile_blocks([block("b", 1, 1, kind, role=role)], budget_tokens=1)
    assert [message.role for message in compiled.messages] == [role]


def test_rule_2_kinds_and_roles_are_the_documented_ones() -> None:
    kinds = "constitution control goal workspace memory skill recent tool-catalog evaluation"
    assert tuple(kinds.split()) == BLOCK_KINDS
    assert set(BLOCK_ROLES) == {"system", "user", "assistant", "tool"}


@pytest.mark.parametrize("value", [{"id": "b"}, "b", None, ("b", 1)], ids=repr)
def test_rule_2_what_is_no_block_is_an_input_error(value: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"Block 1 is a \w+.*blocks_from_table"):
        compile_blocks([value], budget_tokens=9)


@pytest.mark.parametrize("value", ["blocks", {"a": 1}, None, 3, CONSTITUTION], ids=repr)
def test_rule_2_what_is_no_list_of_blocks_is_an_input_error(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="list of blocks"):
        compile_blocks(value, budget_tokens=9)


def test_rule_2_a_block_is_a_light_frozen_value_that_checks_nothing() -> None:
    strange = ContextBlock("", "?", "", "?", 5, math.nan)  # type: ignore[arg-type]
    assert not hasattr(strange, "__dict__")
    with pytest.raises(FrozenInstanceError):
        strange.id = "b"  # type: ignore[misc]


def test_rule_2_a_hostile_value_is_named_in_few_characters() -> None:
    with pytest.raises(InvalidInputError) as caught:
        compile_blocks([replace(block("b", 1, 1), kind="k" * 10_000)], budget_tokens=9)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 300


# Rule 3.


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 1),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("漢字", 4),
        ("ab漢", 3),
        ("é", 2),
        ("abcdé", 3),
        ("😀", 2),  # one code point outside the basic plane
        ("👩‍🚀", 6),  # three code points, the joiner among them
        ("\ud800", 2),  # half a character
        ("\x00\n\x7f", 1),
        ("\x80", 2),
    ],
)
def test_rule_3_four_ascii_characters_are_a_token_and_any_other_code_point_is_two(
    text: str, tokens: int
) -> None:
    assert approximate_token_estimator.estimate(text) == approximate_token_estimator(text) == tokens
    compiled = compile_blocks([block("b", 1, 1, content=text)], budget_tokens=9)
    assert compiled.included[0].estimated_tokens == tokens


# Rule 4.


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [1, 2.5, None, True]}, '{"b":1,"a":[1,2.5,null,true]}'),
        ("漢", '"漢"'),
        ([], "[]"),
        ((1, 2), "[1,2]"),
    ],
)
def test_rule_4_data_costs_what_its_compact_json_costs_and_its_framing(value: Any, text: str) -> None:
    tokens = approximate_token_estimator(text)
    assert estimate_serialized_tokens(value) == tokens
    assert estimate_serialized_tokens(value, framing_tokens=7) == tokens + 7
    assert estimate_serialized_tokens(value, len, 1) == len(text) + 1


def test_rule_4_the_json_that_is_counted_keeps_its_order_and_its_characters() -> None:
    texts: list[str] = []

    def count(text: str) -> int:
        texts.append(text)
        return 1

    estimate_serialized_tokens({"b": "ä", "a": [1, {"z": 0, "c": None}]}, count)
    assert texts == ['{"b":"ä","a":[1,{"z":0,"c":null}]}']


def test_rule_4_data_can_be_counted_by_the_projects_estimator() -> None:
    assert estimate_serialized_tokens("x" * 34, TokenEstimator()) == 10


@pytest.mark.parametrize("framing", [-1, 1.0, True, None, "2"], ids=repr)
def test_rule_4_framing_that_is_no_whole_number_is_an_input_error(framing: Any) -> None:
    with pytest.raises(InvalidInputError, match="framing_tokens"):
        estimate_serialized_tokens({}, framing_tokens=framing)


def _ring() -> list[Any]:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def _deep() -> list[Any]:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    return deep


@pytest.mark.parametrize(
    "make", [lambda: b"bytes", lambda: math.nan, object, lambda: {(1, 2): 3}, _ring, _deep]
)
def test_rule_4_data_without_a_json_form_is_an_input_error(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidInputError, match="no JSON form"):
        estimate_serialized_tokens(make())


def test_rule_4_a_count_of_data_is_checked_too() -> None:
    with pytest.raises(InvalidInputError, match="token count"):
        estimate_serialized_tokens({}, lambda text: 0)


# Rule 5.


def test_rule_5_unknown_pinned_ids_are_ignored() -> None:
    compiled = compile_blocks(OPTIONAL, budget_tokens=9, pinned_optional_ids=["nobody", "constitution"])
    assert ids(compiled.included) == ["constitution", "memory:context"]


def test_rule_5_a_pinned_block_goes_before_a_higher_priority() -> None:
    compiled = compile_blocks(OPTIONAL, budget_tokens=9, pinned_optional_ids=["skills:index"])
    assert ids(compiled.included) == ["constitution", "skills:index"]


@pytest.mark.parametrize("pinned", ["memory:context", b"m", None, 5, [5], [None]], ids=repr)
def test_rule_5_malformed_pinned_ids_are_an_input_error(pinned: Any) -> None:
    with pytest.raises(InvalidInputError, match="pinned id"):
        compile_blocks(OPTIONAL, budget_tokens=9, pinned_optional_ids=pinned)


def test_rule_5_optional_blocks_are_never_an_error() -> None:
    compiled = compile_blocks([block("large", 100, 1)], budget_tokens=1)
    assert (ids(compiled.included), ids(compiled.omitted), compiled.estimated_tokens) == ([], ["large"], 0)
    assert compile_blocks([], budget_tokens=1).messages == ()


# Rule 6.


def test_rule_6_one_that_does_not_fit_is_skipped_and_the_walk_goes_on() -> None:
    offered = [block("small", 2, 1), block("large", 8, 3), block("middle", 5, 2)]
    compiled = compile_blocks(offered, budget_tokens=7)
    assert ids(compiled.included) == ["small", "middle"]


def test_rule_6_equal_priorities_go_by_input_position() -> None:
    offered = [block("b", 2, 1), block("a", 2, 1.0), block("c", 2, -0.0), block("d", 2, 0)]
    assert ids(compile_blocks(offered, budget_tokens=2).included) == ["b"]
    assert ids(compile_blocks(offered, budget_tokens=6).included) == ["b", "a", "c"]


def test_rule_6_priorities_of_any_numeric_type_are_compared_exactly() -> None:
    offered = [block("float", 2, float(2**53)), block("int", 2, 2**53 + 1), block("numpy", 2, np.float32(3))]
    assert ids(compile_blocks(offered, budget_tokens=2).included) == ["int"]


# Rule 7.


def test_rule_7_everything_keeps_input_order() -> None:
    offered = [block(str(number), 1, number % 3) for number in range(9)]
    compiled = compile_blocks(offered, budget_tokens=6)
    assert ids(compiled.included) == ["1", "2", "4", "5", "7", "8"]
    assert ids(compiled.omitted) == ["0", "3", "6"]


def test_rule_7_a_message_is_a_role_and_one_text_part() -> None:
    compiled = compile_blocks([block("b", 1, 1, role="assistant", content="Hi")], budget_tokens=9)
    assert compiled.messages == (Message("assistant", (TextPart("Hi"),)),)


def test_rule_7_a_counted_block_says_what_its_block_says() -> None:
    one = block("b", 3, 5, "skill", source="s", role="tool", required=True, retention_reason="why")
    (counted,) = compile_blocks([one], budget_tokens=9).included
    names = [name for name in ContextBlock.__slots__]  # noqa: C416  # a tuple of names
    assert [getattr(counted, name) for name in names] == [getattr(one, name) for name in names]
    assert counted.block is one
    assert counted.estimated_tokens == 3


# Rule 8.


class _Words:
    def estimate(self, text: str) -> int:
        return len(text.split()) + 1


@pytest.mark.parametrize("estimator", [_Words(), _Words().estimate, lambda text: len(text.split()) + 1])
def test_rule_8_an_estimator_is_an_object_or_a_function(estimator: Any) -> None:
    compiled = compile_blocks([block("b", 1, 1, content="a b c")], budget_tokens=9, estimator=estimator)
    assert compiled.estimated_tokens == 4


def test_rule_8_the_projects_estimator_counts_by_its_text_estimator() -> None:
    estimator = TokenEstimator()
    offered = [block("b", 1, 1, content="x" * 36), block("empty", 1, 1, content="")]
    compiled = compile_blocks(offered, budget_tokens=99, estimator=estimator)
    assert compiled == compile_blocks(offered, budget_tokens=99, estimator=estimator.for_text())
    assert [one.estimated_tokens for one in compiled.included] == [10, 1]


@pytest.mark.parametrize("estimator", [5, "heuristic", object()], ids=lambda value: type(value).__name__)
def test_rule_8_what_cannot_count_is_an_input_error(estimator: Any) -> None:
    with pytest.raises(InvalidInputError, match="estimator"):
        compile_blocks([], budget_tokens=9, estimator=estimator)


def test_rule_8_what_an_estimator_raises_comes_through() -> None:
    def broken(text: str) -> int:
        raise LookupError(text)

    with pytest.raises(LookupError):
        compile_blocks([block("b", 1, 1)], budget_tokens=9, estimator=broken)


def test_rule_8_any_iterable_of_blocks_and_ids_will_do() -> None:
    compiled = compile_blocks(iter(OPTIONAL), budget_tokens=9, pinned_optional_ids=iter(PINNED))
    assert ids(compiled.included) == ["constitution", "memory:context"]


# What is recorded.


def _recorded() -> CompiledBlocks:
    offered = [
        block("goal", 1, 90, "goal", required=True, content="Grüße", retention_reason="current goal"),
        block("late", 9, 1.5, "recent", source="chat"),
    ]
    return compile_blocks(offered, budget_tokens=9)


def test_json_is_in_camel_case_and_declared_order() -> None:
    assert _recorded().to_json() == (
        '{"messages":[{"role":"user","content":[{"type":"text","text":"Grüße"}]}],'
        '"included":[{"id":"goal","kind":"goal","source":"caller","role":"user","content":"Grüße","priority":90,'
        '"required":true,"retentionReason":"current goal","estimatedTokens":5}],'
        '"omitted":[{"id":"late","kind":"recent","source":"chat","role":"user",'
        f'"content":"{"x" * 36}","priority":1.5,"required":false,"retentionReason":"","estimatedTokens":9}}],'
        '"blockStats":[{"kind":"goal","includedCount":1,"includedTokens":5,"omittedCount":0,"omittedTokens":0},'
        '{"kind":"recent","includedCount":0,"includedTokens":0,"omittedCount":1,"omittedTokens":9}],'
        '"estimatedTokens":5,"budgetTokens":9}'
    )


def test_json_holds_numbers_of_other_packages_and_halves_of_characters() -> None:
    offered = [block("b", 1, np.float32(0.5), content="\ud83d<&>")]
    (row,) = json.loads(compile_blocks(offered, budget_tokens=9).to_json().encode())["included"]
    assert (row["priority"], row["content"]) == (0.5, "\ud83d<&>")


def test_a_frame_has_one_row_a_block() -> None:
    frame = _recorded().to_frame()
    assert list(frame["id"]) == ["goal", "late"]
    assert list(frame["included"]) == [True, False]
    assert list(frame["estimated_tokens"]) == [5, 9]
    assert list(compile_blocks([], budget_tokens=1).to_frame().columns) == list(frame.columns)


def test_a_notebook_shows_the_kinds_and_no_text_of_a_caller() -> None:
    shown = compile_blocks([block("<b>id</b>", 1, 1, content="<script>")], budget_tokens=9)._repr_html_()
    assert "1 of 1 blocks, 2 of 9 tokens" in shown
    assert "memory" in shown
    assert "<script>" not in shown
    assert "id</b>" not in shown
