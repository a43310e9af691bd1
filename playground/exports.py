"""Canonical messages as the request bodies that Anthropic's and OpenAI's APIs take.

Pure functions. Bodies are made of plain dictionaries, lists, strings and numbers, and encode as UTF-8 JSON
whatever the messages hold: lone surrogates become U+FFFD, non-finite numbers null, bytes the recorded form.
Canonical history stays as it is; neighbours are merged, and system text gathered, in the body alone.

References:
    Anthropic's Messages API (``POST /v1/messages``) and OpenAI's Chat Completions API.
"""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from playground.errors import InvalidInputError
from playground.escaping import replace_surrogates
from playground.messages import (
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    UnknownPart,
    as_messages,
    encode_bytes,
    text_of,
)
from playground.tokens import FILE_TYPES, compact_json
from playground.values import shown

__all__ = ["json_ready", "to_anthropic", "to_openai"]

Json = dict[str, Any]

_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+)?(?:;[\w=.-]+)*;base64,(?P<data>.*)", re.DOTALL)
# First bytes of the file types that both APIs take.
_SIGNATURES = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
    (b"%PDF", "application/pdf"),
)
_PDF = "application/pdf"
_NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}}


def to_anthropic(
    messages: Iterable[Message | Mapping[str, Any]],
    *,
    model_id: str,
    max_tokens: int,
    tools: Sequence[Mapping[str, Any]] = (),
) -> Json:
    """Return the body of a Messages request.

    System messages are gathered in ``system``; ``tool`` messages become user turns; neighbouring turns of one
    role are merged, tool results first, as that API demands. Signed and redacted reasoning is kept untouched;
    unsigned reasoning is left out, because the API refuses it. Parts of an unknown kind go through as they are.

    Args:
        messages: The whole request, blocks of the compiler included.
        model_id: Sent as it is.
        max_tokens: Longest answer, in tokens, > 0.
        tools: ``{name, description, parameters}``; ``input_schema`` counts as parameters.

    Raises:
        InvalidInputError: When a message or ``max_tokens`` is malformed, or content is nested too deeply.
    """
    values = _checked(messages, max_tokens)
    turns: list[Json] = []
    for message in values:
        if message.role == "system":
            continue
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [block for part in message.parts if (block := _anthropic_block(part)) is not None]
        if not blocks:
            continue
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += blocks
        else:
            turns.append({"role": role, "content": blocks})
    for turn in turns:
        # Stable: the order within results and within the rest stays.
        turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    body: Json = {"model": model_id, "max_tokens": max_tokens}
    if system := _system_texts(values):
        body["system"] = [{"type": "text", "text": text} for text in system]
    body["messages"] = turns
    if tools:
        body["tools"] = [
            {"name": tool.get("name"), **_description(tool), "input_schema": _parameters(tool)}
            for tool in tools
        ]
    return json_ready(body)


def to_openai(
    messages: Iterable[Message | Mapping[str, Any]],
    *,
    model_id: str,
    max_tokens: int,
    tools: Sequence[Mapping[str, Any]] = (),
) -> Json:
    """Return the body of a Chat Completions request.

    System messages are gathered in one leading message; every tool result is a ``tool`` message of its own,
    before the rest of its turn; neighbours stay apart. Reasoning is left out, that API takes none back. A
    failed tool result starts with ``Error:``, because the wire has no flag for it.

    Args:
        messages: The whole request, blocks of the compiler included.
        model_id: Sent as it is.
        max_tokens: Longest answer, in tokens, > 0.
        tools: ``{name, description, parameters}``; ``input_schema`` counts as parameters.

    Raises:
        InvalidInputError: When a message or ``max_tokens`` is malformed, or content is nested too deeply.
    """
    values = _checked(messages, max_tokens)
    turns: list[Json] = []
    if system := _system_texts(values):
        turns.append({"role": "system", "content": "\n\n".join(system)})
    for message in values:
        if message.role == "assistant":
            turns += _openai_assistant(message)
        elif message.role != "system":
            turns += _openai_user(message)
    body: Json = {"model": model_id, "max_completion_tokens": max_tokens, "messages": turns}
    if tools:
        body["tools"] = [
            {
                "type": "function",
                "function": {"name": tool.get("name"), **_description(tool), "parameters": _parameters(tool)},
            }
            for tool in tools
        ]
    return json_ready(body)


def json_ready(body: Json) -> Json:
    """Return a copy of a body that encodes as UTF-8 JSON, whatever it holds.

    Raises:
        InvalidInputError: When it is nested too deeply.
    """
    ready: Json = _plain(body)
    return ready


def _checked(messages: Iterable[Message | Mapping[str, Any]], max_tokens: int) -> tuple[Message, ...]:
    if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
        raise InvalidInputError(
            f"max_tokens is {shown(max_tokens)}.", remedy="Reserve at least one output token, as an integer."
        )
    return as_messages(messages)


