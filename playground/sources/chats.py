"""Past chats: their records, where they are kept, and the positions that a search ranks."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from playground.compiler.placement import is_compiler_block
from playground.errors import InvalidInputError, InvalidRequestError
from playground.messages import (
    Message,
    Part,
    Role,
    ToolResultPart,
    ToolUsePart,
    as_messages,
    message_to_json,
    text_of,
)
from playground.scope import MemoryScope
from playground.tokens import compact_json
from playground.values import shown

__all__ = ["ChatRecord", "ChatStore", "InMemoryChatStore", "Place", "Position", "positions_of", "tool_answers"]

Place = tuple[int, int]
"""Where a part stands: index of the message and of the part in it, from 0."""


@dataclass(frozen=True, slots=True)
class ChatRecord:
    """One chat, as it was held: raw history, never compacted text.

    Attributes:
        chat_id: Unique in a store, not empty.
        scope: Whose chat it is; at least one field.
        messages: In order.
        parent_id: The chat it was branched off.
        updated_at: When it last grew, in ms.
    """

    chat_id: str
    scope: MemoryScope
    messages: tuple[Message, ...]
    parent_id: str | None = None
    updated_at: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.chat_id, str) or not self.chat_id:
            raise InvalidInputError("A chat has no id.", remedy="Give a non-empty string.")
        object.__setattr__(self, "messages", as_messages(self.messages))
        object.__setattr__(self, "scope", MemoryScope.parse(self.scope))

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-ready dictionary in the recorded spelling."""
        data: dict[str, Any] = {
            "chatId": self.chat_id,
            "scope": self.scope.model_dump(by_alias=True, exclude_none=True),
            "messages": [message_to_json(message) for message in self.messages],
            "updatedAt": self.updated_at,
        }
        return data if self.parent_id is None else {**data, "parentId": self.parent_id}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ChatRecord:
        """Read what ``to_json`` gave; snake_case keys are accepted too.

        Raises:
            InvalidInputError: When a field is missing or malformed.
        """

        def get(camel: str, snake: str, default: Any = None) -> Any:
            return data.get(camel, data.get(snake, default))

        updated_at = get("updatedAt", "updated_at", 0)
        if isinstance(updated_at, bool) or not isinstance(updated_at, int):
            raise InvalidInputError(f"A chat's updatedAt is {shown(updated_at)}.", remedy="Give milliseconds.")
        return cls(
            chat_id=get("chatId", "chat_id"),
            scope=MemoryScope.parse(data.get("scope", {})),
            messages=as_messages(data.get("messages", ())),
            parent_id=get("parentId", "parent_id"),
            updated_at=updated_at,
        )


@runtime_checkable
class ChatStore(Protocol):
    """Keeps chats apart by scope."""

    async def save_chat(self, record: ChatRecord) -> None:
        """Keep a chat, replacing what its id held.

        Raises:
            InvalidRequestError: When the scope sets no field.
        """

    async def load_chat(self, chat_id: str) -> ChatRecord | None:
        """Return a chat, or None."""

    async def delete_chat(self, chat_id: str) -> bool:
        """Drop a chat; whether it was there."""

    async def list_chats(self, scope: MemoryScope) -> Sequence[ChatRecord]:
        """Return the chats that match ``scope``, by id."""


class InMemoryChatStore:
    """Keeps chats in this process.

    Args:
        records: Chats to begin with.
    """

    def __init__(self, records: Iterable[ChatRecord] = ()) -> None:
        self._records: dict[str, ChatRecord] = {}
        self._lock = threading.Lock()
        for record in records:
            self._save(record)

    async def save_chat(self, record: ChatRecord) -> None:
        """Keep a chat; see ``ChatStore.save_chat``."""
        self._save(record)

    async def load_chat(self, chat_id: str) -> ChatRecord | None:
        """Return a chat, or None."""
        with self._lock:
            return self._records.get(chat_id)

    async def delete_chat(self, chat_id: str) -> bool:
        """Drop a chat; whether it was there."""
        with self._lock:
            return self._records.pop(chat_id, None) is not None

    async def list_chats(self, scope: MemoryScope) -> Sequence[ChatRecord]:
        """Return the chats that match ``scope``, by id."""
        with self._lock:
            found = [record for record in self._records.values() if record.scope.matches(scope)]
        return sorted(found, key=lambda record: record.chat_id)

    def _save(self, record: ChatRecord) -> None:
        if not record.scope.fields():
            raise InvalidRequestError(
                f"Chat {record.chat_id!r} belongs to nobody.", remedy="Set at least one field of its scope."
            )
        with self._lock:
            self._records[record.chat_id] = record


@dataclass(frozen=True, slots=True)
class Position:
    """One place in a chat: a message, or a tool call with its results.

    Attributes:
        index: Of the first message in the chat, from 0.
        role: Of that message.
        text: What was said; for a tool call also the call and what came back.
        uses_tools: Whether it is a tool call with its results.
    """

    index: int
    role: Role
    text: str
    uses_tools: bool = False


def positions_of(messages: Sequence[Message]) -> tuple[Position, ...]:
    """Cut a chat into positions; system messages and a compiler's own blocks are none. O(parts).

    An assistant message with tool calls takes the results that answer it along, wherever they stand after it,
    so that a call is never offered without its result; where calls share an id, the first result answers the
    first call. A result without a call is a position of its own.
    """
    answers = tool_answers(messages)
    answered = set(answers.values())
    positions = []
    for index, message in enumerate(messages):
        if message.role == "system" or is_compiler_block(message):
            continue
        lines, is_call, is_result = [text_of(message)], False, False
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolUsePart):
                is_call = True
                lines.append(f"[{part.name}] {compact_json(part.input)}")
                if (index, place) in answers:
                    at, result_place = answers[index, place]
                    lines.append(_result_text(messages[at].parts[result_place]))
            elif isinstance(part, ToolResultPart):
                is_result = True
                if (index, place) not in answered:
                    lines.append(_result_text(part))
        text = "\n".join(line for line in lines if line)
        if is_result and not text:
            continue  # its results went with their calls
        positions.append(Position(index, message.role, text, is_call or is_result))
    return tuple(positions)


def tool_answers(messages: Sequence[Message]) -> dict[Place, Place]:
    """Return which result answers which call: the first one after it that no earlier call of its id has."""
    pending: dict[str, deque[Place]] = {}
    answers = {}
    for index, message in enumerate(messages):
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolUsePart):
                pending.setdefault(part.id, deque()).append((index, place))
            elif isinstance(part, ToolResultPart) and pending.get(part.tool_use_id):
                answers[pending[part.tool_use_id].popleft()] = (index, place)
    return answers


def _result_text(part: Part) -> str:
    assert isinstance(part, ToolResultPart)
    text = part.result if isinstance(part.result, str) else _data_text(part.result)
    return f"[error] {text}" if part.is_error else text


def _data_text(result: Any) -> str:
    """Return data as JSON; of a provider's content blocks only the text, the others by their kind.

    A picture's bytes are no words: as text they would be searched, counted and sent.
    """
    if isinstance(result, list | tuple) and result and all(map(_is_block, result)):
        return "\n".join(block["text"] if block["type"] == "text" else f"[{block['type']}]" for block in result)
    return compact_json(result)


def _is_block(value: Any) -> bool:
    """Whether a value is a text or a file as providers write it, and not a tool's own data."""
    if not isinstance(value, Mapping):
        return False
    match value.get("type"):
        case "text":
            return isinstance(value.get("text"), str)
        case "image" | "document":
            return isinstance(value.get("source"), Mapping)
        case "image_url":
            return "image_url" in value
    return False
