"""The plane of the map: known pictures, degenerate ones, and signs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from playground.errors import InvalidInputError
from playground.retrieval.index import Vectors
from playground.retrieval.projection import principal_plane


def rows(*values: list[float]) -> Vectors:
    return np.array(values, dtype=np.float32)


def test_points_of_a_plane_keep_their_distances_and_hold_all_variance() -> None:
    corners = rows([0, 0, 5, 0], [4, 0, 5, 0], [4, 2, 5, 0], [0, 2, 5, 0])
    plane = principal_plane(corners)
    assert plane.points.shape == (4, 2)
    assert plane.points.dtype == np.float64
    assert plane.points == pytest.approx(np.array([[-2, -1], [2, -1], [2, 1], [-2, 1]]))
    assert plane.shares == pytest.approx((0.8, 0.2))


def test_shares_are_of_all_variance_and_not_of_the_plane_alone() -> None:
    cross = rows([2, 0, 0], [-2, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1])
    assert principal_plane(cross).shares == pytest.approx((8 / 12, 2 / 12))


@pytest.mark.parametrize("start", [[1.0, 2.0, 3.0], [-1.0, 0.5, 0.0]])
def test_an_axis_points_where_its_leading_component_is_positive(start: list[float]) -> None:
    line = rows([0, 0, 0], start, [2 * value for value in start])
    along = int(np.argmax(np.abs(start)))
    points = principal_plane(line).points[:, 0]
    assert np.sign(points[2] - points[0]) == np.sign(start[along])


def test_of_equal_components_the_first_leads() -> None:
    points = principal_plane(rows([1, -1], [-1, 1], [0, 0])).points
    assert points[0, 0] > 0 > points[1, 0]


@pytest.mark.parametrize("count", [0, 1])
def test_no_vector_or_one_lies_at_the_origin(count: int) -> None:
    plane = principal_plane(np.ones((count, 3), dtype=np.float32))
    assert (plane.points.shape, plane.shares) == ((count, 2), (0.0, 0.0))
    assert not plane.points.any()


def test_two_vectors_lie_on_a_line() -> None:
    plane = principal_plane(rows([1, 0, 0], [0, 1, 0]))
    assert plane.shares == (1.0, 0.0)
    assert not plane.points[:, 1].any()
    assert plane.points[0, 0] == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e-30, 3e37])
def test_equal_vectors_all_lie_at_the_origin(value: float) -> None:
    plane = principal_plane(np.full((7, 5), value, dtype=np.float32))
    assert not plane.points.any()
    assert plane.shares == (0.0, 0.0)


def test_vectors_of_no_or_one_dimension_are_points_too() -> None:
    assert principal_plane(np.empty((3, 0), dtype=np.float32)).points.shape == (3, 2)
    assert principal_plane(rows([1], [2], [3])).points[:, 0].tolist() == [-1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    "bad", [np.array([1.0], dtype=np.float32), rows([float("nan"), 1.0]), rows([float("inf")])]
)
def test_what_is_no_table_of_finite_numbers_is_refused(bad: Vectors) -> None:
    with pytest.raises(InvalidInputError):
        principal_plane(bad)


# Few distinct numbers, so that rows, components and axes of equal size come up often.
TABLES = hnp.arrays(
    np.float32,
    st.tuples(st.integers(1, 8), st.integers(1, 6)),
    elements=st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.5]) | st.floats(-10, 10, width=32),
)


@given(TABLES, st.randoms(use_true_random=False))
def test_another_order_of_the_vectors_gives_the_very_same_picture(
    table: Vectors, shuffle: np.random.Generator
) -> None:
    order = list(range(len(table)))
    shuffle.shuffle(order)
    plane, other = principal_plane(table), principal_plane(table[order])
    assert other.points.tolist() == plane.points[order].tolist()
    assert other.shares == plane.shares


@given(TABLES)
def test_no_two_points_are_farther_apart_than_their_vectors(table: Vectors) -> None:
    plane = principal_plane(table)
    assert np.isfinite(plane.points).all()
    assert 0 <= plane.shares[1] <= plane.shares[0] <= 1
    assert sum(plane.shares) <= 1 + 1e-9
    for at in range(1, len(table)):
        apart = np.linalg.norm(table[at].astype(np.float64) - table[0].astype(np.float64))
        assert np.linalg.norm(plane.points[at] - plane.points[0]) <= apart + 1e-6
