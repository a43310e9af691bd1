"""Where a block stood in the walk of the block compiler: its rank, and what was left at its turn. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from playground.blocks.compile import CountedBlock, walk_order

__all__ = ["BlockTurn", "block_turn"]


@dataclass(frozen=True, slots=True)
class BlockTurn:
    """The turn of one block that is neither required nor pinned.

    Attributes:
        rank: Its place among those, from 1.
        ranked: How many there are.
        left: What was left of the budget at its turn, in tokens.
        short_by: By how much that was too little, in tokens; 0 when it got in.
    """

    rank: int
    ranked: int
    left: int
    short_by: int


def block_turn(
    block_id: str, blocks: Sequence[CountedBlock], *, budget_tokens: int, forced: Collection[str] = ()
) -> BlockTurn | None:
    """Walk as ``compile_blocks`` does until it is a block's turn. O(n log n).

    Args:
        block_id: Whose turn is sought.
        blocks: All blocks, in input order.
        budget_tokens: What they may cost together, in tokens.
        forced: Ids of the blocks that are required or pinned.

    Returns:
        The turn; ``None`` for a forced block, for the id of none, and where the forced ones do not fit.
    """
    left = budget_tokens - sum(one.estimated_tokens for one in blocks if one.id in forced)
    walk = [blocks[place] for place in walk_order(blocks, forced)]
    if left < 0:
        return None
    for rank, one in enumerate(walk, start=1):
        tokens = one.estimated_tokens
        if one.id == block_id:
            return BlockTurn(rank, len(walk), left, max(0, tokens - left))
        left -= tokens if tokens <= left else 0
    return None
