from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from playground.blocks import BlockBudgetError, ContextBlock, CountedBlock, compile_blocks
from playground.blocks.turns import BlockTurn, block_turn
from tests.property.strategies import examples

COUNTED = tuple(
    CountedBlock(ContextBlock(name, "memory", "test", "user", name, priority, name == "must"), tokens)
    for name, tokens, priority in (("low", 4, 10.0), ("must", 4, 0.0), ("high", 5, 90.0), ("tie", 2, 10.0))
)
FORCED = frozenset({"must"})


def test_a_turn_says_rank_and_what_was_left_and_how_much_was_missing() -> None:
    turns = {one.id: block_turn(one.id, COUNTED, budget_tokens=12, forced=FORCED) for one in COUNTED}
    assert turns == {
        "high": BlockTurn(1, 3, left=8, short_by=0),
        "low": BlockTurn(2, 3, left=3, short_by=1),
        "tie": BlockTurn(3, 3, left=3, short_by=0),  # of equal priorities the first in the input goes first
        "must": None,
    }


def test_there_is_no_turn_where_forced_blocks_do_not_fit_and_for_the_id_of_none() -> None:
    assert block_turn("high", COUNTED, budget_tokens=3, forced=FORCED) is None
    assert block_turn("nobody", COUNTED, budget_tokens=100, forced=FORCED) is None


@examples(200)
@given(
    sizes=st.lists(st.tuples(st.integers(1, 12), st.integers(0, 3), st.booleans()), min_size=1, max_size=12),
    budget=st.integers(1, 60),
)
def test_a_block_got_in_exactly_when_nothing_was_missing_at_its_turn(
    sizes: list[tuple[int, int, bool]], budget: int
) -> None:
    blocks = [
        ContextBlock(str(number), "memory", "test", "user", "x" * 4 * tokens, float(priority), required)
        for number, (tokens, priority, required) in enumerate(sizes)
    ]
    forced = frozenset(block.id for block in blocks if block.required)
    everything = compile_blocks(blocks, budget_tokens=10_000).included
    turns = {one.id: block_turn(one.id, everything, budget_tokens=budget, forced=forced) for one in everything}
    try:
        made = compile_blocks(blocks, budget_tokens=budget)
    except BlockBudgetError:
        assert set(turns.values()) == {None}
        return
    fits = {block_id for block_id, turn in turns.items() if turn is not None and not turn.short_by}
    assert fits == {one.id for one in made.included} - forced
