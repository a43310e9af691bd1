"""Notices of numbers that do not go together."""

from __future__ import annotations

import pytest

from playground.views.budget_notices import mandatory_notice, output_notice
from playground.views.knobs import KNOBS
from playground.views.notices import Notice
from tests.unit.views.manifests import manifest


def bold(notice: Notice | None) -> list[str]:
    assert notice is not None
    return [part for part, is_bold in notice.sentence if is_bold]


def actions(notice: Notice | None) -> list[tuple[str, str, object]]:
    assert notice is not None
    return [(action.label, action.control, action.value) for action in notice.actions]


def test_an_output_that_fits_the_window_needs_no_notice() -> None:
    assert output_notice(4_000, 4_000) is None


def test_an_output_above_the_window_shows_both_numbers_and_lowers_the_one_or_the_other() -> None:
    notice = output_notice(8_000, 4_000, own_window=1_000_000)
    assert bold(notice) == ["8,000", "4,000"]
    assert actions(notice) == [
        ("Lower output to 1,000", "output", 1_000),
        ("Use the window of 1,000,000", "window", None),
    ]


@pytest.mark.parametrize("window", [2_000, 2_399, 7_999])
def test_the_lowered_output_always_fits(window: int) -> None:
    ((_, _, lower),) = actions(output_notice(8_000, window))
    assert isinstance(lower, int)
    assert lower >= 500
    assert output_notice(lower, window) is None


@pytest.mark.parametrize("window", [1, 7, 399, 1_999])
def test_an_output_that_holds_no_answer_is_not_offered(window: int) -> None:
    assert actions(output_notice(8_000, window, own_window=200_000)) == [
        ("Use the window of 200,000", "window", None)
    ]


def test_mandatory_content_within_the_limit_needs_no_notice() -> None:
    assert mandatory_notice(manifest()) is None


def test_mandatory_content_above_max_tokens_shows_both_numbers_and_raises_it_to_a_position_of_the_slider() -> (
    None
):
    notice = mandatory_notice(manifest(max_tokens=0, context_tokens=0, required_tokens=785))
    assert notice is not None
    assert notice.level == "warning"
    assert bold(notice) == ["785", "0"]
    assert actions(notice) == [("Set max tokens to 832", "max_tokens", 832)]


def test_mandatory_content_above_the_ratio_raises_the_ratio() -> None:
    notice = mandatory_notice(manifest(ratio=0.005, context_tokens=802, required_tokens=900))
    assert actions(notice) == [("Set ratio to 1.0%", "ratio", 0.01)]


def test_no_button_promises_what_one_control_cannot_do() -> None:
    beyond = KNOBS["max_tokens"].most + 1
    notice = mandatory_notice(manifest(max_tokens=0, context_tokens=0, required_tokens=round(beyond)))
    assert actions(notice) == []
    notice = mandatory_notice(manifest(ratio=0.001, max_tokens=0, context_tokens=0, required_tokens=785))
    assert actions(notice) == []
