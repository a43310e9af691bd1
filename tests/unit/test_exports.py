from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from playground.errors import InvalidInputError
from playground.exports import to_anthropic, to_openai
from playground.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    as_message,
)

PNG = b"\x89PNG\r\n"
PNG_TEXT = base64.b64encode(PNG).decode()
TOOL = {"name": "f", "description": "Does f.", "parameters": {"type": "object", "properties": {"a": {}}}}


def anthropic(*messages: Message | dict[str, Any], **options: Any) -> dict[str, Any]:
    return to_anthropic(messages, model_id="claude-opus-5-5", max_tokens=100, **options)


def openai(*messages: Message | dict[str, Any], **options: Any) -> dict[str, Any]:
    return to_openai(messages, model_id="gpt-5", max_tokens=100, **options)


CONVERSATION = (
    Message("system", "Be brief."),
    Message("user", "How do I deploy?"),
    Message(
        "assistant",
        (
            ReasoningPart("Look it up.", signature="sig"),
            TextPart("Checking."),
            ToolUsePart("t1", "f", {"a": 1}),
            ToolUsePart("t2", "f", {"a": 2}),
        ),
    ),
    Message("tool", (ToolResultPart("t1", {"ok": True}),)),
    Message("tool", (ToolResultPart("t2", "broken", is_error=True),)),
    Message("user", "<block>"),
    Message("system", "Answer in English."),
)


def test_anthropic_gathers_system_text_folds_tool_messages_and_merges_neighbours() -> None:
    assert anthropic(*CONVERSATION, tools=[TOOL]) == {
        "model": "claude-opus-5-5",
        "max_tokens": 100,
        "system": [{"type": "text", "text": "Be brief."}, {"type": "text", "text": "Answer in English."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "How do I deploy?"}]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Look it up.", "signature": "sig"},
                    {"type": "text", "text": "Checking."},
                    {"type": "tool_use", "id": "t1", "name": "f", "input": {"a": 1}},
                    {"type": "tool_use", "id": "t2", "name": "f", "input": {"a": 2}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": '{"ok":true}'},
                    {"type": "tool_result", "tool_use_id": "t2", "content": "broken", "is_error": True},
                    {"type": "text", "text": "<block>"},
                ],
            },
        ],
        "tools": [{"name": "f", "description": "Does f.", "input_schema": TOOL["parameters"]}],
    }


