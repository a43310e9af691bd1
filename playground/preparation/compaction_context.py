"""What a strategy may see and do: copies to look at, and methods that keep groups whole and tell every loss.

Nothing that a strategy holds is live. Whatever it removes goes through a method that first compares the context
with the snapshot that the strategy was given, and that writes to a log of the context's own.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.budget import PreparationBudget
from playground.preparation.capacity import usable
from playground.preparation.compaction_log import (
    NAME_LENGTH,
    counted_items,
    group_line,
    item_name,
    plugin_keys,
    store_name,
)
from playground.preparation.context_state import ContextState
from playground.preparation.items import Item, Json, read_item
from playground.preparation.listing import listed, shortened
from playground.preparation.ports import ContextPlugin, raise_if_cancelled
from playground.preparation.proposals import read_proposal
from playground.preparation.protocol import Group, ProtocolMap, protocol_map
from playground.preparation.pruning import pruned_tokens
from playground.preparation.results import ContextPrepareOptions
from playground.preparation.stale_guard import Guard
from playground.values import shown

__all__ = ["CompactionContext", "held_items"]


class CompactionContext:
    """One pass over a context. What is shown is what was remembered when it began, less what it removed.

    Args:
        state: The context.
        budget: Its budget, counted just now.
        strategy_name: Who runs.
        groups: The groups of history and current input as they stand, where somebody knows them.
        options: Those of the preparation: once its signal is set, nothing more is changed; its ``summarize`` is
            a host's callback that a strategy may use.
    """

    def __init__(
        self,
        state: ContextState,
        *,
        budget: PreparationBudget,
        strategy_name: str,
        groups: ProtocolMap | None = None,
        options: ContextPrepareOptions | None = None,
    ) -> None:
        self._state = state
        self._guard = Guard(state)
        self.budget = budget.model_copy(deep=True)
        self.strategy_name = strategy_name
        self.signal = options.signal if options else None
        self.summarize = options.summarize if options else None
        self._protocol = None if groups is None else (self._guard.history, groups)
        self._log: list[str] = []
        self._tokens_freed = 0
        self._messages_removed = 0
        self._plugins_compacted: list[str] = []

    @property
    def conversation(self) -> tuple[Json, ...]:
        """Copies of the history's items."""
        return tuple([item.out() for item in self._guard.history])

    @property
    def current_input(self) -> tuple[Json, ...]:
        """Copies of the current input's items."""
        return tuple([item.out() for item in self._guard.current_input])

    @property
    def plugins(self) -> tuple[ContextPlugin, ...]:
        """The plugins, in the order of their registration."""
        return tuple(self._state.plugins.values())

    @property
    def log(self) -> tuple[str, ...]:
        """What was told so far, one line each."""
        return tuple(self._log)

    @property
    def tokens_freed(self) -> int:
        """What all removals freed, in tokens of the request."""
        return self._tokens_freed

    @property
    def messages_removed(self) -> int:
        """Items that are gone from the history."""
        return self._messages_removed

    @property
    def plugins_compacted(self) -> tuple[str, ...]:
        """Names of plugins that gave something up."""
        return tuple(self._plugins_compacted)

    @property
    def protocol(self) -> ProtocolMap:
        """The groups of history and current input as they are now. O(n) after a change."""
        if self._protocol is None or self._protocol[0] is not self._guard.history:
            groups = protocol_map(self._guard.history, self._guard.current_input)
            self._protocol = (self._guard.history, groups)
        return self._protocol[1]

    def groups(self) -> tuple[Group, ...]:
        """Return the groups by first member; positions are those of ``conversation``, then the input."""
        return self.protocol.groups

    def is_protected(self, index: int) -> bool:
        """Whether the item at an index of ``conversation`` may not be removed."""
        return not self.protocol.removable((index,))

    def plugin(self, name: str) -> ContextPlugin | None:
        """Return a plugin by its name."""
        return self._state.plugins.get(name)

    def note(self, line: str) -> None:
        """Tell something in the log, in one line."""
        self._log.append(listed(line))

    def ensure_current(self) -> None:
        """Make sure that the context is still what this pass works on.

        Raises:
            ContextChangedError: When the host changed it.
            CallCancelledError: When the signal is set.
        """
        raise_if_cancelled(self.signal)
        self._guard.check()

    async def remove_messages(
        self, indices: Iterable[object], *, verb: str | Callable[[Group], str] | None = "dropped"
    ) -> int:
        """Remove items of the history, each with its whole group. O(n): call it once for many.

        Args:
            indices: Positions in the history as it stands. Bad and repeated ones, those of the current input
                and of protected groups are ignored.
            verb: What the log says was done to each group; None where it has been told already.

        Returns:
            The tokens freed, as the request counted them; 0 where all are protected.

        Raises:
            ContextChangedError: When the host changed the context; nothing was removed then.
            CallCancelledError: When the signal is set; nothing was removed then.
            InvalidInputError: When the indices are no list.
        """
        if isinstance(indices, str | bytes | Mapping) or not isinstance(indices, Iterable):
            raise InvalidInputError(f"The indices are {shown(indices)}.", remedy="Pass a list of positions.")
        self.ensure_current()
        protocol, history = self.protocol, self._guard.history
        positions = set(protocol.removable(indices))
        if not positions:
            return 0
        groups = [group for group in protocol.groups if group.members[0] in positions]
        self._guard.replace_history([item for place, item in enumerate(history) if place not in positions])
        if verb is not None:
            for group in groups:
                self.note(group_line(verb(group) if callable(verb) else verb, group, history))
        self.note(f"removed {counted_items(len(positions))} from the history")
        freed = sum(group.tokens for group in groups)
        self._messages_removed += len(positions)
        self._tokens_freed += freed
        return freed

    async def compact_plugin(self, name: str, target: int) -> int:
        """Ask a plugin to give up about ``target`` tokens; entries that it loses are told in the log.

        Returns:
            What the plugin says that it freed; 0 for one that is not there or cannot give anything up.

        Raises:
            ContextChangedError: When the host changed the context; the plugin was not asked then.
            CallCancelledError: When the signal is set; the plugin was not asked then.
        """
        self.ensure_current()
        plugin = self._state.plugins.get(name) if isinstance(name, str) else None
        if plugin is None or not plugin.is_compactable():
            return 0
        before = plugin_keys(plugin)
        try:
            answer: Any = plugin.compact(target)
            freed = usable(await answer if inspect.isawaitable(answer) else answer) or 0
        finally:
            after = set(plugin_keys(plugin))
            lost = [key for key in before if key not in after]
            for key in lost:
                self.note(f"evicted {shortened(key, 2 * NAME_LENGTH)} from {store_name(plugin)}")
        if freed or lost:
            self._plugins_compacted.append(name)
        self._tokens_freed += freed
        return freed

    async def compact_conversation(self, proposal: Sequence[Mapping[str, Any]]) -> int:
        """Put a whole history in place of this one, or nothing at all. O(n).

        Items that come out as they went in stay what they are; every item of a protected group must be among
        them, in its order.

        Returns:
            The tokens freed, as the request counts them; negative where the proposal is larger.

        Raises:
            ContextChangedError: When the host changed the context.
            CallCancelledError: When the signal is set.
            InvalidInputError: When the proposal is malformed, lacks an item that is protected, or parts a call
                from its result.
            InvalidToolProtocolError: When it holds two calls, or two results, of one id.
        """
        self.ensure_current()
        history, protocol = self._guard.history, self.protocol
        read = read_proposal(proposal, history, self._guard.current_input, protocol, self._state.estimator)
        freed = pruned_tokens(history, protocol.dropped) - read.tokens
        self._guard.replace_history(read.items)
        for place, item in enumerate(history):
            if place not in read.kept:
                self.note(f"replaced {item_name(item, place)}")
        gone, new = len(history) - len(read.kept), len(read.items) - len(read.kept)
        self.note(f"replaced {counted_items(gone)} of the history by {new}")
        self._messages_removed += gone
        self._tokens_freed += freed
        return freed

    def estimate_tokens(self, item: Mapping[str, Any]) -> int:
        """Count an item, in tokens.

        Raises:
            InvalidInputError: When it is malformed.
        """
        return read_item(item, self._state.estimator).tokens

    def count_text(self, text: str | None) -> int:
        """Count a text, in tokens."""
        return self._state.estimator.text(text)

    def describe_tool_call(self, name: str, arguments: Any) -> str | None:
        """Return what a tool says of a call; None where it says nothing or fails to."""
        return self._state.tools.describe_call(name, arguments)


def held_items(context: CompactionContext) -> tuple[Item, ...]:
    """Return history and current input as they are held; for strategies of this package, which only read."""
    return context._guard.history + context._guard.current_input
