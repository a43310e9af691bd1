"""What a host does to a context's conversation: the first half of ``AgentContext``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from playground.preparation.chat_import import ImportedConversation
from playground.preparation.context_state import ContextState
from playground.preparation.events import ContextCleared, InputReplaced
from playground.preparation.incoming import Content
from playground.preparation.items import Json
from playground.preparation.journal import EntryKind
from playground.values import of_type

__all__ = ["ConversationMethods"]

_Returned = TypeVar("_Returned")


class ConversationMethods:
    """Items go in as plain data and come out as copies; every method raises once the context was destroyed."""

    _state: ContextState

    @property
    def conversation(self) -> list[Json]:
        """The history, as copies; preparation never reorders it."""
        return [item.out() for item in self._state.conversation.history]

    @property
    def current_input(self) -> list[Json]:
        """What waits for an answer, as copies."""
        return [item.out() for item in self._state.conversation.current_input]

    @property
    def last_thinking(self) -> str | None:
        """What the model thought last; a preparation clears it."""
        return self._state.conversation.last_thinking

    @property
    def original_input(self) -> Json | None:
        """What the user asked at the beginning of this execution; rounds of tools leave it."""
        return self._state.conversation.original_input

    @property
    def turn(self) -> int:
        """How many messages users have added."""
        return self._state.conversation.turn

    def add_user_message(self, content: Content) -> str:
        """Make a user's message the current input; see ``Conversation.add_user_message``."""
        return self._replacing("user", lambda: self._state.conversation.add_user_message(content))

    def set_current_input(self, content: Content) -> str:
        """Make a user's message the current input and remember it as the original one."""
        return self._replacing("user", lambda: self._state.conversation.set_current_input(content))

    def add_tool_results(self, results: Sequence[Mapping[str, Any]]) -> str:
        """Make results of tools the current input; see ``Conversation.add_tool_results``."""
        return self._replacing("tool_results", lambda: self._state.conversation.add_tool_results(results))

    def add_assistant_response(self, output: Content) -> str:
        """Move the current input to the history and append what the model answered."""
        self._state.ensure_alive()
        held = self._state.conversation
        before = len(held.history) + len(held.current_input)
        message_id = held.add_assistant_response(output)
        self._state.record("assistant", held.history[before:])
        return message_id

    def replace_last_assistant_response(self, output: Content) -> bool:
        """Put another answer in place of the newest one; whether there was one."""
        self._state.ensure_alive()
        held = self._state.conversation
        before = set(held.history)
        replaced = held.replace_last_assistant_response(output)
        self._state.record("assistant", [item for item in held.history if item not in before])
        return replaced

    def add_input_items(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Append items to the history as they are."""
        self._state.ensure_alive()
        held = self._state.conversation
        before = len(held.history)
        held.add_input_items(items)
        self._state.record("items", held.history[before:])

    def add_conversation(self, imported: ImportedConversation) -> None:
        """Append an imported conversation: prompt below the prompt, history to history, input as the input.

        Raises:
            InvalidInputError: When an item is malformed; nothing has changed then.
        """
        self._state.ensure_alive()
        of_type(imported, ImportedConversation, "A conversation")
        held = self._state.conversation
        history, current_input = held.read(imported.conversation), held.read(imported.current_input)
        self._state.change(system_prompt=_joined(self._state.system_prompt, imported.system_prompt))
        held.replace_history((*held.history, *history), host=True)
        self._state.record("items", history)
        if current_input:
            self._replacing("items", lambda: held.replace_input(current_input, host=True))

    def clear_conversation(self, reason: str | None = None) -> None:
        """Empty history and current input, and tell the listeners of ``context:cleared`` why."""
        self._state.ensure_alive()
        self._state.conversation.clear()
        self._state.events.emit("context:cleared", ContextCleared(reason))

    def _replacing(self, kind: EntryKind, replace: Callable[[], _Returned]) -> _Returned:
        """Replace the current input, and tell what made way for it: it was never answered."""
        self._state.ensure_alive()
        held = self._state.conversation
        before = held.current_input
        returned = replace()
        if held.current_input is not before:
            self._state.record(kind, held.current_input)
            if before:
                ids = tuple([item.id for item in before if item.id])
                self._state.events.emit("input:replaced", InputReplaced(ids))
        return returned


def _joined(prompt: str | None, more: str | None) -> str | None:
    """Put a prompt below another, unless it stands there already."""
    if not prompt or not more:
        return prompt or more
    return prompt if f"\n\n{prompt}".endswith(f"\n\n{more}") else f"{prompt}\n\n{more}"
