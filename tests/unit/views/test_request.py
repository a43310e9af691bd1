"""The raw request."""

from __future__ import annotations

import json

import pytest

from playground.messages import Message
from playground.views.request import request_messages, request_view
from tests.unit.views.compiles import QUESTION, offers, package

COMPILED = package(offers(), max_tokens=1_000)


def test_the_history_comes_first_and_the_blocks_follow_in_order() -> None:
    messages = request_messages(QUESTION, COMPILED)
    assert messages[0] == QUESTION[0]
    assert [message.content for message in messages[1:]] == [block.text for block in COMPILED.blocks]


@pytest.mark.parametrize("shape", ["anthropic", "openai"])
def test_the_body_is_json_of_the_chosen_model_with_all_blocks(shape: str) -> None:
    view = request_view(shape, QUESTION, COMPILED, model_id="m", max_tokens=99)  # type: ignore[arg-type]
    body = json.loads(view.body)
    assert body["model"] == "m"
    assert all(json.dumps(block.text, ensure_ascii=False)[1:-1] in view.body for block in COMPILED.blocks)


def test_the_total_counts_the_whole_request_not_only_the_blocks() -> None:
    view = request_view("openai", QUESTION, COMPILED, model_id="m", max_tokens=99)
    assert view.total == f"{500 + COMPILED.manifest.budget.selected_tokens:,} tokens"


@pytest.mark.parametrize("shape", ["anthropic", "openai"])
def test_half_a_character_of_the_conversation_is_replaced(shape: str) -> None:
    messages = [Message("user", "half \ud83d"), *QUESTION]
    tools = [{"name": "t", "description": "half \ud83d", "parameters": {"type": "object"}}]
    view = request_view(
        shape,  # type: ignore[arg-type]
        messages, COMPILED, model_id="m \ud83d", max_tokens=99, tools=tools,
    )  # fmt: skip
    assert view.body.encode().decode().count("half \ufffd") == 2
