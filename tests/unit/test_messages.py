from __future__ import annotations

import json
from typing import Any, ClassVar

import pytest

from playground import InvalidInputError
from playground.exports import to_anthropic, to_openai
from playground.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    UnknownPart,
    as_message,
    as_messages,
    decode_bytes,
    encode_bytes,
    is_summary,
    message_to_json,
    text_of,
)
from playground.tokens import TokenEstimator

EVERY_PART = (
    TextPart("hi"),
    ImagePart("https://example.org/a.png"),
    ImagePart(b"\x89PNG\x00", "image/png"),
    ToolUsePart("call-1", "search", {"query": "x", "raw": b"\x00"}, {"signature": b"\x01"}),
    ToolResultPart("call-1", [{"a": 1}, b"\xff"]),
    ToolResultPart("call-2", "plain", is_error=True),
    ReasoningPart("hm", signature="s", encrypted="e", redacted=True),
    ReasoningPart("hm"),
    UnknownPart({"type": "audio", "data": b"\x00\x01", "rate": 16_000}),
    UnknownPart({"type": "citation", "nested": {"deep": [None, True]}}),
)


def test_a_string_equals_one_text_part() -> None:
    assert Message("user", "hi").parts == Message("user", (TextPart("hi"),)).parts
    assert text_of(Message("user", (TextPart("a"), ImagePart("u"), TextPart("b")))) == "a\nb"
    assert text_of(Message("assistant", (ReasoningPart("no"),))) == ""


@pytest.mark.parametrize("part", EVERY_PART, ids=lambda part: type(part).__name__)
def test_every_part_survives_json_untouched(part: Any) -> None:
    message = Message("assistant", (part,))
    read = as_message(json.loads(json.dumps(message_to_json(message))))
    assert read == message


def test_a_message_with_metadata_survives_json_untouched() -> None:
    message = Message("user", "hi", {"openai": {"id": "1", "blob": b"\x00"}})
    read = as_message(json.loads(json.dumps(message_to_json(message))))
    assert read.provider_metadata == message.provider_metadata


def test_both_spellings_of_a_key_are_read() -> None:
    camel = {"type": "tool_result", "toolUseId": "1", "result": "r", "isError": True}
    snake = {"type": "tool_result", "tool_use_id": "1", "result": "r", "is_error": True}
    expected = Message("tool", (ToolResultPart("1", "r", is_error=True),))
    for part in (camel, snake):
        assert as_message({"role": "tool", "content": [part]}) == expected


@pytest.mark.parametrize("call", ["tool_use_id", "toolUseId"])
@pytest.mark.parametrize("flag", ["is_error", "isError"])
@pytest.mark.parametrize("content", ["RESULT", "", None, [{"type": "text", "text": "r", "cache_control": {}}]])
def test_a_tool_result_may_call_its_result_content_as_providers_do(content: Any, flag: str, call: str) -> None:
    part = {"type": "tool_result", call: "1", "content": content, flag: True}
    message = as_message({"role": "tool", "content": [part]})
    assert message == Message("tool", (ToolResultPart("1", content, is_error=True),))
    assert as_message(json.loads(json.dumps(message_to_json(message)))) == message


def test_the_result_of_a_tool_is_its_result_where_both_words_stand() -> None:
    part = {"type": "tool_result", "tool_use_id": "1", "content": "c", "result": None}
    assert as_message({"role": "tool", "content": [part]}).content == (ToolResultPart("1", None),)


class Incomparable:
    """A type that is no text: neither hashable nor comparable, as an array of NumPy is."""

    __hash__ = None  # type: ignore[assignment]  # that is the point

    def __eq__(self, other: object) -> bool:
        raise ValueError("ambiguous")


@pytest.mark.parametrize(
    "kind", [["x"], {"a": 1}, None, 5, Incomparable()], ids=lambda kind: type(kind).__name__
)
def test_a_part_whose_type_is_no_text_is_of_an_unknown_kind(kind: Any) -> None:
    data = {"type": kind, "data": "d"}
    message = as_message({"role": "user", "content": [data]})
    (part,) = message.parts
    assert isinstance(part, UnknownPart)
    assert TokenEstimator().estimate([message]) == 12


@pytest.mark.parametrize("kind", [["x"], {"a": 1}, None, 5], ids=repr)
def test_a_part_whose_type_is_no_text_is_exported(kind: Any) -> None:
    message = as_message({"role": "user", "content": [{"type": kind, "data": "d"}]})
    assert to_anthropic([message], model_id="m", max_tokens=1)["messages"]
    assert to_openai([message], model_id="m", max_tokens=1)["messages"]


