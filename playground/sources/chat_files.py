"""Chat logs as past chats: OpenAI's and Anthropic's messages and this project's own, as JSON or JSON Lines.

What a file holds is told by its content: a list of messages, an object with ``messages``, a list of such
objects, or one message or one such object a line. A fault refuses its file as a whole and names the place;
other files still load. Bytes in, values out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from playground.digests import text_digest
from playground.errors import DocumentError, InvalidInputError, PlaygroundError
from playground.messages import Message, ToolResultPart, ToolUsePart, as_message, message_to_json
from playground.retrieval.decoding import decode, replace_unstorable, warn_of_replaced
from playground.retrieval.documents import SIZE_LIMIT, LoadWarning, check_size
from playground.retrieval.free_names import FreeNames
from playground.retrieval.json_records import check_depth, replaced_everywhere
from playground.retrieval.notes import few_notes
from playground.scope import MemoryScope
from playground.sources.chat_entries import NO_CHAT_LOG, ChatEntry, called, chat_entries
from playground.sources.chats import ChatRecord, tool_answers
from playground.sources.provider_messages import LeftOut, canonical_message, system_messages
from playground.values import shown, whole_number

__all__ = ["ChatLoad", "load_chats"]

NAMES_A_NOTE = 8
_IDS = ("chatId", "chat_id", "id", "conversation_id")
_FIELDS = frozenset(
    {*_IDS, "messages", "system", "title", "scope", "updatedAt", "updated_at", "parentId", "parent_id"}
)
Warn = Callable[[str], None]
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class ChatLoad:
    """Everything a load of chat logs gave.

    Attributes:
        chats: With unique ids, in the order of the files.
        titles: What people see of a chat, by chat id, where a file says it.
        warnings: What a person should know about files that were read all the same.
        errors: One for each file that could not be read.
    """

    chats: tuple[ChatRecord, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[LoadWarning, ...] = ()
    errors: tuple[DocumentError, ...] = ()


def load_chats(
    files: Iterable[tuple[str, bytes]], *, scope: MemoryScope, size_limit: int = SIZE_LIMIT
) -> ChatLoad:
    """Read chat logs. O(bytes).

    Tool calls and results keep the places they have; a call without a result, and a result without a call, stay
    and are warned of. A chat without an id is called ``<file name>-<number>``, counted from 1, and by a digest
    of its messages where the file has no name.

    Args:
        files: Pairs of file name and content.
        scope: Whose chats they become. A chat that names another scope becomes theirs too, with a warning: a
            file never chooses whose chat it is.
        size_limit: Largest file that is read, in bytes.
    """
    ids = FreeNames()
    chats: list[ChatRecord] = []
    titles: dict[str, str] = {}
    warnings: list[LoadWarning] = []
    errors: list[DocumentError] = []
    for given, data in files:
        notes: list[str] = []
        name = replace_unstorable(given, notes.append)
        try:
            read = _read(name, data, scope, size_limit, notes.append)
        except DocumentError as error:
            errors.append(error)
            continue
        for chat, title in read:
            chat_id = ids.take(chat.chat_id)
            if chat_id != chat.chat_id:
                notes.append(
                    f"The id {shown(chat.chat_id)} occurs more than once; a later one became {shown(chat_id)}."
                )
                chat = replace(chat, chat_id=chat_id)  # noqa: PLW2901  # the same chat under a free id
            chats.append(chat)
            if title:
                titles[chat_id] = title
        warnings.extend(LoadWarning(called(name), note) for note in few_notes(notes))
    return ChatLoad(tuple(chats), titles, tuple(warnings), tuple(errors))


def _read(
    name: str, data: bytes, scope: MemoryScope, size_limit: int, warn: Warn
) -> list[tuple[ChatRecord, str]]:
    check_size(called(name), len(data), size_limit)
    reader = _Reader(name, scope)
    read = [
        reader.chat(number, entry)
        for number, entry in enumerate(chat_entries(name, decode(called(name), data, warn)), 1)
    ]
    reader.warn_of_all(warn)
    return read


class _Reader:
    """Makes chats of a file's entries, and counts what is to be said of the whole file."""

    def __init__(self, name: str, scope: MemoryScope) -> None:
        self._name = name
        self._scope = scope
        self._notes: list[str] = []
        self._replaced: list[int] = []
        self._left_out = LeftOut()

    def chat(self, number: int, entry: ChatEntry) -> tuple[ChatRecord, str]:
        """Return a chat and its title, which may be empty."""
        self._left_out.add_fields(entry.fields, _FIELDS)
        own = {key: value for key, value in entry.fields.items() if key in _FIELDS and key != "messages"}
        fields = self._clean(entry.where, own)
        system = self._checked(entry.where, lambda: system_messages(fields.get("system")))
        placed = [*((entry.where, raw) for raw in system), *entry.messages]
        messages = tuple(self._message(where, raw) for where, raw in placed)
        fallback = self._fallback(number, messages)
        chat = self._checked(entry.where, lambda: _chat(fields, messages, fallback, self._scope))
        about = f"Chat {shown(chat.chat_id)}"
        if (
            fields.get("scope")
            and self._checked(entry.where, lambda: MemoryScope.parse(fields["scope"])) != self._scope
        ):
            self._notes.append(f"{about} names another scope; it becomes this project's.")
        if not entry.messages:
            self._notes.append(f"{about} holds no message.")
        self._notes += (f"{about}: {problem}" for problem in _unpaired(messages))
        title = fields.get("title")
        return chat, title if isinstance(title, str) else ""

    def warn_of_all(self, warn: Warn) -> None:
        """Say what concerns the whole file, then what concerns single chats."""
        warn_of_replaced(sum(self._replaced), warn)
        if fields := self._left_out.fields:
            warn(f"Fields that are no part of a conversation were left out: {_named(fields)}.")
        if kinds := self._left_out.kinds:
            warn(f"Parts of these kinds are kept, but no search reads them: {_named(kinds)}.")
        for note in self._notes:
            warn(note)

    def _message(self, where: str, raw: Any) -> Message:
        if not isinstance(raw, dict):
            raise self._fault(where, f"a message is {shown(raw)}", "Give an object with role and content.")
        canonical = self._checked(where, lambda: canonical_message(raw, self._left_out))
        return self._checked(where, lambda: as_message(self._clean(where, canonical)))

    def _clean(self, where: str, value: dict[str, Any]) -> dict[str, Any]:
        check_depth(called(self._name), value, f"{where}: " if where else "")
        clean: dict[str, Any] = replaced_everywhere(value, self._replaced.append)
        return clean

    def _checked(self, where: str, read: Callable[[], _Value]) -> _Value:
        try:
            return read()
        except DocumentError:
            raise
        except PlaygroundError as error:
            raise self._fault(where, error.problem, error.remedy) from None

    def _fault(self, where: str, problem: str, remedy: str) -> DocumentError:
        place = f"{called(self._name)}, {where}" if where else called(self._name)
        problem = problem.rstrip(".")
        return DocumentError(f"{place}: {problem}.", remedy=remedy or NO_CHAT_LOG, name=called(self._name))

    def _fallback(self, number: int, messages: Sequence[Message]) -> str:
        if self._name:
            return f"{self._name}-{number}"
        text = json.dumps([message_to_json(message) for message in messages], sort_keys=True)
        return f"chat-{text_digest(text).removeprefix('sha256:')[:12]}"


