"""After forgetting, the text is in no byte of an SQLite store; PostgreSQL's erasure is logical."""

from __future__ import annotations

import asyncio
import logging
import random
import sqlite3
import struct
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from playground.database import Database
from playground.digests import text_digest
from playground.memory import MemoryRecord, MemoryRevision, MemoryScope, SqlMemoryStore, sql_erasure
from playground.memory.sql_schema import REVISIONS
from tests.postgres import PostgresServer

ADA = MemoryScope(user_id="ada")
PIECE, STEP = 24, 200  # letters; of random ones no other text has the same, and a page holds twenty pieces
MOST = 0.9  # of the pieces are found whole; others stand across the border of two pages


def revision(number: int, text: str, draw: random.Random) -> MemoryRevision:
    return MemoryRevision(
        revision=number,
        text=text,
        digest=text_digest(text),
        recorded_at=number,
        embedding=tuple(draw.random() for _ in range(16)),
        embedding_model_id="m",
    )


def traces(found: MemoryRevision) -> list[bytes]:
    """All that may tell of a revision: pieces of its text, digest and vector."""
    text, vector = found.text.encode(), found.embedding or ()
    pieces = [text[start : start + PIECE] for start in range(0, len(text) - PIECE + 1, STEP)]
    return [*pieces, found.digest.encode()[-64:], struct.pack("<2d", *vector[:2])]


def bytes_on_disk(folder: Path) -> bytes:
    """The store's file and all that SQLite puts beside it."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def traces_left(folder: Path, gone: list[bytes]) -> int:
    content = bytes_on_disk(folder)
    return sum(trace in content for trace in gone)


def letters(draw: random.Random, size: int) -> str:
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz ", k=size)).strip() or "x"


async def fill(store: SqlMemoryStore, draw: random.Random) -> dict[str, list[bytes]]:
    """Keep records of mixed sizes, some of which grow; return the traces of each."""
    found: dict[str, list[bytes]] = {}
    for number in range(8):
        name, size = f"r{number}", draw.choice([30, 300, 3_000, 4_080, 12_000])
        first = revision(1, letters(draw, size), draw)
        await store.insert(MemoryRecord(id=name, scope=ADA, revisions=(first,)))
        found[name] = traces(first)
    for turn in range(2, 4):
        for name in draw.sample(sorted(found), 3):
            record = await store.get(name, scope=ADA)
            assert record is not None
            grown = revision(record.latest.revision + 1, record.latest.text + letters(draw, 800 * turn), draw)
            await store.append(name, grown, scope=ADA)
            found[name] += traces(grown)
    return found


def rewrite_carelessly(path: Path, draw: random.Random) -> None:
    """Grow rows in place, as another program or an older SQLite does: old copies stay in what it frees."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        for _ in range(3):
            for (row,) in connection.execute(f"SELECT rowid FROM {REVISIONS.name}").fetchall():
                padding = " " * draw.choice([1, 40, 900, 5_000])  # JSON may end in blanks
                change = f"UPDATE {REVISIONS.name} SET body = body || ? WHERE rowid = ?"
                connection.execute(change, (padding, row))
        connection.commit()


