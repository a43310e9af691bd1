"""Chat logs: any bytes give chats or typed errors, and what an export writes is read back as it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playground.exports import to_anthropic, to_openai
from playground.messages import (
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    Role,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    message_to_json,
)
from playground.scope import MemoryScope
from playground.sources.chat_files import load_chats
from playground.workspace.material_kinds import tell_kind
from tests.property.strategies import examples

SCOPE = MemoryScope(user_id="ada")
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
SOME = TEXT.filter(bool)
VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
INPUT = st.dictionaries(TEXT, VALUE, max_size=3)
IMAGES = st.sampled_from([ImagePart("AAAA", "image/png"), ImagePart("BBBB", "application/pdf"),
                          ImagePart("https://example.org/a.png")])  # fmt: skip
REASONING = st.builds(ReasoningPart, TEXT, signature=SOME) | st.builds(
    lambda data: ReasoningPart("", encrypted=data, redacted=True), SOME
)


def _assistant(parts: list[Part], calls: list[ToolUsePart]) -> Message:
    return Message("assistant", (*parts, *calls))


@st.composite
def turns(draw: st.DrawFn, *, anthropic: bool) -> list[Message]:
    """A conversation that the export writes without loss: alternating roles, each call answered next."""
    messages = [Message("system", (TextPart(draw(SOME)),))] if draw(st.booleans()) else []
    for number in range(draw(st.integers(0, 4))):
        content = draw(st.lists(SOME.map(TextPart) | IMAGES, min_size=1, max_size=3))
        calls = [
            ToolUsePart(f"t{number}-{at}", draw(SOME), draw(INPUT)) for at in range(draw(st.integers(0, 2)))
        ]
        spoken: list[Part] = [TextPart(draw(SOME))]
        if anthropic:
            spoken = draw(st.lists(REASONING, max_size=1)) + spoken
        results = [ToolResultPart(call.id, draw(TEXT), anthropic and draw(st.booleans())) for call in calls]
        messages += [Message("user", tuple(content)), _assistant(spoken, calls)]
        if results and anthropic:
            messages += [Message("user", tuple(results)), Message("assistant", (TextPart(draw(SOME)),))]
        elif results:
            messages += [Message("tool", (result,)) for result in results]
    return messages


def _read(body: dict[str, Any]) -> list[tuple[Role, tuple[Part, ...]]]:
    loaded = load_chats([("log.json", json.dumps(body).encode())], scope=SCOPE)
    assert not loaded.errors
    return [(message.role, message.parts) for message in loaded.chats[0].messages]


def _held(messages: list[Message]) -> list[tuple[Role, tuple[Part, ...]]]:
    return [(message.role, message.parts) for message in messages]


@examples(60)
@given(turns(anthropic=False))
def test_openai_bodies_are_read_back(messages: list[Message]) -> None:
    body = to_openai(messages, model_id="m", max_tokens=1)
    assert _read(body) == _held(messages)
    assert to_openai([Message(*turn) for turn in _read(body)], model_id="m", max_tokens=1) == body


@examples(60)
@given(turns(anthropic=True))
def test_anthropic_bodies_are_read_back(messages: list[Message]) -> None:
    body = to_anthropic(messages, model_id="m", max_tokens=1)
    assert _read(body) == _held(messages)
    assert to_anthropic([Message(*turn) for turn in _read(body)], model_id="m", max_tokens=1) == body


@examples(60)
@given(turns(anthropic=True) | turns(anthropic=False))
def test_this_projects_own_messages_are_read_back(messages: list[Message]) -> None:
    assert _read({"messages": [message_to_json(message) for message in messages]}) == _held(messages)


FIELDS = st.sampled_from(
    ["role", "content", "messages", "type", "text", "tool_calls", "tool_call_id", "function_call", "function",
     "name", "id", "arguments", "system", "source", "image_url", "title", "chatId", "scope", "updatedAt"]
)  # fmt: skip
WORDS = st.sampled_from(
    ["user", "assistant", "tool", "function", "text", "tool_use", "tool_result", "image", ""]
)
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=4),
    max_leaves=12,
)
CONTENTS = (
    st.binary(max_size=80)
    | ANYTHING.map(lambda value: json.dumps(value).encode())
    | st.lists(ANYTHING, max_size=3).map(lambda values: "\n".join(map(json.dumps, values)).encode())
)


@examples(200)
@given(st.lists(st.tuples(st.sampled_from(["a.json", "b.jsonl", ""]), CONTENTS), max_size=3))
def test_any_bytes_give_chats_or_typed_errors_and_can_be_written_again(files: list[tuple[str, bytes]]) -> None:
    loaded = load_chats(files, scope=SCOPE)
    ids = [chat.chat_id for chat in loaded.chats]
    assert len(set(ids)) == len(ids)
    assert set(loaded.titles) <= set(ids)
    assert len(loaded.errors) <= len(files)
    assert all(error.remedy and error.name for error in loaded.errors)
    for chat in loaded.chats:
        json.dumps(chat.to_json(), allow_nan=False, ensure_ascii=False).encode()


def _places(value: Any, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*above, key)
        yield from _places(one, (*above, key))


def _with(value: Any, place: tuple[str | int, ...], odd: Any) -> Any:
    if not place:
        return odd
    first, *rest = place
    changed: Any = dict(value) if isinstance(value, dict) else list(value)
    changed[first] = _with(value[first], tuple(rest), odd)
    return changed


GOOD = {
    "chatId": "c", "title": "T", "updatedAt": 5, "parentId": "p", "scope": {"userId": "ada"},
    "system": [{"type": "text", "text": "s"}],
    "messages": [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": None, "refusal": "r",
         "tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "1", "content": "b"},
        {"role": "assistant", "content": "c", "function_call": {"name": "g", "arguments": "{}"}},
        {"role": "function", "name": "g", "content": "d"},
        {"role": "user", "content": [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
            {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA"}},
            {"type": "tool_result", "tool_use_id": "2", "content": [{"type": "text", "text": "e"}]},
            {"type": "thinking", "thinking": "f", "signature": "g"}]},
    ],
}  # fmt: skip
PLACES = tuple(_places(GOOD))


@examples(200)
@given(st.sampled_from(PLACES), ANYTHING, st.booleans())
def test_one_odd_value_anywhere_in_a_good_log_gives_chats_or_a_typed_error(
    place: tuple[str | int, ...], odd: Any, alone: bool
) -> None:
    log = _with(GOOD, place, odd)
    data = json.dumps(log["messages"] if alone and "messages" in log else log).encode()
    assert tell_kind("log.json", data).kind in {"chats", "documents"}
    loaded = load_chats([("log.json", data)], scope=SCOPE)
    assert bool(loaded.chats) != bool(loaded.errors)
