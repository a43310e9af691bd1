"""The two compilers on the same material: the same budget, the same estimator, what each keeps. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from playground.blocks.compile import (
    CompiledBlocks,
    ContextBlock,
    CountedBlock,
    approximate_token_estimator,
    checked_pins,
    count_blocks,
    select_blocks,
    walk_order,
)
from playground.blocks.material import ContextMaterial, material_from_blocks
from playground.blocks.package import package_records
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget, ContextShares
from playground.compiler.compile import compile_context
from playground.compiler.values import ContextPackage, SourceResult
from playground.errors import BlockBudgetError, ContextBudgetExceededError, InvalidInputError
from playground.messages import Message
from playground.tokens import TokenEstimator, message_tokens
from playground.values import LARGEST_WHOLE_NUMBER, whole_number
from playground.working_memory.snapshot import WorkingMemorySnapshot

__all__ = [
    "BudgetNeeded",
    "Origin",
    "SideBySide",
    "approximate_estimator",
    "compile_side_by_side",
    "smallest_budget",
]

MOST_WALKED = 2_000_000  # blocks; about a tenth of a second


@dataclass(frozen=True, slots=True)
class Origin:
    """The compile that blocks came from."""

    package: ContextPackage
    results: tuple[SourceResult, ...]
    working_memory: WorkingMemorySnapshot | None = None


@dataclass(frozen=True, slots=True)
class BudgetNeeded:
    """A budget that lets a block in.

    Attributes:
        tokens: The budget, in tokens.
        exact: Whether no smaller one of those looked for does; otherwise a smaller one may.
    """

    tokens: int
    exact: bool = True


@dataclass(frozen=True, slots=True, weakref_slot=True)
class SideBySide:
    """What came of the same blocks in either compiler.

    Attributes:
        counted: The blocks in input order, with what each costs.
        forced: Ids of those that are required or pinned.
        blocks: What the block compiler made of them, or why it could not.
        material: The same blocks as the context compiler was given them.
        context: What the context compiler made of that, or why it could not.
    """

    counted: tuple[CountedBlock, ...]
    forced: frozenset[str]
    blocks: CompiledBlocks | BlockBudgetError
    material: ContextMaterial
    context: ContextPackage | ContextBudgetExceededError


def compile_side_by_side(
    blocks: Iterable[ContextBlock],
    *,
    budget_tokens: int,
    estimator: TokenEstimator | None = None,
    pinned_optional_ids: Iterable[str] = (),
    shares: ContextShares | Mapping[str, float] = DEFAULT_CONTEXT_BUDGET.shares,
    working_memory_tokens: int = DEFAULT_CONTEXT_BUDGET.working_memory_tokens,
    origin: Origin | None = None,
) -> SideBySide:
    """Compile blocks by both compilers, each with the whole budget and the same estimator. O(n log n).

    Args:
        blocks: As for ``compile_blocks``.
        budget_tokens: What either may add, in tokens, above zero. The context compiler pays its tags out of it.
        estimator: Counts for both; ``approximate_estimator`` by default.
        pinned_optional_ids: Ids of optional blocks that must be in; mandatory for the context compiler too.
        shares: How the context compiler divides the budget among kinds.
        working_memory_tokens: What its optional working memory may take, in tokens.
        origin: The compile that the blocks came from; those of it become again what they were there.

    Raises:
        InvalidInputError: As ``compile_blocks``, ``blocks_from_package`` and ``ContextBudget`` do.
    """
    estimator = approximate_estimator() if estimator is None else estimator
    if not isinstance(estimator, TokenEstimator):
        raise InvalidInputError(
            f"The estimator is a {type(estimator).__name__}, which counts no messages.",
            remedy="Pass a TokenEstimator; approximate_estimator() counts as approximate_token_estimator does.",
        )
    budget = whole_number(budget_tokens, "budget_tokens", least=1)
    counted = count_blocks(blocks, estimator)
    pinned = checked_pins(pinned_optional_ids)
    made: CompiledBlocks | BlockBudgetError
    try:
        made = select_blocks(counted, budget_tokens=budget, pinned=pinned)
    except BlockBudgetError as error:
        made = error
    offered = [one.block for one in counted]
    forced = frozenset(one.id for one in offered if one.required or one.id in pinned)
    material = _material(offered, forced, origin)
    return SideBySide(
        counted=counted,
        forced=forced,
        blocks=made,
        material=material,
        context=_context(
            material,
            budget,
            estimator,
            ContextBudget.parse(
                {
                    "ratio": 1,
                    "max_tokens": budget,
                    "working_memory_tokens": working_memory_tokens,
                    "shares": shares,
                }
            ),
        ),
    )


def approximate_estimator() -> TokenEstimator:
    """Return an estimator of messages that counts their texts as ``approximate_token_estimator`` does."""
    return TokenEstimator(_approximate_tokens, name="approximate")


def smallest_budget(
    block_id: str, blocks: Sequence[CountedBlock], *, above: int, forced: Iterable[str] = ()
) -> BudgetNeeded | None:
    """Find the smallest budget from ``above`` on at which the block compiler includes a block.

    The walk is repeated at every budget at which it changes, since a larger budget may leave a block out that a
    smaller one holds. O(blocks) a change; no more than about two million blocks are walked over.

    Args:
        block_id: Whose budget is sought.
        blocks: All blocks, in input order.
        above: Where the search begins, in tokens.
        forced: Ids of the blocks that are required or pinned.

    Returns:
        The budget, exact where it was found in time; otherwise one that holds the block and all that go before
        it. ``None`` when there is no such block.
    """
    must = frozenset(forced)
    needed = sum(one.estimated_tokens for one in blocks if one.id in must)
    budget = max(above, needed)
    if block_id in must:
        return BudgetNeeded(budget)
    walk = [blocks[place] for place in walk_order(blocks, must)]
    place = next((place for place, one in enumerate(walk) if one.id == block_id), None)
    if place is None:
        return None
    wanted = walk[place].estimated_tokens
    before = [one.estimated_tokens for one in walk[:place]]
    for _ in range(MOST_WALKED // len(walk) + 1):
        remaining, missing = budget - needed, LARGEST_WHOLE_NUMBER
        for cost in before:
            if remaining < wanted:
                break  # it only falls from here
            if cost <= remaining:
                remaining -= cost
            else:
                missing = min(missing, cost - remaining)
        if remaining >= wanted:
            return BudgetNeeded(budget)
        budget += min(missing, wanted - remaining)
    return BudgetNeeded(max(above, needed + sum(before) + wanted), exact=False)


def _approximate_tokens(messages: Sequence[Message]) -> float:
    return message_tokens(messages, lambda text: approximate_token_estimator.estimate(text) if text else 0)


def _material(blocks: Sequence[ContextBlock], forced: frozenset[str], origin: Origin | None) -> ContextMaterial:
    if origin is None:
        return material_from_blocks(blocks, forced=forced)
    memory = origin.working_memory
    records = package_records(origin.package, results=origin.results, working_memory=memory)
    return material_from_blocks(
        blocks, forced=forced, records=records, results=origin.results, working_memory=memory
    )


def _context(
    material: ContextMaterial, tokens: int, estimator: TokenEstimator, budget: ContextBudget
) -> ContextPackage | ContextBudgetExceededError:
    try:
        return compile_context(
            results=material.results,
            messages=(),
            input_tokens=tokens,
            used_tokens=0,
            budget=budget,
            working_memory=material.working_memory,
            estimator=estimator,
        )
    except ContextBudgetExceededError as error:
        return error
