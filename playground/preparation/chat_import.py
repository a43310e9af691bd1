"""Chat logs as the items of a context: OpenAI's Chat Completions and Anthropic's Messages, without silent loss.

Pure. Both shapes, and this project's own, go through the reader that the transcript source uses; here their
parts become content blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.call_ids import CallIds, Place
from playground.preparation.export_parts import PLAIN_ERROR, compact
from playground.preparation.items import Json, detached, text_block
from playground.sources.provider_messages import LeftOut, canonical_message, system_messages
from playground.values import shown

__all__ = ["ImportedConversation", "import_conversation", "import_conversations"]

NAMES_A_WARNING = 8
_LOG_FIELDS = frozenset({"messages", "system"})
_CALL_FIELDS = frozenset({"type", "id", "name", "input", "arguments", "custom"})
_RESULT_FIELDS = frozenset({"type", "tool_use_id", "toolUseId", "content", "result", "is_error", "isError"})
_NO_PLACE = "Leave it out of the log, or say it in words."


@dataclass(frozen=True, slots=True)
class ImportedConversation:
    """What chat logs hold, as a context takes it.

    Attributes:
        system_prompt: The texts of the system messages, parted by blank lines; None without any.
        conversation: Items up to and with the last answer of the model.
        current_input: Items after it: what the next request is to answer.
        warnings: What was left out, and what stood in an odd place.
    """

    system_prompt: str | None
    conversation: tuple[Json, ...]
    current_input: tuple[Json, ...]
    warnings: tuple[str, ...] = ()


def import_conversation(
    data: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, prefix_ids: bool = False
) -> ImportedConversation:
    """Read one chat log. O(its size).

    System messages become the system prompt; neighbouring tool messages become one user message of results; a
    ``null`` content gives no block, and the name on a tool message, which its call has too, is dropped.
    Arguments stay the text that the model wrote.

    Args:
        data: A list of messages, or a mapping with ``messages`` and, as Anthropic has it, ``system``.
        prefix_ids: Whether each call's id gets the number of its part before it, ``2_call_7``. A part ends
            where a message calls under an id that the part has used: logs that were joined become one.

    Raises:
        InvalidToolProtocolError: When an id is used twice; names both positions.
        InvalidInputError: When a message is malformed, or holds what no item can; names the message.
    """
    return import_conversations([data], prefix_ids=prefix_ids)


def import_conversations(
    logs: Iterable[Mapping[str, Any] | Sequence[Mapping[str, Any]]], *, prefix_ids: bool = False
) -> ImportedConversation:
    """Join chat logs to one conversation, in order; each log begins a part. See ``import_conversation``.

    What follows the last answer of an earlier log stays in the conversation. A system prompt that several logs
    share stands once.
    """
    given = [*logs]
    reading = _Reading(prefix_ids=prefix_ids)
    for number, log in enumerate(given, 1):
        reading.add_log(log, f"log {number}, " if len(given) > 1 else "")
    return reading.result()


class _Reading:
    """Gathers the items of logs, and what is to be said of all of them."""

    def __init__(self, *, prefix_ids: bool) -> None:
        self._ids = CallIds(prefix=prefix_ids)
        self._left_out = LeftOut()
        self._prompts: list[str] = []
        self._items: list[Json] = []
        self._answered = 0  # items up to and with the last answer
        self._notes: list[str] = []

    def add_log(self, log: Any, about: str) -> None:
        """Read one log; ``about`` says which of several it is, for people."""
        fields = log if isinstance(log, Mapping) else {"messages": log}
        messages = fields.get("messages")
        if not isinstance(messages, list | tuple):
            raise InvalidInputError(
                f"{about or 'The log, '}{shown(messages)}, is no list of messages.",
                remedy="Give a list of messages, or an object with messages.",
            )
        self._left_out.add_fields(fields, _LOG_FIELDS)
        self._ids.next_part()
        with _telling(f"{about}system"):
            for system in system_messages(fields.get("system")):
                self._add_prompt(self._canonical(system))
        before = ""
        for number, raw in enumerate(messages, 1):
            place = f"{about}message {number}"
            with _telling(place):
                role = self._add(raw, place, before)
            before = before if role == "system" else role

    def result(self) -> ImportedConversation:
        """Return everything that was read."""
        warnings = [f"{note[:1].upper()}{note[1:]}" for note in self._notes]
        if names := sorted(map(str, self._left_out.fields)):
            more = f" and {len(names) - NAMES_A_WARNING:,} more" if len(names) > NAMES_A_WARNING else ""
            told = ", ".join(shown(name).strip("'") for name in names[:NAMES_A_WARNING])
            warnings.append(f"Fields that are no part of a conversation were left out: {told}{more}.")
        return ImportedConversation(
            "\n\n".join(dict.fromkeys(self._prompts)) or None,
            tuple(self._items[: self._answered]),
            tuple(self._items[self._answered :]),
            tuple(warnings),
        )

    def _canonical(self, raw: Any) -> Json:
        if not isinstance(raw, Mapping):
            raise InvalidInputError(
                f"a message is {shown(raw)}", remedy="Give an object with role and content."
            )
        # The name on a tool message stands in its call, too.
        known = {name: value for name, value in raw.items() if name != "name" or raw.get("role") != "tool"}
        read = canonical_message(detached(known), self._left_out, exact=True)
        content = read["content"]
        read["content"] = [{"type": "text", "text": content}] if isinstance(content, str) else content
        return read

    def _add(self, raw: Any, place: str, before: str) -> str:
        """Add a message that follows one of the role ``before``, and return its own role."""
        read = self._canonical(raw)
        role: str = read["role"]
        if role == "system":
            self._add_prompt(read)
            if before:
                self._notes.append(f"{place} is a system message amid the conversation; it went to the prompt.")
            return role
        joins = role == before == "tool"
        at = Place(len(self._items) - joins, place)
        numbered = raw.get("function_call") is not None
        if not numbered:
            parts = [
                part for part in read["content"] if isinstance(part, dict) and part.get("type") == "tool_use"
            ]
            self._ids.begin_message(part["id"] for part in parts if isinstance(part.get("id"), str))
        blocks = [self._block(part, role, at, numbered=numbered) for part in read["content"]]
        if role == "tool" and not (blocks and all("tool_use_id" in block for block in blocks)):
            raise InvalidInputError("a tool message answers no call", remedy="Give its tool_call_id.")
        if joins:
            self._items[-1]["content"] += blocks
        elif blocks:
            speaker = "assistant" if role == "assistant" else "user"
            self._items.append({"type": "message", "role": speaker, "content": blocks})
        else:
            self._notes.append(f"{place} says nothing; it was left out.")
        if role == "assistant":
            self._answered = len(self._items)
        return role

    def _add_prompt(self, read: Json) -> None:
        for part in read["content"]:
            if not (
                isinstance(part, Mapping) and part.get("type") == "text" and isinstance(part.get("text"), str)
            ):
                raise _no_place(part, "the system prompt")
        if text := "\n".join(part["text"] for part in read["content"]):
            self._prompts.append(text)

    def _block(self, part: Any, role: str, at: Place, *, numbered: bool) -> Json:
        match part:
            case {"type": "text", "text": str(text)}:
                return text_block(role, text)
            case {"type": "tool_use", "id": str(given), "name": str(name)} if given:
                self._left_out.add_fields(part, _CALL_FIELDS)
                return self._call(part, given, name, at, numbered=numbered)
            case {"type": "tool_result"}:
                self._left_out.add_fields(part, _RESULT_FIELDS)
                return self._result(part, at)
            case {"type": "reasoning", "redacted": True, "encrypted": str(data)}:
                return {"type": "redacted_thinking", "data": data}
            case {"type": "reasoning", "text": str(text)} if part.get("encrypted") is None:
                signed = {} if part.get("signature") is None else {"signature": part["signature"]}
                return {"type": "thinking", "thinking": text, **signed, "persistInHistory": True}
            case {"type": "image", "image": str()}:
                return _image(part)
            case {"type": "document", "source": {"type": "file", "file_id": str(file_id)}}:
                return {"type": "input_file", "file_id": file_id}
            case {"type": "file", "file": {"file_id": str(file_id)}}:
                return {"type": "input_file", "file_id": file_id}
            case {"type": "text" | "tool_use"}:
                raise InvalidInputError(f"{_named(part)} lacks a field, or has one of a wrong type")
        raise _no_place(part, "an item")

    def _call(self, part: Json, given: str, name: str, at: Place, *, numbered: bool) -> Json:
        if part.get("custom"):
            call_id = self._ids.call("custom", given, at)
            return {
                "type": "custom_tool_use",
                "id": call_id,
                "name": name,
                "input": _text(part["arguments"]),
            }
        call_id = self._ids.call("function", given, at, numbered=numbered)
        arguments = part["arguments"] if "arguments" in part else part.get("input")
        if "arguments" not in part or not isinstance(arguments, str):
            arguments = compact({} if arguments is None else arguments)
        return {"type": "tool_use", "id": call_id, "name": name, "arguments": arguments}

    def _result(self, part: Json, at: Place) -> Json:
        given = part.get("tool_use_id", part.get("toolUseId"))
        if not isinstance(given, str) or not given:
            raise InvalidInputError("a result names no call", remedy="Give the id of the call that it answers.")
        content = part["result"] if "result" in part else part.get("content")
        if isinstance(content, list):
            content = [self._result_part(item) for item in content]
        error = {}
        if part.get("is_error", part.get("isError")):
            failed = content if isinstance(content, str) else ""
            error = {"error": failed or PLAIN_ERROR}
            content = "" if isinstance(content, str) else content
        namespace, call_id = self._ids.result(given, at)
        kind = "tool_result" if namespace == "function" else "custom_tool_result"
        return {
            "type": kind,
            "tool_use_id": call_id,
            "content": "" if content in (None, []) else content,
            **error,
        }

    def _result_part(self, part: Any) -> Any:
        match part:
            case {"type": "text", "text": str(text)}:
                self._left_out.add_fields(part, frozenset({"type", "text"}))
                return {"type": "text", "text": text}
            case {"type": "image", "source": {"type": "base64" | "url"} as source}:
                self._left_out.add_fields(part, frozenset({"type", "source"}))
                return {"type": "image", "source": source}
        raise _no_place(part, "the result of a tool")


def _image(part: Json) -> Json:
    """Return an image by its address: a URL, or the data URL that a provider's two fields say."""
    media_type, data = part.get("mediaType", part.get("media_type")), part["image"]
    if media_type is not None and not str(media_type).startswith("image/"):
        raise _no_place(part, "an item")
    url = data if media_type is None else f"data:{media_type};base64,{data}"
    detail = {} if part.get("detail") is None else {"detail": part["detail"]}
    return {"type": "input_image_url", "image_url": {"url": url, **detail}}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"the input of a custom call is {shown(value)}", remedy="Give a text.")
    return value


@contextmanager
def _telling(place: str) -> Iterator[None]:
    """Say the place in an error that does not know it."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error.problem.rstrip('.')}.", remedy=error.remedy) from None


def _named(part: Any) -> str:
    return f"a part {shown(part.get('type') if isinstance(part, Mapping) else part)}"


def _no_place(part: Any, holder: str) -> InvalidInputError:
    return InvalidInputError(f"{_named(part)} has no place in {holder}", remedy=_NO_PLACE)
