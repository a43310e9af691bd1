"""A snapshot that an operation works on, and the refusal to change anything once the host has moved on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import is_

from playground.errors import ContextChangedError
from playground.preparation.context_state import ContextState
from playground.preparation.items import Item

__all__ = ["Guard"]


class Guard:
    """Remembers the items of a context, its system prompt and its model.

    Attributes:
        history: The history as it was remembered, or as it is since the last change through this guard.
        current_input: The current input as it was remembered.
    """

    def __init__(self, state: ContextState) -> None:
        self._state = state
        self.history = state.conversation.history
        self.current_input = state.conversation.current_input
        self._settings = (state.system_prompt, state.model)

    def check(self) -> None:
        """Compare what was remembered with what is there now: each item by identity, in order.

        Raises:
            ContextChangedError: When anything differs.
        """
        state, conversation = self._state, self._state.conversation
        if (
            not _same(conversation.history, self.history)
            or not _same(conversation.current_input, self.current_input)
            or (state.system_prompt, state.model) != self._settings
        ):
            raise ContextChangedError(
                "The context changed while an operation worked on it.",
                remedy="Do it again; what the host added is still there.",
            )

    def replace_history(self, items: Iterable[Item], *, host: bool = False) -> None:
        """Put a history in place of the remembered one, and remember it; see ``Conversation.replace_history``.

        Raises:
            ContextChangedError: When the context is not as it was remembered; nothing has changed then.
        """
        self.check()
        self._state.conversation.replace_history(items, host=host)
        self.history = self._state.conversation.history


def _same(now: Sequence[Item], before: Sequence[Item]) -> bool:
    return now is before or (len(now) == len(before) and all(map(is_, now, before)))
