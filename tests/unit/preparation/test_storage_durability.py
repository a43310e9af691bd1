"""23: sessions and journals that processes are killed at, write at once, or find damaged."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import delete, update

from playground.errors import StoreError
from playground.memory import SqlMemoryStore
from playground.memory.sql_schema import INFO, row_key
from playground.preparation.file_storage import FileContextStorage
from playground.preparation.sql_storage import SESSIONS, SqlContextStorage
from tests.dying import DyingProcesses
from tests.unit.preparation.session_writers import session_text, storage_at

ROOT = Path(__file__).parents[3]


@pytest.fixture(params=["files", "sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "files":
        yield str(tmp_path / "sessions")
    elif request.param == "sqlite":
        yield str(tmp_path / "memories.db")
    else:
        yield request.getfixturevalue("postgres").new_url()


def started(what: str, place: str, worker: str, turns: int) -> subprocess.Popen[str]:
    module = "tests.unit.preparation.session_writers"
    command = [sys.executable, "-m", module, what, place, worker, str(turns)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def mark_of(text: str) -> str:
    session = json.loads(text)
    (item,) = session["state"]["conversation"]
    assert text == session_text(item["mark"]), "it is one whole session"
    return str(item["mark"])


@pytest.mark.parametrize("what", ["save", "append"])
def test_a_killed_writer_loses_nothing_that_was_acknowledged_r23(place: str, what: str) -> None:
    process = started(what, place, "a", 2_000)
    assert process.stdout is not None
    said = [process.stdout.readline().strip() for _ in range(20)]
    os.kill(process.pid, signal.SIGKILL)
    said += process.stdout.read().split()
    process.communicate()
    assert 20 <= len(said) < 2_000
    storage = storage_at(place)
    if what == "save":
        mark = mark_of(asyncio.run(storage.load("s")) or "")
        assert mark in {said[-1], f"a/{len(said)}"}, "the last one, or the one that was under way"
    else:
        lines = [line.strip('"').partition(" ")[0] for line in asyncio.run(storage.read_journal("s"))]
        assert lines[: 2 * len(said)] == [f"{mark}/{line}" for mark in said for line in range(2)]
        assert len(lines) <= 2 * len(said) + 2
    asyncio.run(storage.save("s", session_text("b/0")))
    assert mark_of(asyncio.run(storage.load("s")) or "") == "b/0"


def test_two_processes_that_save_leave_one_whole_session_r23(place: str) -> None:
    processes = [started("save", place, worker, 15) for worker in "ab"]
    for process in processes:
        assert process.communicate(timeout=60)[1] == ""
    assert mark_of(asyncio.run(storage_at(place).load("s")) or "") in {"a/14", "b/14"}


def test_two_processes_that_append_lose_no_line_and_tear_none_r23(place: str) -> None:
    processes = [started("append", place, worker, 15) for worker in "ab"]
    for process in processes:
        assert process.communicate(timeout=60)[1] == ""
    lines = [json.loads(line).partition(" ")[0] for line in asyncio.run(storage_at(place).read_journal("s"))]
    for worker in "ab":
        mine = [line for line in lines if line.startswith(worker)]
        assert mine == [f"{worker}/{turn}/{line}" for turn in range(15) for line in range(2)]
    assert len(lines) == 60


@pytest.mark.slow
def test_a_process_killed_at_any_call_leaves_one_whole_session_and_whole_lines_r23(tmp_path: Path) -> None:
    prepare = """
import asyncio, os
from playground.preparation.file_storage import FileContextStorage as ProjectLibrary
from tests.unit.preparation.session_writers import session_text
DOOMED = [(os, "replace"), (os, "write"), (os, "ftruncate")]
"""
    storage = FileContextStorage(tmp_path / "sessions")
    asyncio.run(storage.save("s", session_text("a/0")))
    last, lines = "a/0", 0
    code = """
