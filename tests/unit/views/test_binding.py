"""The panel that says what binds and what would relax it."""

from __future__ import annotations

import pytest

from playground.compiler.binding import Binding, binding_constraint
from playground.compiler.changes import KnobChange
from playground.compiler.compile import compile_offers
from playground.compiler.knobs import SHARE_KNOBS, Knob
from playground.compiler.offers import Offers
from playground.views.binding import BindingView, binding_view
from playground.views.binding_trial import Positions, Record, trial_of
from playground.views.knob_action import KnobAction, knob_name
from playground.views.knobs import KNOBS, budget_of, effective_shares
from tests.unit.views.compiles import offers, package
from tests.unit.views.manifests import entry, manifest

DEFAULTS: dict[Knob, float] = {knob: spec.default for knob, spec in KNOBS.items()}


def view(
    *, documents: int = 12, limit: int | None = None, input_tokens: int = 100_000, **positions: float
) -> BindingView:
    prepared = offers(documents=documents, limit=limit, input_tokens=input_tokens)
    stand: dict[Knob, float] = {**DEFAULTS, **positions}  # type: ignore[dict-item]  # keyword names are knobs
    budget = budget_of(stand)
    compiled = compile_offers(prepared, budget)
    binding = binding_constraint(prepared, compiled)

    return binding_view(
        binding,
        compiled.manifest,
        title=lambda _, record_id: f"Chunk {record_id}",
        positions=stand,
        trial=trial_of(prepared),
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
    ((knob, position),) = found.action.positions
    assert knob == "max_tokens"
    assert position % KNOBS["max_tokens"].step == 0
    assert found.action.label == f"Set max tokens to {position:,.0f}"


def test_knobs_without_effect_stand_in_one_row() -> None:
    assert view(max_tokens=1_024).idle.startswith("Ratio, working memory")


@pytest.mark.parametrize("max_tokens", [700, 1_024, 1_500])
def test_no_position_of_an_idle_knob_lets_the_record_in_without_a_loss(max_tokens: int) -> None:
    prepared, stand = offers(), {**DEFAULTS, "max_tokens": float(max_tokens)}
    binding = binding_constraint(prepared, compile_offers(prepared, budget_of(stand)))
    trial, names = trial_of(prepared), view(max_tokens=max_tokens).idle.casefold().split(", ")
    idle = [knob for knob in KNOBS if knob_name(knob).casefold() in names]
    assert idle
    for knob in idle:
        spec = KNOBS[knob]
        for steps in range(0, round((spec.most - spec.least) / spec.step) + 1, 5):
            chosen = trial({**stand, knob: spec.least + steps * spec.step})
            assert binding.record not in chosen or not trial(stand) <= chosen


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
    binding = binding_constraint(prepared, compiled)
    found = binding_view(
        binding, compiled.manifest, title=lambda *_: "x", positions=DEFAULTS, trial=lambda _: frozenset()
    )
    assert text(found).endswith("1 of 4 candidates did not fit, a document.")
    assert found.action is None


# What a change costs


def chosen_by(prepared: Offers, stand: dict[Knob, float]) -> set[str]:
    entries = compile_offers(prepared, budget_of(stand)).manifest.entries
    return {entry.record_id for entry in entries if entry.selected}


def pressed(stand: dict[Knob, float], action: KnobAction) -> dict[Knob, float]:
    """Where the controls of the budget stand after a button was pressed."""
    after = dict(stand)
    for knob, position in action.positions:
        assert knob != "candidates"
        after[knob] = position
    return after


@pytest.mark.parametrize("max_tokens", range(384, 3_200, 64))
def test_a_button_without_a_note_never_costs_a_record_and_one_with_a_note_names_it(max_tokens: int) -> None:
    prepared = offers()
    stand: dict[Knob, float] = {**DEFAULTS, "max_tokens": max_tokens}
    found = view(max_tokens=max_tokens)
    if found.action is None:
        assert found.rows == ()
        return
    before = chosen_by(prepared, stand)
    gone = before - chosen_by(prepared, pressed(stand, found.action))
    if len(gone) == 1:
        assert found.action.note == f"Swaps with Chunk {gone.pop()}"
    else:
        assert found.action.note == (f"Drops {len(gone)} records" if gone else "")


def shown(*drops: str, gone_at: set[float] = frozenset()) -> BindingView:  # type: ignore[assignment]  # empty
    """The panel of one change of max tokens to 1,100 that costs records, here and at some positions."""
    data = manifest(
        entry("rag", "1", 200, "ranked"), entry("rag", "2", 200, "ranked"), entry("rag", "3", 300, "budget")
    )
    costs = tuple(("rag", record) for record in drops)
    change = KnobChange("max_tokens", 1_024, 1_100, costs)
    binding = Binding("max_tokens", 1_024, 40_000, 1_024, {"budget": 1}, {"rag": 1}, ("rag", "3"), (change,))

    def trial(positions: Positions) -> frozenset[Record]:
        swaps = positions["max_tokens"] in gone_at
        return frozenset({("rag", "1"), ("rag", "3"), *([] if swaps else [("rag", "2")])})

    stand: dict[Knob, float] = {**DEFAULTS, "max_tokens": 1_024}
    return binding_view(binding, data, title=lambda _, record: f"Chunk {record}", positions=stand, trial=trial)


def test_a_row_says_what_its_change_costs() -> None:
    assert shown().rows[0].swaps == ""
    assert (shown("2").rows[0].swaps, shown("2").rows[0].gone) == ("swaps with Chunk 2", "Chunk 2")
    assert (shown("1", "2").rows[0].swaps, shown("1", "2").rows[0].gone) == (
        "drops 2 records",
        "Chunk 1\nChunk 2",
    )


def test_a_step_that_would_swap_is_passed_over_for_the_next_one() -> None:
    found = shown(gone_at={1_152})
    assert found.action is not None
    assert (found.action.label, found.action.note) == ("Set max tokens to 1,216", "")


def test_where_every_step_swaps_the_button_says_so() -> None:
    found = shown(gone_at=set(range(1_152, 1_152 + 16 * 64, 64)))
    assert found.action is not None
    assert (found.action.label, found.action.note) == ("Set max tokens to 1,152", "Swaps with Chunk 2")


def test_changes_that_cost_nothing_stand_first_and_the_others_are_folded_not_lost() -> None:
    found = view(max_tokens=1_024)
    rows = (*found.rows, *found.more)
    assert len(found.rows) <= 2
    assert [bool(row.swaps) for row in rows] == sorted(bool(row.swaps) for row in rows)


def test_with_ratio_and_max_tokens_at_their_minimum_both_are_named_and_one_click_helps() -> None:
    prepared = offers(input_tokens=10_000)
    stand: dict[Knob, float] = {**DEFAULTS, "ratio": 0.005, "max_tokens": 0}
    found = view(ratio=0.005, max_tokens=0, input_tokens=10_000)
    assert [row.name for row in found.rows] == ["Ratio and max tokens together"]
    assert found.rows[0].change.startswith("0.5% → ")
    assert ", 0 → " in found.rows[0].change
    assert found.idle.startswith("Working memory")
    assert found.action is not None
    assert {knob for knob, _ in found.action.positions} == {"ratio", "max_tokens"}
    assert chosen_by(prepared, pressed(stand, found.action)) > chosen_by(prepared, stand)


def test_a_share_is_written_as_the_sidebar_writes_it() -> None:
    stand: dict[Knob, float] = {**DEFAULTS, "memory_share": 0.52}
    part = effective_shares({kind: stand[knob] for kind, knob in SHARE_KNOBS.items()})["rag"]
    change = KnobChange("rag_share", round(part - 0.0006, 4), 0.4)  # the search counts in coarser units
    binding = Binding("max_tokens", 1_024, 40_000, 1_024, {"budget": 1}, {"rag": 1}, ("rag", "3"), (change,))
    data = manifest(entry("rag", "3", 300, "budget"))
    found = binding_view(
        binding,
        data,
        title=lambda _, record: f"Chunk {record}",
        positions=stand,
        trial=lambda _: frozenset({("rag", "3")}),
    )
    assert found.rows[0].change == f"{part:.1%} → 40.0%"
    assert found.action is not None
    moved = pressed(stand, found.action)
    after = effective_shares({kind: moved[share] for kind, share in SHARE_KNOBS.items()})
    assert found.action.label == f"Set documents share to {after['rag']:.1%}"


def test_a_value_that_no_position_of_the_control_reaches_is_not_offered() -> None:
    change = KnobChange("rag_share", 0.35, 1.0)
    binding = Binding("max_tokens", 1_024, 40_000, 1_024, {"budget": 1}, {"rag": 1}, ("rag", "3"), (change,))
    found = binding_view(
        binding,
        manifest(entry("rag", "3", 300, "budget")),
        title=lambda *_: "x",
        positions=DEFAULTS,
        trial=lambda _: frozenset(),
    )
    assert (found.rows, found.action, found.idle) == ((), None, "Documents share")
