"""Vectors in PostgreSQL: what the index adds to what every index does."""

from __future__ import annotations

import string
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from playground import database
from playground.errors import InvalidInputError, StoreBusyError, StoreError
from playground.retrieval import pgvector_tables
from playground.retrieval.chunking import Chunk
from playground.retrieval.corpus import search_text
from playground.retrieval.index import ExactIndex, Vectors
from playground.retrieval.pgvector_index import PgVectorIndex
from playground.retrieval.pgvector_statements import near
from playground.retrieval.search import ChunkSearch, Fusion, SearchMode
from tests.postgres import PostgresServer

Open = Callable[..., PgVectorIndex]


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    return postgres.new_url()


@pytest.fixture
def opened(url: str) -> Iterator[Open]:
    with ExitStack() as indexes:

        def open_index(**options: str | int) -> PgVectorIndex:
            names: dict[str, Any] = {"corpus": "guide", "model_id": "model", **options}
            index = PgVectorIndex(url, **names)
            return indexes.enter_context(closing(index))

        yield open_index


def unit_rows(count: int, dims: int = 16, seed: int = 0) -> Vectors:
    rows = np.random.default_rng(seed).normal(size=(count, dims)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def in_threads(job: Callable[[int], object], count: int) -> list[BaseException]:
    """Run a job in threads with the numbers from 0, and return what they raised."""
    faults: list[BaseException] = []

    def run(number: int) -> None:
        try:
            job(number)
        except Exception as error:  # noqa: BLE001  # told by the assertion of the caller
            faults.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not any(thread.is_alive() for thread in threads), "somebody waits for ever"
    return faults


def test_what_is_kept_is_there_for_every_connection_and_replaced_by_its_id(url: str, opened: Open) -> None:
    rows = unit_rows(3)
    with closing(PgVectorIndex(url, corpus="guide", model_id="model")) as writer:
        assert writer.dims == 0
        writer.upsert(["a", "b"], rows[:2])
    index = opened()
    assert (len(index), index.dims, index.ids()) == (2, 16, ("a", "b"))
    index.upsert(["b", "c"], rows[[2, 1]])
    assert index.ids() == ("a", "b", "c")
    assert index.search(rows[2], 1) == [("b", 1.0)]
    assert opened().search(rows[1], 1) == [("c", 1.0)]


def test_removed_ids_are_gone_and_unknown_ones_do_no_harm(opened: Open) -> None:
    rows, ids = unit_rows(1_200), [f"r{n}" for n in range(1_200)]
    index = opened()
    index.upsert(ids, rows)
    assert index.remove([*ids[:1_100], "r0", "unknown"]) == 1_100
    assert index.remove(ids[:1_100]) == 0
    assert index.remove([]) == 0
    assert index.ids() == tuple(sorted(ids[1_100:]))
    assert index.search(rows[0], 2_000) == ExactIndex(ids[1_100:], rows[1_100:]).search(rows[0], 2_000)
    with pytest.raises(InvalidInputError, match="ids is a str"):
        index.remove("r1100")


def test_corpora_models_and_weights_never_mix(opened: Open) -> None:
    quoted = ("a'; DROP TABLE playground_vectors_1; --", 'a"', "a\\", "a,b", "%s", ":a")
    names = ("a", *quoted, "ä", "a\u0308", "漢字 \U0001f469\u200d\U0001f467 \u202e")
    spaces: list[dict[str, str]] = [
        *({"corpus": name} for name in names),
        *({"model_id": name} for name in names),
        *({"weights_digest": name} for name in names),
        # Names are not merely joined.
        {"corpus": "x", "model_id": "yz"},
        {"corpus": "xy", "model_id": "z"},
    ]
    rows = unit_rows(len(spaces))
    for row, space in zip(rows, spaces, strict=True):
        opened(**space).upsert(["same"], row[None])
    for row, space in zip(rows, spaces, strict=True):
        index = opened(**space)
        assert len(index) == 1
        assert index.search(row, 9) == [("same", 1.0)]
    assert opened(**spaces[0]).remove(["same"]) == 1
    assert [len(opened(**space)) for space in spaces] == [0, *[1] * (len(spaces) - 1)]


def test_vectors_are_kept_to_the_last_bit(opened: Open) -> None:
    rows = unit_rows(50, dims=384)
    rows[0, :3] = (1e-45, -0.0, 1.1754942e-38)  # numbers next to nothing
    ids = [f"r{n}" for n in range(50)]
    index = opened()
    index.upsert(ids, rows)
    with index.database.reading() as connection:
        kept = connection.execute(sa.text("SELECT id, embedding::text FROM playground_vectors_1")).all()
    for one, written in kept:
        found = np.array(written[1:-1].split(","), np.float32)
        assert found.tobytes() == rows[int(one[1:])].tobytes(), one


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800"])
def test_what_no_database_takes_is_refused_before_it_is_asked(opened: Open, text: str) -> None:
    rows = unit_rows(1)
    index = opened()
    for name in ("corpus", "model_id", "weights_digest"):
        with pytest.raises(InvalidInputError, match=f"{name} holds NUL or a lone surrogate"):
            opened(**{name: text})
    with pytest.raises(InvalidInputError, match="An id holds NUL"):
        index.upsert([text], rows)
    with pytest.raises(InvalidInputError, match="An id holds NUL"):
        index.remove([text])
    assert len(index) == 0


def test_ids_may_be_longer_than_a_page_of_a_database(opened: Open) -> None:
    long = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(20_000))
    index = opened(corpus=long, model_id=long)
    index.upsert([long, long + "x"], unit_rows(2))
    assert index.ids() == (long, long + "x")
    assert index.remove([long]) == 1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("corpus", ""),
        ("model_id", ""),
        ("corpus", 3),
        ("ef_search", 0),
        ("ef_search", 1_001),
        ("ef_search", True),
    ],
)
def test_arguments_out_of_their_range_are_refused(opened: Open, name: str, value: str | int) -> None:
    with pytest.raises(InvalidInputError, match=name):
        opened(**{name: value})


