"""The conversation and the tools that ``playground prepare`` is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playground.commands.one_file import file_content
from playground.errors import DocumentError, InvalidInputError, InvalidToolProtocolError
from playground.preparation import ImportedConversation, import_conversation
from playground.retrieval.decoding import decode
from playground.retrieval.json_records import check_depth, parse_json
from playground.sources.chat_entries import ChatEntry, chat_entries
from playground.values import shown

__all__ = ["read_conversation", "read_tools"]

IDS = ("id", "chatId", "chat_id", "conversation_id", "transcript_id")  # fields that may name a chat
NAMES_SHOWN = 4
_TOOLS = "Give a list of definitions with name, description and parameters."


def read_conversation(path: str, *, chat: str | None = None, prefix_ids: bool = False) -> ImportedConversation:
    """Read one chat of a file, in any of the shapes that chat logs have. O(bytes).

    Args:
        path: The file; ``-`` is the standard input.
        chat: The id or the number, from 1, of the chat; may be left out where there is one.
        prefix_ids: See ``import_conversation``.

    Raises:
        DocumentError: When the file cannot be read, is no chat log, or holds what no item can.
        InvalidInputError: When the chat is not there, or one must be chosen.
        InvalidToolProtocolError: When an id of a call or of a result occurs twice.
    """
    warnings: list[str] = []
    name, data = file_content(path)
    entries = chat_entries(name, decode(name, data, warnings.append))
    entry = _chosen(name, entries, chat)
    for place, message in entry.messages:
        check_depth(name, message, f"{place}: ")
    log = {"messages": [message for _, message in entry.messages], "system": entry.fields.get("system")}
    try:
        read = import_conversation(log, prefix_ids=prefix_ids)
    except InvalidToolProtocolError as error:
        if not prefix_ids:
            raise InvalidToolProtocolError(
                f"{name}: {error.problem}",
                remedy="Give each call an id of its own; --prefix-ids does so for logs that were joined.",
                namespace=error.namespace,
                call_id=error.call_id,
                positions=error.positions,
            ) from None
        raise
    except InvalidInputError as error:
        raise DocumentError(f"{name}, {error.problem}", remedy=error.remedy, name=name) from None
    return ImportedConversation(
        read.system_prompt, read.conversation, read.current_input, (*warnings, *read.warnings)
    )


def read_tools(path: str) -> list[dict[str, Any]]:
    """Read definitions of tools, in either spelling.

    Raises:
        DocumentError: When the file cannot be read, or is no list of objects.
    """
    warnings: list[str] = []
    name, data = file_content(path)
    value = parse_json(name, decode(name, data, warnings.append).lstrip("\ufeff"), remedy=_TOOLS)
    check_depth(name, value)
    if not isinstance(value, list) or not all(isinstance(tool, dict) for tool in value):
        raise DocumentError(f"{name} is no list of tools.", remedy=_TOOLS, name=name)
    return value


def _chosen(name: str, entries: Sequence[ChatEntry], chat: str | None) -> ChatEntry:
    if chat is None and len(entries) == 1:
        return entries[0]
    ids = [_id(entry) for entry in entries]
    if chat is None:
        known = ", ".join(shown(found) for found in ids[:NAMES_SHOWN] if found)
        raise InvalidInputError(
            f"{name} holds {len(entries):,} chats.",
            remedy=f"Choose one by --chat and its number{f' or its id: {known} …' if known else ''}.",
        )
    if chat in ids:
        return entries[ids.index(chat)]
    if chat.isascii() and chat.isdecimal() and len(chat) < 9 and 0 < int(chat) <= len(entries):
        return entries[int(chat) - 1]
    raise InvalidInputError(
        f"{name} has no chat {shown(chat)}.", remedy=f"Give an id, or a number from 1 to {len(entries):,}."
    )


def _id(entry: ChatEntry) -> str:
    found = next((entry.fields[field] for field in IDS if entry.fields.get(field) not in (None, "")), "")
    return str(found) if isinstance(found, str | int) else ""
