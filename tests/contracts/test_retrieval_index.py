"""What every vector index must do; each implementation runs the same tests."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from playground.errors import InvalidInputError
from playground.retrieval.index import ExactIndex, VectorIndex, Vectors

Build = Callable[[list[str], Vectors], VectorIndex]


@pytest.fixture(params=[ExactIndex], ids=lambda kind: kind.__name__)
def build(request: pytest.FixtureRequest) -> Build:
    built: Build = request.param
    return built


def unit_rows(count: int, dims: int = 8, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, dims)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def test_it_agrees_with_comparing_one_by_one(build: Build) -> None:
    rows = unit_rows(200)
    ids = [f"r{n}" for n in range(200)]
    query = unit_rows(1, seed=1)[0]
    slow = [(round(max(0.0, float(np.dot(row, query))), 6), i) for row, i in zip(rows, ids, strict=True)]
    slow.sort(key=lambda item: (-item[0], item[1]))
    hits = build(ids, rows).search(query, 20)
    assert [hit.id for hit in hits] == [i for _, i in slow[:20]]
    assert [hit.score for hit in hits] == pytest.approx([score for score, _ in slow[:20]], abs=2e-6)


def test_the_same_rows_in_another_order_give_the_same_answer(build: Build) -> None:
    rows = np.repeat(unit_rows(5), 20, axis=0)
    ids = [f"r{n}" for n in range(100)]
    order = np.random.default_rng(2).permutation(100)
    query = rows[7]
    assert build(ids, rows).search(query, 13) == build([ids[n] for n in order], rows[order]).search(query, 13)


def test_opposite_vectors_score_zero_and_the_same_vector_one(build: Build) -> None:
    row = unit_rows(1)[0]
    hits = build(["same", "opposite"], np.stack([row, -row])).search(row, 2)
    assert hits == [("same", 1.0), ("opposite", 0.0)]


def test_it_gives_at_most_k_and_never_more_than_there_are(build: Build) -> None:
    rows = unit_rows(3)
    index = build(["a", "b", "c"], rows)
    assert len(index) == 3
    assert len(index.search(rows[0], 99)) == 3
    assert index.search(rows[0], 0) == []
    assert build([], np.empty((0, 8), np.float32)).search(rows[0], 5) == []


def test_malformed_input_is_refused(build: Build) -> None:
    rows = unit_rows(2)
    with pytest.raises(InvalidInputError, match="one id"):
        build(["a", "a"], rows)
    with pytest.raises(InvalidInputError, match="one id"):
        build(["a"], rows)
    with pytest.raises(InvalidInputError, match="unit length"):
        build(["a", "b"], rows * np.float32(2))
    with pytest.raises(InvalidInputError, match="unit length"):
        build(["a", "b"], np.full_like(rows, np.nan))
    with pytest.raises(InvalidInputError, match="shape"):
        build(["a", "b"], rows).search(rows[0][:4], 1)
    with pytest.raises(InvalidInputError):
        build(["a", "b"], rows).search(np.full(8, np.nan, np.float32), 1)