def test_vectors_of_another_length_are_refused_and_nothing_of_the_call_is_kept(opened: Open) -> None:
    index = opened()
    index.upsert(["a"], unit_rows(1))
    with pytest.raises(InvalidInputError, match="Vectors have 8 numbers, those of this corpus and model 16"):
        index.upsert(["b"], unit_rows(1, dims=8))
    with pytest.raises(InvalidInputError, match="holds vectors of 16"):
        index.search(unit_rows(1, dims=8)[0], 1)
    assert index.ids() == ("a",)
    other = opened(model_id="another model")
    other.upsert(["a"], unit_rows(1, dims=8))
    assert other.search(unit_rows(1, dims=8)[0], 1) == [("a", 1.0)]
    with pytest.raises(InvalidInputError, match="limit is 16,000"):
        opened(model_id="huge").upsert(["a"], unit_rows(1, dims=16_001))


def test_eight_writers_of_the_same_rows_do_not_wait_in_a_ring(opened: Open) -> None:
    ids = [f"r{n}" for n in range(700)]  # more than one statement holds
    writers = [opened() for _ in range(8)]
    orders = [np.random.default_rng(number).permutation(700) for number in range(8)]
    marks = unit_rows(8)

    def write(number: int) -> None:
        rows = np.repeat(marks[number][None], 700, axis=0)
        for _ in range(3):
            writers[number].upsert([ids[at] for at in orders[number]], rows)
            if number % 2:
                writers[number].remove([ids[at] for at in orders[number][:650]])

    assert in_threads(write, 8) == []
    index = opened()
    index.upsert(ids, np.repeat(marks[3][None], 700, axis=0))
    assert index.search(marks[3], 700) == [(one, 1.0) for one in sorted(ids)]


