"""Opening a database: what it may be, and what is refused with a typed error and left alone."""

from __future__ import annotations

import asyncio
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

import playground.memory
from playground import database
from playground.digests import text_digest
from playground.errors import InvalidInputError, InvalidRequestError, StoreBusyError, StoreError
from playground.memory import (
    ErasedIds,
    MemoryRecord,
    MemoryRevision,
    MemoryScope,
    MemorySession,
    SqlMemoryStore,
    sql_engine,
    sqlite_file,
)
from playground.memory.sql_schema import INFO, REVISIONS
from tests.postgres import PostgresServer

ADA = MemoryScope(user_id="ada")


def record(name: str, text: str = "Every deploy goes to eu-west.") -> MemoryRecord:
    revision = MemoryRevision(revision=1, text=text, digest=text_digest(text), recorded_at=1)
    return MemoryRecord(id=name, scope=ADA, revisions=(revision,))


def filled(path: Path, *, count: int = 12) -> Path:
    async def fill(store: SqlMemoryStore) -> None:
        for number in range(count):
            await store.insert(record(f"r{number}", f"text {number} " * 500))

    with closing(SqlMemoryStore(path)) as store:
        asyncio.run(fill(store))
    return path


@pytest.mark.parametrize("write", [str, Path, lambda path: f"sqlite:///{path}"], ids=["text", "path", "url"])
def test_a_file_is_named_by_path_or_url_and_opened_again(tmp_path: Path, write: object) -> None:
    path = tmp_path / "new folder" / "mémoires #1?.db"
    url = write(path)  # type: ignore[operator]  # three callables of different types
    if "://" in str(url):
        path = tmp_path / "new folder" / "memories.db"
        url = f"sqlite:///{path}"
    for name in ("a", "b"):
        with closing(SqlMemoryStore(url)) as store:
            asyncio.run(store.insert(record(name)))
    assert path.exists()
    with closing(SqlMemoryStore(url)) as store:
        assert [found.id for found in asyncio.run(store.list(scope=ADA))] == ["a", "b"]


def test_a_postgresql_database_is_opened_again(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    for name, one in (("a", url), ("b", url.replace("postgresql:", "postgresql+psycopg:"))):
        with closing(SqlMemoryStore(one)) as store:
            asyncio.run(store.insert(record(name)))
    with closing(SqlMemoryStore(url)) as store:
        assert [found.id for found in asyncio.run(store.list(scope=ADA))] == ["a", "b"]


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("", "path of a file"),
        (":memory:", "path of a file"),
        ("sqlite://", "path of a file"),
        ("sqlite:///:memory:", "path of a file"),
        ("sqlite:///a.db?mode=ro", "path of a file"),
        ("a\x00.db", "path of a file"),
        ("mysql://root:secret@host/db", "kept in 'mysql'"),
        ("postgresql+asyncpg://u:secret@host/db", "kept in"),
        ("postgresql://u:secret@host:port/db", "malformed"),
        (b"a.db", "is a bytes"),
        (None, "is a NoneType"),
    ],
)
def test_what_names_no_database_is_refused_without_telling_its_password(url: object, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem) as caught:
        SqlMemoryStore(url)  # type: ignore[arg-type]
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_server_out_of_reach_is_told_without_the_password() -> None:
    with pytest.raises(StoreError) as caught:
        SqlMemoryStore("postgresql://ada:secret@127.0.0.1:9/memories?password=secret")
    assert caught.value.store == "PostgreSQL database memories"
    assert "secret" not in f"{caught.value} {caught.value.__cause__} {caught.value.to_json()}"


def test_a_database_that_cannot_hold_every_text_is_refused(postgres: PostgresServer) -> None:
    with pytest.raises(StoreError, match="encoded in LATIN1"):
        SqlMemoryStore(postgres.new_database(encoding="LATIN1"))


def test_a_file_that_is_not_sqlites_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("Remember the milk. " * 500)
    with pytest.raises(StoreError, match="not an SQLite file") as caught:
        SqlMemoryStore(path)
    assert caught.value.store == "notes.txt"
    assert path.read_text() == "Remember the milk. " * 500
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "bookmarks.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
        other.commit()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program's database"):
        SqlMemoryStore(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["bookmarks.db"]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    path.touch()
    with closing(SqlMemoryStore(path)) as store:
        assert list(asyncio.run(store.list(scope=ADA))) == []


@pytest.mark.parametrize("version", ["2", "", "newest"])
def test_another_version_of_the_schema_is_refused(tmp_path: Path, version: str) -> None:
    path = filled(tmp_path / "memories.db", count=1)
    with closing(sqlite3.connect(path)) as other:
        other.execute(f"UPDATE {INFO.name} SET value = ?", (version,))
        other.commit()
    with pytest.raises(StoreError, match=f"in version {version!r} of the schema, this release knows 1"):
        SqlMemoryStore(path)


def test_postgresql_records_the_version_too(postgres: PostgresServer) -> None:
    url = postgres.new_url()
    with closing(SqlMemoryStore(url)) as store, store.database.writing() as connection:
        connection.execute(sa.update(INFO).values(value="2"))
    with pytest.raises(StoreError, match="in version '2'"):
        SqlMemoryStore(url)


def test_a_folder_and_a_place_below_a_file_are_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        SqlMemoryStore(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be opened"):
        SqlMemoryStore(tmp_path / "file" / "memories.db")


@pytest.mark.parametrize("kept", [17, 1_000, 4_096, 20_000])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, kept: int) -> None:
    path = filled(tmp_path / "memories.db")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(StoreError, match="is damaged"):
        SqlMemoryStore(path)
    assert path.stat().st_size == kept


@pytest.mark.parametrize("page", range(1, 12))
def test_a_file_with_a_page_of_noise_is_refused_or_read_with_a_typed_error(tmp_path: Path, page: int) -> None:
    path = filled(tmp_path / "memories.db")
    content = bytearray(path.read_bytes())
    content[page * 4_096 : (page + 1) * 4_096] = bytes((7 * number + page) % 256 for number in range(4_096))
    path.write_bytes(content)

    def use() -> None:
        with closing(SqlMemoryStore(path)) as store:
            asyncio.run(store.list(scope=ADA))

    with pytest.raises(StoreError):
        use()


def test_a_row_that_was_damaged_is_told_by_its_id(tmp_path: Path) -> None:
    with closing(SqlMemoryStore(tmp_path / "memories.db")) as store:
        asyncio.run(store.insert(record("r", "secret of Ada")))
        with store.database.writing() as connection:
            damaged = sa.func.replace(REVISIONS.c.body, "Ada", "Bob")
            connection.execute(sa.update(REVISIONS).values(body=damaged))
        with pytest.raises(StoreError, match="The memory 'r' in") as caught:
            asyncio.run(store.get("r", scope=ADA))
        assert "secret" not in str(caught.value)


def test_a_store_that_others_hold_is_busy_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql_engine, "BUSY_SECONDS", 0.1)
    path = tmp_path / "memories.db"
    with closing(SqlMemoryStore(path)) as store:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreBusyError, match="is held by others") as caught:
                asyncio.run(store.insert(record("r", "secret of Ada")))
            assert caught.value.retryable
            assert "secret" not in f"{caught.value} {caught.value.__cause__}"
            assert list(asyncio.run(store.list(scope=ADA))) == []
        asyncio.run(store.insert(record("r")))


