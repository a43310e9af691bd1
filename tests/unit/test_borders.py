"""Where a text may be cut."""

from __future__ import annotations

import pytest

from playground.borders import LONGEST_CLUSTER, cluster_border


@pytest.mark.parametrize(
    ("text", "position", "border"),
    [
        ("ab", 1, 1),
        ("a\r\nb", 2, 1),
        ("ae\u0301b", 2, 1),
        ("a👩\u200d👧b", 3, 1),
        ("a👍\U0001f3fdb", 2, 1),
        ("a🇩🇪🇫🇷b", 2, 1),
        ("a🇩🇪🇫🇷b", 3, 3),
        ("ab", 0, 0),
        ("ab", 2, 2),
    ],
)
def test_a_cut_moves_left_out_of_what_people_see_as_one_character(
    text: str, position: int, border: int
) -> None:
    assert cluster_border(text, position, 0) == border


def test_a_hostile_run_of_marks_is_cut_where_it_was_asked() -> None:
    assert cluster_border("a" + "\u0301" * 100, LONGEST_CLUSTER + 20, 0) == LONGEST_CLUSTER + 20
    assert cluster_border("e\u0301b", 1, 0) == 1, "no border lies above the lowest place"
