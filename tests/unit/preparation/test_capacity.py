"""How large a request may be (5), when it is compacted and how far (12)."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.models import catalogue, find_model
from playground.preparation.capacity import (
    configured_window,
    effective_window,
    over_critical,
    reclaim_target,
    usable,
)

KNOWN = "gpt-4.1"  # its window is not the fallback's
WINDOW = find_model(KNOWN).context_window
LARGER = max(catalogue(), key=lambda entry: entry.context_window)


@pytest.mark.parametrize(
    ("value", "capacity"),
    [
        (8192, 8192), (8192.0, 8192), (8192.9, 8192), (Fraction(17, 2), 8), (1, 1), (10**400, 10**400),
        (0, None), (-5, None), (0.5, None), (True, None), (False, None), ("8192", None), (None, None),
        (math.nan, None), (math.inf, None), (-math.inf, None), (Decimal(8192), None),
        ([8192], None), (1j, None),
    ],
)  # fmt: skip
def test_5_only_real_finite_positive_numbers_are_a_capacity(value: Any, capacity: int | None) -> None:
    assert usable(value) == capacity


def test_27_7_a_window_is_the_hosts_else_the_models_else_128000() -> None:
    assert configured_window(KNOWN, 5000) == 5000
    assert configured_window(KNOWN, None) == WINDOW
    assert configured_window("no-such-model", None) == 128_000
    assert configured_window("x" * 1000, None) == 128_000
    assert configured_window(None, None) == 128_000
    assert configured_window(KNOWN, WINDOW * 2) == WINDOW * 2


@pytest.mark.parametrize(
    ("configured", "explicit", "request_model", "provider", "window"),
    [
        # Nothing else known: as it is, also above the registry's number.
        (900_000, True, None, None, 900_000),
        (WINDOW, False, KNOWN, None, WINDOW),
        (900_000, True, KNOWN, None, 900_000),
        # The provider's number: it replaces an inferred window, and an explicit one is an upper bound.
        (WINDOW, False, None, 8192, 8192),
        (WINDOW, False, None, WINDOW * 3, WINDOW * 3),
        (5000, True, None, 8192, 5000),
        (9000, True, None, 8192, 8192),
        # Another model of the request.
        (WINDOW, False, LARGER.model_id, None, LARGER.context_window),
        (5000, True, LARGER.model_id, None, 5000),
        (WINDOW, False, LARGER.model_id, 700, 700),
        # An unknown one keeps the owner's window.
        (5000, True, "no-such-model", None, 5000),
        (WINDOW, False, "no-such-model", None, WINDOW),
        # What cannot be used is as good as none.
        (WINDOW, False, None, math.nan, WINDOW),
        (WINDOW, False, None, True, WINDOW),
        (5000, True, None, "8192", 5000),
        (5000, True, None, -1, 5000),
    ],
)
def test_5_the_window_of_a_request(
    configured: int, explicit: bool, request_model: str | None, provider: Any, window: int
) -> None:
    found = effective_window(
        configured=configured,
        explicit=explicit,
        owner_model=KNOWN,
        request_model=request_model,
        provider=provider,
    )
    assert found == window


def test_12_the_gate_is_strict() -> None:
    assert not over_critical(810, 900, 0.9)
    assert over_critical(811, 900, 0.9)
    assert not over_critical(0, 0, 0.9)
    assert over_critical(1, 0, 0.9)
    assert over_critical(1, -5, 0.9)


@pytest.mark.parametrize(
    ("threshold", "critical", "kept"),
    [(0.75, 0.9, 585), (0.70, 0.9, 540), (0.95, 0.9, 720), (0.75, 0.5, 360), (0.05, 0.9, 0)],
)
def test_12_the_target_lies_a_tenth_below_the_lower_threshold(
    threshold: float, critical: float, kept: int
) -> None:
    assert reclaim_target(811, 900, threshold=threshold, critical=critical) == 811 - kept


@pytest.mark.parametrize("capacity", [100, 900, 4096, 10**6, 10**9])
def test_12_no_difference_of_floats_costs_a_token(capacity: int) -> None:
    for percent in range(10, 101):
        kept = capacity * (percent - 10) // 100
        assert reclaim_target(capacity, capacity, threshold=percent / 100, critical=1) == capacity - kept


@given(
    used=st.integers(1, 10**6),
    capacity=st.integers(1, 10**6),
    threshold=st.floats(0, 1),
    critical=st.floats(0.1, 1),
)
def test_what_is_over_the_gate_has_something_to_free(
    used: int, capacity: int, threshold: float, critical: float
) -> None:
    target = reclaim_target(used, capacity, threshold=threshold, critical=critical)
    assert 0 <= target <= used
    if over_critical(used, capacity, critical):
        assert target > 0
