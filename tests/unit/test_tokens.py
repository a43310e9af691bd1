from __future__ import annotations

import dataclasses
import math
import pickle
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import pytest

from playground import ANTHROPIC_TOOL_FRAMING_TOKENS, TokenEstimator
from playground.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    UnknownPart,
)
from playground.tokens import compact_json, message_tokens


def user(*parts: Any) -> list[Message]:
    return [Message("user", parts)]


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], 0),
        ([Message("user", "How do I deploy?")], 9),
        ([Message("user", "x" * 3600)], 1004),
        (user(TextPart("x" * 360)), 104),
        (user(ReasoningPart("x" * 360)), 104),
        (user(ReasoningPart("x" * 360, encrypted="e" * 9_000, signature="s" * 900)), 104),
        (user(ToolResultPart("1", "x" * 360)), 114),
        (user(ToolResultPart("1", ["x" * 356])), 114),
        (user(ToolUsePart("1", "n" * 500, {"q": "x" * 352})), 114),
        ([Message("user", ""), Message("user", "")], 8),
        (user(UnknownPart({"type": "audio", "data": "x" * 9_000})), 12),
        (user(UnknownPart({"type": "document", "data": "x" * 360})), 104),
        (user(UnknownPart({"type": "file", "data": b"x"})), 1004),
        (user(UnknownPart({"type": "file", "data": {"id": "x"}})), 1004),
        (user(ImagePart("A" * 500_000, "image/png")), 1604),
        (user(ImagePart(b"\x00" * 500_000)), 1604),
        (user(ToolResultPart("1", "日" * 36)), 24),
    ],
)
def test_r210_the_golden_vectors_of_the_heuristic(messages: list[Message], expected: int) -> None:
    assert TokenEstimator().estimate(messages) == expected


def test_r210_an_image_adds_1600_to_its_text() -> None:
    estimator = TokenEstimator()
    text = estimator.estimate(user(TextPart("hello")))
    assert estimator.estimate(user(TextPart("hello"), ImagePart("u"))) == text + 1600


def test_r210_messages_may_be_dictionaries() -> None:
    assert TokenEstimator().estimate([{"role": "user", "content": "How do I deploy?"}]) == 9


def test_r210_json_is_compact_and_unescaped_and_what_cannot_be_written_is_empty() -> None:
    assert compact_json({"a": [1, "é"]}) == '{"a":[1,"é"]}'
    assert compact_json({"a": [b"\x00\xff", {}], "b": MappingProxyType({"c": (1, None)})}) == (
        '{"a":[{"$deuzBytes":"AP8="},{}],"b":{"c":[1,null]}}'
    )
    assert compact_json({(1, 2): 1, True: b""}) == '{"(1, 2)":1,"True":{"$deuzBytes":""}}'
    assert compact_json({"a": {1, 2}}) == ""
    loop: list[Any] = []
    loop.append(loop)
    assert compact_json(loop) == ""
    assert TokenEstimator().estimate(user(ToolUsePart("1", "n", {"bad": {1, 2}}))) == 14


def test_r211_repeated_usage_moves_the_factor_to_the_documented_values() -> None:
    estimator = TokenEstimator()
    messages = [Message("user", "x" * 3600)]
    seen = []
    for _ in range(4):
        estimator.calibrate(2008, estimator.estimate(messages))
        seen.append((round(estimator.factor, 6), estimator.estimate(messages)))
    assert seen == [(1.3, 1306), (1.509632, 1516), (1.656613, 1664), (1.759354, 1767)]


def test_r211_the_factor_is_clamped() -> None:
    high, low = TokenEstimator(), TokenEstimator()
    high.calibrate(10_000, 1_000)
    assert high.factor == 2.0
    for _ in range(5):
        low.calibrate(1, 1_000)
    assert low.factor == 0.5


def test_r211_repeated_usage_converges_to_actual_over_base() -> None:
    estimator = TokenEstimator()
    messages = [Message("user", "x" * 36_000)]
    for _ in range(60):
        estimator.calibrate(15_000, estimator.estimate(messages))
    assert estimator.factor == pytest.approx(15_000 / 10_004, rel=1e-3)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf, 0, -1, 0.0])
def test_r211_numbers_that_mean_nothing_are_ignored(bad: float) -> None:
    estimator = TokenEstimator()
    estimator.calibrate(bad, 100)
    estimator.calibrate(100, bad)
    assert estimator.factor == 1.0


