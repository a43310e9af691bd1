"""Digests of a history: whether a request still begins with the one before it.

Pure. A digest is remembered on its message, so that a step costs a look at each message it knows, and is gone
together with the message.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from playground.compiler.candidates import text_digest
from playground.messages import (
    BYTES_KEY,
    ImagePart,
    Message,
    Part,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    UnknownPart,
)

__all__ = ["history_digests", "prefix_digest"]

# Reused: json.dumps makes a new one a call.
_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode


def history_digests(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return a digest a message: of its role, its parts and its metadata, in the order of the messages.

    String content equals one text part, and a message read back from JSON equals the one that was written.
    Data that JSON cannot hold counts by the name of its type: neither an address nor the order of a set may
    come into a digest. Never raises for what a message holds. O(messages) where all are known already.
    """
    return tuple([_message_digest(message) for message in messages])


def prefix_digest(digests: Sequence[str], count: int) -> str:
    """Return one digest, ``sha256:<hex>``, of the first ``count`` digests; two prefixes share none."""
    joined = hashlib.sha256()
    for digest in islice(digests, count):
        joined.update(digest.encode("ascii") + b"\n")
    return f"sha256:{joined.hexdigest()}"


def _message_digest(message: Message) -> str:
    try:
        return message._digest
    except AttributeError:
        # Threads that come here at once write the same value.
        digest = text_digest(_canonical(message))
        object.__setattr__(message, "_digest", digest)
        return digest


def _canonical(message: Message) -> str:
    """Return text that two messages share only when they are the same to a model and a provider."""
    parts = message.parts
    if message.provider_metadata is None and len(parts) == 1 and isinstance(parts[0], TextPart):
        # No role holds a line end, and the JSON below begins with a bracket.
        return f"{message.role}\n{parts[0].text}"
    try:
        return _encode([message.role, [_part(part) for part in parts], _plain(message.provider_metadata)])
    except (TypeError, ValueError, RecursionError):
        # Data that holds itself, or numbers of thousands of digits.
        return _encode([message.role, [type(part).__name__ for part in parts]])


def _part(part: Part) -> list[Any]:
    match part:
        case TextPart():
            return ["text", part.text]
        case ToolResultPart():
            return ["tool_result", part.tool_use_id, _plain(part.result), part.is_error]
        case ToolUsePart():
            return ["tool_use", part.id, part.name, _plain(part.input), _plain(part.provider_metadata)]
        case ReasoningPart():
            return ["reasoning", part.text, part.signature, part.encrypted, part.redacted]
        case ImagePart():
            return ["image", _plain(part.image), part.media_type]
        case UnknownPart():
            return ["unknown", _plain(part.data)]


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON would give it back, and the type's name of what JSON cannot hold."""
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bytes | bytearray):
        return {BYTES_KEY: base64.b64encode(value).decode("ascii")}
    return type(value).__name__


def _key(key: object) -> str:
    return str(key) if key is None or isinstance(key, str | int | float | bytes) else type(key).__name__
