from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground import (
    ContextBudgetExceededError,
    ContextPackage,
    InvalidInputError,
    TokenEstimator,
    compile_context,
)
from playground.blocks import (
    BlockBudgetError,
    BudgetNeeded,
    CompiledBlocks,
    ContextBlock,
    approximate_token_estimator,
    blocks_from_package,
    compile_blocks,
)
from playground.blocks.side_by_side import (
    Origin,
    SideBySide,
    approximate_estimator,
    compile_side_by_side,
    smallest_budget,
)
from playground.messages import Message
from playground.workspace import ask_sources, compile_answers, load_project
from tests.property.strategies import examples


def own(block_id: str, tokens: int, priority: float, kind: str = "memory", **more: Any) -> ContextBlock:
    text = f"{block_id} ".ljust(4 * tokens, "x")
    return ContextBlock(block_id, kind, "caller", "user", text, priority, **more)  # type: ignore[arg-type]


MIXED = [
    own("rule", 10, 0, "constitution", required=True),
    own("memory", 20, 0.9),
    own("passage", 30, 0.8, "workspace"),
    own("message", 40, 0.7, "recent"),
]


def kept(result: CompiledBlocks | BlockBudgetError) -> list[str]:
    assert isinstance(result, CompiledBlocks)
    return [block.id for block in result.included]


def selected(both: SideBySide) -> set[str]:
    """Ids of the blocks that the context compiler keeps."""
    assert isinstance(both.context, ContextPackage)
    return {both.material.ids[pair] for pair in both.context.manifest.entries.selected_records()}


def test_each_compiler_gets_the_whole_budget_and_the_same_estimator() -> None:
    both = compile_side_by_side(MIXED, budget_tokens=250)
    assert kept(both.blocks) == ["rule", "memory", "passage", "message"]
    assert [block.estimated_tokens for block in both.counted] == [10, 20, 30, 40]
    assert isinstance(both.context, ContextPackage)
    budget = both.context.manifest.budget
    assert (budget.context_tokens, budget.input_tokens, budget.used_tokens) == (250, 250, 0)
    text = both.context.blocks[0].text
    assert budget.selected_tokens == 4 + approximate_token_estimator(text) <= 250


def test_what_is_pinned_is_mandatory_for_both() -> None:
    free = compile_side_by_side(MIXED, budget_tokens=170)
    both = compile_side_by_side(MIXED, budget_tokens=170, pinned_optional_ids=["message", "nobody"])
    assert sorted(both.forced) == ["message", "rule"]
    assert sorted(free.forced) == ["rule"]
    assert "message" in kept(both.blocks)
    assert "message" in selected(both)
    assert "message" not in selected(free)
    assert isinstance(both.context, ContextPackage)
    reasons = {entry.record_id: entry.reason for entry in both.context.manifest.entries}
    assert (reasons["rule"], reasons["message"]) == ("mandatory", "mandatory")


def test_each_says_for_itself_that_forced_blocks_do_not_fit() -> None:
    tight = compile_side_by_side(MIXED, budget_tokens=11)
    assert kept(tight.blocks) == ["rule"]
    assert isinstance(tight.context, ContextBudgetExceededError)
    assert tight.context.available_tokens == 11 < tight.context.required_tokens
    none = compile_side_by_side(MIXED, budget_tokens=9)
    assert isinstance(none.blocks, BlockBudgetError)
    assert (none.blocks.required_tokens, none.blocks.budget_tokens) == (10, 9)
    assert [block.id for block in none.counted] == ["rule", "memory", "passage", "message"]


def test_shares_and_working_memory_are_the_context_compilers() -> None:
    shares = {"memory": 1, "rag": 0, "transcript": 0, "skills": 0}
    both = compile_side_by_side(MIXED, budget_tokens=200, shares=shares, working_memory_tokens=7)
    assert isinstance(both.context, ContextPackage)
    assert both.context.manifest.budget.working_memory_tokens == 7
    assert both.context.manifest.budget.share_ratios.memory == 1


@pytest.mark.parametrize("blocks", [[own("a", 1, 1), own("a", 1, 1)], [own("a", 1, float("nan"))], ["x"]])
def test_a_faulty_block_is_an_input_error(blocks: Any) -> None:
    with pytest.raises(InvalidInputError):
        compile_side_by_side(blocks, budget_tokens=9)


@pytest.mark.parametrize("budget", [0, True, 1.5, None])
def test_a_faulty_budget_is_an_input_error(budget: Any) -> None:
    with pytest.raises(InvalidInputError, match="budget_tokens"):
        compile_side_by_side(MIXED, budget_tokens=budget)


@pytest.mark.parametrize("pins", ["rule", [5], None])
def test_faulty_pins_are_an_input_error(pins: Any) -> None:
    with pytest.raises(InvalidInputError, match="pinned id"):
        compile_side_by_side(MIXED, budget_tokens=99, pinned_optional_ids=pins)