def _chat(
    fields: Mapping[str, Any], messages: tuple[Message, ...], fallback: str, scope: MemoryScope
) -> ChatRecord:
    given = next((fields[name] for name in _IDS if fields.get(name) not in (None, "")), fallback)
    if isinstance(given, bool) or not isinstance(given, str | int):
        raise InvalidInputError(f"the chat's id is {shown(given)}", remedy="Give a text or leave it out.")
    parent = _either(fields, "parentId", "parent_id")
    if not isinstance(parent, str | None):
        raise InvalidInputError(
            f"the chat's parentId is {shown(parent)}", remedy="Give a text or leave it out."
        )
    updated_at = _either(fields, "updatedAt", "updated_at")
    return ChatRecord(
        chat_id=str(given),
        scope=scope,
        messages=messages,
        parent_id=parent,
        updated_at=0 if updated_at is None else whole_number(updated_at, "The chat's updatedAt"),
    )


def _unpaired(messages: Sequence[Message]) -> Iterator[str]:
    answers = tool_answers(messages)
    answered = set(answers.values())
    for index, message in enumerate(messages):
        for place, part in enumerate(message.parts):
            if isinstance(part, ToolUsePart) and (index, place) not in answers:
                yield f"the call {shown(part.id)} of {shown(part.name)} in message {index + 1} has no result."
            elif isinstance(part, ToolResultPart) and (index, place) not in answered:
                yield (
                    f"the result {shown(part.tool_use_id)} in message {index + 1} has no call before it; "
                    "it stays by itself."
                )


def _either(fields: Mapping[str, Any], camel: str, snake: str) -> Any:
    return fields.get(snake) if fields.get(camel) is None else fields[camel]


def _named(names: Counter[str]) -> str:
    shown_names = [shown(name).strip("'") for name in sorted(names)]
    more = f" and {len(names) - NAMES_A_NOTE:,} more" if len(names) > NAMES_A_NOTE else ""
    return ", ".join(shown_names[:NAMES_A_NOTE]) + more
