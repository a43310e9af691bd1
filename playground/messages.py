"""Messages and their parts: the one shape that every stage, codec and export shares.

A message has a role and a content: a string, or a list of parts of which one text part means the same.
Parts of an unknown kind are kept as they came, so that a newer host never loses anything here.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, cast, get_args

from playground.errors import InvalidInputError
from playground.values import shown

__all__ = [
    "COMPACTION_SUMMARY",
    "ImagePart",
    "Message",
    "Part",
    "ReasoningPart",
    "Role",
    "TextPart",
    "ToolResultPart",
    "ToolUsePart",
    "UnknownPart",
    "as_message",
    "as_messages",
    "decode_bytes",
    "encode_bytes",
    "is_summary",
    "listed",
    "message_to_json",
    "text_of",
]

AnyMessage = TypeVar("AnyMessage")
Role = Literal["system", "user", "assistant", "tool"]
ROLES: frozenset[str] = frozenset(get_args(Role))
# Most of all data; asked for first, because an ABC answers slowly.
_SCALARS = (str, int, float, type(None))
_MAPPINGS = (dict, Mapping)
_CONTENTS = (str, tuple)
_LISTS = (list, tuple)
_BYTES = (bytes, bytearray)
# An object with this single key stands for bytes in JSON.
BYTES_KEY = "$deuzBytes"
COMPACTION_SUMMARY = "[Earlier conversation summarized]"  # first line of a message that compaction wrote


@dataclass(frozen=True, slots=True)
class TextPart:
    """Plain text."""

    text: str
    type: Literal["text"] = "text"


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image or another file: a URL, a data URL, base64 text or bytes."""

    image: str | bytes
    media_type: str | None = None
    type: Literal["image"] = "image"


@dataclass(frozen=True, slots=True)
class ToolUsePart:
    """A model's call of a tool; exactly one result with the same id must follow."""

    id: str
    name: str
    input: Any
    provider_metadata: Any = None
    type: Literal["tool_use"] = "tool_use"


@dataclass(frozen=True, slots=True)
class ToolResultPart:
    """What the tool call with this id gave back."""

    tool_use_id: str
    result: Any
    is_error: bool = False
    type: Literal["tool_result"] = "tool_result"


@dataclass(frozen=True, slots=True)
class ReasoningPart:
    """A model's thinking; signature and ciphertext must travel back untouched."""

    text: str
    signature: str | None = None
    encrypted: str | None = None
    redacted: bool = False
    type: Literal["reasoning"] = "reasoning"


@dataclass(frozen=True, slots=True)
class UnknownPart:
    """A part of a kind this version does not know, kept as it came."""

    data: Mapping[str, Any]
    type: Literal["unknown"] = "unknown"


Part = TextPart | ImagePart | ToolUsePart | ToolResultPart | ReasoningPart | UnknownPart
_PARTS = get_args(Part)


class _WorkedOut:
    """Room on a message for what was worked out of it once; no fields, so that nothing else sees them."""

    __slots__ = ("_base_tokens", "_digest")

    _base_tokens: float  # written and read by playground.tokens
    _digest: str  # written and read by playground.compiler.history


