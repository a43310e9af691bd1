"""The search for where something ends to hold; that changes are the nearest is tried in ``tests/property``."""

from __future__ import annotations

import pytest

from playground.compiler.changes import furthest


@pytest.mark.parametrize("end", range(21))
def test_the_last_value_that_holds_is_found_upwards_and_downwards(end: int) -> None:
    assert furthest(lambda value: value <= end, 0, 20, 1) == end
    assert furthest(lambda value: value >= -end, 0, -20, -1) == -end


def test_where_it_always_holds_the_last_value_is_returned() -> None:
    assert furthest(lambda _: True, 3, 50, 1) == 50
    assert furthest(lambda _: True, 3, 3, 1) == 3


def test_the_search_takes_few_looks() -> None:
    seen: list[int] = []

    def holds(value: int) -> bool:
        seen.append(value)
        return value <= 60_000

    assert furthest(holds, 0, 65_536, 1) == 60_000
    assert len(seen) <= 34
    assert all(0 < value <= 65_536 for value in seen)
