"""The panel that says what binds and what would relax it."""

from __future__ import annotations

from playground.compiler.budget import ContextBudget
from playground.compiler.compile import compile_offers
from playground.compiler.explain import Knob, binding_constraint
from playground.views.binding import BindingView, binding_view
from playground.views.knobs import KNOBS, budget_of
from tests.unit.views.compiles import offers, package

DEFAULTS: dict[Knob, float] = {knob: spec.default for knob, spec in KNOBS.items()}


def view(
    *, documents: int = 12, limit: int | None = None, input_tokens: int = 100_000, **positions: float
) -> BindingView:
    prepared = offers(documents=documents, limit=limit, input_tokens=input_tokens)
    stand: dict[Knob, float] = {**DEFAULTS, **positions}  # type: ignore[dict-item]  # keyword names are knobs
    budget = budget_of(stand)
    compiled = compile_offers(prepared, budget)
    binding = binding_constraint(prepared, budget, compiled.manifest)

    def lets_in(knob: Knob, position: float) -> bool:
        turned = compile_offers(prepared, budget_of({**stand, knob: position}))
        return any(
            entry.selected and (entry.source, entry.record_id) == binding.record
            for entry in turned.manifest.entries
        )

    return binding_view(
        binding,
        compiled.manifest,
        title=lambda _, record_id: f"Chunk {record_id}",
        positions=stand,
        lets_in=lets_in,
    )


def text(found: BindingView) -> str:
    return "".join(part for part, _ in found.sentence)


def bold(found: BindingView) -> list[str]:
    return [part for part, is_bold in found.sentence if is_bold]


def test_the_sentence_names_both_limits_and_counts_what_did_not_fit() -> None:
    found = view(max_tokens=1_024)
    assert found.title == "Max tokens binds"
    assert bold(found) == ["24,875", "1,024"]
    assert text(found) == (
        "The ratio would allow 24,875 tokens; max tokens stops at 1,024. "
        "6 of 14 candidates did not fit, all of them documents."
    )


def test_the_first_row_is_the_limit_that_binds_and_names_the_record_it_lets_in() -> None:
    found = view(max_tokens=1_024)
    assert found.rows[0].name == "Max tokens"
    assert found.rows[0].change.startswith("1,024 → 1,")
    assert found.rows[0].lets_in.startswith("Chunk ")


def test_the_button_sets_a_position_the_control_has_and_it_really_lets_the_record_in() -> None:
    found = view(max_tokens=1_024)
    assert found.action is not None
    assert found.action.knob == "max_tokens"
    assert found.action.position % KNOBS["max_tokens"].step == 0
    assert found.action.label == f"Set max tokens to {found.action.position:,.0f}"


def test_knobs_without_effect_stand_in_one_row() -> None:
    assert view(max_tokens=1_024).idle.startswith("Ratio, working memory")


def test_the_ratio_binds_when_max_tokens_would_allow_more() -> None:
    found = view(ratio=0.01)
    assert found.title == "Ratio binds"
    assert bold(found) == ["8,192", "995"]
    assert found.rows[0].name == "Ratio"


def test_nothing_to_relax_when_everything_fits() -> None:
    found = view(documents=3)
    assert found.title == "Nothing binds"
    assert (found.rows, found.action, found.idle) == ((), None, "")
    assert text(found).startswith("Everything offered is in, with ")


def test_the_candidate_limit_is_named_when_it_alone_cuts() -> None:
    found = view(limit=3)
    assert found.title == "Candidate limit binds"
    assert bold(found) == ["9 records"]


def test_a_full_window_says_what_the_request_takes() -> None:
    found = view(input_tokens=400)
    assert found.title == "Window binds"
    assert bold(found) == ["500", "400"]


def test_a_single_record_left_out_reads_as_a_sentence() -> None:
    prepared = offers(documents=2)
    compiled = package(prepared, max_tokens=260)
    binding = binding_constraint(prepared, ContextBudget(max_tokens=260), compiled.manifest)
    found = binding_view(
        binding, compiled.manifest, title=lambda *_: "x", positions=DEFAULTS, lets_in=lambda *_: False
    )
    assert text(found).endswith("1 of 4 candidates did not fit, a document.")
    assert found.action is None