@dataclass(frozen=True, slots=True)
class Message(_WorkedOut):
    """One turn of a conversation.

    What a message holds must not change once it is made, the data in its parts included: its digest and its
    count are remembered on it, until it is gone. To change one, make another.

    Attributes:
        role: ``system``, ``user``, ``assistant`` or ``tool``.
        content: A string, or a tuple of parts.
        provider_metadata: Opaque; travels with the message.
    """

    role: Role
    content: str | tuple[Part, ...]
    provider_metadata: Any = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.role, str) or self.role not in ROLES:
            raise InvalidInputError(
                f"A message has the role {shown(self.role)}.", remedy=f"Use one of {sorted(ROLES)}."
            )
        if not isinstance(self.content, _CONTENTS):
            raise InvalidInputError("A message's content is neither a string nor a tuple of parts.")

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts; a string is one text part."""
        return (TextPart(self.content),) if isinstance(self.content, str) else self.content


def as_message(value: Message | Mapping[str, Any]) -> Message:
    """Return a message from a value or a dictionary in either spelling (``toolUseId`` or ``tool_use_id``).

    A tool result may call its result ``content``, as providers do; the ``tool_calls`` and ``tool_call_id`` of
    OpenAI's Chat Completions are read too.

    Raises:
        InvalidInputError: When the role is unknown or a known part lacks a field.
    """
    if isinstance(value, Message):
        return value
    if not isinstance(value, _MAPPINGS):
        raise InvalidInputError(
            f"A message is a {type(value).__name__}.",
            remedy="Pass a Message or a dictionary with role and content.",
        )
    content = value.get("content")
    if "tool_calls" in value or "tool_call_id" in value:
        content = _from_chat_completions(value)
    if not isinstance(content, str):
        if not isinstance(content, Sequence) or isinstance(content, bytes):
            raise InvalidInputError("A message has no content.", remedy="Give a string or a list of parts.")
        try:
            content = tuple(map(_as_part, content))
        except RecursionError:
            raise InvalidInputError("A message is nested too deeply.", remedy="Flatten its data.") from None
    metadata = decode_bytes(value.get("provider_metadata", value.get("providerMetadata")))
    return Message(value.get("role"), content, metadata)  # type: ignore[arg-type]  # checked by Message


def as_messages(values: Iterable[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
    """Return messages from values or dictionaries, in order."""
    messages = listed(values)
    # A history is checked at every stage that takes one: for messages that must cost next to nothing.
    if set(map(type, messages)) == {Message}:
        return cast("tuple[Message, ...]", messages)
    return tuple(map(as_message, messages))


def listed(values: Iterable[AnyMessage]) -> tuple[AnyMessage, ...]:
    """Return messages in a tuple, each as it is.

    Raises:
        InvalidInputError: For what is no list of anything, a single message for example.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInputError(
            "Messages must be a sequence of messages.", remedy="Wrap the single message in a list."
        )
    return tuple(values)


