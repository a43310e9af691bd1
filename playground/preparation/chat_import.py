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
from playground.preparation.import_blocks import BlockReader, no_place
from playground.preparation.items import Json, detached
from playground.sources.provider_messages import LeftOut, canonical_message, system_messages
from playground.values import shown

__all__ = ["ImportedConversation", "import_conversation", "import_conversations"]

NAMES_A_WARNING = 8
_LOG_FIELDS = frozenset({"messages", "system"})


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
        self._blocks = BlockReader(self._ids, self._left_out.add_fields)
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
        if not isinstance(content, str | list):
            raise InvalidInputError(
                f"the content is {shown(content)}", remedy="Give a text or a list of parts."
            )
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
        blocks = [self._blocks.block(part, role, at, numbered=numbered) for part in read["content"]]
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
                raise no_place(part, "the system prompt")
        if text := "\n".join(part["text"] for part in read["content"]):
            self._prompts.append(text)


@contextmanager
def _telling(place: str) -> Iterator[None]:
    """Say the place in an error that does not know it."""
    try:
        yield
    except InvalidInputError as error:
        raise InvalidInputError(f"{place}: {error.problem.rstrip('.')}.", remedy=error.remedy) from None
