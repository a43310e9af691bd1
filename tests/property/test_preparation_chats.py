"""25a: what goes out to a provider and comes back is the same, wherever that provider has a place for it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playground.errors import PlaygroundError
from playground.preparation.chat_export import export_anthropic, export_openai
from playground.preparation.chat_import import import_conversation
from tests.preparation import call, items, message, result
from tests.unit.preparation.vendor_schemas import anthropic_faults, openai_faults

# JSON and UTF-8 hold every text but halves of characters.
TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
DATA = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | TEXTS,
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=4,
)
IMAGES = st.sampled_from(["https://example.org/a.png", "data:image/png;base64,aGk="]).map(
    lambda url: {"type": "input_image_url", "image_url": {"url": url}}
)
FILES = st.just({"type": "input_file", "file_id": "f"})
THINKING = st.just({"type": "thinking", "thinking": "Hm", "signature": "s", "persistInHistory": True})
REDACTED = st.just({"type": "redacted_thinking", "data": "d"})
PARTS = st.lists(TEXTS.map(lambda text: {"type": "text", "text": text}), min_size=1, max_size=2)


@st.composite
def logs(draw: st.DrawFn, provider: str) -> list[dict[str, Any]]:
    """Conversations that one provider has a place for, in the order in which it demands them."""
    openai = provider == "openai"
    log = []
    for turn in range(draw(st.integers(1, 3))):
        log.append(message("user", *draw(st.lists(TEXTS | IMAGES | FILES, min_size=1, max_size=3))))
        arguments = draw(st.dictionaries(TEXTS, DATA, max_size=2))
        spaces = draw(st.booleans()) and openai
        text = json.dumps(arguments, ensure_ascii=False, separators=None if spaces else (",", ":"))
        calls = [
            call(f"c{turn}_{n}", custom=True)
            if openai and draw(st.booleans())
            else call(f"c{turn}_{n}", arguments=text)
            for n in range(draw(st.integers(1, 3)))
        ]
        said = draw(st.lists(TEXTS, max_size=2))
        thoughts = [] if openai else draw(st.lists(THINKING | REDACTED, max_size=2))
        log.append(message("assistant", *thoughts, *said, *calls))
        results = []
        for one in calls:
            failed = {} if openai else draw(st.sampled_from([{}, {"error": "why"}]))
            content = "" if failed else draw(TEXTS | PARTS | st.just(""))
            custom = one["type"] == "custom_tool_use"
            results.append(result(one["id"], content, custom=custom, **failed))
        log.append(message("user", *results))
        log.append(message("assistant", *draw(st.lists(TEXTS, min_size=1, max_size=2))))
    return log[: draw(st.integers(1, len(log)))]


@given(logs("openai"), st.none() | TEXTS)
def test_a_log_goes_to_openai_and_back(log: list[dict[str, Any]], prompt: str | None) -> None:
    _goes_and_comes(export_openai, openai_faults, log, prompt)


@given(logs("anthropic"), st.none() | TEXTS)
def test_a_log_goes_to_anthropic_and_back(log: list[dict[str, Any]], prompt: str | None) -> None:
    _goes_and_comes(export_anthropic, anthropic_faults, log, prompt)


NAMES = st.sampled_from(
    [
        "role",
        "content",
        "tool_calls",
        "tool_call_id",
        "function_call",
        "name",
        "refusal",
        "type",
        "id",
        "input",
        "arguments",
        "function",
        "custom",
        "source",
        "image_url",
        "file",
        "is_error",
        "tool_use_id",
        "thinking",
        "signature",
        "data",
        "system",
        "messages",
        "__images",
        "error",
        "output",
        "call_id",
        "media_type",
        "url",
        "detail",
        "text",
        "async",
    ]
)
ROLES = st.sampled_from(["user", "assistant", "tool", "system", "developer", "function"])
KINDS = st.sampled_from(
    [
        "text",
        "tool_use",
        "tool_result",
        "image",
        "image_url",
        "file",
        "document",
        "thinking",
        "redacted_thinking",
        "refusal",
        "reasoning",
        "function",
        "custom",
        "input_text",
        "output_text",
        "custom_tool_use",
        "custom_tool_result",
        "input_file",
        "input_image_url",
    ]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.builds(object) | KINDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(NAMES, inner, max_size=4)
        | st.builds(lambda kind, data: {**data, "type": kind}, KINDS, st.dictionaries(NAMES, inner, max_size=4))
    ),
    max_leaves=12,
)
MESSAGES = st.lists(
    st.builds(
        lambda role, content, data: {"content": content, **data, "role": role},
        ROLES,
        st.lists(ANYTHING, max_size=3) | ANYTHING,
        st.dictionaries(NAMES, ANYTHING, max_size=3),
    )
    | ANYTHING,
    max_size=4,
)


@given(MESSAGES, st.booleans())
def test_whatever_comes_in_is_read_or_refused_with_an_error_of_ours(log: list[Any], prefix_ids: bool) -> None:
    with suppress(PlaygroundError):
        read = import_conversation(log, prefix_ids=prefix_ids)
        items(*read.conversation, *read.current_input)


@given(MESSAGES, st.sampled_from(["message", "function_call_output", "custom_tool_call_output"]))
def test_whatever_goes_out_is_utf_8_json_or_refused_with_an_error_of_ours(
    given_items: list[Any], kind: str
) -> None:
    typed = [{**item, "type": kind} if isinstance(item, dict) else item for item in given_items]
    for export in (export_openai, export_anthropic):
        with suppress(PlaygroundError):
            json.dumps(export(typed, model="m", max_tokens=9), ensure_ascii=False, allow_nan=False).encode()


def _goes_and_comes(export: Any, faults: Any, log: list[dict[str, Any]], prompt: str | None) -> None:
    before = [] if prompt is None else [message("developer", prompt)]
    body = export([*before, *log], model="m", max_tokens=9)
    assert faults(body) == []
    kept = {name: body[name] for name in ("messages", "system") if name in body}
    read = import_conversation(json.loads(json.dumps(kept)))
    assert [*read.conversation, *read.current_input] == log
    assert read.system_prompt == prompt
    assert read.warnings == ()
