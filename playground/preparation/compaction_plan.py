"""Which groups a strategy gives up, and in what order.

Pure. Nothing is removed here. Groups are taken whole, oldest first, and never one that is protected.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from playground.errors import InvalidInputError
from playground.preparation.protocol import Group
from playground.values import shown

__all__ = ["Plan", "checked_threshold", "fitting", "oldest", "plan_algorithmic", "rolling"]


@dataclass(frozen=True, slots=True)
class Plan:
    """The groups that the first two steps of ``algorithmic`` choose, oldest first in each.

    Attributes:
        large: Groups with a large result.
        capped: The oldest of the rest, because there are too many pairs.
    """

    large: tuple[Group, ...]
    capped: tuple[Group, ...]


def plan_algorithmic(
    groups: Sequence[Group],
    *,
    largest: Mapping[Group, int],
    result_bytes: int,
    max_pairs: int,
    retained: Collection[Group] = (),
) -> Plan:
    """Choose groups by the size of their results, then by the number of pairs. O(n).

    Args:
        groups: All groups, oldest first; the pairs of protected ones count too.
        largest: Bytes of the largest result of each group that may be chosen by size; empty where large results
            have nowhere to go.
        result_bytes: A result is large above this.
        max_pairs: So many complete pairs may stay.
        retained: Groups that may not be chosen.
    """
    kept = set(retained)
    free = [group for group in groups if group.is_tool and group.protection is None and group not in kept]
    large = [group for group in free if largest.get(group, 0) > result_bytes]
    chosen = set(large)
    pairs = sum(group.pairs for group in groups if group not in chosen)
    capped: list[Group] = []
    for group in free:
        if pairs <= max_pairs:
            break
        if group.pairs and group not in chosen:
            capped.append(group)
            pairs -= group.pairs
    return Plan(tuple(large), tuple(capped))


def fitting(
    groups: Iterable[Group],
    sizes: Mapping[Group, Sequence[int]],
    room_for: Callable[[Sequence[int]], bool],
) -> tuple[tuple[Group, ...], tuple[Group, ...]]:
    """Choose the newest groups that a store can hold together.

    Args:
        groups: In any order.
        sizes: Bytes of each group's results.
        room_for: Whether results of these sizes fit together.

    Returns:
        Those chosen and those left out, oldest first in each.
    """
    order = sorted(groups, key=_age)
    chosen: set[Group] = set()
    batch: list[int] = []
    for group in reversed(order):
        wanted = [*batch, *sizes[group]]
        if room_for(wanted):
            chosen.add(group)
            batch = wanted
    return (
        tuple([group for group in order if group in chosen]),
        tuple([group for group in order if group not in chosen]),
    )


def rolling(groups: Iterable[Group], target: int, *, retained: Collection[Group] = ()) -> tuple[Group, ...]:
    """Choose what goes until ``target`` tokens are free: plain items, oldest first, then tool groups likewise.

    Protected groups, those retained, and what no request holds anyway are passed over. Empty for a target of 0
    or less.
    """
    kept = set(retained)
    return _until(sorted(_removable(groups, kept), key=lambda group: (group.is_tool, _age(group))), target)


def oldest(groups: Iterable[Group], target: int) -> tuple[Group, ...]:
    """Choose what goes until ``target`` tokens are free, oldest first whatever it is; see ``rolling``."""
    return _until(sorted(_removable(groups, set()), key=_age), target)


def checked_threshold(threshold: object) -> float:
    """Return a strategy's threshold.

    Raises:
        InvalidInputError: When it is no number from 0 to 1.
    """
    if isinstance(threshold, int | float) and not isinstance(threshold, bool) and 0 <= threshold <= 1:
        return float(threshold)
    raise InvalidInputError(f"The threshold is {shown(threshold)}.", remedy="Give a share from 0 to 1.")


def _removable(groups: Iterable[Group], retained: set[Group]) -> list[Group]:
    return [group for group in groups if group.protection is None and group.tokens and group not in retained]


def _until(order: Iterable[Group], target: int) -> tuple[Group, ...]:
    chosen: list[Group] = []
    for group in order:
        if target <= 0:
            break
        chosen.append(group)
        target -= group.tokens
    return tuple(chosen)


def _age(group: Group) -> int:
    return group.members[0]
