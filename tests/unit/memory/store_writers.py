"""What the processes of the durability tests do; ``python -m tests.unit.memory.store_writers <job> …``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from playground.digests import text_digest
from playground.errors import StaleRevisionError
from playground.memory import (
    MemoryRecord,
    MemoryRevision,
    MemoryScope,
    SqlMemoryStore,
    SqlWorkingMemory,
    sql_store,
)

ADA = MemoryScope(user_id="ada")


def revision(number: int, text: str) -> MemoryRevision:
    return MemoryRevision(revision=number, text=text, digest=text_digest(text), recorded_at=number)


async def write_many(url: str, count: int) -> None:
    """Insert records and revise every third; each line says what was acknowledged."""
    store = SqlMemoryStore(url)
    for number in range(count):
        name = f"r{number}"
        await store.insert(MemoryRecord(id=name, scope=ADA, revisions=(revision(1, f"text of {name}"),)))
        print(name, 1, flush=True)
        if number % 3 == 0:
            await store.append(name, revision(2, f"second text of {name}"), scope=ADA)
            print(name, 2, flush=True)


async def revise_in_threads(url: str, worker: str, threads: int, turns: int) -> None:
    """Revise one record from several threads, again and again; each line is an accepted text."""
    store = SqlMemoryStore(url)
    await asyncio.gather(*(revise_one(store, f"{worker}.{thread}", turns) for thread in range(threads)))


async def revise_one(store: SqlMemoryStore, worker: str, turns: int) -> None:
    """Revise the record until every text of this worker is accepted; each store call has its own thread."""
    for turn in range(turns):
        while True:
            current = await store.get("shared", scope=ADA)
            assert current is not None
            text = f"{worker}/{turn}"
            try:
                await store.append("shared", revision(current.latest.revision + 1, text), scope=ADA)
            except StaleRevisionError:
                continue
            print(current.latest.revision + 1, text, flush=True)
            break


async def patch_one(url: str, worker: str, turns: int) -> None:
    """Patch one working memory again and again, each patch twice; each line is an applied revision."""
    memory = SqlWorkingMemory(url, "task")
    for turn in range(turns):
        while True:
            patch = {
                "operation_id": f"{worker}/{turn}",
                "expected_revision": (await memory.current()).revision,
                "writer": "model",
                "operations": [{"op": "add-observation", "text": f"{worker}/{turn}"}],
            }
            outcome = await memory.apply(patch)
            if outcome.status == "applied":
                assert (await memory.apply(patch)).status == "duplicate"
                print(outcome.snapshot.revision, patch["operation_id"], flush=True)
                break
            assert outcome.status == "rejected"
            assert outcome.reason == "stale-revision"


async def forget_and_die(url: str) -> None:
    """Forget a record, and be gone when that is committed and nothing is rewritten yet."""
    store = SqlMemoryStore(url)
    vars(sql_store)["finish_erasure"] = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    await store.erase(["r0"], scope=ADA, at=2)


if __name__ == "__main__":
    job, url, *rest = sys.argv[1:]
    if job == "write":
        asyncio.run(write_many(url, int(rest[0])))
    elif job == "revise":
        asyncio.run(revise_in_threads(url, rest[0], int(rest[1]), int(rest[2])))
    elif job == "forget":
        asyncio.run(forget_and_die(url))
    else:
        asyncio.run(patch_one(url, rest[0], int(rest[1])))