@pytest.mark.parametrize("bad", ["many", None, {"inputTokens": 200}, [200], 10**400, 1j])
def test_r211_what_is_no_number_is_ignored(bad: Any) -> None:
    estimator = TokenEstimator()
    estimator.calibrate(bad, 100)
    estimator.calibrate(100, bad)
    assert (estimator.factor, estimator.calibrated) == (1.0, False)


@pytest.mark.parametrize("number", [200, 200.0, Decimal(200), Fraction(200)])
def test_r211_every_kind_of_number_teaches_the_same(number: Any) -> None:
    estimator = TokenEstimator()
    estimated: Any = Decimal(100)
    estimator.calibrate(number, estimated)
    assert estimator.factor == pytest.approx(1.3)


def test_an_estimator_is_calibrated_once_a_usage_was_taken_in() -> None:
    estimator = TokenEstimator()
    seen = [estimator.calibrated]
    for actual in (math.nan, 100):
        estimator.calibrate(actual, 100)
        seen.append(estimator.calibrated)
    assert seen == [False, False, True]
    assert estimator.factor == 1.0


def test_a_usage_that_counted_a_hidden_prompt_does_limited_harm_and_is_corrected() -> None:
    """Calibration, the fault of a ratio of 200."""
    estimator = TokenEstimator()
    messages = [Message("user", "x" * 36_000)]
    estimator.calibrate(200 * estimator.estimate(messages), estimator.estimate(messages))
    assert estimator.factor == 2.0
    for _ in range(12):
        estimator.calibrate(10_004, estimator.estimate(messages))
    assert estimator.factor == pytest.approx(1.0, abs=0.02)


def test_an_estimator_learns_from_one_model_only() -> None:
    """Calibration, the fault of mixing models: the first model named is the one."""
    estimator = TokenEstimator()
    estimator.calibrate(130, 100, model_id="small")
    learnt = estimator.factor
    estimator.calibrate(1_000, 100, model_id="large")
    assert estimator.factor == learnt
    estimator.calibrate(130, 100, model_id="small")
    assert estimator.factor > learnt
    other = TokenEstimator()
    other.calibrate(math.nan, 100, model_id="large")
    other.calibrate(130, 100, model_id="small")
    assert other.calibrated


def test_an_estimate_never_stands_on_a_usage_of_an_earlier_history() -> None:
    """Calibration, the faults of anchors and sums: only the factor is kept, whatever was counted before."""
    estimator = TokenEstimator()
    long = [Message("user", "x" * 3_600)] * 50
    for _ in range(5):
        estimator.calibrate(1.2 * estimator.base(long), estimator.estimate(long))
    compacted = [Message("user", "x" * 360)]
    assert estimator.estimate(compacted) == math.ceil(104 * estimator.factor)
    assert estimator.estimate(compacted * 10) == math.ceil(1_040 * estimator.factor)


def test_a_whole_request_is_learnt_though_its_framing_is_not_calibrated() -> None:
    """Calibration, the fault of leaving out what the provider counts too."""
    estimator = TokenEstimator()
    messages = [Message("user", "x" * 3_600)]
    tools = [{**TOOL, "description": "d" * 3_600}] * 3

    def said() -> int:
        return estimator.estimate(messages) + estimator.overhead(tools, provider="anthropic")

    actual = 1.4 * (said() - 346) + 346
    for _ in range(40):
        estimator.calibrate(actual, said())
    assert estimator.factor == pytest.approx(1.4, abs=0.01)


def test_the_factor_belongs_to_one_estimator() -> None:
    one, two = TokenEstimator(), TokenEstimator()
    one.calibrate(200, 100)
    assert one.factor == pytest.approx(1.3)
    assert two.factor == 1.0


TOOL = {"name": "search", "description": "Find records.", "parameters": {"type": "object"}}
TOOL_TOKENS = math.ceil(
    len('{"name":"search","description":"Find records.","parameters":{"type":"object"}}') / 3.6
)