def _system_texts(messages: Sequence[Message]) -> list[str]:
    return [text for message in messages if message.role == "system" and (text := text_of(message))]


def _anthropic_block(part: Part) -> Json | None:
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text} if text else None
        case ImagePart():
            return _anthropic_file(part)
        case ToolUsePart(input=arguments):
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": _arguments(arguments)}
        case ToolResultPart():
            block = {"type": "tool_result", "tool_use_id": part.tool_use_id, "content": _result_text(part)}
            return {**block, "is_error": True} if part.is_error else block
        case ReasoningPart(redacted=True):
            return {"type": "redacted_thinking", "data": part.encrypted} if part.encrypted else None
        case ReasoningPart(signature=signature):
            return {"type": "thinking", "thinking": part.text, "signature": signature} if signature else None
        case UnknownPart(data={"type": str(kind), "data": str(text)}) if kind in FILE_TYPES:
            source = {"type": "text", "media_type": "text/plain", "data": text}
            return {"type": "document", "source": source}
    return {"type": "unknown", **part.data}


def _anthropic_file(part: ImagePart) -> Json:
    url, media_type, data = _file(part)
    kind = "document" if media_type == _PDF else "image"
    source = {"type": "url", "url": url} if url else {"type": "base64", "media_type": media_type, "data": data}
    return {"type": kind, "source": source}


def _openai_assistant(message: Message) -> list[Json]:
    text = text_of(message)
    calls = [
        {
            "id": part.id,
            "type": "function",
            "function": {"name": part.name, "arguments": compact_json(_plain(_arguments(part.input)))},
        }
        for part in message.parts
        if isinstance(part, ToolUsePart)
    ]
    if calls:
        return [{"role": "assistant", "content": text or None, "tool_calls": calls}]
    return [{"role": "assistant", "content": text}] if text else []


def _openai_user(message: Message) -> list[Json]:
    if isinstance(message.content, str):
        return [{"role": "user", "content": message.content}]
    results = [
        {
            "role": "tool",
            "tool_call_id": part.tool_use_id,
            "content": f"Error: {_result_text(part)}" if part.is_error else _result_text(part),
        }
        for part in message.content
        if isinstance(part, ToolResultPart)
    ]
    content = [item for part in message.content if (item := _openai_part(part)) is not None]
    return [*results, {"role": "user", "content": content}] if content else list(results)


def _openai_part(part: Part) -> Json | None:
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case ImagePart():
            url, media_type, data = _file(part)
            address = url or f"data:{media_type};base64,{data}"
            if media_type == _PDF:
                return {"type": "file", "file": {"filename": "document.pdf", "file_data": address}}
            return {"type": "image_url", "image_url": {"url": address}}
        case UnknownPart(data=data):
            return {"type": "unknown", **data}
    return None


def _file(part: ImagePart) -> tuple[str | None, str, str]:
    """Return address (for a URL), media type and base64 (for everything else)."""
    image = part.image
    if isinstance(image, bytes):
        sniffed = next((kind for start, kind in _SIGNATURES if image.startswith(start)), "image/png")
        return None, part.media_type or sniffed, base64.b64encode(image).decode("ascii")
    if found := _DATA_URL.fullmatch(image):
        return None, part.media_type or found["type"] or "image/png", found["data"]
    if image.startswith(("http://", "https://")):
        return image, part.media_type or "image/png", ""
    return None, part.media_type or "image/png", image


def _arguments(value: Any) -> Mapping[str, Any]:
    """Both APIs want an object; anything else is wrapped rather than lost."""
    if isinstance(value, Mapping):
        return value
    return {} if value is None else {"input": value}


def _result_text(part: ToolResultPart) -> str:
    return part.result if isinstance(part.result, str) else compact_json(_plain(part.result))


def _description(tool: Mapping[str, Any]) -> Json:
    description = tool.get("description")
    return {} if description is None else {"description": description}


def _parameters(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] | None = tool.get("parameters", tool.get("input_schema"))
    return _NO_PARAMETERS if found is None else found


def _plain(value: Any) -> Any:
    try:
        return _cleaned(value)
    except RecursionError:
        raise InvalidInputError(
            "A message is nested too deeply to be sent.", remedy="Flatten its tool arguments or result."
        ) from None


def _cleaned(value: Any) -> Any:
    match value:
        case str():
            return replace_surrogates(value)
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int():
            return value
        case bytes() | bytearray():
            return encode_bytes(value)
        case Mapping():
            return {_cleaned(str(key)): _cleaned(item) for key, item in value.items()}
        case list() | tuple():
            return [_cleaned(item) for item in value]
        case set() | frozenset():
            return sorted((_cleaned(item) for item in value), key=str)
    return _cleaned(str(value))
