"""Messages as OpenAI's and Anthropic's APIs write them, in the one shape that ``as_message`` reads.

What ``as_message`` knows already goes through as it is, this project's own messages among it. Pure.

References:
    Anthropic's Messages API (``POST /v1/messages``) and OpenAI's Chat Completions API.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from playground.errors import InvalidInputError
from playground.retrieval.json_records import finite_json
from playground.values import shown

__all__ = ["LeftOut", "canonical_message", "system_messages"]

Json = dict[str, Any]

_ROLES = {"developer": "system", "function": "tool"}
_KNOWN_ROLES = ("system", "developer", "user", "assistant", "tool", "function")
_FIELDS = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "function_call", "refusal"}
    | {"providerMetadata", "provider_metadata"}
)
_PART_KINDS = frozenset({"text", "image", "tool_use", "tool_result", "reasoning"})
_TEXT_KINDS = frozenset({"text", "input_text", "output_text"})
# What is read of each kind of part; whoever reads exactly is told of the rest.
_READ_OF_PARTS: Mapping[str, frozenset[str]] = {
    **{kind: frozenset({"type", "text"}) for kind in _TEXT_KINDS},
    "refusal": frozenset({"type", "refusal"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
    "image": frozenset({"type", "source"}),
    "image_url": frozenset({"type", "image_url"}),
}
_READ_OF_ADDRESSES = frozenset({"url", "detail", "type", "data", "media_type"})
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)


@dataclass(slots=True)
class LeftOut:
    """What of a file is not read into messages, counted while it is read.

    Attributes:
        fields: Names of fields that say nothing of the conversation.
        kinds: Kinds of parts that nobody here knows; they are kept as they came.
    """

    fields: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)

    def add_fields(self, data: Mapping[str, Any], known: frozenset[str]) -> None:
        """Count the fields of an object that are none of those that are read; ``null`` counts as absent."""
        self.fields.update(name for name in data.keys() - known if data[name] is not None)


def canonical_message(data: Mapping[str, Any], left_out: LeftOut, *, exact: bool = False) -> Json:
    """Return a message as ``as_message`` reads it, or, ``exact``, in a form from which nothing is lost.

    ``developer`` messages become system messages. Tool calls beside the content become parts of it, their
    arguments parsed where they are JSON; a ``function_call``, which has no id, gets one of its name. An answer
    of ``null`` is an empty one.

    Exact reading differs in four things: a call keeps its arguments as they were written, under ``arguments``,
    and says ``custom`` if it is one; an image keeps its ``detail``; a file stays as it came; an answer of
    ``null`` has no part at all.

    Args:
        data: An object with a role.
        left_out: Where fields that are not read, and unknown kinds of parts, are counted; fields of parts too,
            where the reading is exact.
        exact: Whether nothing may be lost.

    Raises:
        InvalidInputError: When the role is unknown or calls are malformed; ``as_message`` checks the parts.
    """
    role, content = data.get("role"), data.get("content")
    if role not in _KNOWN_ROLES:
        raise InvalidInputError(
            f"a message has the role {shown(role)}", remedy=f"Use one of {', '.join(_KNOWN_ROLES)}."
        )
    left_out.add_fields(data, _FIELDS | {"name"} if role == "function" else _FIELDS)
    if role == "function":
        content = [_result(_call_id(data), content)]
    elif data.get("tool_call_id") is not None:
        content = [_result(data["tool_call_id"], content)]
    else:
        content = _content(data, content, left_out, exact=exact)
    message = {"role": _ROLES.get(role, role), "content": content}
    metadata = data.get("providerMetadata", data.get("provider_metadata"))
    return message if metadata is None else {**message, "providerMetadata": metadata}


def system_messages(system: Any) -> list[Json]:
    """Return the messages that Anthropic's ``system`` stands for: none, one, or one a text block.

    Raises:
        InvalidInputError: When it is neither a text nor a list of text blocks.
    """
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    if blocks is None:
        return []
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise InvalidInputError("system is no text", remedy="Give a text or a list of text blocks.")
    return [{"role": "system", "content": [block]} for block in blocks]


def _content(data: Mapping[str, Any], content: Any, left_out: LeftOut, *, exact: bool) -> Any:
    calls = [
        *_tool_calls(data.get("tool_calls"), exact=exact),
        *_function_call(data.get("function_call"), exact=exact),
    ]
    if isinstance(refusal := data.get("refusal"), str) and refusal:
        calls.insert(0, {"type": "text", "text": refusal})
    if content is None and "content" not in data and not calls:
        raise InvalidInputError("a message has no content", remedy="Give a text or a list of parts.")
    if not calls and not isinstance(content, list):
        return content if content is not None else [] if exact else ""
    if isinstance(content, str | None):
        content = [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list):
        raise InvalidInputError("the content is neither text nor a list", remedy="Give one of the two.")
    return [*(_part(part, left_out, exact=exact) for part in content), *calls]


def _part(part: Any, left_out: LeftOut, *, exact: bool) -> Any:
    if not isinstance(part, dict):
        return part  # as_message says what is wrong
    kind = part.get("type")
    read = _known_part(part, kind) if isinstance(kind, str) else None
    if exact and isinstance(kind, str) and read is not None:
        read = _exact_part(part, kind, read, left_out)
    if read is None:
        read = part
        name = kind if isinstance(kind, str) else shown(kind)  # a list has no place in a set
        if name not in _PART_KINDS:
            left_out.kinds[name] += 1
    return read


def _known_part(part: Json, kind: str) -> Json | None:
    """Return a provider's part in this project's spelling; ``None`` when it has it already, or is unknown."""
    get = part.get
    if kind in _TEXT_KINDS and isinstance(text := get("text"), str):
        return {"type": "text", "text": text}
    match kind:
        case "refusal" if isinstance(text := get("refusal"), str):
            return {"type": "text", "text": text}
        case "thinking" if isinstance(text := get("thinking"), str):
            return {"type": "reasoning", "text": text, "signature": get("signature")}
        case "redacted_thinking" if isinstance(data := get("data"), str):
            return {"type": "reasoning", "text": "", "encrypted": data, "redacted": True}
        case "image" | "document" if isinstance(source := get("source"), dict):
            return _source(source)
        case "image_url":
            address = get("image_url")
            url = address.get("url") if isinstance(address, dict) else address
            return _image(url) if isinstance(url, str) else None
        case "file" if isinstance(file := get("file"), dict) and isinstance(data := file.get("file_data"), str):
            return _image(data)
    return None


def _exact_part(part: Json, kind: str, read: Json, left_out: LeftOut) -> Json | None:
    """Return a part that was read with what is lost otherwise; ``None`` where too much would be."""
    known = _READ_OF_PARTS.get(kind)
    if known is None:
        return None
    left_out.add_fields(part, known)
    for name in ("image_url", "source"):
        if isinstance(inner := part.get(name), dict):
            left_out.add_fields(inner, _READ_OF_ADDRESSES)
    detail = part["image_url"].get("detail") if isinstance(part.get("image_url"), dict) else None
    return read if detail is None else {**read, "detail": detail}


def _source(source: Json) -> Json | None:
    data, media_type = source.get("data"), source.get("media_type")
    if source.get("type") == "base64" and isinstance(data, str) and isinstance(media_type, str):
        return {"type": "image", "image": data, "mediaType": media_type}
    if source.get("type") == "url" and isinstance(url := source.get("url"), str):
        return _image(url)
    return None


def _image(url: str) -> Json:
    found = _DATA_URL.fullmatch(url)
    if found is None:
        return {"type": "image", "image": url}
    return {"type": "image", "image": found["data"], "mediaType": found["type"]}


def _tool_calls(calls: Any, *, exact: bool) -> list[Json]:
    if calls is None:
        return []
    if not isinstance(calls, list):
        raise InvalidInputError("tool_calls is no list", remedy="Give a list of calls.")
    return [_tool_call(call, exact=exact) for call in calls]


def _tool_call(call: Any, *, exact: bool) -> Json:
    function = call.get("function", call.get("custom")) if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise InvalidInputError("a tool call names no function", remedy="Give each call an id and a function.")
    arguments = function.get("arguments", function.get("input"))
    named = {"type": "tool_use", "id": call.get("id"), "name": function.get("name")}
    if not exact:
        return {**named, "input": _parsed(arguments)}
    return {**named, "arguments": arguments, **({} if "function" in call else {"custom": True})}


def _function_call(call: Any, *, exact: bool) -> list[Json]:
    if call is None:
        return []
    if not isinstance(call, dict):
        raise InvalidInputError("function_call is no object", remedy="Give it a name and arguments.")
    named = {"type": "tool_use", "id": _call_id(call), "name": call.get("name")}
    arguments = call.get("arguments")
    return [{**named, "arguments": arguments} if exact else {**named, "input": _parsed(arguments)}]


def _call_id(named: Mapping[str, Any]) -> str:
    return f"function_call:{named.get('name')}"


def _result(call_id: Any, result: Any) -> Json:
    return {"type": "tool_result", "tool_use_id": call_id, "result": result}


def _parsed(arguments: Any) -> Any:
    """Return what the model wrote as data; what is no JSON stays the text that it is."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return finite_json(arguments)
    except (ValueError, RecursionError):
        return arguments
