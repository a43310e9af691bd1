"""What of the items goes into a request, copied and counted.

Pure. A call without result, and a result without call, is left out of the request; a message that has nothing
left goes with it. The items themselves stay as they are. Order never changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from playground.preparation.item_counting import MESSAGE_TOKENS
from playground.preparation.items import Item, Json, detached

__all__ = ["Place", "Pruned", "prune", "pruned_tokens", "request_tokens"]

Place = tuple[int, int]
"""An item's position, from 0, in history and then current input, and a block's in it."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """Items of a request: copies that may be changed freely, and what they count, in tokens."""

    items: tuple[Json, ...]
    tokens: int


def prune(items: Sequence[Item], dropped: Collection[Place], *, start: int = 0) -> Pruned:
    """Copy what goes into a request. O(its size).

    Args:
        items: Items in order.
        dropped: Places of the blocks that are left out; those of other items do not matter.
        start: The position of the first item.
    """
    blocks_of = _by_item(dropped)
    copies: list[Json] = []
    total = 0
    for position, item in enumerate(items, start):
        blocks = blocks_of.get(position)
        if blocks is None:
            copies.append(item.out())
            total += item.tokens
            continue
        tokens = request_tokens(item, blocks)
        total += tokens
        if tokens:
            kept = [block for place, block in enumerate(item.data["content"]) if place not in blocks]
            copies.append(detached({**item.data, "content": kept}))
    return Pruned(tuple(copies), total)


def pruned_tokens(items: Sequence[Item], dropped: Collection[Place], *, start: int = 0) -> int:
    """Count what goes into a request without copying it, in tokens. O(items); see ``prune``."""
    total = sum([item.tokens for item in items])
    for position, blocks in _by_item(dropped).items():
        if start <= position < start + len(items):
            item = items[position - start]
            total += request_tokens(item, blocks) - item.tokens
    return total


def request_tokens(item: Item, blocks: Collection[int]) -> int:
    """Count an item of which some blocks are left out, in tokens; 0 where nothing is left of a message."""
    if not blocks:
        return item.tokens
    kept = [tokens for place, tokens in enumerate(item.block_tokens) if place not in blocks]
    return MESSAGE_TOKENS + sum(kept) if kept else 0


def _by_item(dropped: Iterable[Place]) -> dict[int, set[int]]:
    blocks_of: dict[int, set[int]] = {}
    for position, block in dropped:
        blocks_of.setdefault(position, set()).add(block)
    return blocks_of