def test_openai_gathers_system_text_and_answers_each_call_in_a_message_of_its_own() -> None:
    assert openai(*CONVERSATION, tools=[TOOL]) == {
        "model": "gpt-5",
        "max_completion_tokens": 100,
        "messages": [
            {"role": "system", "content": "Be brief.\n\nAnswer in English."},
            {"role": "user", "content": "How do I deploy?"},
            {
                "role": "assistant",
                "content": "Checking.",
                "tool_calls": [
                    {"id": "t1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
                    {"id": "t2", "type": "function", "function": {"name": "f", "arguments": '{"a":2}'}},
                ],
            },
            {"role": "tool", "tool_call_id": "t1", "content": '{"ok":true}'},
            {"role": "tool", "tool_call_id": "t2", "content": "Error: broken"},
            {"role": "user", "content": "<block>"},
        ],
        "tools": [{"type": "function", "function": TOOL}],
    }


def test_a_call_without_text_has_no_content_for_openai() -> None:
    body = openai(
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": None}]}
    )
    assert body["messages"][0]["content"] is None
    assert body["messages"][0]["tool_calls"][0]["function"]["arguments"] == "{}"


def test_tool_results_come_first_in_a_merged_turn() -> None:
    result = {"type": "tool_result", "toolUseId": "t", "result": "r"}
    mixed = {"role": "user", "content": [{"type": "text", "text": "and"}, result]}
    assert [block["type"] for block in anthropic(mixed)["messages"][0]["content"]] == ["tool_result", "text"]
    assert [turn["role"] for turn in openai(mixed)["messages"]] == ["tool", "user"]


@pytest.mark.parametrize(
    ("image", "media_type", "source"),
    [
        (PNG, None, {"type": "base64", "media_type": "image/png", "data": PNG_TEXT}),
        (b"\xff\xd8\xff1", None, {"type": "base64", "media_type": "image/jpeg", "data": "/9j/MQ=="}),
        (
            f"data:image/webp;base64,{PNG_TEXT}",
            None,
            {"type": "base64", "media_type": "image/webp", "data": PNG_TEXT},
        ),
        (PNG_TEXT, "image/gif", {"type": "base64", "media_type": "image/gif", "data": PNG_TEXT}),
        ("https://example.org/a.png", None, {"type": "url", "url": "https://example.org/a.png"}),
    ],
)
def test_every_form_of_an_image_reaches_both_apis(
    image: str | bytes, media_type: str | None, source: dict[str, str]
) -> None:
    message = Message("user", (ImagePart(image, media_type),))
    assert anthropic(message)["messages"][0]["content"] == [{"type": "image", "source": source}]
    url = source.get("url") or f"data:{source['media_type']};base64,{source['data']}"
    assert openai(message)["messages"][0]["content"] == [{"type": "image_url", "image_url": {"url": url}}]


def test_a_pdf_is_a_document_for_anthropic_and_a_file_for_openai() -> None:
    message = Message("user", (ImagePart(b"%PDF-1.7"),))
    assert anthropic(message)["messages"][0]["content"][0]["type"] == "document"
    file = openai(message)["messages"][0]["content"][0]
    assert file["file"]["file_data"].startswith("data:application/pdf;base64,")


def test_redacted_reasoning_goes_back_untouched_and_unsigned_reasoning_stays_out() -> None:
    parts = (ReasoningPart("", encrypted="cipher", redacted=True), ReasoningPart("unsigned"), TextPart("x"))
    assert anthropic(Message("assistant", parts))["messages"][0]["content"] == [
        {"type": "redacted_thinking", "data": "cipher"},
        {"type": "text", "text": "x"},
    ]
    assert openai(Message("assistant", parts))["messages"] == [{"role": "assistant", "content": "x"}]


def test_parts_of_an_unknown_kind_go_through_and_text_documents_become_documents() -> None:
    odd = {"type": "server_tool_use", "id": "s"}
    message = as_message({"role": "user", "content": [odd, {"type": "document", "data": "page"}]})
    first, second = anthropic(message)["messages"][0]["content"]
    assert first == odd
    assert second["source"] == {"type": "text", "media_type": "text/plain", "data": "page"}
    assert openai(message)["messages"][0]["content"][0] == odd


def test_empty_messages_are_left_out() -> None:
    empty = [Message("user", ""), Message("assistant", ()), Message("system", "")]
    assert anthropic(*empty)["messages"] == []
    assert "system" not in anthropic(*empty)
    assert [turn["role"] for turn in openai(*empty)["messages"]] == ["user"]


def test_the_messages_given_are_not_changed() -> None:
    given = {"role": "user", "content": [{"type": "tool_result", "toolUseId": "t", "result": {"a": [1]}}]}
    before = json.dumps(given)
    anthropic(given, given)
    openai(given)
    assert json.dumps(given) == before


@pytest.mark.parametrize("export", [to_anthropic, to_openai])
def test_bodies_encode_as_utf8_json_whatever_the_messages_hold(export: Any) -> None:
    bad = "a\ud800b\x00😀"
    messages = [
        Message("system", bad),
        Message("user", bad),
        Message("assistant", (ToolUsePart("t", "f", {bad: [float("nan"), {1, 2}, b"\x00", object]}),)),
        Message("tool", (ToolResultPart("t", {"x": bad, "y": float("inf")}),)),
    ]
    body = export(messages, model_id=bad, max_tokens=1, tools=[{"name": bad}])
    text = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8").decode("utf-8")
    assert "a\ufffdb" in text
    assert json.loads(text) == body


@pytest.mark.parametrize("export", [to_anthropic, to_openai])
def test_content_nested_too_deeply_is_refused_with_the_remedy(export: Any) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(InvalidInputError, match="Flatten"):
        export([Message("tool", (ToolResultPart("t", deep),))], model_id="m", max_tokens=1)


@pytest.mark.parametrize("max_tokens", [0, -1, 1.5, True, None])
def test_a_malformed_output_limit_is_refused(max_tokens: Any) -> None:
    with pytest.raises(InvalidInputError, match="max_tokens"):
        to_anthropic([], model_id="m", max_tokens=max_tokens)


def test_tools_without_parameters_get_an_empty_schema_and_input_schema_is_accepted() -> None:
    body = anthropic(tools=[{"name": "f"}, {"name": "g", "input_schema": {"type": "object"}}])
    assert [tool["input_schema"]["type"] for tool in body["tools"]] == ["object", "object"]
    assert "description" not in body["tools"][0]
