"""Trimming calls that nobody prepared (the end of section 16)."""

from __future__ import annotations

from typing import Any

import pytest

from playground.errors import InvalidInputError, InvalidToolProtocolError
from playground.preparation.direct_guard import trim_direct_request
from playground.preparation.estimation import PreparationEstimator
from tests.preparation import ESTIMATOR, call, item, message, pad, pair, result


def trim(request: Any, room: int, **more: Any) -> Any:
    """Trim to a room of so many tokens for everything but the answer."""
    return trim_direct_request({"max_output_tokens": 100, **request}, max_input_tokens=room + 100, **more)


def ids(request: Any) -> list[Any]:
    return [entry.get("id") for entry in request["input"]]


def tokens(request: Any) -> int:
    return sum(item(entry).tokens for entry in request["input"])


def test_16_what_fits_is_the_very_same_object() -> None:
    for given in ("x" * 350, [pad(100)]):
        request = {"input": given, "max_output_tokens": 100, "model": "m"}
        assert trim_direct_request(request, max_input_tokens=200) is request


@pytest.mark.parametrize(
    "limits", [{}, {"max_input_tokens": 100}, {"max_tokens": 50}, {"max_input_tokens": "many"}]
)
def test_16_without_a_limit_above_the_answer_nothing_is_done(limits: dict[str, Any]) -> None:
    request = {"input": "x" * 9999, "max_output_tokens": 100}
    assert trim_direct_request(request, **limits) is request


@pytest.mark.parametrize(
    ("request_output", "model_output", "kept"),
    [(200, 300, 800), (None, 300, 700), (None, None, 904), (0, None, 904)],
)
def test_16_the_answers_size_is_the_requests_else_the_models_else_4096(
    request_output: int | None, model_output: int | None, kept: int
) -> None:
    limit = 1000 if request_output or model_output else 5000
    request = {"input": "x " * 9999, "max_output_tokens": request_output}
    trimmed = trim_direct_request(request, max_input_tokens=limit, model_max_output_tokens=model_output)
    assert ESTIMATOR.text(trimmed["input"]) == kept


def test_16_max_tokens_stands_in_for_max_input_tokens() -> None:
    request = {"input": "x " * 9999, "max_output_tokens": 100}
    trimmed = trim_direct_request(request, max_input_tokens=float("nan"), max_tokens=300)
    assert ESTIMATOR.text(trimmed["input"]) == 200


def test_16_a_text_loses_its_beginning_and_nothing_else_changes() -> None:
    text = "".join(f"{number} " for number in range(2000))
    trimmed = trim({"input": text, "model": "m", "temperature": 0.5}, 200)
    assert text.endswith(trimmed["input"])
    assert len(trimmed["input"]) == 700
    assert {**trimmed, "input": ""} == {"input": "", "model": "m", "temperature": 0.5, "max_output_tokens": 100}


