"""Items as the turns of Anthropic's Messages API.

Pure. Errors say what has no equivalent there; the caller says which item it is.

References:
    Anthropic's Messages API (``POST /v1/messages``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.export_parts import (
    Image,
    Result,
    blocks_of,
    call_arguments,
    check_fields,
    image_of,
    image_source,
    no_equivalent,
    result_of,
)
from playground.preparation.items import Json
from playground.values import shown

__all__ = ["anthropic_blocks"]


def anthropic_blocks(item: Mapping[str, Any]) -> list[Json]:
    """Return the content blocks of one item; empty texts, which the API refuses, say nothing and are left out.

    Raises:
        InvalidInputError: When the API has no place for the item, or for something in it.
    """
    kind = item.get("type")
    if kind == "function_call_output":
        check_fields(item)
        return [_result(result_of(item))]
    if kind != "message":
        raise no_equivalent(f"an item of the type {kind}")
    return [_block(block) for block in blocks_of(item) if block.get("text") != ""]


def _block(block: Json) -> Json:
    match block["type"]:
        case "input_text" | "output_text":
            return {"type": "text", "text": block["text"]}
        case "tool_use":
            return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": _arguments(block)}
        case "tool_result":
            return _result(result_of(block))
        case "thinking" if block.get("signature"):
            return {"type": "thinking", "thinking": block["thinking"], "signature": block["signature"]}
        case "thinking":
            raise no_equivalent("thinking without a signature")
        case "redacted_thinking":
            return {"type": "redacted_thinking", "data": block["data"]}
        case "input_file":
            return {"type": "document", "source": {"type": "file", "file_id": block["file_id"]}}
    image = image_of(block)
    if image is not None:
        return {"type": "image", "source": image_source(image)}
    raise no_equivalent(f"{block['type']}")


def _arguments(block: Json) -> Json:
    """Return the arguments of a call as the object that the API wants; none at all are an empty one."""
    given = call_arguments(block)
    found = {} if given is None else given
    if isinstance(found, str):
        try:
            found = _read(found) if found.strip() else {}
        except (ValueError, RecursionError):
            found = None
    if not isinstance(found, Mapping):
        raise InvalidInputError(
            f"the arguments of the call {shown(block['id'])} are no JSON object",
            remedy="Correct them, or leave the call out with its result.",
        )
    return {**found}


def _read(text: str) -> Any:
    """Read JSON whose every name and number survives: none twice, and none without end."""
    return json.loads(text, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_once)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _once(pairs: list[tuple[str, Any]]) -> Json:
    if len(found := dict(pairs)) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _result(result: Result) -> Json:
    content: Any = result.content
    if isinstance(content, list):
        texts = [*content, result.told] if result.told else content
        content = [_result_part(part) for part in texts if part]
    else:
        content = "\n\n".join(text for text in (content, result.told) if text)
    block = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return {**block, "is_error": True} if result.error else block


def _result_part(part: str | Image) -> Json:
    if isinstance(part, Image):
        return {"type": "image", "source": image_source(part)}
    return {"type": "text", "text": part}