def test_who_reads_meanwhile_sees_a_call_whole_or_not_at_all(opened: Open) -> None:
    ids = [f"r{n}" for n in range(1_100)]  # three statements
    marks = unit_rows(2)
    writer, reader = opened(), opened()
    seen: list[set[float]] = []
    done = threading.Event()

    def write_or_read(number: int) -> None:
        if number:
            for turn in range(6):
                writer.upsert(ids, np.repeat(marks[turn % 2][None], len(ids), axis=0))
            done.set()
        while not number and not (done.is_set() and seen):
            hits = reader.search(marks[0], len(ids))
            assert len(hits) in {0, len(ids)}
            seen.append({hit.score for hit in hits})

    assert in_threads(write_or_read, 2) == []
    assert max(map(len, seen)) == 1


def test_a_row_that_others_hold_is_busy_and_nothing_is_kept(
    opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    index = opened()
    index.upsert(["a", "b"], unit_rows(2))
    with index.database.writing() as connection:
        connection.execute(sa.text("SELECT * FROM playground_vectors_1 WHERE id = 'b' FOR UPDATE"))
        with pytest.raises(StoreBusyError) as caught:
            index.upsert(["c", "b"], unit_rows(2, seed=1))
        with pytest.raises(StoreBusyError):
            index.remove(["a", "b"])
    assert caught.value.retryable
    assert index.ids() == ("a", "b")


def test_many_threads_may_open_a_new_database_at_once(opened: Open) -> None:
    rows = unit_rows(8)
    assert in_threads(lambda number: opened().upsert([f"r{number}"], rows[number][None]), 8) == []
    assert len(opened()) == 8


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("vectors.db", "kept in 'sqlite'"),
        ("mysql://root:secret@host/db", "kept in 'mysql'"),
        ("postgresql://u:secret@host:port/db", "malformed"),
        (None, "is a NoneType"),
    ],
)
def test_what_names_no_postgresql_database_is_refused_without_telling_its_password(
    url: str, problem: str
) -> None:
    with pytest.raises(InvalidInputError, match=problem) as caught:
        PgVectorIndex(url, corpus="guide", model_id="model")
    assert "secret" not in str(caught.value)


def test_a_server_out_of_reach_is_told_without_the_password() -> None:
    with pytest.raises(StoreError) as caught:
        PgVectorIndex("postgresql://ada:secret@127.0.0.1:9/vectors", corpus="guide", model_id="model")
    assert caught.value.store == "PostgreSQL database vectors"
    assert "secret" not in f"{caught.value} {caught.value.__cause__} {caught.value.to_json()}"


def test_a_database_without_the_extension_is_refused_with_what_to_do(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError, match="does not know the type vector") as caught:
        PgVectorIndex(postgres.new_database(), corpus="guide", model_id="model")
    assert "CREATE EXTENSION vector" in caught.value.remedy


