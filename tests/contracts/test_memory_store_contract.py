"""What every memory store must do; each implementation runs all of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from playground.compiler.values import text_digest
from playground.errors import InvalidInputError, InvalidRequestError, StaleRevisionError
from playground.memory import (
    InMemoryMemoryStore,
    MemoryRecord,
    MemoryRevision,
    MemoryScope,
    MemoryStore,
    SqlMemoryStore,
)

T = TypeVar("T")
ADA = MemoryScope(user_id="ada")
BOB = MemoryScope(user_id="bob")


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    if request.param == "memory":
        yield InMemoryMemoryStore()
        return
    if request.param == "sqlite":
        url = str(tmp_path / "memories.db")
    else:
        url = request.getfixturevalue("postgres").new_url()
    with closing(SqlMemoryStore(url)) as opened:
        yield opened


def run(awaitable: Awaitable[T]) -> T:
    async def main() -> T:
        return await awaitable

    return asyncio.run(main())


def revision(number: int, text: str = "Every deploy goes to eu-west.", at: int = 1_000) -> MemoryRevision:
    return MemoryRevision(revision=number, text=text, digest=text_digest(text), recorded_at=at)


def record(name: str, scope: MemoryScope = ADA, at: int = 1_000) -> MemoryRecord:
    return MemoryRecord(id=name, scope=scope, revisions=(revision(1, at=at),))


def test_what_was_inserted_is_read_back(store: MemoryStore) -> None:
    run(store.insert(record("r")))
    assert run(store.get("r", scope=ADA)) == record("r")


def test_records_are_listed_in_the_order_they_were_written_then_by_id(store: MemoryStore) -> None:
    for name, at in (("c", 1), ("b", 2), ("a", 2), ("d", 0)):
        run(store.insert(record(name, at=at)))
    assert [found.id for found in run(store.list(scope=ADA))] == ["d", "c", "a", "b"]


def test_another_scope_sees_and_changes_nothing(store: MemoryStore) -> None:
    run(store.insert(record("r")))
    assert run(store.get("r", scope=BOB)) is None
    assert list(run(store.list(scope=BOB))) == []
    assert run(store.erase(["r"], scope=BOB, at=2)) == ()
    with pytest.raises(InvalidRequestError):
        run(store.append("r", revision(2), scope=BOB))
    assert run(store.get("r", scope=ADA)) == record("r")


def test_a_scope_matches_on_every_field_that_the_reader_sets(store: MemoryStore) -> None:
    chat = MemoryScope(user_id="ada", chat_id="c1")
    run(store.insert(record("chat", chat)))
    run(store.insert(record("user", ADA)))
    assert [found.id for found in run(store.list(scope=ADA))] == ["chat", "user"]
    assert [found.id for found in run(store.list(scope=chat))] == ["chat"]


def test_an_id_is_given_out_once_forgotten_ones_included(store: MemoryStore) -> None:
    run(store.insert(record("r")))
    with pytest.raises(InvalidRequestError, match="already kept"):
        run(store.insert(record("r", BOB)))
    run(store.erase(["r"], scope=ADA, at=2))
    with pytest.raises(InvalidRequestError, match="already kept"):
        run(store.insert(record("r")))


def test_revisions_grow_by_one(store: MemoryStore) -> None:
    run(store.insert(record("r")))
    grown = run(store.append("r", revision(2, "Moved to eu-north."), scope=ADA))
    assert [one.revision for one in grown.revisions] == [1, 2]
    assert run(store.get("r", scope=ADA)) == grown


@pytest.mark.parametrize("number", [1, 3])
def test_a_stale_revision_is_refused_and_says_where_the_record_is(store: MemoryStore, number: int) -> None:
    run(store.insert(record("r")))
    with pytest.raises(StaleRevisionError) as caught:
        run(store.append("r", revision(number), scope=ADA))
    assert (caught.value.record_id, caught.value.expected_revision, caught.value.actual_revision) == (
        "r",
        number - 1,
        1,
    )


def test_eight_concurrent_writers_lose_nothing_and_number_without_gaps(store: MemoryStore) -> None:
    run(store.insert(record("r")))
    stale = []

    async def write(worker: int) -> None:
        for turn in range(20):
            while True:
                current = await store.get("r", scope=ADA)
                assert current is not None
                try:
                    text = f"{worker}/{turn}"
                    await store.append("r", revision(current.latest.revision + 1, text), scope=ADA)
                    break
                except StaleRevisionError:
                    stale.append(worker)

    threads = [threading.Thread(target=lambda n=n: asyncio.run(write(n))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    kept = run(store.get("r", scope=ADA))
    assert kept is not None
    assert [one.revision for one in kept.revisions] == list(range(1, 162))
    assert {one.text for one in kept.revisions[1:]} == {f"{w}/{t}" for w in range(8) for t in range(20)}


def test_forgetting_hides_the_record_from_every_read_and_leaves_numbers_and_times(store: MemoryStore) -> None:
    run(store.insert(record("r", at=5)))
    run(store.append("r", revision(2, "second", at=6), scope=ADA))
    assert run(store.erase(["r", "unknown"], scope=ADA, at=9)) == ("r",)
    assert run(store.get("r", scope=ADA)) is None
    assert list(run(store.list(scope=ADA))) == []
    with pytest.raises(InvalidRequestError):
        run(store.append("r", revision(3), scope=ADA))
    (stone,) = run(store.tombstones(scope=ADA))
    assert (stone.id, stone.revisions, stone.recorded_at, stone.forgotten_at) == ("r", (1, 2), (5, 6), 9)
    assert "second" not in repr(stone)
    assert text_digest("second") not in repr(stone)


def test_forgetting_twice_gives_the_id_again_and_keeps_the_first_time(store: MemoryStore) -> None:
    run(store.insert(record("r")))
    assert run(store.erase(["r"], scope=ADA, at=2)) == run(store.erase(["r"], scope=ADA, at=3)) == ("r",)
    assert [stone.forgotten_at for stone in run(store.tombstones(scope=ADA))] == [2]
    assert list(run(store.tombstones(scope=BOB))) == []


@pytest.mark.parametrize("bad", ["nul\x00", "half \ud800"])
def test_text_that_databases_refuse_cannot_become_a_record(store: MemoryStore, bad: str) -> None:
    with pytest.raises(InvalidInputError, match="NUL or a lone surrogate"):
        revision(1, bad)
    with pytest.raises(InvalidInputError):
        record(bad)
    with pytest.raises(InvalidInputError):
        record("r", MemoryScope(user_id=bad))
