"""Several processes on one database: what is acknowledged stays, and no stale write is accepted."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from playground.memory import MemoryRecord, MemoryScope, SqlMemoryStore, SqlWorkingMemory
from playground.working_memory import create_working_memory
from tests.unit.memory.store_writers import ADA, revision

ROOT = Path(__file__).parents[3]
WRITES = 1_000


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield str(tmp_path / "memories.db")
    else:
        yield request.getfixturevalue("postgres").new_url()


def started(*arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.unit.memory.store_writers", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def all_said(processes: list[subprocess.Popen[str]]) -> list[list[str]]:
    """Wait for processes and return their lines."""
    said = [process.communicate(timeout=240) for process in processes]
    assert [error for _, error in said] == [""] * len(said)
    return [output.splitlines() for output, _ in said]


def test_a_process_killed_amid_a_thousand_writes_loses_none_that_was_acknowledged(url: str) -> None:
    with closing(SqlMemoryStore(url)):
        pass
    process = started("write", url, WRITES)
    assert process.stdout is not None
    last = WRITES // 2
    acknowledged = [process.stdout.readline().split() for _ in range(last)]
    os.kill(process.pid, signal.SIGKILL)
    acknowledged += [line.split() for line in process.stdout.read().splitlines() if line.count(" ") == 1]
    assert process.wait() == -signal.SIGKILL
    process.communicate()
    assert last <= len(acknowledged) < WRITES + WRITES // 3
    with closing(SqlMemoryStore(url)) as store:
        kept = {record.id: record for record in asyncio.run(store.list(scope=ADA))}
        for name, number in acknowledged:
            assert len(kept[name].revisions) >= int(number)
        # Nothing is there in part, and at most the write that was under way is there unacknowledged.
        assert {record.revisions[0].text for record in kept.values()} == {f"text of {name}" for name in kept}
        assert sum(len(record.revisions) for record in kept.values()) <= len(acknowledged) + 1
        asyncio.run(store.insert(MemoryRecord(id="new", scope=ADA, revisions=(revision(1, "goes on"),))))


def test_an_erasure_that_a_kill_cut_off_is_ended_when_the_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "memories.db"
    with closing(SqlMemoryStore(path)) as store:
        asyncio.run(store.insert(MemoryRecord(id="r0", scope=ADA, revisions=(revision(1, "secret of Ada"),))))
    process = started("forget", path)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL

    def told() -> bool:
        return any(b"secret of Ada" in part.read_bytes() for part in tmp_path.iterdir())

    assert told(), "the log still has it"
    with closing(SqlMemoryStore(path)) as store:
        assert not told()
        assert [stone.id for stone in asyncio.run(store.tombstones(scope=ADA))] == ["r0"]
        assert not asyncio.run(store.erasure_pending())


@pytest.mark.parametrize(
    ("processes", "threads", "turns"), [(2, 4, 4), pytest.param(8, 1, 6, marks=pytest.mark.slow)]
)
def test_eight_writers_in_several_processes_revise_one_record_and_no_stale_revision_is_accepted(
    url: str, processes: int, threads: int, turns: int
) -> None:
    with closing(SqlMemoryStore(url)) as store:
        asyncio.run(store.insert(MemoryRecord(id="shared", scope=ADA, revisions=(revision(1, "first"),))))
        said = all_said([started("revise", url, worker, threads, turns) for worker in range(processes)])
        kept = asyncio.run(store.get("shared", scope=ADA))
    assert kept is not None
    assert [len(lines) for lines in said] == [threads * turns] * processes
    accepted = dict(line.split() for lines in said for line in lines)
    assert {str(one.revision): one.text for one in kept.revisions[1:]} == accepted
    assert len(accepted) == 8 * turns


def test_two_processes_patch_one_working_memory_and_every_patch_is_applied_once(url: str) -> None:
    turns = 12
    with closing(SqlMemoryStore(url)) as store:
        memory = SqlWorkingMemory(
            store, "task", start=create_working_memory(scope="task", now=1), clock=lambda: 1
        )
        asyncio.run(memory.current())
        said = all_said([started("patch", url, worker, turns) for worker in range(2)])
        snapshot, history = asyncio.run(memory.current()), asyncio.run(memory.history())
    applied = sorted((int(line.split()[0]), line.split()[1]) for lines in said for line in lines)
    assert [number for number, _ in applied] == list(range(1, 2 * turns + 1))
    assert sorted(item.text for item in snapshot.observations) == sorted(name for _, name in applied)
    assert [(told.revision, told.operation_id) for told in history] == applied


def test_a_forked_child_takes_connections_of_its_own(tmp_path: Path) -> None:
    with closing(SqlMemoryStore(tmp_path / "memories.db")) as store:
        asyncio.run(store.insert(MemoryRecord(id="parent", scope=ADA, revisions=(revision(1, "one"),))))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                record = MemoryRecord(id="child", scope=ADA, revisions=(revision(1, "two"),))
                asyncio.run(store.insert(record))
                code = 0
            finally:
                os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        asyncio.run(store.insert(MemoryRecord(id="after", scope=ADA, revisions=(revision(1, "three"),))))
        assert {record.id for record in asyncio.run(store.list(scope=MemoryScope()))} == {
            "parent",
            "child",
            "after",
        }