asyncio.run(library.save("s", session_text(f"b/{number}")))
asyncio.run(library.append_journal("s", [f'"{number}/{line}"' for line in range(3)]))
"""
    with DyingProcesses(prepare) as dying:
        for number, killed in dying.each(storage.folder, code):
            mark = mark_of(asyncio.run(storage.load("s")) or "")
            assert mark in {last, f"b/{number}"}
            last = mark
            kept = asyncio.run(storage.read_journal("s"))
            assert len(kept) - lines in {0, 3}, f"killed at call {number}"
            lines = len(kept)
            assert killed or (mark == f"b/{number}" and kept[-1] == f'"{number}/2"')
    assert asyncio.run(storage.delete("s"))
    assert not [*storage.folder.iterdir()], "also what the killed ones left unfinished"


def test_a_line_that_a_crash_tore_is_passed_over_and_cut_off_by_the_next_r23(tmp_path: Path) -> None:
    storage = FileContextStorage(tmp_path)
    asyncio.run(storage.append_journal("s", ['"one"', f'"{"ä" * 100_000}"']))
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    for torn in (b'"tw', b'"\xc3', b'"' + b"x" * 200_000):
        path.write_bytes(whole + torn)
        assert len(asyncio.run(storage.read_journal("s"))) == 2
        asyncio.run(storage.append_journal("s", ['"three"']))
        assert asyncio.run(storage.read_journal("s"))[2:] == ('"three"',)
        assert path.read_bytes() == whole + b'"three"\n'
    path.write_bytes(b'"tor')
    assert asyncio.run(storage.read_journal("s")) == ()
    asyncio.run(storage.append_journal("s", ['"new"']))
    assert asyncio.run(storage.read_journal("s")) == ('"new"',)


def test_files_stay_in_their_folder_and_are_their_owners_r23(tmp_path: Path) -> None:
    storage = FileContextStorage(tmp_path / "in" / "sessions")
    for session_id in ("../../s", "/s", "s" * 300, "S", "s"):
        text = session_text("a/0").replace('"sessionId":"s"', f'"sessionId":"{session_id}"')
        asyncio.run(storage.save(session_id, text))
        asyncio.run(storage.append_journal(session_id, ["{}"]))
    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    files = [*storage.folder.iterdir()]
    assert len(files) == 10
    assert len({path.name.lower() for path in files}) == 10, "also where names ignore case"
    assert all(len(path.name) < 100 for path in files)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}


def test_a_file_that_holds_no_session_is_logged_and_left_out_of_the_list_r23(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = FileContextStorage(tmp_path)
    asyncio.run(storage.save("s", session_text("a/0")))
    (tmp_path / "other.json").write_text("{}")
    assert [summary.session_id for summary in asyncio.run(storage.list())] == ["s"]
    assert "other.json holds no session" in caplog.text


def test_a_row_that_holds_no_session_is_logged_and_left_out_of_the_list_r23(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(SqlContextStorage(tmp_path / "sessions.db")) as storage:
        for name in ("good", "bad"):
            asyncio.run(storage.save(name, session_text("a/0", name)))
        with storage.database.writing() as connection:
            connection.execute(update(SESSIONS).where(SESSIONS.c.key == row_key("bad")).values(head="{"))
        assert [summary.session_id for summary in asyncio.run(storage.list())] == ["good"]
    assert "holds no session" in caplog.text


def test_what_the_disk_refuses_is_told_r23(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    storage = FileContextStorage(tmp_path / "file" / "sessions")
    for call in (
        storage.save("s", session_text("a/0")),
        storage.append_journal("s", ["{}"]),
        storage.load("s"),
    ):
        with pytest.raises(StoreError, match="cannot be used: Not a directory"):
            asyncio.run(call)
    storage = FileContextStorage(tmp_path)
    asyncio.run(storage.save("s", session_text("a/0")))
    (path,) = tmp_path.glob("s-*")
    path.write_bytes(b"\xff")
    with pytest.raises(StoreError, match="is damaged"):
        asyncio.run(storage.load("s"))


def test_a_session_that_cannot_be_written_leaves_the_former_one_and_no_rest_r23(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = FileContextStorage(tmp_path)
    asyncio.run(storage.save("s", session_text("a/0")))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match="No space left"):
        asyncio.run(storage.save("s", session_text("a/1")))
    with pytest.raises(StoreError, match="No space left"):
        asyncio.run(storage.append_journal("s", ["{}"]))
    monkeypatch.undo()
    assert mark_of(asyncio.run(storage.load("s")) or "") == "a/0"
    assert asyncio.run(storage.read_journal("s")) == ()
    assert not [*tmp_path.glob("*.part"), *tmp_path.glob(".*.part")]


def test_sessions_live_beside_memories_with_a_version_of_their_own_r23(tmp_path: Path) -> None:
    url = tmp_path / "memories.db"
    with closing(SqlMemoryStore(url)), closing(SqlContextStorage(url)) as storage:
        asyncio.run(storage.save("s", session_text("a/0")))
        with storage.database.writing() as connection:
            connection.execute(update(INFO).where(INFO.c.name == "context_schema_version").values(value="2"))
    with pytest.raises(StoreError, match="version '2' of the schema, this release knows 1"):
        SqlContextStorage(url)
    with closing(SqlMemoryStore(url)) as memories, memories.database.writing() as connection:
        connection.execute(delete(INFO).where(INFO.c.name == "context_schema_version"))
    with pytest.raises(StoreError, match="version None"):
        SqlContextStorage(url)