def text_of(message: Message) -> str:
    """Return the text parts of a message, joined by line ends; other parts are left out."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content if isinstance(part, TextPart))


def is_summary(message: Message) -> bool:
    """Whether compaction wrote this user message in place of earlier messages."""
    first_line = text_of(message).lstrip().partition("\n")[0].rstrip()
    return message.role == "user" and first_line == COMPACTION_SUMMARY


def message_to_json(message: Message) -> dict[str, Any]:
    """Return a JSON-ready dictionary in the recorded spelling; ``as_message`` reads it back without loss."""
    content = (
        message.content if isinstance(message.content, str) else [_part_to_json(p) for p in message.content]
    )
    data: dict[str, Any] = {"role": message.role, "content": content}
    if message.provider_metadata is not None:
        data["providerMetadata"] = encode_bytes(message.provider_metadata)
    return data


def encode_bytes(value: Any) -> Any:
    """Return ``value`` with every ``bytes`` turned into ``{"$deuzBytes": base64}``, containers copied."""
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, _BYTES):
        return {BYTES_KEY: base64.b64encode(value).decode("ascii")}
    if isinstance(value, _MAPPINGS):
        return {str(key): encode_bytes(item) for key, item in value.items()}
    if isinstance(value, _LISTS):
        return [encode_bytes(item) for item in value]
    return value


def decode_bytes(value: Any) -> Any:
    """Undo ``encode_bytes``; a malformed lookalike stays plain data."""
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, _MAPPINGS):
        if len(value) == 1 and isinstance(value.get(BYTES_KEY), str):
            try:
                return base64.b64decode(value[BYTES_KEY], validate=True)
            except (binascii.Error, ValueError):
                return dict(value)
        return {key: decode_bytes(item) for key, item in value.items()}
    if isinstance(value, _LISTS):
        return [decode_bytes(item) for item in value]
    return value


def _from_chat_completions(value: Mapping[str, Any]) -> list[Any]:
    """Return the parts of a message whose tool calls, or whose answered call, stand beside its content."""
    content = value.get("content")
    if value.get("tool_call_id") is not None:
        return [{"type": "tool_result", "tool_use_id": value["tool_call_id"], "result": content}]
    texts = [{"type": "text", "text": content}] if content and isinstance(content, str) else content
    parts: list[Any] = [*(texts or ())]
    calls = value.get("tool_calls") or ()
    if not isinstance(calls, list | tuple):
        raise InvalidInputError("A message's tool_calls are not a list.", remedy="Give a list of calls.")
    for call in calls:
        function = call.get("function") if isinstance(call, _MAPPINGS) else None
        if not isinstance(function, _MAPPINGS):
            raise InvalidInputError("A tool call names no function.", remedy="Give id and function.")
        arguments = function.get("arguments")
        # What is no JSON stays the text that the model wrote.
        with suppress(ValueError, RecursionError):
            arguments = json.loads(arguments) if isinstance(arguments, str) else arguments
        parts.append(
            {"type": "tool_use", "id": call.get("id"), "name": function.get("name"), "input": arguments}
        )
    return parts


def _as_part(value: Any) -> Part:
    if isinstance(value, _PARTS):
        return cast("Part", value)
    if not isinstance(value, _MAPPINGS):
        raise InvalidInputError(
            f"A message part is a {type(value).__name__}.", remedy="Pass a part or a dictionary."
        )
    get = value.get
    kind = get("type")
    # Of any type: what is no text may not even compare with one.
    match kind if isinstance(kind, str) else None:
        case "text" if isinstance(text := get("text"), str):
            return TextPart(text)
        case "tool_use" if isinstance(call := get("id"), str) and isinstance(name := get("name"), str):
            metadata = decode_bytes(get("provider_metadata", get("providerMetadata")))
            return ToolUsePart(call, name, decode_bytes(get("input")), metadata)
        case "tool_result" if isinstance(call := get("tool_use_id", get("toolUseId")), str):
            failed = get("is_error", get("isError", False))
            # Providers say content: a string, or parts, which are the tool's data here.
            result = get("result") if "result" in value else get("content")
            return ToolResultPart(call, decode_bytes(result), bool(failed))
        case "reasoning" if isinstance(text := get("text"), str):
            return ReasoningPart(text, get("signature"), get("encrypted"), bool(get("redacted")))
        case "image" if isinstance(image := decode_bytes(get("image")), str | bytes):
            return ImagePart(image, get("media_type", get("mediaType")))
        case "text" | "image" | "tool_use" | "tool_result" | "reasoning":
            raise InvalidInputError(f"A {kind} part lacks a field or has one of the wrong type.")
    return UnknownPart(decode_bytes(value))


def _part_to_json(part: Part) -> dict[str, Any]:
    match part:
        case TextPart():
            return {"type": "text", "text": part.text}
        case ImagePart():
            data = {"type": "image", "image": encode_bytes(part.image)}
            return data if part.media_type is None else {**data, "mediaType": part.media_type}
        case ToolUsePart():
            data = {"type": "tool_use", "id": part.id, "name": part.name, "input": encode_bytes(part.input)}
            metadata = encode_bytes(part.provider_metadata)
            return data if metadata is None else {**data, "providerMetadata": metadata}
        case ToolResultPart():
            data = {"type": "tool_result", "toolUseId": part.tool_use_id, "result": encode_bytes(part.result)}
            return {**data, "isError": True} if part.is_error else data
        case ReasoningPart():
            optional = {
                "signature": part.signature,
                "encrypted": part.encrypted,
                "redacted": part.redacted or None,
            }
            kept = {name: value for name, value in optional.items() if value is not None}
            return {"type": "reasoning", "text": part.text, **kept}
        case UnknownPart():
            return {str(key): encode_bytes(value) for key, value in part.data.items()}