def test_16_a_text_is_not_cut_inside_a_character() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    for shift in range(6):
        kept = trim({"input": family * 300 + "." * shift}, 100)["input"].rstrip(".")
        assert kept == family * (len(kept) // len(family))


def test_16_the_oldest_of_the_middle_go_first_and_first_and_last_stay() -> None:
    given = [pad(50, name) for name in ("first", "a", "b", "c", "last")]
    assert ids(trim({"input": given}, 200)) == ["first", "b", "c", "last"]
    assert ids(trim({"input": given}, 100)) == ["first", "last"]
    assert len(given) == 5


def test_16_then_the_last_items_text_loses_its_beginning() -> None:
    last = message("user", "old words " * 50 + "the question")
    trimmed = trim({"input": [pad(50, "first"), pad(50, "a"), last]}, 100)
    text = trimmed["input"][-1]["content"][0]["text"]
    assert text.endswith("the question")
    assert tokens(trimmed) == 100
    assert last["content"][0]["text"].startswith("old words old")


def test_pitfall_calls_and_results_go_together_or_stay() -> None:
    several = message("assistant", call("x"), call("y"))
    given = [pad(50, "first"), several, message("user", result("x")), message("user", result("y")), *pair("z")]
    given += [message("assistant", call("w")), message("user", result("w", "r" * 350))]
    for room in range(20, 260, 10):
        kept = trim({"input": given}, room)["input"]
        blocks = [block for entry in kept for block in entry["content"]]
        calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
        assert calls == {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        assert "w" in calls


def test_16_what_is_protected_stays_even_if_the_request_then_does_not_fit() -> None:
    opaque = {"type": "reasoning", "id": "r", "encrypted_content": "x" * 700}
    trimmed = trim({"input": [pad(50, "first"), opaque, pad(50, "a"), pad(50, "last")]}, 150)
    assert ids(trimmed) == ["first", "r", "last"]
    assert tokens(trimmed) > 150


def test_16_instructions_tools_and_formats_count() -> None:
    more = {
        "instructions": "i" * 35,
        "tools": [
            {
                "name": "get_weather",
                "description": "Get weather",
                "parameters": {"type": "object", "properties": {}},
            }
        ],
        "response_format": {"type": "json_object"},
        "native_tools": [{"type": "web_search"}],
    }
    fixed = 10 + 48 + 7 + 16
    assert ESTIMATOR.text(trim({"input": "x " * 999, **more}, 300)["input"]) == 300 - fixed
    assert ESTIMATOR.text(trim({"input": "x " * 999}, 300)["input"]) == 300


def test_every_loss_is_told() -> None:
    log: list[str] = []
    trim({"input": [pad(50, "first"), pad(50, "a"), message("user", "x " * 500)]}, 100, log=log)
    assert log == [
        "dropped 1 of 3 items from the middle of the input",
        "trimmed the last item: 1,000 to 161 characters",
    ]
    log.clear()
    trim({"input": "x" * 1000}, 100, log=log)
    assert log == ["trimmed the input: 1,000 to 350 characters"]


def test_a_tokenizer_may_count() -> None:
    dense = PreparationEstimator(len, name="dense")
    assert len(trim({"input": "x " * 500}, 100, estimator=dense)["input"]) == 100


def test_malformed_requests_are_told() -> None:
    for wrong in (
        "text",
        None,
        {"input": None, "max_output_tokens": 1},
        {"input": {"a": 1}, "max_output_tokens": 1},
    ):
        with pytest.raises(InvalidInputError):
            trim_direct_request(wrong, max_input_tokens=100)  # type: ignore[arg-type]
    twice = [pad(300), *pair("a"), *pair("a")]
    with pytest.raises(InvalidToolProtocolError):
        trim({"input": twice}, 100)


@pytest.mark.parametrize("field", ["tools", "native_tools"])
@pytest.mark.parametrize("value", [True, "look", ["look"]], ids=repr)
def test_16_definitions_that_are_none_are_refused(field: str, value: Any) -> None:
    with pytest.raises(InvalidInputError, match="tools of the request"):
        trim_direct_request({"input": "Hi", field: value}, max_input_tokens=10_000)


def test_16_what_is_left_over_is_told() -> None:
    """First and last item stay, of the first nothing is cut, and the last is not emptied for nothing."""
    told: list[str] = []
    request = {"input": [pad(300, "first"), pad(50, "middle"), pad(20, "last")], "max_output_tokens": 100}
    trimmed = trim_direct_request(request, max_input_tokens=200, log=told)
    assert trimmed["input"] == [request["input"][0], request["input"][2]]  # type: ignore[index]
    assert told == [
        "dropped 1 of 3 items from the middle of the input",
        "the input is still 220 tokens over: nothing else may be trimmed",
    ]


@pytest.mark.parametrize("given", ["Hello", [pad(300, "first"), pad(20, "last")]], ids=["text", "items"])
def test_16_where_trimming_cannot_help_the_request_stays_and_the_log_says_so(given: Any) -> None:
    told: list[str] = []
    request = {"input": given, "instructions": "x" * 700, "max_output_tokens": 100}
    assert trim_direct_request(request, max_input_tokens=200, log=told) is request
    assert len(told) == 1
    assert "tokens over" in told[0]