@pytest.mark.parametrize(
    "estimator", [approximate_token_estimator, len, "heuristic"], ids=["texts", "len", "name"]
)
def test_an_estimator_of_texts_alone_is_an_input_error_that_names_the_other(estimator: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"approximate_estimator\(\)"):
        compile_side_by_side(MIXED, budget_tokens=99, estimator=estimator)


@pytest.mark.parametrize("tokens", [900, 2_000, 8_000])
@pytest.mark.parametrize("name", ["bank-support", "deploy-demo"])
def test_the_blocks_of_a_compile_compile_as_that_compile_did(name: str, tokens: int) -> None:
    """The numbers beside the blocks are those of the Compile page at the same budget."""
    project = load_project(name)
    results = ask_sources(project, mode="lexical")
    package = compile_answers(project, results)
    memory = project.working_memory
    both = compile_side_by_side(
        blocks_from_package(package, results=results, working_memory=memory),
        budget_tokens=tokens,
        estimator=TokenEstimator(),
        shares=project.budget.shares,
        working_memory_tokens=project.budget.working_memory_tokens,
        origin=Origin(package, results, memory),
    )
    alone = compile_context(
        results=results,
        messages=(),
        input_tokens=tokens,
        used_tokens=0,
        budget={**project.budget.model_dump(), "ratio": 1, "max_tokens": tokens},
        working_memory=memory,
    )
    assert isinstance(both.context, ContextPackage)
    assert both.context.xml == alone.xml
    assert both.context.manifest.budget == alone.manifest.budget
    known = {both.material.ids.get((entry.source, entry.record_id)) for entry in both.context.manifest.entries}
    assert known == {block.id for block in both.counted}


@examples(100)
@given(st.text(), st.text())
def test_the_approximate_estimator_of_messages_counts_texts_as_that_of_blocks(one: str, two: str) -> None:
    estimator = approximate_estimator()
    counts = [approximate_token_estimator(text) if text else 0 for text in (one, two)]
    assert estimator.estimate([Message("user", one), Message("user", two)]) == 8 + sum(counts)
    assert estimator.for_text().estimate(one) == approximate_token_estimator(one)
    assert estimator.name == "approximate"


# The smallest budget that lets a block in.


def test_the_smallest_budget_is_told_where_a_larger_one_leaves_the_block_out() -> None:
    """Budgets hold 5, 3 and 2 in this order: at 6 and 7 the 3 does not fit any more, from 8 on it does."""
    blocks = compile_blocks([own("5", 5, 3), own("3", 3, 2), own("2", 2, 1)], budget_tokens=99).included
    found = [smallest_budget("3", blocks, above=above) for above in (1, 3, 4, 5, 7, 8, 9)]
    assert found == list(map(BudgetNeeded, (3, 3, 4, 8, 8, 8, 9)))
    assert smallest_budget("nobody", blocks, above=1) is None


def test_a_forced_block_needs_what_all_forced_ones_need() -> None:
    blocks = compile_blocks([own("a", 5, 0), own("b", 7, 0)], budget_tokens=99).included
    assert smallest_budget("a", blocks, above=1, forced=["a", "b"]) == BudgetNeeded(12)
    assert smallest_budget("a", blocks, above=20, forced=["a", "b"]) == BudgetNeeded(20)
    assert smallest_budget("a", blocks, above=1, forced=["b"]) == BudgetNeeded(12)


@examples(200)
@given(
    st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3), st.booleans()), min_size=1, max_size=7),
    st.integers(1, 40),
    st.data(),
)
def test_no_smaller_budget_lets_it_in(
    costs: list[tuple[int, int, bool]], above: int, data: st.DataObject
) -> None:
    blocks = [own(f"{n}", cost + 1, priority) for n, (cost, priority, _) in enumerate(costs)]
    pinned = [f"{n}" for n, (_, _, must) in enumerate(costs) if must]
    counted = compile_blocks(blocks, budget_tokens=999).included
    wanted = data.draw(st.sampled_from([block.id for block in blocks]))
    found = smallest_budget(wanted, counted, above=above, forced=pinned)
    assert found is not None
    assert found.exact

    def lets_in(budget: int) -> bool:
        try:
            return wanted in kept(compile_blocks(blocks, budget_tokens=budget, pinned_optional_ids=pinned))
        except BlockBudgetError:
            return False

    assert lets_in(found.tokens)
    assert not any(map(lets_in, range(above, found.tokens)))


def test_a_search_that_takes_too_long_ends_with_a_budget_that_surely_suffices() -> None:
    random = Random(1)
    costs = [random.randint(3, 60) for _ in range(3_000)]
    offered = [own(f"{n}", cost, 3_000 - n) for n, cost in enumerate(costs)]
    last = own("last", 900, -1)
    counted = compile_blocks([*offered, last], budget_tokens=1).omitted
    found = smallest_budget("last", counted, above=1_000)
    assert found == BudgetNeeded(sum(costs) + 900, exact=False)
    assert "last" in kept(compile_blocks([*offered, last], budget_tokens=found.tokens))
    assert smallest_budget("last", counted, above=10**9) == BudgetNeeded(10**9)
