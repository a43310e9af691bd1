"""What blocks, items and definitions count (4.2 and 4.4)."""

from __future__ import annotations

from typing import Any

import pytest

from playground.preparation.item_counting import (
    block_tokens,
    definition_tokens,
    item_tokens,
    native_tools_tokens,
    response_format_tokens,
    tools_tokens,
)
from tests.preparation import ESTIMATOR, item, message

TEXT = "x" * 35  # 10 tokens
LONG = "A" * 1_000_000  # image data, or a very long URL
WEATHER = {
    "name": "get_weather",
    "description": "Get weather",
    "parameters": {"type": "object", "properties": {}},
}


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"type": "input_text", "text": TEXT}, 10),
        ({"type": "output_text", "text": TEXT}, 10),
        ({"type": "tool_use", "id": TEXT, "name": "x" * 7, "arguments": TEXT}, 12),
        ({"type": "tool_use", "id": "a", "name": "x" * 7, "arguments": "", "input": {"k": TEXT}}, 2),
        ({"type": "tool_use", "id": "a", "name": "x" * 7, "input": {"k": "x" * 27}}, 12),
        ({"type": "tool_use", "id": "a", "name": "x" * 7}, 3),
        ({"type": "tool_use", "id": "a", "name": "", "arguments": TEXT, "thoughtSignature": TEXT}, 20),
        ({"type": "custom_tool_use", "id": "a", "name": "x" * 7, "input": TEXT}, 12),
        ({"type": "custom_tool_use", "id": "a", "name": "", "input": TEXT, "thoughtSignature": TEXT}, 20),
        ({"type": "tool_result", "tool_use_id": "a", "content": TEXT}, 10),
        ({"type": "tool_result", "tool_use_id": "a", "content": {"k": "x" * 27}}, 10),
        ({"type": "tool_result", "tool_use_id": "a", "content": "", "error": TEXT}, 10),
        ({"type": "tool_result", "tool_use_id": "a", "content": TEXT, "error": TEXT}, 20),
        ({"type": "tool_result", "tool_use_id": "a", "content": "", "__images": [{"base64": LONG}] * 2}, 2000),
        ({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "image", "source": LONG}]}, 1000),
        ({"type": "custom_tool_result", "tool_use_id": "a", "content": TEXT}, 10),
        ({"type": "thinking", "thinking": TEXT, "signature": TEXT}, 20),
        ({"type": "thinking", "thinking": TEXT}, 10),
        ({"type": "input_image_url", "image_url": {"url": LONG, "detail": "low"}}, 85),
        ({"type": "input_image_url", "image_url": {"url": LONG}}, 1000),
        ({"type": "input_image", "image_url": LONG, "detail": "low"}, 85),
        ({"type": "input_file", "file_id": TEXT}, 10),
        ({"type": "new", "k": "x" * 14}, 10),
    ],
)
def test_each_block_counts_all_that_travels_and_no_image_data(block: dict[str, Any], tokens: int) -> None:
    assert block_tokens(block, ESTIMATOR) == tokens


@pytest.mark.parametrize("field", ["thoughtSignature", "arguments", "name"])
def test_25_3_every_character_of_a_calls_real_fields_counts(field: str) -> None:
    block = {
        "type": "tool_use",
        "id": "a",
        "name": "n",
        "arguments": "{}",
        "input": {},
        "thoughtSignature": "s",
    }
    longer = {**block, field: f"{block[field]}{TEXT}"}
    assert block_tokens(longer, ESTIMATOR) == block_tokens(block, ESTIMATOR) + 10


@pytest.mark.parametrize(
    ("data", "tokens"),
    [
        ({"type": "function_call_output", "call_id": TEXT, "output": TEXT}, 14),
        ({"type": "custom_tool_call_output", "call_id": "a", "output": TEXT}, 14),
        (
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": TEXT}]},
            14,
        ),
        (
            {"type": "function_call_output", "call_id": "a", "output": [{"type": "text", "text": TEXT}, TEXT]},
            24,
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "a",
                "output": [{"type": "input_image", "image_url": f"data:image/png;base64,{LONG}"}],
            },
            1004,
        ),
        (
            {
                "type": "function_call_output",
                "call_id": "a",
                "output": [{"type": "input_image", "image_url": LONG, "detail": "low"}],
            },
            89,
        ),
        ({"type": "function_call_output", "call_id": "a", "output": [{"type": "n", "k": "x" * 16}]}, 14),
        ({"type": "function_call_output", "call_id": "a"}, 4),
        ({"type": "compaction", "id": "c", "encrypted_content": TEXT}, 14),
        ({"type": "reasoning", "id": "r", "summary": TEXT, "encrypted_content": TEXT, "effort": TEXT}, 24),
        ({"type": "configuration_update"}, 50),
        ({"type": "shell_call_output", "output": "x" * 350}, 112),
    ],
)
def test_each_item_counts_its_content_and_what_is_opaque_at_least_fifty(
    data: dict[str, Any], tokens: int
) -> None:
    assert item_tokens(data, ESTIMATOR) == (tokens, ())


