"""The one place that holds a conversation: its history, and the current input that no answer followed yet.

Both are tuples of items that are replaced whole; nothing live goes in or comes out. ``mutations`` counts the
host's changes, so that whoever waited can tell whether anything moved meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from playground.preparation.estimation import PreparationEstimator
from playground.preparation.incoming import Answer, Content, listed, result_block, user_blocks
from playground.preparation.items import Item, Json, read_item

__all__ = ["Conversation"]

_OWN_ID = re.compile("msg_([0-9]{1,15})")


class Conversation:
    """Holds items, counts changes, and builds messages.

    Args:
        estimator: Counts each item as it comes in.
        new_id: Names messages; by default ``msg_1`` and so on, past any that a history brings along.
    """

    def __init__(self, estimator: PreparationEstimator, new_id: Callable[[], str] | None = None) -> None:
        self._estimator = estimator
        self._new_id = new_id or self._next_id
        self._last_number = 0
        self._history: tuple[Item, ...] = ()
        self._current_input: tuple[Item, ...] = ()
        self._mutations = 0
        self._original_input: Item | None = None
        self.turn = 0
        self.last_thinking: str | None = None

    @property
    def history(self) -> tuple[Item, ...]:
        """The items that answers followed, in order."""
        return self._history

    @property
    def current_input(self) -> tuple[Item, ...]:
        """The items that wait for an answer."""
        return self._current_input

    @property
    def mutations(self) -> int:
        """How often the host changed anything."""
        return self._mutations

    @property
    def original_input(self) -> Json | None:
        """What the user asked at the beginning of this execution; rounds of tools leave it."""
        return None if self._original_input is None else self._original_input.out()

    def bump(self) -> None:
        """Count a change of the host's that lies outside: prompt, model, strategy, restored state."""
        self._mutations += 1

    def add_user_message(self, content: Content) -> str:
        """Make a user's message the current input, in place of any other; begins a turn; returns its id.

        Raises:
            InvalidInputError: When the content is malformed; nothing has changed then.
        """
        item = self._message("user", user_blocks(content))
        self.replace_input((item,), host=True)
        self.turn += 1
        return item.id or ""

    def set_current_input(self, content: Content) -> str:
        """Do what ``add_user_message`` does, and remember the message as the original input."""
        message_id = self.add_user_message(content)
        self._original_input = self._current_input[0]
        return message_id

    def add_assistant_response(self, output: Content) -> str:
        """Move the current input to the history and append what the model answered.

        Calls stay as they are, with every field; see ``incoming.Answer`` for the rest.

        Returns:
            The message's id, empty where the answer had no content; the input has moved all the same.

        Raises:
            InvalidInputError: When the answer is malformed; nothing has changed then.
        """
        answer = Answer(output)
        items, message = self._answer_items(answer, None)
        self._history = (*self._history, *self._current_input, *items)
        self._current_input = ()
        self._take_thinking(answer)
        self._mutations += 1
        return message.id or "" if message else ""

    def replace_last_assistant_response(self, output: Content) -> bool:
        """Put another answer in place of the newest one in the history; its message keeps its id.

        Returns:
            False, and nothing has changed, where there is none or the new one has no content.

        Raises:
            InvalidInputError: When the answer is malformed; nothing has changed then.
        """
        answer = Answer(output)
        places = [place for place, item in enumerate(self._history) if item.role == "assistant"]
        if not places or not answer.blocks:
            return False
        items, _ = self._answer_items(answer, self._history[places[-1]])
        self._history = (*self._history[: places[-1]], *items, *self._history[places[-1] + 1 :])
        self._take_thinking(answer)
        self._mutations += 1
        return True

    def add_tool_results(self, results: Sequence[Mapping[str, Any]]) -> str:
        """Make results the current input: one message, in place of any other input; returns its id.

        Args:
            results: ``tool_use_id`` and ``content`` each, and an ``error``. A text is stored as it is, other
                content as JSON; images under its ``__images`` ride on the block. ``type`` may be
                ``custom_tool_result``. An empty list changes nothing and returns an empty id.

        Raises:
            InvalidInputError: When a result is malformed; nothing has changed then.
        """
        blocks = [result_block(result) for result in listed(results, "A list of results")]
        if not blocks:
            return ""
        item = self._message("user", blocks)
        self.replace_input((item,), host=True)
        return item.id or ""

    def add_input_items(self, items: Iterable[Mapping[str, Any]]) -> None:
        """Append items to the history as they are.

        Raises:
            InvalidInputError: When one is malformed; none is added then.
        """
        read = tuple([read_item(item, self._estimator) for item in listed(items, "A list of items")])
        if read:
            self._pass_ids(read)
            self._history += read
            self._mutations += 1

    def clear(self) -> None:
        """Empty history and current input."""
        self._history = self._current_input = ()
        self._original_input = None
        self._mutations += 1

    def read(self, items: Iterable[Mapping[str, Any]]) -> tuple[Item, ...]:
        """Return items read and counted, without adding them; see ``read_item``."""
        return tuple([read_item(item, self._estimator) for item in items])

    def replace_history(self, items: Iterable[Item], *, host: bool) -> None:
        """Put a history in place of this one; ``host`` says whether that counts as the host's change."""
        self._history = tuple(items)
        self._pass_ids(self._history)
        self._mutations += host

    def replace_input(self, items: Iterable[Item], *, host: bool) -> None:
        """Put a current input in place of this one; see ``replace_history``."""
        self._current_input = tuple(items)
        self._pass_ids(self._current_input)
        self._mutations += host

    def _next_id(self) -> str:
        self._last_number += 1
        return f"msg_{self._last_number}"

    def _pass_ids(self, items: Iterable[Item]) -> None:
        """Give no id again that an item from elsewhere has."""
        for item in items:
            own = _OWN_ID.fullmatch(item.id or "")
            if own:
                self._last_number = max(self._last_number, int(own[1]))

    def _message(self, role: str, blocks: list[Json], message_id: str | None = None) -> Item:
        data = {"type": "message", "id": message_id, "role": role, "content": blocks}
        if message_id is None:
            read_item(data, self._estimator)  # what is malformed takes no id
            data["id"] = self._new_id()
        return read_item(data, self._estimator)

    def _answer_items(self, answer: Answer, replaced: Item | None) -> tuple[tuple[Item, ...], Item | None]:
        before, after = self.read(answer.before), self.read(answer.after)
        if not answer.blocks:
            return before + after, None
        message = self._message("assistant", answer.blocks, replaced.id if replaced else None)
        return (*before, message, *after), message

    def _take_thinking(self, answer: Answer) -> None:
        if answer.thinking is not None:
            self.last_thinking = answer.thinking
