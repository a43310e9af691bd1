"""Controls and what their positions mean."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET
from playground.compiler.knobs import KNOBS as ALL_KNOBS
from playground.compiler.knobs import SHARE_KNOBS, Knob
from playground.compiler.values import KINDS
from playground.views.knobs import CANDIDATES, KNOBS, budget_of, effective_shares, position_for

DEFAULTS: dict[Knob, float] = {knob: spec.default for knob, spec in KNOBS.items()}
WEIGHTS = st.fixed_dictionaries({kind: st.integers(0, 100).map(lambda n: n / 100) for kind in KINDS})


def test_the_default_positions_are_the_default_budget() -> None:
    assert budget_of(DEFAULTS) == DEFAULT_CONTEXT_BUDGET


def test_every_knob_of_a_budget_has_a_control() -> None:
    assert set(KNOBS) == set(ALL_KNOBS)
    assert all(spec.name == knob for knob, spec in KNOBS.items())


@pytest.mark.parametrize("spec", [*KNOBS.values(), CANDIDATES], ids=lambda spec: spec.name)
def test_every_default_is_a_step_inside_the_range(spec: object) -> None:
    assert spec.least <= spec.default <= spec.most  # type: ignore[attr-defined]
    steps = (spec.default - spec.least) / spec.step  # type: ignore[attr-defined]
    assert math.isclose(steps, round(steps), abs_tol=1e-6)


@given(WEIGHTS)
def test_effective_shares_sum_to_one_at_most_and_keep_proportions(weights: dict[str, float]) -> None:
    shares = effective_shares(weights)  # type: ignore[arg-type]
    total = math.fsum(weights.values())
    assert math.fsum(shares.values()) <= 1 + 1e-9
    for kind in KINDS:
        assert shares[kind] == pytest.approx(weights[kind] / max(1, total))


@given(WEIGHTS)
def test_any_positions_of_the_share_sliders_are_a_legal_budget(weights: dict[str, float]) -> None:
    positions = {**DEFAULTS, **{SHARE_KNOBS[kind]: weights[kind] for kind in KINDS}}
    assert math.fsum(budget_of(positions).shares.values()) <= 1 + 1e-9


@pytest.mark.parametrize(
    ("knob", "value", "expected"),
    [
        ("max_tokens", 8_249, 8_256),
        ("max_tokens", 8_256, 8_256),
        ("max_tokens", 8_100, 8_064),
        ("max_tokens", 200_000, None),
        ("ratio", 0.3, 0.3),
        ("ratio", 0.3001, 0.305),
        ("working_memory_tokens", 2_050, 2_112),
    ],
)
def test_a_value_is_reached_at_the_next_step_away_from_where_the_control_stands(
    knob: Knob, value: float, expected: float | None
) -> None:
    assert position_for(knob, value, DEFAULTS) == expected


def test_a_share_is_reached_by_the_weight_that_gives_it_among_the_others() -> None:
    position = position_for("rag_share", 0.403, DEFAULTS)
    assert position is not None
    shares = budget_of({**DEFAULTS, "rag_share": position}).shares
    assert shares["rag"] >= 0.403
    before = budget_of({**DEFAULTS, "rag_share": position - 0.01}).shares
    assert before["rag"] < 0.403


def test_a_share_of_everything_is_out_of_reach_while_the_others_want_some() -> None:
    assert position_for("rag_share", 1.0, DEFAULTS) is None
    alone = {**DEFAULTS, "memory_share": 0.0, "transcript_share": 0.0, "skills_share": 0.0}
    assert position_for("rag_share", 1.0, alone) == 1.0
