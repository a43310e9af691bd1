"""Digests of a history: whether a request still begins with the one before it.

Pure. A digest is remembered on its message, so that a step costs a look at each message it knows, and is gone
together with the message.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from playground.digests import text_digest
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

_SCALARS = (str, int, float, type(None))
_KEYS = (*_SCALARS, bytes)
_MAPPINGS = (dict, Mapping)
_LISTS = (list, tuple)
_BYTES = (bytes, bytearray)
# Where a provider shall cache: a host moves it with every request, and it is no part of the prompt.
_HINTS = frozenset({"cacheControl", "cache_control"})
_METADATA = frozenset({"provider_metadata", "providerMetadata"})
# Reused: json.dumps makes a new one a call. Data that holds itself is found by the depth of _plain. Keys keep
# their order: it is in the bytes of the prompt, and providers match those.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), check_circular=False).encode


def history_digests(messages: Sequence[Message]) -> tuple[str, ...]:
    """Return a digest a message: of its role, its parts and its metadata, in the order of the messages.

    String content equals one text part, and a message read back from JSON equals the one that was written. The
    order of keys counts in what a model reads. Hints where to cache do not count, nor does the order of other
    metadata, nor metadata that is empty without them.
    Data that JSON cannot hold counts by the name of its type: neither an address nor the order of a set may
    come into a digest. Never raises for what a message holds. O(messages) where all are known already.
    """
    return tuple([_message_digest(message) for message in messages])


def prefix_digest(digests: Sequence[str], count: int) -> str:
    """Return one digest, ``sha256:<hex>``, of the first ``count`` digests; two prefixes share none."""
    return text_digest("\n".join(digests[:count]))


def _message_digest(message: Message) -> str:
    known: str | None = getattr(message, "_digest", None)
    if known is not None:
        return known
    # Threads that come here at once write the same value.
    digest = text_digest(_canonical(message))
    object.__setattr__(message, "_digest", digest)
    return digest


def _canonical(message: Message) -> str:
    """Return text that two messages share only when they are the same to a model and a provider."""
    content, metadata = message.content, message.provider_metadata
    if metadata is not None:
        metadata = _bare(metadata)
    if metadata is None:
        # No role holds a line end, and below something else follows it.
        if isinstance(content, str):
            return f"{message.role}\n{content}"
        if len(content) == 1 and isinstance(content[0], TextPart):
            return f"{message.role}\n{content[0].text}"
    return f"{message.role}{_data(metadata)}{''.join(map(_part, message.parts))}"


def _part(part: Part) -> str:
    """Return a part as text that says where it ends: a word, and as much data as the word says."""
    match part:
        case TextPart():
            return f"text{_data(part.text)}"
        case ToolResultPart():
            data = f"{_data(part.tool_use_id)}{_data(part.result)}"
            return f"failed{data}" if part.is_error else f"result{data}"
        case ToolUsePart():
            data = f"{_data(part.id)}{_data(part.name)}{_data(part.input)}"
            data += _data(_bare(part.provider_metadata))
            return f"use{data}"
        case ReasoningPart():
            data = f"{_data(part.text)}{_data(part.signature)}{_data(part.encrypted)}"
            return f"redacted{data}" if part.redacted else f"reasoning{data}"
        case ImagePart():
            return f"image{_data(part.image)}{_data(part.media_type)}"
        case UnknownPart():
            return f"unknown{_data(_unknown(part.data))}"


def _unknown(data: Any) -> Any:
    """Return an unknown part's data without hints; they stand on the part itself or in its metadata."""
    if not isinstance(data, _MAPPINGS):
        return data
    bare = {key: value for key, value in data.items() if key not in _HINTS}
    for key in _METADATA & bare.keys():
        bare[key] = _bare(bare[key])
        if bare[key] is None:
            del bare[key]
    return bare


def _bare(metadata: Any) -> Any:
    """Return metadata without hints, in one order; ``None`` where nothing is left."""
    try:
        return _without_hints(metadata)
    except RecursionError:
        return metadata


def _without_hints(metadata: Any) -> Any:
    if isinstance(metadata, _MAPPINGS):
        kept = {key: _without_hints(value) for key, value in metadata.items() if key not in _HINTS}
        left = sorted(
            ((_key(key), value) for key, value in kept.items() if value is not None), key=itemgetter(0)
        )
        return dict(left) or None
    if isinstance(metadata, _LISTS):
        return [_without_hints(item) for item in metadata]
    return metadata


def _data(value: Any) -> str:
    """Return text after its length, and other data as JSON after its length and another sign."""
    if value is None:
        return ";"
    if isinstance(value, str):
        return f"{len(value)}:{value}"
    try:
        data = _encode(_plain(value))
    except (TypeError, ValueError, RecursionError):
        # Data that holds itself, or a number of thousands of digits.
        data = type(value).__name__
    return f"{len(data)}={data}"


def _plain(value: Any) -> Any:
    """Return ``value`` as JSON would give it back, and the type's name of what JSON cannot hold."""
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, _MAPPINGS):
        return {_key(key): _plain(item) for key, item in value.items()}
    if isinstance(value, _LISTS):
        return [_plain(item) for item in value]
    if isinstance(value, _BYTES):
        return {BYTES_KEY: base64.b64encode(value).decode("ascii")}
    return type(value).__name__


def _key(key: object) -> str:
    return str(key) if isinstance(key, _KEYS) else type(key).__name__
