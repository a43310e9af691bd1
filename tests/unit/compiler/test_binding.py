"""What binds, and which change of a knob is advised: both found by real selections."""

from __future__ import annotations

from playground.compiler.binding import binding_constraint, helpful_change, kinder_changes
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextBudget
from playground.compiler.changes import nearest_change
from playground.compiler.compile import compile_offers
from playground.compiler.explain import explain
from playground.compiler.knobs import with_knob
from playground.compiler.offers import CompileInputs, Offers, prepare
from playground.compiler.values import ContextCandidate, SourceResult
from playground.working_memory import create_working_memory


def offers_of(
    *texts: str, kind: str = "rag", room: int = 10_000, goal: str | None = None, **result: int
) -> Offers:
    candidates = tuple(ContextCandidate(str(i), text, 1 - i / 100) for i, text in enumerate(texts))
    source = SourceResult("docs", kind, candidates=candidates, **result)  # type: ignore[arg-type]
    memory = None if goal is None else create_working_memory(scope="t", goal=goal, now=0)
    return prepare(CompileInputs([source], [], room, 0, working_memory=memory))


def limit_of(offers: Offers, budget: ContextBudget) -> str:
    return binding_constraint(offers, compile_offers(offers, budget)).limit


def test_max_tokens_binds_where_it_is_below_what_the_ratio_allows() -> None:
    assert limit_of(offers_of("x" * 3600), ContextBudget(ratio=0.5, max_tokens=500)) == "max_tokens"


def test_the_ratio_binds_where_it_allows_less_than_max_tokens() -> None:
    assert limit_of(offers_of("x" * 3600), ContextBudget(ratio=0.05, max_tokens=8000)) == "ratio"


def test_nothing_binds_where_everything_got_in() -> None:
    assert limit_of(offers_of("short"), DEFAULT_CONTEXT_BUDGET) == "nothing"


def test_the_candidate_limit_binds_where_only_it_left_something_out() -> None:
    assert limit_of(offers_of("one", "two", limit=1), DEFAULT_CONTEXT_BUDGET) == "candidates"


def test_mandatory_content_binds_where_it_takes_the_whole_budget() -> None:
    assert limit_of(offers_of("short", goal="g" * 3000), ContextBudget(max_tokens=300)) == "mandatory"


def test_a_full_request_is_named_as_what_binds() -> None:
    offers = prepare(
        CompileInputs([SourceResult("d", "rag", candidates=(ContextCandidate("1", "x", 1),))], [], 5, 9)
    )
    assert limit_of(offers, DEFAULT_CONTEXT_BUDGET) == "room"


def test_working_memory_binds_where_only_its_own_limit_left_a_line_out() -> None:
    memory = create_working_memory(scope="t", tasks={"list": ["a task", "another task"]}, now=0)
    offers = prepare(CompileInputs([], [], 10_000, 0, working_memory=memory))
    assert limit_of(offers, ContextBudget(working_memory_tokens=15)) == "working_memory_tokens"


def test_the_panel_prefers_to_loosen_a_limit_and_names_the_record() -> None:
    offers = offers_of("x" * 1800, "y" * 1800)
    budget = ContextBudget(max_tokens=700)
    binding = binding_constraint(offers, compile_offers(offers, budget))
    assert binding.record == ("docs", "1")
    assert binding.left_out == {"budget": 1}
    assert binding.left_out_for_budget == {"rag": 1}
    change = next(change for change in binding.changes if change.knob == "max_tokens")
    assert change.needed is not None
    assert change.needed > 700


def test_the_advice_costs_no_other_record_where_a_change_without_a_loss_exists() -> None:
    # The second record needs 400 more tokens than are left; before that a larger budget only swaps records.
    offers = offers_of("a" * 720, "b" * 2160, "c" * 700)
    budget = ContextBudget(max_tokens=600)
    candidate = 1
    swap = nearest_change(offers, budget, candidate, "max_tokens")
    advice = helpful_change(offers, budget, candidate, "max_tokens")
    assert swap.drops == (("docs", "2"),)
    assert advice.drops == ()
    assert advice.needed is not None
    assert swap.needed is not None
    assert advice.needed > swap.needed
    kept = compile_offers(offers, with_knob(budget, "max_tokens", advice.needed)).manifest
    assert all(entry.selected for entry in kept.entries)


def test_what_a_change_would_drop_is_named_where_nothing_else_helps() -> None:
    offers = offers_of("a" * 720, "b" * 2160, "c" * 700, room=950)
    budget = ContextBudget(ratio=0.7, max_tokens=8_000)
    advice = helpful_change(offers, budget, 1, "ratio")
    assert advice.needed is not None
    assert advice.drops == (("docs", "2"),)


def test_a_tighter_limit_is_advised_only_where_no_looser_one_helps() -> None:
    # The third record fits as soon as the budget is too small for the second.
    offers = offers_of("a" * 720, "b" * 1440, "c" * 700, room=850)
    budget = ContextBudget(ratio=0.9, max_tokens=8_000)
    advice = helpful_change(offers, budget, 2, "ratio")
    assert advice.needed is not None
    assert advice.needed < 0.9
    assert advice.drops == (("docs", "1"),)
    kept = compile_offers(offers, with_knob(budget, "ratio", advice.needed)).manifest.entries
    less = compile_offers(offers, with_knob(budget, "ratio", advice.needed + 0.0001)).manifest.entries
    assert (kept[2].selected, less[2].selected) == (True, False)


def test_a_kinder_change_is_named_for_each_knob_whose_nearest_change_costs_a_record() -> None:
    offers = offers_of("a" * 720, "b" * 2160, "c" * 700, goal="A goal.")
    budget = ContextBudget(max_tokens=600)
    package = compile_offers(offers, budget)
    number = next(i for i, entry in enumerate(package.manifest.entries) if entry.record_id == "1")
    nearest = explain(offers, package, number).changes
    costly = {change.knob: change.needed for change in nearest if change.drops}
    kinder = list(kinder_changes(offers, package, number, nearest))
    assert "max_tokens" in [change.knob for change in kinder]
    for change in kinder:
        assert change.drops == ()
        assert change.needed is not None
        near = costly[change.knob]
        assert near is not None
        assert abs(change.needed - (change.current or 0)) > abs(near - (change.current or 0))
        after = compile_offers(offers, with_knob(budget, change.knob, change.needed)).manifest.entries
        assert after.column("selected")[number]
        assert all(
            new >= old
            for new, old in zip(
                after.column("selected"), package.manifest.entries.column("selected"), strict=True
            )
        )
