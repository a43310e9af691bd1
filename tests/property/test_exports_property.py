from __future__ import annotations

import itertools
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playground.exports import to_anthropic, to_openai
from playground.messages import as_messages

TEXT = st.text(max_size=8)  # lone surrogates included
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
PART = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}),
    st.fixed_dictionaries({"type": st.just("image"), "image": TEXT | st.binary(max_size=8)}),
    st.fixed_dictionaries({"type": st.just("reasoning"), "text": TEXT, "signature": st.none() | TEXT}),
    st.fixed_dictionaries({"type": st.just("custom"), "data": VALUE}),
)
PLAIN = st.fixed_dictionaries(
    {"role": st.sampled_from(["system", "user", "assistant"]), "content": TEXT | st.lists(PART, max_size=3)}
)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for number in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            messages.append(draw(PLAIN))
            continue
        call = {"type": "tool_use", "id": f"t{number}", "name": "f", "input": draw(VALUE)}
        result = {"type": "tool_result", "toolUseId": f"t{number}", "result": draw(VALUE)}
        messages += [{"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}]
    return messages


def _as_sent(body: dict[str, Any]) -> dict[str, Any]:
    text = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
    sent: dict[str, Any] = json.loads(text)
    return sent


@given(conversations())
def test_anthropic_bodies_are_json_with_alternating_roles_and_results_right_after_their_calls(
    conversation: list[dict[str, Any]],
) -> None:
    body = _as_sent(to_anthropic(as_messages(conversation), model_id="m", max_tokens=1))
    turns = body["messages"]
    assert all(left["role"] != right["role"] for left, right in itertools.pairwise(turns))
    for at, turn in enumerate(turns):
        calls = [block["id"] for block in turn["content"] if block["type"] == "tool_use"]
        if calls:
            answers = turns[at + 1]["content"][: len(calls)]
            assert [block.get("tool_use_id") for block in answers] == calls


@given(conversations())
def test_openai_bodies_are_json_and_every_call_is_answered_next(conversation: list[dict[str, Any]]) -> None:
    body = _as_sent(to_openai(as_messages(conversation), model_id="m", max_tokens=1))
    turns = body["messages"]
    assert [turn["role"] for turn in turns].count("system") <= 1
    for at, turn in enumerate(turns):
        for offset, call in enumerate(turn.get("tool_calls", ()), 1):
            assert turns[at + offset]["tool_call_id"] == call["id"]
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