@pytest.mark.parametrize(
    ("module", "package"), [("psycopg", "package psycopg"), ("pgvector.sqlalchemy", "package pgvector")]
)
def test_a_missing_package_is_named_with_the_extra_that_brings_it(
    url: str, monkeypatch: pytest.MonkeyPatch, module: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    pgvector_tables.vector_tables.cache_clear()
    with pytest.raises(StoreError, match=package) as caught:
        PgVectorIndex(url, corpus="guide", model_id="model")
    assert "playground[postgresql]" in caught.value.remedy


def test_the_graph_is_used_finds_nearly_all_and_scores_exactly(opened: Open) -> None:
    rows, ids = unit_rows(3_000), [f"r{n}" for n in range(3_000)]
    exact, graph, other = opened(), opened(ef_search=200), opened(corpus="another", ef_search=200)
    exact.upsert(ids, rows)
    other.upsert(ids, rows[::-1])
    truth = ExactIndex(ids, rows)
    assert graph.search(rows[5], 10) == truth.search(rows[5], 10), "without a graph there is no other way"
    exact.build_graph()
    exact.build_graph(m=8, ef_construction=32)  # in place of the first
    queries = unit_rows(20, seed=9)
    found = 0
    for query in queries:
        best = truth.search(query, 10)
        assert exact.search(query, 10) == best, "whoever asks for every vector gets every vector"
        hits = graph.search(query, 10)
        scores = dict(truth.search(query, 3_000))
        assert hits == sorted(hits, key=lambda hit: (-hit.score, hit.id))
        assert all(scores[hit.id] == hit.score for hit in hits)
        found += len(set(best) & set(hits))
        assert other.search(query, 10) == ExactIndex(ids, rows[::-1]).search(query, 10)
    assert found >= 190
    assert len(graph.search(queries[0], 300)) == 300, "more than ef_search"
    assert len(graph.search(queries[0], 1_500)) == 1_500, "more than a graph gives"
    graph.upsert(["new"], queries[:1])
    assert graph.search(queries[0], 1) == [("new", 1.0)]
    graph.drop_graph()
    graph.drop_graph()
    assert graph.search(queries[1], 10) == truth.search(queries[1], 10)


def test_the_plan_of_an_approximate_search_goes_through_the_graph_of_its_space(opened: Open) -> None:
    index = opened()
    index.upsert([f"r{n}" for n in range(3_000)], unit_rows(3_000))
    index.build_graph()
    query = near(index._space, unit_rows(1)[0], 10)
    with index.database.reading() as connection:
        statement = query.compile(connection.engine, compile_kwargs={"literal_binds": True})
        plan = "\n".join(connection.execute(sa.text(f"EXPLAIN {statement}")).scalars())
    assert f"playground_vectors_1_{index._space[:32]}" in plan


@pytest.mark.parametrize(
    "options", [{"m": 1}, {"m": 101}, {"m": 40, "ef_construction": 79}, {"ef_construction": 1_001}, {"m": 2.5}]
)
def test_a_graph_out_of_its_ranges_is_refused(opened: Open, options: dict[str, int]) -> None:
    index = opened()
    index.upsert(["a"], unit_rows(1))
    with pytest.raises(InvalidInputError, match=r"m is|ef_construction is"):
        index.build_graph(**options)


def test_a_graph_of_nothing_or_of_too_long_vectors_is_refused(opened: Open) -> None:
    index = opened()
    with pytest.raises(InvalidInputError, match="no vector yet"):
        index.build_graph()
    index.upsert(["a"], unit_rows(1, dims=2_001))
    with pytest.raises(InvalidInputError, match=r"Vectors of 2,001 numbers have no graph"):
        index.build_graph()


def test_only_one_builds_a_graph_at_a_time(opened: Open) -> None:
    index = opened()
    index.upsert(["a"], unit_rows(1))
    with index._graph_held(), pytest.raises(StoreBusyError):
        opened().build_graph()
    opened().build_graph()


TEXTS = ["Deploys go to eu-west.", "Rollback with the last tag.", "Rota of May.", "  ", "Deploys need a tag."]
CHUNKS = [Chunk(text, number, 0, len(text), {}) for number, text in enumerate(TEXTS)]


def bag_of_letters(text: str) -> Vectors:
    counts = np.array([text.lower().count(letter) + 0.01 for letter in string.ascii_lowercase], np.float32)
    return np.asarray(counts / np.linalg.norm(counts), dtype=np.float32)


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
@pytest.mark.parametrize("fusion", ["rrf", "convex"])
def test_a_search_over_it_answers_as_over_the_exact_index(
    opened: Open, mode: SearchMode, fusion: Fusion
) -> None:
    ids = [str(chunk.index) for chunk in CHUNKS]
    vectors = np.stack([bag_of_letters(search_text(chunk)) for chunk in CHUNKS])
    kept = opened()
    kept.upsert(ids, vectors)
    ours, theirs = (
        ChunkSearch(CHUNKS, index=index, embed_query=bag_of_letters, mode=mode, fusion=fusion)
        for index in (kept, ExactIndex(ids, vectors))
    )
    for query in ("deploy tag", "rota", "何"):
        for k in (1, 2, 9):
            assert ours(query, k) == theirs(query, k)
    assert {chunk.match for chunk in ours("deploy tag", 9)} == {mode}
