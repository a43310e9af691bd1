"""What every memory store must do; each implementation runs all of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeVar

import pytest

from playground.digests import text_digest
from playground.errors import InvalidInputError, InvalidRequestError, StaleRevisionError
from playground.memory import (
    InMemoryMemoryStore,
    MemoryRecord,
    MemoryRevision,
    MemoryScope,
    MemorySession,
    MemorySourceRef,
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
        for turn in range(8):
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
    assert [one.revision for one in kept.revisions] == list(range(1, 66))
    assert {one.text for one in kept.revisions[1:]} == {f"{w}/{t}" for w in range(8) for t in range(8)}


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


def test_a_record_is_read_back_as_it_was_to_the_last_bit(store: MemoryStore) -> None:
    text = "漢字 👩‍👩‍👧 \u202eright to left\u2028\r\n\ttab 'quote' \"; DROP TABLE memories;--"
    full = MemoryRevision(
        revision=1,
        text=text,
        digest=text_digest(text),
        origin="inferred",
        sources=(MemorySourceRef(kind="message", id="m/1", step=3), MemorySourceRef(kind="tool", run_id="")),
        recorded_at=2**53,
        writer="model",
        kind="episodic",
        importance=0.1 + 0.2,
        expires_at=-(2**53),
        valid_from=1,
        valid_to=2,
        embedding=(1 / 3, -0.0, 5e-324, 1.7976931348623157e308),
        embedding_model_id="half \ud800, nul \x00",
    )
    scope = MemoryScope(user_id="ada", agent_id="", actor_id="é\u0301")
    kept = MemoryRecord(id="a/b\\c%_'", scope=scope, revisions=(full, revision(2)))
    run(store.insert(kept))
    found = run(store.get(kept.id, scope=ADA))
    assert found == kept
    assert repr(found.latest if found else None) == repr(kept.latest)
    assert found is not None
    assert str(found.revisions[0].embedding) == str(full.embedding)


def test_ids_and_scopes_may_be_longer_than_a_page_of_a_database(store: MemoryStore) -> None:
    long = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(20_000))
    scope = MemoryScope(**dict.fromkeys(("user_id", "agent_id", "run_id", "actor_id", "chat_id"), long))
    run(store.insert(record(long, scope)))
    run(store.insert(record(f"{long}'", scope)))
    assert run(store.get(long, scope=scope)) == record(long, scope)
    assert run(store.erase([long], scope=scope, at=2)) == (long,)
    assert [found.id for found in run(store.list(scope=scope))] == [f"{long}'"]


@pytest.mark.parametrize("field", list(MemoryScope.model_fields))
def test_each_field_of_a_scope_keeps_records_apart(store: MemoryStore, field: str) -> None:
    mine, theirs = MemoryScope(**{field: "mine"}), MemoryScope(**{field: "Mine"})
    run(store.insert(record("a", mine)))
    run(store.insert(record("b", theirs)))
    run(
        store.insert(
            record("c", MemoryScope(**{name: "mine" for name in MemoryScope.model_fields if name != field}))
        )
    )
    assert [found.id for found in run(store.list(scope=mine))] == ["a"]
    assert run(store.get("b", scope=mine)) is None
    assert run(store.erase(["a", "b", "c"], scope=theirs, at=3)) == ("b",)
    assert [stone.id for stone in run(store.tombstones(scope=theirs))] == ["b"]
    assert list(run(store.tombstones(scope=mine))) == []
    assert [found.id for found in run(store.list(scope=MemoryScope()))] == ["a", "c"]


def test_of_eight_writers_who_read_the_same_revision_one_is_accepted(store: MemoryStore) -> None:
    run(store.insert(record("r")))
    for turn in range(2, 12):
        ready = threading.Barrier(8)
        accepted: list[str] = []
        refused: list[int] = []

        def write(
            worker: int,
            number: int = turn,
            ready: threading.Barrier = ready,
            accepted: list[str] = accepted,
            refused: list[int] = refused,
        ) -> None:
            ready.wait()
            try:
                grown = run(store.append("r", revision(number, f"{worker}/{number}"), scope=ADA))
                accepted.append(grown.latest.text)
            except StaleRevisionError as error:
                refused.append(error.actual_revision)

        threads = [threading.Thread(target=write, args=(worker,)) for worker in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(accepted), refused) == (1, [turn] * 7)
        kept = run(store.get("r", scope=ADA))
        assert kept is not None
        assert kept.latest.text == accepted[0]


def test_forgetting_the_same_records_at_once_neither_fails_nor_waits_for_ever(store: MemoryStore) -> None:
    names = [f"r{number}" for number in range(40)]
    for name in names:
        run(store.insert(record(name)))
    found: list[tuple[str, ...]] = []
    orders = [names, names[::-1], names[::3] + names[1::3] + names[2::3], names]
    threads = [
        threading.Thread(target=lambda order=order: found.append(run(store.erase(order, scope=ADA, at=2))))
        for order in orders
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [tuple(sorted(names))] * 4
    assert list(run(store.list(scope=ADA))) == []


def test_more_records_than_a_statement_has_parameters_are_forgotten_at_once(store: MemoryStore) -> None:
    names = sorted(f"r{number}" for number in range(1_100))

    async def fill() -> None:
        await asyncio.gather(*(store.insert(record(name)) for name in names[:20]))

    run(fill())
    assert run(store.erase(names, scope=ADA, at=2)) == tuple(sorted(names[:20]))


def test_a_session_forgets_at_every_time_that_may_be_asked_about(store: MemoryStore) -> None:
    async def scenario() -> None:
        now = iter(range(1_000, 2_000))
        session = MemorySession(store, ADA, clock=lambda: next(now))
        kept = await session.remember("Deploys go to eu-west.", id="r")
        await session.revise("r", "Deploys go to eu-north.", expected_revision=kept.latest.revision)
        assert [hit.text for hit in await session.recall("deploys", recorded_as_of=1_000)] == [
            "Deploys go to eu-west."
        ]
        erased = await session.forget("r")
        assert (erased, erased.pending) == (("r",), False)
        for moment in (1_000, 1_001, None):
            assert list(await session.recall("deploys", recorded_as_of=moment)) == []
            assert list(await session.list(recorded_as_of=moment)) == []
        assert await session.history("r") == ()
        assert await session.forget("r") == ("r",)

    run(scenario())


@pytest.mark.parametrize("bad", ["nul\x00", "half \ud800"])
def test_what_databases_refuse_is_refused_by_every_method(store: MemoryStore, bad: str) -> None:
    scope = MemoryScope(chat_id=bad)
    calls: list[Callable[[], Awaitable[object]]] = [
        lambda: store.get(bad, scope=ADA),
        lambda: store.get("r", scope=scope),
        lambda: store.append(bad, revision(2), scope=ADA),
        lambda: store.append("r", revision(2), scope=scope),
        lambda: store.list(scope=scope),
        lambda: store.erase(["r", bad], scope=ADA, at=2),
        lambda: store.erase(["r"], scope=scope, at=2),
        lambda: store.tombstones(scope=scope),
    ]
    run(store.insert(record("r")))
    for call in calls:
        with pytest.raises(InvalidInputError, match="NUL or a lone surrogate"):
            run(call())
    assert run(store.get("r", scope=ADA)) == record("r")


@pytest.mark.parametrize("bad", ["nul\x00", "half \ud800"])
def test_text_that_databases_refuse_cannot_become_a_record(store: MemoryStore, bad: str) -> None:
    with pytest.raises(InvalidInputError, match="NUL or a lone surrogate"):
        revision(1, bad)
    with pytest.raises(InvalidInputError):
        record(bad)
    with pytest.raises(InvalidInputError):
        record("r", MemoryScope(user_id=bad))
