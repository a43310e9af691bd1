"""23: whole contexts that are saved, taken up elsewhere, and go on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from playground.errors import StoreError
from playground.preparation import (
    AgentContext,
    ContextStorage,
    FileContextStorage,
    InMemoryContextStorage,
    SqlContextStorage,
    read_journal,
)
from tests.preparation import NOW, message, pair
from tests.unit.preparation.test_sessions import OPAQUE

WORDS = "x y " * 900  # 3,600 characters, some 1,030 tokens


@pytest.fixture(params=["memory", "files", "sqlite"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ContextStorage]:
    if request.param == "memory":
        yield InMemoryContextStorage()
    elif request.param == "files":
        yield FileContextStorage(tmp_path / "sessions")
    else:
        sql = SqlContextStorage(tmp_path / "memories.db")
        yield sql
        sql.close()


def context_on(storage: ContextStorage, window: int = 2_000) -> AgentContext:
    return AgentContext(
        model="m", max_context_tokens=window, response_reserve=100, clock=lambda: NOW, storage=storage
    )


def moved_keys(log: Sequence[str]) -> list[str]:
    return [line.rpartition(" to ")[2] for line in log if line.startswith("moved ")]


async def value_at(context: AgentContext, key: str) -> Any:
    found = await context.tools.execute("store_get", {"store": "notes", "key": key})
    return found["entry"]["value"]


def test_opaque_bytes_go_into_the_same_request_after_a_load_r23(storage: ContextStorage) -> None:
    async def go() -> None:
        first, second = context_on(storage, 90_000), context_on(storage, 90_000)
        first.add_input_items(OPAQUE)
        await first.save("s")
        assert await second.load("s")
        assert second.conversation == first.conversation == OPAQUE
        assert (await second.prepare()).input == (await first.prepare()).input

    asyncio.run(go())


def test_keys_after_a_load_see_the_restored_ones_r23(storage: ContextStorage) -> None:
    async def go() -> None:
        first, second = context_on(storage), context_on(storage)
        first.add_input_items(pair("one_12345678", f"{WORDS}one", "read"))
        first.add_user_message("And?")
        (key,) = moved_keys((await first.prepare()).compaction_log)
        await first.save("s")
        assert await second.load("s")
        forgotten = second.last_preparation
        assert forgotten is None
        second.add_input_items(pair("two_12345678", f"{WORDS}two", "read"))
        second.add_user_message("And?")
        (other,) = moved_keys((await second.prepare()).compaction_log)
        assert (key, other) == ("raw.tool_result.read.12345678", "raw.tool_result.read.12345678.function.1")
        assert await value_at(second, key) == f"{WORDS}one"
        assert await value_at(second, other) == f"{WORDS}two"
        now = second.last_preparation
        assert now is not None
        assert now.revision == 1, "revisions are not kept"

    asyncio.run(go())


def test_a_journal_never_tells_of_a_session_that_is_not_there_r23() -> None:
    class Refusing(InMemoryContextStorage):
        refuses = True

        async def save(self, session_id: str, text: str) -> None:
            if self.refuses:
                raise StoreError("The disk is full.", store="s")
            await super().save(session_id, text)

    async def go() -> None:
        storage = Refusing()
        context = context_on(storage)
        context.add_user_message("Hi")
        with pytest.raises(StoreError):
            await context.save("s")
        assert await read_journal(storage, "s") == ()
        storage.refuses = False
        context.add_assistant_response("Hello.")
        await context.save("s")
        assert [entry.kind for entry in await read_journal(storage, "s")] == ["user", "assistant"]

    asyncio.run(go())


def test_the_journal_goes_on_where_it_was_r23(storage: ContextStorage) -> None:
    async def go() -> None:
        first, second = context_on(storage), context_on(storage)
        for text in ("one", "two"):
            first.add_user_message(text)
            first.add_assistant_response(f"{text}?")
        await first.save("s")
        await second.load("s")
        second.add_user_message("three")
        await second.save()
        entries = await read_journal(storage, "s")
        assert [(entry.turn, entry.kind) for entry in entries] == [
            (1, "user"),
            (1, "assistant"),
            (2, "user"),
            (2, "assistant"),
            (3, "user"),
        ]
        assert entries[-1].item == second.current_input[0]
        assert await second.load("s")
        assert second.conversation == first.conversation
        assert second.current_input == [], "the current input is not kept"
        assert message("user", "two")["content"] in [item["content"] for item in second.conversation]

    asyncio.run(go())
