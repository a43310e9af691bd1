"""Which chats stand in a file, told by the shape of its JSON and not by its name. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.errors import DocumentError
from playground.retrieval.json_records import check_values, is_json_lines, parse_json

__all__ = ["NO_CHAT_LOG", "ChatEntry", "called", "chat_entries"]

NO_CHAT_LOG = (
    "Save the chat as JSON or JSON Lines: a list of messages with role and content, or objects with messages."
)
"""What to do about a file that is none."""


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """One chat of a file as it came.

    Attributes:
        where: Its place in the file, ``line 3``; empty for the only one.
        fields: What stands beside its messages.
        messages: Each with its place in the file.
    """

    where: str
    fields: Mapping[str, Any]
    messages: Sequence[tuple[str, Any]]


def chat_entries(name: str, text: str) -> list[ChatEntry]:
    """Return the chats of a file as they came.

    Raises:
        DocumentError: When it is no JSON, or no chat log.
    """
    items = _items(name, text)
    if not items:
        raise DocumentError(f"{called(name)} holds no chat.", remedy=NO_CHAT_LOG, name=called(name))
    if _is_message(items[0][1]):
        return [ChatEntry("", {}, items)]
    found = []
    for where, value in items:
        fields = {"messages": value} if isinstance(value, list) else value
        messages = fields.get("messages") if isinstance(fields, dict) else None
        if not isinstance(messages, list):
            problem = "a message stands among chats" if _is_message(value) else "there are no messages"
            place = f"{called(name)}, {where}" if where else called(name)
            raise DocumentError(f"{place}: {problem}.", remedy=NO_CHAT_LOG, name=called(name))
        before = f"{where}, " if where else ""
        placed = [(f"{before}message {number}", raw) for number, raw in enumerate(messages, 1)]
        found.append(ChatEntry(where, fields, placed))
    return found


def called(name: str) -> str:
    """Return what a file is called in a sentence; pasted text has no name."""
    return name or "The text"


def _items(name: str, text: str) -> list[tuple[str, Any]]:
    """Return the values of JSON Lines, the items of a list, or the one value there is; each with its place."""
    text = text.lstrip("\ufeff")
    check_values(called(name), text)
    if is_json_lines(text):
        # Only line feeds end a line of JSON Lines; U+2028 and its like may stand inside a string.
        numbered = ((number, line.strip()) for number, line in enumerate(text.split("\n"), 1))
        return [(f"line {number}", _parse(name, line, f"line {number}: ")) for number, line in numbered if line]
    value = _parse(name, text)
    if not isinstance(value, list):
        return [("", value)]
    kind = "message" if value and _is_message(value[0]) else "chat"
    return [(f"{kind} {number}", item) for number, item in enumerate(value, 1)]


def _parse(name: str, text: str, where: str = "") -> Any:
    return parse_json(called(name), text, where, remedy=NO_CHAT_LOG)


def _is_message(value: Any) -> bool:
    return isinstance(value, dict) and "role" in value and "messages" not in value