@contextmanager
def open_reader(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program that keeps looking at the state of now."""
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute(f"SELECT count(*) FROM {REVISIONS.name}").fetchone()
        yield reader


@pytest.mark.parametrize("seed", range(20))
def test_forgotten_text_is_in_no_byte_of_file_or_log(tmp_path: Path, seed: int) -> None:
    draw, path = random.Random(seed), tmp_path / "memories.db"

    async def scenario(store: SqlMemoryStore) -> None:
        found = await fill(store, draw)
        for _ in range(2):
            rewrite_carelessly(path, draw)
            gone = draw.sample(sorted(found), 3)
            pieces = [piece for name in gone for piece in found.pop(name)]
            assert traces_left(tmp_path, pieces) > MOST * len(pieces)
            erased = await store.erase(gone, scope=ADA, at=9)
            assert (set(erased), erased.pending) == (set(gone), False)
            assert traces_left(tmp_path, pieces) == 0
        kept = [piece for pieces in found.values() for piece in pieces]
        assert traces_left(tmp_path, kept) > MOST * len(kept)

    with closing(SqlMemoryStore(path)) as store:
        asyncio.run(scenario(store))


@pytest.mark.parametrize("seed", range(20))
def test_while_a_reader_holds_it_up_erasure_is_pending_and_the_next_opening_ends_it(
    tmp_path: Path, seed: int, caplog: pytest.LogCaptureFixture
) -> None:
    draw, path = random.Random(seed), tmp_path / "memories.db"

    async def scenario(store: SqlMemoryStore) -> list[bytes]:
        found = await fill(store, draw)
        rewrite_carelessly(path, draw)
        gone = draw.sample(sorted(found), 3)
        pieces = [piece for name in gone for piece in found[name]]
        with open_reader(path):
            with caplog.at_level(logging.WARNING, logger="playground"):
                erased = await store.erase(gone, scope=ADA, at=9)
            assert (set(erased), erased.pending) == (set(gone), True)
            assert await store.erasure_pending()
            assert "a reader keeps its log busy" in caplog.text
            assert [await store.get(name, scope=ADA) for name in gone] == [None] * 3
            assert traces_left(tmp_path, pieces) > 0
        return pieces

    with closing(SqlMemoryStore(path, erasure_seconds=0)) as store:
        pieces = asyncio.run(scenario(store))
        with closing(SqlMemoryStore(path)) as again:
            assert not asyncio.run(again.erasure_pending())
            assert traces_left(tmp_path, pieces) == 0
        assert not asyncio.run(store.erasure_pending())


def test_erasure_waits_for_a_reader_that_ends_in_time(tmp_path: Path) -> None:
    path, draw = tmp_path / "memories.db", random.Random(1)
    with closing(SqlMemoryStore(path, erasure_seconds=30)) as store:
        found = asyncio.run(fill(store, draw))
        reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        reader.execute("BEGIN")
        reader.execute(f"SELECT count(*) FROM {REVISIONS.name}").fetchone()
        timer = threading.Timer(0.3, reader.close)
        timer.start()
        erased = asyncio.run(store.erase(["r0"], scope=ADA, at=9))
        timer.join()
        assert not erased.pending
        assert traces_left(tmp_path, found["r0"]) == 0


def test_what_is_pending_ends_with_the_next_forgetting_or_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"

    async def scenario(store: SqlMemoryStore) -> None:
        found = await fill(store, random.Random(2))
        with open_reader(path):
            assert (await store.erase(["r0"], scope=ADA, at=9)).pending
            assert not await store.finish_erasure()
        assert await store.finish_erasure()
        assert traces_left(tmp_path, found["r0"]) == 0
        with open_reader(path):
            assert (await store.erase(["r1"], scope=ADA, at=9)).pending
        assert not (await store.erase(["r1"], scope=ADA, at=9)).pending
        assert traces_left(tmp_path, found["r1"]) == 0

    with closing(SqlMemoryStore(path, erasure_seconds=0)) as store:
        asyncio.run(scenario(store))


def test_what_others_forgot_while_the_file_was_rewritten_stays_pending(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, draw = tmp_path / "memories.db", random.Random(1)
    rewriting = sql_erasure._plain_cursor

    @contextmanager
    def others_forget_at_the_end(database: Database) -> Iterator[object]:
        with rewriting(database) as cursor:
            yield cursor
        monkeypatch.undo()
        with closing(SqlMemoryStore(path)) as other, other.database.writing() as connection:
            sql_erasure.mark_pending(connection)

    with closing(SqlMemoryStore(path)) as store:
        found = asyncio.run(fill(store, draw))
        monkeypatch.setattr(sql_erasure, "_plain_cursor", others_forget_at_the_end)
        assert asyncio.run(store.erase(["r0"], scope=ADA, at=9)).pending
        assert traces_left(tmp_path, found["r0"]) == 0
        assert asyncio.run(store.erasure_pending())
        assert asyncio.run(store.finish_erasure())


def test_erasing_goes_on_beside_writers_of_other_records(tmp_path: Path) -> None:
    draw = random.Random(3)

    async def scenario(store: SqlMemoryStore) -> None:
        found = await fill(store, draw)

        async def write(worker: int) -> None:
            for turn in range(15):
                text = letters(draw, 500)
                record = MemoryRecord(id=f"w{worker}/{turn}", scope=ADA, revisions=(revision(1, text, draw),))
                await store.insert(record)

        gone = [f"r{number}" for number in range(6)]
        erased = await asyncio.gather(
            *(write(worker) for worker in range(3)), *(store.erase([name], scope=ADA, at=9) for name in gone)
        )
        assert [ids for ids in erased if ids] == [(name,) for name in gone]
        assert await store.finish_erasure()
        assert traces_left(tmp_path, [piece for name in gone for piece in found[name]]) == 0
        assert len(await store.list(scope=ADA)) == 2 + 45

    with closing(SqlMemoryStore(tmp_path / "memories.db")) as store:
        asyncio.run(scenario(store))


def test_every_connection_erases_securely_and_waits_for_its_turn(tmp_path: Path) -> None:
    with closing(SqlMemoryStore(tmp_path / "memories.db")) as store:
        connections = [store.database.engine.connect() for _ in range(3)]
        for connection in connections:
            found = {
                name: connection.exec_driver_sql(f"PRAGMA {name}").scalar()
                for name in ("secure_delete", "foreign_keys", "journal_mode", "synchronous")
            }
            assert found == {"secure_delete": 1, "foreign_keys": 1, "journal_mode": "wal", "synchronous": 2}
            assert connection.exec_driver_sql("PRAGMA busy_timeout").scalar() == 30_000
            connection.close()


def test_on_postgresql_no_query_gives_what_was_forgotten(postgres: PostgresServer) -> None:
    with closing(SqlMemoryStore(postgres.new_url())) as store:
        asyncio.run(fill(store, random.Random(4)))
        erased = asyncio.run(store.erase(["r0", "r1"], scope=ADA, at=9))
        assert (erased, erased.pending) == (("r0", "r1"), False)
        with store.database.reading() as connection:
            rows = connection.execute(sa.select(REVISIONS).where(REVISIONS.c.body.is_(None))).all()
        assert len(rows) >= 2
        assert {(row.body, row.embedding) for row in rows} == {(None, None)}