def test_27_2_a_message_counts_its_blocks_and_four() -> None:
    assert item(message("user", "Hello world")).tokens == 8
    assert item_tokens(message("assistant", TEXT, "x" * 7), ESTIMATOR) == (16, (10, 2))
    assert item(message("user")).tokens == 4
    low = {"type": "input_image_url", "image_url": {"url": f"https://x/{LONG}", "detail": "low"}}
    high = {"type": "input_image_url", "image_url": {"url": f"https://x/{LONG}", "detail": "high"}}
    assert [item(message("user", image)).tokens for image in (low, high)] == [89, 1004]


def test_27_4_a_tool_counts_name_description_parameters_and_its_frame() -> None:
    assert [tools_tokens([WEATHER] * count, ESTIMATOR) for count in range(3)] == [0, 48, 76]
    assert definition_tokens({"type": "function", "function": WEATHER}, ESTIMATOR) == 28
    assert definition_tokens({**WEATHER, "parameters": None, "input_schema": {"k": "x" * 27}}, ESTIMATOR) == 28
    assert definition_tokens({"name": "x" * 7}, ESTIMATOR) == 13


def test_native_tools_and_the_response_format_count_as_compact_json() -> None:
    assert native_tools_tokens([{"type": "web_search"}] * 2, ESTIMATOR) == 2 * (6 + 10)
    assert native_tools_tokens([], ESTIMATOR) == 0
    assert response_format_tokens({"type": "json_object"}, ESTIMATOR) == 7
    assert [response_format_tokens(plain, ESTIMATOR) for plain in (None, "text", {"type": "text"})] == [0, 0, 0]


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"type": "custom_tool_result", "tool_use_id": "a", "content": TEXT, "error": TEXT}, 20),
        (
            {"type": "custom_tool_result", "tool_use_id": "a", "content": "", "__images": [{"base64": LONG}]},
            1000,
        ),
    ],
)
def test_4_2_a_custom_result_counts_error_and_images_too(block: dict[str, Any], tokens: int) -> None:
    assert block_tokens(block, ESTIMATOR) == tokens


@pytest.mark.parametrize(
    ("data", "tokens"),
    [
        # Parts whose kind is no text count as what they are: compact JSON.
        ({"type": "function_call_output", "call_id": "a", "output": [{"type": ["x"]}]}, 4 + 4),
        ({"type": "function_call_output", "call_id": "a", "output": [{"type": "text", "text": 5}]}, 4 + 7),
        # Attachments that are no list travel all the same.
        (
            message("user", {"type": "tool_result", "tool_use_id": "a", "content": "", "__images": "abcdefg"}),
            4 + 2,
        ),
        # A file that brings its content beside its id.
        (message("user", {"type": "input_file", "file_id": "abcdefg"}), 4 + 2),
        (message("user", {"type": "input_file", "file_id": "a", "file_data": "x" * 700}), 4 + 215),
    ],
)
def test_4_2_whatever_travels_counts_however_it_is_shaped(data: dict[str, Any], tokens: int) -> None:
    assert item(data).tokens == tokens


LARGE = "x" * 3_500  # 1,000 tokens


@pytest.mark.parametrize(
    "block",
    [
        {"type": "output_text", "text": "", "annotations": [LARGE]},
        {"type": "tool_use", "id": "a", "name": "", "arguments": "", "thought_signature": LARGE},
        {"type": "tool_result", "tool_use_id": "a", "content": "", "note": LARGE},
        {"type": "thinking", "thinking": "", "thoughtSignature": LARGE},
        {"type": "input_image_url", "image_url": {"url": "u"}, "caption": LARGE},
    ],
    ids=lambda block: block["type"],
)
def test_4_2_a_field_that_the_table_does_not_name_counts_too(block: dict[str, Any]) -> None:
    """The seed: no known payload field is left out of the count."""
    assert block_tokens(block, ESTIMATOR) > 1_000


@pytest.mark.parametrize(
    "data",
    [
        {"type": "reasoning", "content": [{"type": "reasoning_text", "text": LARGE}]},
        {"type": "compaction", "encrypted_content": "", "more": LARGE},
        {"type": "function_call_output", "call_id": "a", "output": "", "more": LARGE},
        {
            "type": "function_call_output",
            "call_id": "a",
            "output": [{"type": "text", "text": "", "more": LARGE}],
        },
    ],
    ids=["reasoning", "compaction", "output", "part of an output"],
)
def test_4_2_a_field_of_a_native_item_that_the_table_does_not_name_counts_too(data: dict[str, Any]) -> None:
    assert item(data).tokens > 1_000


def test_4_2_what_a_host_notes_for_itself_counts_nothing() -> None:
    noted = {"type": "output_text", "text": "", "id": LARGE, "persistence": {"version": 1, "note": LARGE}}
    assert block_tokens(noted, ESTIMATOR) == 0


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "custom", "custom": {"name": "run", "description": LARGE}},
        {"type": "custom", "name": "run", "format": {"type": "grammar", "definition": LARGE}},
        {"type": "custom", "custom": {"name": "run", "format": {"type": "grammar", "definition": LARGE}}},
        {"type": "function", "function": {"name": "look", "examples": LARGE}},
        {"type": "function", "function": {"name": "look"}, "examples": LARGE},
    ],
)
def test_4_4_a_definition_counts_whatever_it_says(tool: dict[str, Any]) -> None:
    assert definition_tokens(tool, ESTIMATOR) > 1_000
