"""23: the history journal keeps what came in, whatever compaction does, and only of sessions that are there."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from playground.errors import StoreError
from playground.preparation.journal import HistoryJournal, last_turn, read_journal
from playground.preparation.memory_storage import InMemoryContextStorage
from tests.preparation import items, message, result

HI, BYE = message("user", "Hi \ud800"), message("assistant", "Bye")


class Failing(InMemoryContextStorage):
    def __init__(self) -> None:
        super().__init__()
        self.fails = True

    async def append_journal(self, session_id: str, lines: Sequence[str]) -> None:
        if self.fails:
            await asyncio.sleep(0)  # others go on meanwhile
            await asyncio.sleep(0)
            raise StoreError("no", store="s")
        await super().append_journal(session_id, lines)


def recorded() -> HistoryJournal:
    journal = HistoryJournal()
    journal.record("user", items(HI), turn=1, at=5)
    journal.record("assistant", items(BYE), turn=1, at=6)
    return journal


def told(storage: InMemoryContextStorage) -> list[tuple[int, int, str, Any]]:
    entries = asyncio.run(read_journal(storage, "s"))
    return [(entry.turn, entry.at, entry.kind, entry.item) for entry in entries]


def test_entries_wait_for_the_first_save_and_go_in_order_r23() -> None:
    storage, journal = InMemoryContextStorage(), recorded()
    assert journal.waiting == 2
    assert asyncio.run(journal.flush(storage, "s")) == 2
    assert journal.waiting == 0
    assert told(storage) == [(1, 5, "user", HI), (1, 6, "assistant", BYE)]
    journal.record("summary", items(HI), turn=2, at=7)
    assert asyncio.run(journal.flush(storage, "s")) == 1
    assert asyncio.run(journal.flush(storage, "s")) == 0
    assert [entry[2] for entry in told(storage)] == ["user", "assistant", "summary"]


def test_what_could_not_be_written_waits_on_before_what_came_later_r23() -> None:
    storage, journal = Failing(), recorded()

    async def fail() -> None:
        flush = asyncio.create_task(journal.flush(storage, "s"))
        await asyncio.sleep(0)
        journal.record("items", items(HI), turn=2, at=7)
        await flush

    with pytest.raises(StoreError):
        asyncio.run(fail())
    storage.fails = False
    asyncio.run(journal.flush(storage, "s"))
    assert [entry[1] for entry in told(storage)] == [5, 6, 7]


def test_two_flushes_at_once_write_each_entry_once_r23() -> None:
    storage, journal = InMemoryContextStorage(), recorded()

    async def both() -> list[int]:
        return [*await asyncio.gather(journal.flush(storage, "s"), journal.flush(storage, "s"))]

    assert sum(asyncio.run(both())) == 2
    assert len(told(storage)) == 2


def test_an_item_without_a_json_form_is_told_of_all_the_same_r23() -> None:
    storage, journal = InMemoryContextStorage(), HistoryJournal()
    journal.record("tool_results", items(message("user", result("c", object()))), turn=1, at=5)
    asyncio.run(journal.flush(storage, "s"))
    assert told(storage) == [(1, 5, "tool_results", None)]


def test_turns_go_on_after_the_last_one_r23() -> None:
    storage, journal = InMemoryContextStorage(), recorded()
    journal.record("user", items(HI), turn=4, at=9)
    asyncio.run(journal.flush(storage, "s"))
    assert last_turn(asyncio.run(read_journal(storage, "s"))) == 4
    assert last_turn(()) == 0


def test_another_session_takes_nothing_of_this_one_r23() -> None:
    storage, journal = InMemoryContextStorage(), recorded()
    journal.restart()
    assert asyncio.run(journal.flush(storage, "other")) == 0


@pytest.mark.parametrize("line", ["{", "{}", '{"turn":1,"at":1,"kind":"other"}'])
def test_a_damaged_entry_is_named_r23(line: str) -> None:
    storage = InMemoryContextStorage()
    asyncio.run(recorded().flush(storage, "s"))
    asyncio.run(storage.append_journal("s", [line]))
    with pytest.raises(StoreError, match="Entry 3 in the journal of the session 's' is damaged"):
        asyncio.run(read_journal(storage, "s"))