@pytest.mark.parametrize(
    ("provider", "tools", "framing"),
    [("anthropic", [TOOL], 346), ("anthropic", [], 0), ("openai", [TOOL], 0), ("openai", [], 0)],
)
def test_r213_the_tool_framing_is_counted_for_anthropic_with_tools_only(
    provider: str, tools: Sequence[dict[str, Any]], framing: int
) -> None:
    expected = framing + TOOL_TOKENS * len(tools)
    assert TokenEstimator().overhead(tools, None, provider) == expected
    assert ANTHROPIC_TOOL_FRAMING_TOKENS == 346


@pytest.mark.parametrize("framing", [0, 500])
def test_r214_framing_tokens_replace_the_constant(framing: int) -> None:
    estimator = TokenEstimator(framing_tokens=framing)
    assert estimator.overhead([TOOL], provider="anthropic") == TOOL_TOKENS + framing
    assert estimator.overhead([TOOL], provider="openai") == TOOL_TOKENS


def test_r213_each_tool_and_the_output_schema_are_counted_and_the_framing_is_not_calibrated() -> None:
    estimator = TokenEstimator()
    estimator.calibrate(10_000, 1_000)
    length = len('{"name":"search","description":"Find records.","parameters":{"type":"object"}}')
    one = math.ceil(length / 3.6 * 2)
    assert estimator.overhead([TOOL, TOOL], provider="anthropic") == 2 * one + 346
    assert estimator.overhead([], {"type": "object"}) == math.ceil(len('{"type":"object"}') / 3.6 * 2)
    assert estimator.overhead() == 0


def test_a_schema_in_anthropics_spelling_counts_the_same() -> None:
    renamed = {"name": TOOL["name"], "description": TOOL["description"], "input_schema": TOOL["parameters"]}
    assert TokenEstimator().overhead([renamed]) == TOOL_TOKENS


def test_r217_a_tokenizer_replaces_the_base_and_the_factor_still_multiplies() -> None:
    estimator = TokenEstimator(lambda messages: 10.0 * len(messages), name="tens")
    assert (estimator.kind, estimator.name) == ("tokenizer", "tens")
    assert estimator.estimate([Message("user", "x" * 999)]) == 10
    estimator.calibrate(200, 100)
    assert estimator.estimate([Message("user", "x")] * 2) == 26


@pytest.mark.parametrize("answer", [math.nan, math.inf, -1.0, "many", None, 2**53 + 2, 1e308, 10**400])
def test_r217_a_tokenizer_that_answers_nonsense_falls_back_for_that_call(answer: Any) -> None:
    assert TokenEstimator(lambda messages: answer).estimate([Message("user", "How do I deploy?")]) == 9


def test_r217_a_tokenizer_that_raises_falls_back_for_that_call_only() -> None:
    def count(messages: Sequence[Message]) -> float:
        if "bad" in str(messages[0].content):
            raise RuntimeError("cannot")
        return 77.0

    estimator = TokenEstimator(count)
    assert estimator.estimate([Message("user", "bad")]) == 5
    assert estimator.estimate([Message("user", "good")]) == 77


def test_a_piece_costs_what_it_adds_to_a_message() -> None:
    assert TokenEstimator().piece_tokens("x" * 36) == 10
    assert TokenEstimator().piece_tokens("x" * 37) == 11
    assert TokenEstimator().piece_tokens("") == 0
    heavy = TokenEstimator(lambda messages: 100.0 + len(str(messages[0].content)))
    assert heavy.piece_tokens("x" * 7) == 7


def test_a_count_is_remembered_on_the_message_without_the_factor_and_for_the_heuristic_alone() -> None:
    message, fresh = (Message("assistant", (ToolUsePart("1", "n", {"q": "x" * 352}),)) for _ in range(2))
    one, two = TokenEstimator(), TokenEstimator()
    two.calibrate(10_000, 1_000)
    assert (one.estimate([message]), two.estimate([message])) == (114, 228)
    assert (one.estimate([message]), two.estimate([message, fresh])) == (114, 456)
    assert TokenEstimator(lambda messages: 7.0).estimate([message]) == 7
    assert message_tokens([message], lambda text: 1.0) == 15.0
    assert message == fresh
    assert repr(message) == repr(fresh)
    assert pickle.dumps(message) == pickle.dumps(fresh)
    assert one.estimate([dataclasses.replace(message, content="x" * 36)]) == 14


def test_text_alone_costs_at_least_one_token() -> None:
    text = TokenEstimator().for_text()
    assert (text.estimate(""), text.estimate("x"), text.estimate("x" * 36)) == (1, 1, 10)