def test_a_file_that_another_program_keeps_to_itself_is_busy_and_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_file, "BUSY_SECONDS", 0.1)
    path = filled(tmp_path / "memories.db", count=1)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreBusyError, match="is held by others"):
            SqlMemoryStore(path)
    SqlMemoryStore(path).close()


def test_a_lock_that_postgresql_does_not_give_is_busy_too(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 1)
    with closing(SqlMemoryStore(postgres.new_url())) as store:
        asyncio.run(store.insert(record("r")))
        with store.database.writing() as connection:
            connection.execute(sa.text("SELECT * FROM playground_memories FOR UPDATE"))
            with pytest.raises(StoreBusyError):
                asyncio.run(store.erase(["r"], scope=ADA, at=2))
        assert asyncio.run(store.get("r", scope=ADA)) == record("r")


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_many_threads_may_open_a_new_database_at_once(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = str(tmp_path / "m.db") if backend == "sqlite" else request.getfixturevalue("postgres").new_url()
    stores: list[SqlMemoryStore] = []
    threads = [threading.Thread(target=lambda: stores.append(SqlMemoryStore(url))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores) == 8
    for number, store in enumerate(stores):
        asyncio.run(store.insert(record(f"r{number}")))
        store.close()


def test_a_time_that_no_database_keeps_is_refused(tmp_path: Path) -> None:
    with closing(SqlMemoryStore(tmp_path / "memories.db")) as store:
        late = record("r").latest.model_copy(update={"recorded_at": 2**70})
        with pytest.raises(InvalidInputError, match="recorded_at"):
            asyncio.run(store.insert(MemoryRecord(id="r", scope=ADA, revisions=(late,))))
        with pytest.raises(InvalidInputError, match="at is"):
            asyncio.run(store.erase(["r"], scope=ADA, at=2**70))


def test_a_closed_store_opens_its_connections_again(tmp_path: Path) -> None:
    store = SqlMemoryStore(tmp_path / "memories.db")
    store.close()
    asyncio.run(store.insert(record("r")))
    with pytest.raises(InvalidRequestError):
        asyncio.run(store.insert(record("r")))
    store.close()
    assert not (tmp_path / "memories.db-wal").exists()


def test_a_session_and_its_recall_work_on_a_file_as_in_memory(tmp_path: Path) -> None:
    async def scenario(store: SqlMemoryStore) -> None:
        session = MemorySession(store, ADA, clock=lambda: 1)
        await session.remember("Every deploy goes to eu-west.", id="r")
        assert [hit.id for hit in await session.recall("deploy region eu-west")] == ["r"]

    with closing(SqlMemoryStore(tmp_path / "memories.db")) as store:
        asyncio.run(scenario(store))


def test_erased_ids_are_a_tuple_that_keeps_what_is_pending_when_pickled() -> None:
    erased = ErasedIds(["a", "b"], pending=True)
    assert erased == ("a", "b")
    assert pickle.loads(pickle.dumps(erased)).pending


def test_memory_is_imported_without_sqlalchemy_until_a_store_is_asked_for() -> None:
    script = (
        "import sys, playground.memory as m; assert 'sqlalchemy' not in sys.modules; "
        "m.SqlMemoryStore; m.SqlWorkingMemory; assert 'sqlalchemy' in sys.modules"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60, env=environment)
    with pytest.raises(AttributeError, match="no attribute 'Missing'"):
        _ = playground.memory.Missing


def test_a_store_that_must_be_there_is_not_made(tmp_path: Path, postgres: PostgresServer) -> None:
    missing = tmp_path / "folder" / "memories.db"
    empty = tmp_path / "empty.db"
    empty.touch()
    for url in (missing, empty, postgres.new_url()):
        with pytest.raises(StoreError, match="There is no memory store in"):
            SqlMemoryStore(url, create=False)
    assert ([path.name for path in tmp_path.iterdir()], empty.read_bytes()) == (["empty.db"], b"")
    with closing(SqlMemoryStore(filled(tmp_path / "filled.db", count=2), create=False)) as store:
        assert len(asyncio.run(store.list(scope=ADA))) == 2