def test_messages_keep_their_identity_and_order() -> None:
    one, two = Message("user", "1"), Message("assistant", "2")
    read = as_messages([one, {"role": "user", "content": "3"}, two])
    assert read[0] is one
    assert read[2] is two
    assert [text_of(message) for message in read] == ["1", "3", "2"]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"role": "user"},
        {"role": "robot", "content": "x"},
        {"role": [], "content": "x"},
        {"content": "x"},
        {"role": "user", "content": None},
        {"role": "user", "content": 5},
        {"role": "user", "content": b"x"},
        {"role": "user", "content": [5]},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "user", "content": [{"type": "text", "text": 5}]},
        {"role": "user", "content": [{"type": "image", "image": 5}]},
        {"role": "user", "content": [{"type": "tool_use", "id": "1"}]},
        {"role": "user", "content": [{"type": "tool_result", "result": "1"}]},
        {"role": "user", "content": [{"type": "reasoning"}]},
        "text",
        None,
        5,
    ],
    ids=repr,
)
def test_a_malformed_message_is_the_callers_mistake(bad: Any) -> None:
    with pytest.raises(InvalidInputError):
        as_message(bad)


@pytest.mark.parametrize("bad", ["text", b"x", {"role": "user", "content": "x"}, None, 5])
def test_something_that_is_no_sequence_of_messages_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInputError):
        as_messages(bad)


def test_bytes_in_json_are_an_object_with_one_known_key() -> None:
    assert encode_bytes({"a": [b"\x00\xff"]}) == {"a": [{"$deuzBytes": "AP8="}]}
    assert decode_bytes({"a": [{"$deuzBytes": "AP8="}]}) == {"a": [b"\x00\xff"]}


@pytest.mark.parametrize(
    "lookalike",
    [
        {"$deuzBytes": "not base64!"},
        {"$deuzBytes": 5},
        {"$deuzBytes": "AP8=", "more": 1},
        {"$deuzBytes": None},
        {"$deuzBytes": "AP8"},
        {"$deuzBytes": "é"},
    ],
)
def test_a_malformed_lookalike_of_bytes_stays_plain_data(lookalike: dict[str, Any]) -> None:
    assert decode_bytes(lookalike) == lookalike


def test_the_input_dictionaries_are_not_changed() -> None:
    data = {"role": "user", "content": [{"type": "audio", "data": {"$deuzBytes": "AP8="}}]}
    before = json.dumps(data)
    as_message(data)
    assert json.dumps(data) == before


class TestChatCompletions:
    """The shape of OpenAI's Chat Completions, which hosts hold as dictionaries."""

    CALL: ClassVar[dict[str, Any]] = {
        "id": "c1",
        "type": "function",
        "function": {"name": "read", "arguments": '{"path": "a.py"}'},
    }

    @pytest.mark.parametrize("content", [None, "", "Let me look."])
    def test_tool_calls_beside_the_content_are_calls(self, content: str | None) -> None:
        message = as_message({"role": "assistant", "content": content, "tool_calls": [self.CALL]})
        text = (TextPart(content),) if content else ()
        assert message.parts == (*text, ToolUsePart("c1", "read", {"path": "a.py"}))

    def test_arguments_that_are_no_json_stay_what_the_model_wrote(self) -> None:
        call = {**self.CALL, "function": {"name": "read", "arguments": '{"path": '}}
        (part,) = as_message({"role": "assistant", "content": None, "tool_calls": [call]}).parts
        assert part == ToolUsePart("c1", "read", '{"path": ')

    def test_a_tools_answer_is_the_result_of_its_call(self) -> None:
        message = as_message({"role": "tool", "tool_call_id": "c1", "content": "print(1)"})
        assert message == Message("tool", (ToolResultPart("c1", "print(1)"),))

    @pytest.mark.parametrize("calls", [3, ["read"], [{"id": "c1"}], [{**CALL, "id": None}]])
    def test_malformed_calls_are_refused(self, calls: Any) -> None:
        with pytest.raises(InvalidInputError):
            as_message({"role": "assistant", "content": None, "tool_calls": calls})


@pytest.mark.parametrize(
    ("message", "summary"),
    [
        (Message("user", "[Earlier conversation summarized]\nThey talked."), True),
        (Message("user", (TextPart("\n [Earlier conversation summarized] \nThey talked."),)), True),
        (Message("user", "[Earlier conversation summarized]: what is that?"), False),
        (Message("user", "Hello.\n[Earlier conversation summarized]"), False),
        (Message("assistant", "[Earlier conversation summarized]\nThey talked."), False),
        (Message("user", (ImagePart("https://example.org/a.png"),)), False),
    ],
)
def test_a_summary_is_a_user_message_with_the_line_that_compaction_writes_first(
    message: Message, summary: bool
) -> None:
    assert is_summary(message) is summary
