"""The header strip."""

from __future__ import annotations

from decimal import Decimal

from playground.compiler.binding import binding_constraint
from playground.views.strip import StripCell, StripView, strip_view
from tests.unit.views.compiles import offers, package


def strip(limit: int | None = None, *, tokenizer: str | None = "o200k_base", **budget: float) -> StripView:
    prepared = offers(limit=limit)
    compiled = package(prepared, **budget)
    binding = binding_constraint(prepared, compiled)
    return strip_view(
        compiled.manifest,
        binding,
        estimator="heuristic",
        tokenizer=tokenizer,
        error=0.0412,
        cost=Decimal("0.19776"),
    )


def cell(view: StripView, label: str) -> StripCell:
    return next(cell for cell in view.cells if cell.label == label)


def test_used_and_budget_stand_in_the_first_cell_with_a_bar_that_adds_up() -> None:
    view = strip(max_tokens=1_000)
    used, budget = (
        int(part.replace(",", "")) for part in (view.cells[0].value, view.cells[0].rest.strip(" /"))
    )
    assert budget == 1_000
    assert sum(segment.width for segment in view.segments) * budget == used
    assert [segment.slot for segment in view.segments] == ["memory", "rag", "total"]
    assert all(segment.description.endswith(" tokens") for segment in view.segments)


def test_what_binds_names_the_limit_and_what_the_other_one_would_allow() -> None:
    assert cell(strip(max_tokens=1_000), "What binds").value == "Max tokens"
    assert cell(strip(max_tokens=1_000), "What binds").note == "ratio would allow 24,875"
    ratio = cell(strip(ratio=0.01), "What binds")
    assert (ratio.value, ratio.note, ratio.short_note) == (
        "Ratio",
        "max tokens would allow 8,192",
        "max tokens 8,192",
    )


def test_the_candidate_limit_binds_when_all_that_was_considered_fits() -> None:
    found = cell(strip(limit=3, max_tokens=8_000), "What binds")
    assert (found.value, found.note) == ("Candidate limit", "9 records beyond it")


def test_nothing_binds_when_everything_fits() -> None:
    assert cell(strip(max_tokens=8_000), "What binds").value == "Nothing"
    assert cell(strip(max_tokens=8_000), "Selected / excluded").note == "nothing left out"


def test_selected_and_excluded_come_with_the_reasons_most_frequent_first() -> None:
    view = strip(limit=11, max_tokens=1_000)
    found = cell(view, "Selected / excluded")
    assert found.note == "6 budget, 1 limit"
    assert found.short_note == "6 budget"
    assert int(found.value) + int(found.rest.strip(" /")) == 14


def test_the_estimator_shows_its_error_against_a_named_tokenizer() -> None:
    assert cell(strip(), "Estimator").note == "+4.1% against o200k_base"
    assert cell(strip(), "Estimator").short_note == "+4.1% error"
    assert cell(strip(tokenizer=None), "Estimator").note == "counts real tokens"


def test_a_call_costs_what_request_and_context_take_together() -> None:
    view = strip(max_tokens=1_000)
    used = int(view.cells[0].value.replace(",", ""))
    found = cell(view, "Cost per call")
    assert (found.value, found.note) == ("$0.1978", f"{500 + used:,} input tokens")


def test_an_unknown_price_is_a_dash_and_says_so() -> None:
    prepared = offers()
    compiled = package(prepared)
    binding = binding_constraint(prepared, compiled)
    view = strip_view(compiled.manifest, binding, estimator="x", tokenizer=None, error=None, cost=None)
    assert cell(view, "Cost per call").value == "–"
    assert cell(view, "Cost per call").note.endswith("no price known")


def test_numbers_above_their_limit_are_marked() -> None:
    assert strip(max_tokens=1_000).cells[0].over == ""
    prepared = offers()
    compiled = package(prepared, max_tokens=1_000)
    binding = binding_constraint(prepared, compiled)
    budget = compiled.manifest.budget.model_copy(update={"context_tokens": 10})
    above = compiled.manifest.model_copy(update={"budget": budget})
    view = strip_view(above, binding, estimator="x", tokenizer=None, error=None, cost=None)
    assert view.cells[0].over == "over"
