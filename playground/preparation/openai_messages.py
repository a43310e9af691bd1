"""Items as the messages of OpenAI's Chat Completions API.

Pure. Errors say what has no equivalent there; the caller says which item it is.

References:
    OpenAI's Chat Completions API (``POST /v1/chat/completions``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.preparation.export_parts import (
    Image,
    Result,
    blocks_of,
    call_arguments,
    check_fields,
    compact,
    image_of,
    no_equivalent,
    result_of,
)
from playground.preparation.item_counting import NATIVE_OUTPUTS
from playground.preparation.items import Json

__all__ = ["openai_messages"]

_TEXTS = frozenset({"input_text", "output_text"})
_RESULTS = frozenset({"tool_result", "custom_tool_result"})


def openai_messages(item: Mapping[str, Any]) -> list[Json]:
    """Return the messages of one item: results first, each one by itself, then the rest.

    Raises:
        InvalidInputError: When the API has no place for the item, or for something in it.
    """
    kind = item.get("type")
    if kind in NATIVE_OUTPUTS:
        check_fields(item)
        return [_tool_message(result_of(item))]
    if kind != "message":
        raise no_equivalent(f"an item of the type {kind}")
    blocks = blocks_of(item)
    if item["role"] == "assistant":
        return _assistant(blocks)
    if item["role"] == "developer" and (other := [block for block in blocks if block["type"] not in _TEXTS]):
        raise no_equivalent(f"{other[0]['type']} in a developer message")
    results = [_tool_message(result_of(block)) for block in blocks if block["type"] in _RESULTS]
    rest = [_part(block) for block in blocks if block["type"] not in _RESULTS]
    return [*results, {"role": item["role"], "content": _content(rest)}] if rest else results


def _assistant(blocks: Sequence[Json]) -> list[Json]:
    texts = [_part(block) for block in blocks if block["type"] in _TEXTS]
    calls = [_call(block) for block in blocks if block["type"] not in _TEXTS]
    if not calls:
        return [{"role": "assistant", "content": _content(texts)}] if texts else []
    content = _content([part for part in texts if part["text"]]) or None
    return [{"role": "assistant", "content": content, "tool_calls": calls}]


def _call(block: Json) -> Json:
    match block["type"]:
        case "tool_use":
            arguments = call_arguments(block)
            text = arguments if isinstance(arguments, str) else compact({} if arguments is None else arguments)
            return {
                "id": block["id"],
                "type": "function",
                "function": {"name": block["name"], "arguments": text},
            }
        case "custom_tool_use":
            custom = {"name": block["name"], "input": block["input"]}
            return {"id": block["id"], "type": "custom", "custom": custom}
    raise no_equivalent(f"{block['type']} in an answer")


def _part(block: Json) -> Json:
    if block["type"] in _TEXTS:
        return {"type": "text", "text": block["text"]}
    image = image_of(block)
    if image is not None:
        detail = {} if image.detail is None else {"detail": image.detail}
        return {"type": "image_url", "image_url": {"url": image.url, **detail}}
    if block["type"] == "input_file":
        return {"type": "file", "file": {"file_id": block["file_id"]}}
    raise no_equivalent(f"{block['type']} in a message of the user")


def _content(parts: Sequence[Json]) -> Any:
    """Return one text as a string, as everybody writes it; anything else as parts."""
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return [*parts]


def _tool_message(result: Result) -> Json:
    """Return a result. The wire has no flag for an error, so that its text begins with ``Error:``."""
    content: Any = result.content
    if isinstance(content, list):
        if any(isinstance(part, Image) for part in content):
            raise no_equivalent("an image in the result of a tool")
        texts = [f"Error: {result.error}", *content] if result.error else content
        content = [{"type": "text", "text": text} for text in texts]
    elif result.error:
        content = "Error: " + "\n\n".join(text for text in (content, result.told) if text)
    return {"role": "tool", "tool_call_id": result.call_id, "content": content}
