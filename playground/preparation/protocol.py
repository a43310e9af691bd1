"""Which items belong together, which of them may not go, and what has no counterpart.

Pure. A call and its result have one id in one namespace; items that share a pair are connected, and what is
connected stays or goes as one group. Positions count from 0 through the history and then the current input.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from playground.errors import InvalidToolProtocolError
from playground.preparation.items import Call, Item, Namespace, Result
from playground.preparation.pruning import Place, request_tokens
from playground.values import shown

__all__ = ["Group", "Place", "Protection", "ProtocolMap", "protocol_map"]

Protection = Literal["input", "pending", "async", "evidence", "continuation", "opaque"]
"""Why a group may not go: part of it is current input; its call waits for results that are being gathered; the
provider answers its call later; its evidence is not stored yet; its call is in the provider's own state; only
the provider can read it."""

_Key = tuple[Namespace, str]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Items that stay or go together; one that holds no call or result is a group of its own.

    Attributes:
        members: Positions, ascending.
        calls: Calls in it with their items' positions, in order.
        results: Results in it with their items' positions, in order.
        protection: The first reason that holds, in the order of ``Protection``; None where it may go.
        tokens: What its members in the history count in a request, in tokens.
        pairs: Complete pairs of call and result.
    """

    members: tuple[int, ...]
    calls: tuple[tuple[int, Call], ...]
    results: tuple[tuple[int, Result], ...]
    protection: Protection | None
    tokens: int
    pairs: int

    @property
    def is_tool(self) -> bool:
        """Whether it holds a call or a result."""
        return bool(self.calls or self.results)


@dataclass(frozen=True, slots=True, eq=False)
class ProtocolMap:
    """The groups of a history and a current input.

    Attributes:
        groups: All groups, by first member.
        group_of: The group of each position.
        dropped: Calls without result and results without call in messages: no request may hold them. A call
            that the provider answers later is not among them.
        history_length: How many positions are history.
    """

    groups: tuple[Group, ...]
    group_of: tuple[Group, ...]
    dropped: frozenset[Place]
    history_length: int

    def removable(self, positions: Iterable[object]) -> tuple[int, ...]:
        """Return every position that must go with those proposed, ascending.

        Whole groups, without the protected ones; what is no position of the history is ignored.
        """
        chosen: set[int] = set()
        for position in positions:
            if type(position) is int and 0 <= position < self.history_length:
                group = self.group_of[position]
                if group.protection is None:
                    chosen.update(group.members)
        return tuple(sorted(chosen))


def protocol_map(history: Sequence[Item], current_input: Sequence[Item]) -> ProtocolMap:
    """Find the groups. O(items + calls + results), but for a logarithm of no weight.

    Raises:
        InvalidToolProtocolError: When two calls, or two results, have one id in one namespace.
    """
    items = (*history, *current_input)
    calls: dict[_Key, tuple[int, Call]] = {}
    results: dict[_Key, tuple[int, Result]] = {}
    for position, item in enumerate(items):
        for call in item.calls:
            called = (position, call)
            known = calls.setdefault((call.namespace, call.id), called)
            if known is not called:
                raise _twice("calls", call, known[0], position)
        for result in item.results:
            answered = (position, result)
            found = results.setdefault((result.namespace, result.id), answered)
            if found is not answered:
                raise _twice("final results", result, found[0], position)
    dropped = _dropped(calls, results)
    roots = _roots(len(items), [(calls[key][0], results[key][0]) for key in results if key in calls])
    members: dict[int, list[int]] = {}
    for position, root in enumerate(roots):
        members.setdefault(root, []).append(position)
    build = _Builder(items, len(history), calls, results, dropped)
    built = {root: build.group(positions) for root, positions in members.items()}
    return ProtocolMap(
        groups=tuple(built.values()),
        group_of=tuple([built[root] for root in roots]),
        dropped=dropped,
        history_length=len(history),
    )


class _Builder:
    """What is known of all items while groups are put together."""

    def __init__(
        self,
        items: Sequence[Item],
        history_length: int,
        calls: dict[_Key, tuple[int, Call]],
        results: dict[_Key, tuple[int, Result]],
        dropped: frozenset[Place],
    ) -> None:
        self._items = items
        self._history_length = history_length
        self._answered = results.keys() & calls.keys()
        self._gathering = _gathering(items)
        self._dropped: dict[int, set[int]] = {}
        for position, block in dropped:
            self._dropped.setdefault(position, set()).add(block)

    def group(self, members: Sequence[int]) -> Group:
        items = self._items
        calls = tuple([(place, call) for place in members for call in items[place].calls])
        results = tuple([(place, result) for place in members for result in items[place].results])
        kept = [place for place in members if place < self._history_length]
        return Group(
            members=tuple(members),
            calls=calls,
            results=results,
            protection=self._protection(members, calls, results),
            tokens=sum([request_tokens(items[place], self._dropped.get(place, ())) for place in kept]),
            pairs=sum([(call.namespace, call.id) in self._answered for _, call in calls]),
        )

    def _protection(
        self,
        members: Sequence[int],
        calls: Sequence[tuple[int, Call]],
        results: Sequence[tuple[int, Result]],
    ) -> Protection | None:
        if members[-1] >= self._history_length:
            return "input"
        open_calls = [(place, call) for place, call in calls if (call.namespace, call.id) not in self._answered]
        if any(place == self._gathering and not call.is_async for place, call in open_calls):
            return "pending"
        if any(call.is_async for _, call in open_calls):
            return "async"
        if any(self._items[place].evidence for place in members):
            return "evidence"
        if any(
            result.block is None and (result.namespace, result.id) not in self._answered
            for _, result in results
        ):
            return "continuation"
        return "opaque" if any(self._items[place].opaque for place in members) else None


def _gathering(items: Sequence[Item]) -> int | None:
    """Return where the newest assistant message is, if nothing but results and opaque items follow it."""
    for position in range(len(items) - 1, -1, -1):
        item = items[position]
        if item.role == "assistant":
            return position
        if item.is_message and not (item.results and len(item.results) == len(item.block_tokens)):
            return None
    return None


def _dropped(calls: dict[_Key, tuple[int, Call]], results: dict[_Key, tuple[int, Result]]) -> frozenset[Place]:
    unanswered = [
        (position, call.block)
        for key, (position, call) in calls.items()
        if key not in results and not call.is_async
    ]
    uncalled = [
        (position, result.block)
        for key, (position, result) in results.items()
        if key not in calls and result.block is not None
    ]
    return frozenset(unanswered + uncalled)


def _roots(count: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Return, for each position, one that all positions connected to it have in common."""
    parents = list(range(count))

    def root(position: int) -> int:
        while parents[position] != position:
            parents[position] = parents[parents[position]]
            position = parents[position]
        return position

    for one, other in pairs:
        parents[root(other)] = root(one)
    return [root(position) for position in range(count)]


def _twice(what: str, entry: Call | Result, first: int, second: int) -> InvalidToolProtocolError:
    return InvalidToolProtocolError(
        f"Two {what} have the {entry.namespace} id {shown(entry.id)}: items {first} and {second}.",
        remedy="Give every call an id of its own, and one final result.",
        namespace=entry.namespace,
        call_id=entry.id,
        positions=(first, second),
    )
