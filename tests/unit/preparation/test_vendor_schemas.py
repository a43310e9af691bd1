"""25a: what is exported passes the request types of the providers' own packages, and a bad body does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playground.preparation.chat_export import export_anthropic, export_openai
from playground.preparation.chat_import import import_conversation
from tests.preparation import call, message, native, result
from tests.unit.preparation.vendor_schemas import anthropic_faults, openai_faults

BFCL = Path(__file__).parents[2] / "data" / "bfcl" / "transcripts.jsonl"
SYSTEM = message("developer", "Be brief.")
PNG = {"base64": "aGk=", "mediaType": "image/png"}
TOOLS = [
    {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}},
    {"type": "function", "function": {"name": "nothing"}},
]
BOTH: list[list[dict[str, Any]]] = [
    [SYSTEM, message("user", "Hi"), message("assistant", "Hi."), message("user", "And?")],
    [
        message("user", "a", "b"),
        message("assistant", "c", "d"),
        message("user", {"type": "input_file", "file_id": "f"}),
    ],
    [
        message("assistant", "I look.", call("c"), call("d")),
        message("user", result("c")),
        message("user", result("d"), "x"),
    ],
    [message("assistant", call("c")), message("user", result("c", "", error="no such file"))],
    [message("assistant", call("c")), native("c")],
    [message("assistant", call("c")), native("c", [{"type": "input_text", "text": "done"}])],
    [
        message("assistant", call("c")),
        message("user", result("c", [{"type": "text", "text": "done"}], error="late")),
    ],
    [message("assistant", call("c")), message("user", result("c", {"rows": [1, None]}))],
    [
        message(
            "user",
            {"type": "input_image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
        )
    ],
    [message("user", {"type": "input_image_url", "image_url": {"url": "https://example.org/a.png"}})],
]
ONLY_OPENAI = [
    [message("assistant", call("c", custom=True)), message("user", result("c", custom=True))],
    [message("assistant", call("c", custom=True)), native("c", custom=True)],
    [message("assistant", call("c", arguments="{not json")), message("user", result("c"))],
]
ONLY_ANTHROPIC = [
    [message("assistant", {"type": "thinking", "thinking": "Hm", "signature": "s"}, "x")],
    [message("assistant", {"type": "redacted_thinking", "data": "s"}, "x")],
    [message("assistant", call("c")), message("user", result("c", "seen", __images=[PNG]))],
    [
        message("assistant", call("c")),
        message(
            "user", result("c", [{"type": "image", "source": {"type": "url", "url": "https://example.org"}}])
        ),
    ],
    [
        message("assistant", call("c")),
        native("c", [{"type": "input_image", "image_url": "data:image/png;base64,aGk="}]),
    ],
]


@pytest.mark.parametrize("items", [*BOTH, *ONLY_OPENAI])
def test_what_goes_to_openai_is_a_request_of_its_package_25a(items: Any) -> None:
    assert openai_faults(export_openai(items, model="m", max_tokens=100, tools=TOOLS)) == []


@pytest.mark.parametrize("items", [*BOTH, *ONLY_ANTHROPIC])
def test_what_goes_to_anthropic_is_a_request_of_its_package_25a(items: Any) -> None:
    assert anthropic_faults(export_anthropic(items, model="m", max_tokens=100, tools=TOOLS)) == []


def test_the_149_real_logs_go_to_both_25a() -> None:
    for line in BFCL.read_text().splitlines()[::5]:
        read = import_conversation(json.loads(line))
        items = [SYSTEM, *read.conversation, *read.current_input]
        assert openai_faults(export_openai(items, model="m", max_tokens=100)) == []
        assert anthropic_faults(export_anthropic(items, model="m", max_tokens=100)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": "no role"},
        {"role": "user"},
        {"role": "nobody", "content": "x"},
        {"role": "tool", "content": "answers nothing"},
        {"role": "tool", "tool_call_id": "c", "content": "x", "name": "stray"},
        {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": {"name": "f"}}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {}}]},
        {"role": "user", "content": "x", "stray": 1},
    ],
)
def test_a_bad_body_does_not_pass_for_openai(wrong: Any) -> None:
    body = {"model": "m", "messages": [wrong]}
    assert openai_faults({**body, "messages": [{"role": "user", "content": "x"}]}) == []
    assert openai_faults(body)


@pytest.mark.parametrize(
    "wrong",
    [
        {"content": "no role"},
        {"role": "tool", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "name": "f", "input": {}}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": "{}"}]},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": "unsigned"}]},
        {"role": "user", "content": [{"type": "tool_result", "content": "answers nothing"}]},
        {"role": "user", "content": [{"type": "text", "text": "x", "stray": 1}]},
        {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "aa"}}]},
    ],
)
def test_a_bad_body_does_not_pass_for_anthropic(wrong: Any) -> None:
    body = {"model": "m", "max_tokens": 1, "messages": [wrong]}
    assert anthropic_faults({**body, "messages": [{"role": "user", "content": "x"}]}) == []
    assert anthropic_faults(body)
