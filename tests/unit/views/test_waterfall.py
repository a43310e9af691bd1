"""From window to pool."""

from __future__ import annotations

import pytest

from playground.views.waterfall import WaterfallPanel, WaterfallRow, waterfall_view
from tests.unit.views.manifests import manifest


def numbers(panel: WaterfallPanel) -> dict[str, str]:
    return {row.name: row.number for row in panel.rows}


def named(panel: WaterfallPanel, name: str) -> WaterfallRow:
    return next(row for row in panel.rows if row.name == name)


def test_the_window_panel_subtracts_reserve_and_request_down_to_the_budget() -> None:
    panel = waterfall_view(manifest(), context_window=200_000).window
    assert numbers(panel) == {
        "Window": "200,000",
        "Output reserve": "−8,000",
        "Usable input": "192,000",
        "Used": "−31,412",
        "Free": "160,588",
        "Budget": "1,000",
    }


def test_the_pool_panel_adds_up_to_what_the_kinds_share() -> None:
    panel = waterfall_view(manifest(), context_window=200_000).pool
    assert numbers(panel) == {
        "25.0% of free": "40,147",
        "Max tokens": "1,000",
        "Mandatory": "−150",
        "Other block text": "−20",
        "Working memory": "−30",
        "Pool": "800",
    }
    cap, *deductions, pool = (row.tokens for row in panel.rows[1:])
    assert cap + sum(deductions) == pool


def test_the_pool_is_cut_by_share_and_what_no_kind_gets_stays_visible() -> None:
    shares = {"memory": 400, "rag": 300, "transcript": 0, "skills": 0}
    panel = waterfall_view(manifest(shares=shares), context_window=200_000).pool
    pool = named(panel, "Pool")
    assert [bar.slot for bar in pool.bars] == ["memory", "rag", "total"]
    assert pool.bars[-1].description == "Given to no kind: 100 tokens"
    assert [bar.end for bar in pool.bars[:-1]] == [bar.start for bar in pool.bars[1:]]


@pytest.mark.parametrize(
    ("max_tokens", "binds", "other"),
    [(1_000, "Max tokens", "25.0% of free"), (90_000, "25.0% of free", "Max tokens")],
)
def test_the_limit_that_binds_is_ink_and_the_longer_one_is_cut(max_tokens: int, binds: str, other: str) -> None:
    context = min(max_tokens, 40_147)
    panel = waterfall_view(
        manifest(max_tokens=max_tokens, context_tokens=context, rest_tokens=context - 200),
        context_window=200_000,
    ).pool
    assert named(panel, binds).bars[0].slot == "ink"
    assert not named(panel, binds).cut
    assert named(panel, other).bars[0].slot == "total"
    assert named(panel, other).cut


@pytest.mark.parametrize("used", [0, 192_000, 500_000])
def test_all_bars_stay_inside_the_panel_however_full_the_request_is(used: int) -> None:
    free = max(0, 192_000 - used)
    shares = {"memory": 0, "rag": 0, "transcript": 0, "skills": 0}
    data = manifest(used_tokens=used, context_tokens=min(1_000, free // 4), rest_tokens=0, shares=shares)
    view = waterfall_view(data, context_window=200_000)
    for row in (*view.window.rows, *view.pool.rows):
        for bar in row.bars:
            assert 0 <= bar.start <= bar.end <= 1


def test_mandatory_content_above_the_budget_leaves_no_negative_bar() -> None:
    data = manifest(required_tokens=1_400, frame_tokens=0, rest_tokens=0)
    panel = waterfall_view(data, context_window=200_000).pool
    assert named(panel, "Mandatory").number == "−1,400"
    assert named(panel, "Mandatory").bars[0].start == 0


def test_every_bar_says_what_it_is_with_its_unit() -> None:
    view = waterfall_view(manifest(), context_window=200_000)
    for row in (*view.window.rows, *view.pool.rows):
        assert all(bar.description.endswith(" tokens") for bar in row.bars)
