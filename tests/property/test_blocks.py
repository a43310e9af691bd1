"""What holds of every list of blocks, whatever its texts, budget and estimator."""

from __future__ import annotations

import copy
import json
import math

from hypothesis import given
from hypothesis import strategies as st

from playground import TokenEstimator
from playground.blocks import (
    BLOCK_KINDS,
    BLOCK_ROLES,
    BlockBudgetError,
    CompiledBlocks,
    ContextBlock,
    approximate_token_estimator,
    compile_blocks,
)
from tests.property.strategies import ANY_TEXT, estimators, examples

PRIORITIES = st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
BUDGETS = st.integers(1, 60) | st.integers(1, 2**53)


@st.composite
def block_lists(draw: st.DrawFn) -> list[ContextBlock]:
    """Blocks with unique ids; few kinds and priorities, so that they often share one."""
    ids = draw(st.lists(st.text(st.characters(codec=None), min_size=1), max_size=9, unique=True))
    return [
        ContextBlock(
            id=block_id,
            kind=draw(st.sampled_from(BLOCK_KINDS)),
            source=draw(ANY_TEXT),
            role=draw(st.sampled_from(BLOCK_ROLES)),
            content=draw(ANY_TEXT | st.text("ab", max_size=60)),
            priority=draw(PRIORITIES),
            required=draw(st.sampled_from([False, False, True])),
            retention_reason=draw(ANY_TEXT),
        )
        for block_id in ids
    ]


BLOCKS = block_lists()


def counted_slowly(text: str) -> int:
    """The documented default estimate, a character at a time."""
    outside = sum(1 for character in text if ord(character) > 127)
    return max(1, math.ceil((len(text) - outside) / 4) + 2 * outside)


def chosen_slowly(blocks: list[ContextBlock], budget: int, pinned: set[str]) -> list[str] | tuple[int, int]:
    """The documented walk, word by word: ids that are included, or what an error says."""
    inside = [block for block in blocks if block.required or block.id in pinned]
    needed = sum(counted_slowly(block.content) for block in inside)
    if needed > budget:
        return needed, budget
    waiting = [block for block in blocks if block not in inside]
    while waiting:
        highest = max(block.priority for block in waiting)
        block = next(block for block in waiting if block.priority == highest)
        waiting.remove(block)
        spent = sum(counted_slowly(one.content) for one in inside)
        if spent + counted_slowly(block.content) <= budget:
            inside.append(block)
    return [block.id for block in blocks if block in inside]


@st.composite
def pins(draw: st.DrawFn, blocks: list[ContextBlock]) -> set[str]:
    known = [block.id for block in blocks]
    return draw(st.sets(st.sampled_from(known), max_size=3) if known else st.just(set())) | draw(
        st.sets(st.sampled_from(["nobody", ""]))
    )


@examples(300)
@given(st.data(), BLOCKS, BUDGETS)
def test_it_agrees_with_the_rules_taken_word_by_word(
    data: st.DataObject, blocks: list[ContextBlock], budget: int
) -> None:
    pinned = data.draw(pins(blocks))
    try:
        compiled = compile_blocks(blocks, budget_tokens=budget, pinned_optional_ids=pinned)
        outcome: object = [one.id for one in compiled.included]
    except BlockBudgetError as error:
        outcome = (error.required_tokens, error.budget_tokens)
    assert outcome == chosen_slowly(blocks, budget, pinned)


@examples(200)
@given(st.data(), BLOCKS, BUDGETS, estimators())
def test_the_budget_is_never_passed_and_what_is_forced_is_always_in(
    data: st.DataObject, blocks: list[ContextBlock], budget: int, estimator: TokenEstimator
) -> None:
    pinned = data.draw(pins(blocks))
    forced = {block.id for block in blocks if block.required or block.id in pinned}
    try:
        compiled = compile_blocks(blocks, budget_tokens=budget, estimator=estimator, pinned_optional_ids=pinned)
    except BlockBudgetError as error:
        refused = error
        assert refused.required_tokens > refused.budget_tokens == budget
        return
    assert sum(one.estimated_tokens for one in compiled.included) == compiled.estimated_tokens <= budget
    assert forced <= {one.id for one in compiled.included}
    _check_whole(blocks, compiled)


def _check_whole(blocks: list[ContextBlock], compiled: CompiledBlocks) -> None:
    """Every block is in or out, in input order, and counted once."""
    inside = {one.id for one in compiled.included}
    assert [one.block for one in compiled.included] == [block for block in blocks if block.id in inside]
    assert [one.block for one in compiled.omitted] == [block for block in blocks if block.id not in inside]
    assert [message.content[0].text for message in compiled.messages] == [  # type: ignore[union-attr]
        one.content for one in compiled.included
    ]
    assert [row.kind for row in compiled.block_stats] == list(dict.fromkeys(block.kind for block in blocks))
    for row in compiled.block_stats:
        for counted, count, tokens in (
            (compiled.included, row.included_count, row.included_tokens),
            (compiled.omitted, row.omitted_count, row.omitted_tokens),
        ):
            costs = [one.estimated_tokens for one in counted if one.kind == row.kind]
            assert (len(costs), sum(costs)) == (count, tokens)


@examples(150)
@given(BLOCKS, st.integers(1, 10**6))
def test_equal_input_gives_equal_bytes_and_is_not_changed(blocks: list[ContextBlock], more: int) -> None:
    needed = sum(counted_slowly(block.content) for block in blocks if block.required)
    before, again = copy.deepcopy(blocks), copy.deepcopy(blocks)
    pinned: list[str] = []
    first = compile_blocks(blocks, budget_tokens=needed + more, pinned_optional_ids=pinned)
    assert (blocks, pinned) == (before, [])
    second = compile_blocks(again, budget_tokens=needed + more)
    assert second == first
    assert second.to_json().encode() == first.to_json().encode()
    assert json.loads(first.to_json())["budgetTokens"] == needed + more


@examples(150)
@given(BLOCKS, st.integers(1, 40), st.integers(0, 40))
def test_a_larger_budget_is_never_worse_in_the_order_of_the_walk(
    blocks: list[ContextBlock], budget: int, more: int
) -> None:
    optional = [block for block in blocks if not block.required]
    walk = sorted(optional, key=lambda block: -block.priority)  # stable: ties in input order

    def taken(tokens: int) -> list[bool]:
        inside = {one.id for one in compile_blocks(optional, budget_tokens=tokens).included}
        return [block.id in inside for block in walk]

    assert taken(budget + more) >= taken(budget)


@examples(300)
@given(ANY_TEXT | st.text(st.characters(codec=None)))
def test_the_default_estimate_counts_code_points(text: str) -> None:
    assert approximate_token_estimator.estimate(text) == counted_slowly(text)
