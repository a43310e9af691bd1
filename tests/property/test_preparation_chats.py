"""25a: what goes out to a provider and comes back is the same, wherever that provider has a place for it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from playground.preparation.chat_export import export_anthropic, export_openai
from playground.preparation.chat_import import import_conversation
from tests.preparation import call, message, result
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
    items = []
    for turn in range(draw(st.integers(1, 3))):
        items.append(message("user", *draw(st.lists(TEXTS | IMAGES | FILES, min_size=1, max_size=3))))
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
        items.append(message("assistant", *thoughts, *said, *calls))
        results = []
        for one in calls:
            failed = {} if openai else draw(st.sampled_from([{}, {"error": "why"}]))
            content = "" if failed else draw(TEXTS | PARTS | st.just(""))
            custom = one["type"] == "custom_tool_use"
            results.append(result(one["id"], content, custom=custom, **failed))
        items.append(message("user", *results))
        items.append(message("assistant", *draw(st.lists(TEXTS, min_size=1, max_size=2))))
    return items[: draw(st.integers(1, len(items)))]


@given(logs("openai"), st.none() | TEXTS)
def test_a_log_goes_to_openai_and_back(items: list[dict[str, Any]], prompt: str | None) -> None:
    _goes_and_comes(export_openai, openai_faults, items, prompt)


@given(logs("anthropic"), st.none() | TEXTS)
def test_a_log_goes_to_anthropic_and_back(items: list[dict[str, Any]], prompt: str | None) -> None:
    _goes_and_comes(export_anthropic, anthropic_faults, items, prompt)


def _goes_and_comes(export: Any, faults: Any, items: list[dict[str, Any]], prompt: str | None) -> None:
    before = [] if prompt is None else [message("developer", prompt)]
    body = export([*before, *items], model="m", max_tokens=9)
    assert faults(body) == []
    kept = {name: body[name] for name in ("messages", "system") if name in body}
    read = import_conversation(json.loads(json.dumps(kept)))
    assert [*read.conversation, *read.current_input] == items
    assert read.system_prompt == prompt
    assert read.warnings == ()
