"""Random items of a conversation, valid on their own; together they may lack counterparts or repeat ids."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.preparation import call, message, native, result

IDS = st.sampled_from(["a", "b", "toolu_2_12345678"])
TEXTS = st.one_of(st.text(max_size=40), st.sampled_from(["x" * 400, "", "日本語" * 30]))
EVIDENCE = {"version": 1, "status": "unacknowledged", "invocationId": "i"}


@st.composite
def call_blocks(draw: st.DrawFn) -> dict[str, Any]:
    more: dict[str, Any] = {"async": True} if draw(st.integers(0, 4)) == 0 else {}
    if draw(st.integers(0, 4)) == 0:
        more["thoughtSignature"] = "sig" * 5
    return call(draw(IDS), draw(st.sampled_from(["look", "read_file"])), custom=draw(st.booleans()), **more)


@st.composite
def result_blocks(draw: st.DrawFn) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if draw(st.integers(0, 4)) == 0:
        more["error"] = draw(TEXTS)
    if draw(st.integers(0, 6)) == 0:
        more["__images"] = [{"base64": "AAAA", "mediaType": "image/png"}]
    if draw(st.integers(0, 8)) == 0:
        more["persistence"] = EVIDENCE
    return result(draw(IDS), draw(TEXTS), custom=draw(st.booleans()), **more)


@st.composite
def blocks(draw: st.DrawFn) -> dict[str, Any]:
    return draw(
        st.one_of(
            call_blocks(),
            result_blocks(),
            st.builds(lambda text: {"type": "input_text", "text": text}, TEXTS),
            st.just({"type": "thinking", "thinking": "hm", "signature": "sig", "persistInHistory": True}),
            st.just({"type": "input_image_url", "image_url": {"url": "https://x/y" * 99, "detail": "low"}}),
        )
    )


@st.composite
def items(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["message"] * 6 + ["native", "opaque"]))
    if kind == "message":
        role = draw(st.sampled_from(["user", "assistant", "developer"]))
        return message(role, *draw(st.lists(blocks(), max_size=3)))
    if kind == "native":
        output: Any = draw(TEXTS)
        if draw(st.booleans()):
            output = [{"type": "input_text", "text": output}, {"type": "input_image", "image_url": "data:x"}]
        return native(draw(IDS), output, custom=draw(st.booleans()))
    return draw(
        st.sampled_from(
            [
                {"type": "compaction", "id": "c", "encrypted_content": "enc" * 20},
                {"type": "reasoning", "id": "r", "summary": "why", "encrypted_content": "enc"},
                {"type": "tool_search_output", "payload": {"deep": [1, None]}},
            ]
        )
    )
