"""What every vector index must do; each implementation runs the same tests."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import numpy as np
import pytest

from playground.errors import InvalidInputError
from playground.retrieval.index import ExactIndex, VectorIndex, Vectors
from playground.retrieval.pgvector_index import PgVectorIndex

Build = Callable[[list[str], Vectors], VectorIndex]


@pytest.fixture(params=["exact", "pgvector"])
def build(request: pytest.FixtureRequest) -> Iterator[Build]:
    if request.param == "exact":
        yield ExactIndex
        return
    url = request.getfixturevalue("postgres").new_url()
    numbers = itertools.count()
    with ExitStack() as opened:

        def built(ids: list[str], vectors: Vectors) -> PgVectorIndex:
            index = PgVectorIndex(url, corpus=f"corpus {next(numbers)}", model_id="model")
            opened.enter_context(closing(index))
            index.upsert(ids, vectors)
            return index

        yield built


def unit_rows(count: int, dims: int = 8, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, dims)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def compared_one_by_one(ids: list[str], rows: Vectors, query: Vectors) -> list[tuple[str, float]]:
    exact = [sum(float(a) * float(b) for a, b in zip(row, query, strict=True)) for row in rows]
    scored = [(one, round(min(1.0, max(0.0, score)), 6)) for one, score in zip(ids, exact, strict=True)]
    return sorted(scored, key=lambda hit: (-hit[1], hit[0]))


@pytest.mark.parametrize(("dims", "seed"), [(8, 1), (384, 2), (384, 3)])
def test_it_agrees_to_the_last_digit_with_comparing_one_by_one(build: Build, dims: int, seed: int) -> None:
    rows = unit_rows(200, dims)
    ids = [f"r{n}" for n in range(200)]
    query = unit_rows(1, dims, seed=seed)[0]
    index, expected = build(ids, rows), compared_one_by_one(ids, rows, query)
    # Some of them are below 0: where the last one stands among those, it is the id that decides.
    assert 0 < sum(score > 0 for _, score in expected) < 199
    for k in (1, 20, 99, 120, 199, 200, 300):
        assert index.search(query, k) == expected[:k], k


def test_the_same_rows_in_another_order_give_the_same_answer(build: Build) -> None:
    rows = np.repeat(unit_rows(5), 20, axis=0)
    ids = [f"r{n}" for n in range(100)]
    order = np.random.default_rng(2).permutation(100)
    query = rows[7]
    index, other = build(ids, rows), build([ids[n] for n in order], rows[order])
    for k in (1, 13, 20, 21, 50):
        assert index.search(query, k) == other.search(query, k)
        assert index.search(query, k) == compared_one_by_one(ids, rows, query)[:k]


def test_scores_that_are_equal_at_six_decimals_are_ranked_by_id_at_the_border_too(build: Build) -> None:
    query = np.array([1, 0], np.float32)
    # 0.5000001 is nearer than 0.5 in single precision, and no nearer at six decimals.
    cosines = [0.5 + step * 1e-7 for step in (3, 2, 1, 0)] + [0.6]
    rows = np.array([[cosine, (1 - cosine * cosine) ** 0.5] for cosine in cosines], np.float32)
    index = build(["d", "c", "b", "a", "z"], rows)
    assert index.search(query, 2) == [("z", 0.6), ("a", 0.5)]
    assert index.search(query, 4) == [("z", 0.6), ("a", 0.5), ("b", 0.5), ("c", 0.5)]


def test_ids_are_ranked_by_their_code_points(build: Build) -> None:
    ids = ["é", "z", "Z", "10", "9", "", " ", "😀", "\uffee", "a'b", 'a"b', "%s", "a\\", "ß", "ss"]
    rows = np.repeat(unit_rows(1), len(ids), axis=0)
    index = build(ids, rows)
    for query, score in ((rows[0], 1.0), (-rows[0], 0.0)):
        for k in range(len(ids) + 1):
            assert index.search(query, k) == [(one, score) for one in sorted(ids)[:k]]


def test_opposite_vectors_score_zero_and_the_same_vector_one(build: Build) -> None:
    row = unit_rows(1)[0]
    hits = build(["same", "opposite"], np.stack([row, -row])).search(row, 2)
    assert hits == [("same", 1.0), ("opposite", 0.0)]


def test_it_gives_at_most_k_and_never_more_than_there_are(build: Build) -> None:
    rows = unit_rows(3)
    index = build(["a", "b", "c"], rows)
    assert len(index) == 3
    assert len(index.search(rows[0], 99)) == 3
    assert len(index.search(rows[0], 2**70)) == 3
    assert index.search(rows[0], 0) == []
    assert index.search(rows[0], -1) == []
    empty = build([], np.empty((0, 8), np.float32))
    assert len(empty) == 0
    assert empty.search(rows[0], 5) == []


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
    index = build(["a", "b"], rows)
    for query in (rows[0][:4], rows, np.full(8, np.nan, np.float32), np.full(8, np.inf, np.float32)):
        with pytest.raises(InvalidInputError, match="shape"):
            index.search(query, 1)
