"""What only a working memory in a database can do, and what can go wrong with it."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from playground.concurrency import run_sync
from playground.errors import InvalidInputError, InvalidRequestError, StoreError
from playground.memory import SqlMemoryStore, SqlWorkingMemory
from playground.memory.sql_schema import WORKING_MEMORIES
from playground.working_memory import create_working_memory
from tests.unit.working_memory.helpers import noted

begun = partial(create_working_memory, now=1_000)


def test_a_database_holds_one_for_each_scope_beside_the_memories(tmp_path: Path) -> None:
    path, long = tmp_path / "memories.db", "長" * 256
    store = SqlMemoryStore(path)
    first = SqlWorkingMemory(store, "a", start=begun(scope="a"))
    second = SqlWorkingMemory(store, long, start=begun(scope=long))
    run_sync(first.apply(noted("of a", 0)))
    assert run_sync(second.current()).revision == 0
    store.close()
    again = SqlWorkingMemory(path, "a", start=begun(scope="a", goal="Another start is not looked at."))
    assert [item.text for item in run_sync(again.current()).observations] == ["of a"]
    assert len(run_sync(again.history())) == 1
    again.close()


def test_one_that_was_never_begun_needs_a_start_of_its_scope(tmp_path: Path) -> None:
    memory = SqlWorkingMemory(tmp_path / "memories.db", "task")
    for ask in (memory.current, lambda: memory.apply(noted("a", 0))):
        with pytest.raises(InvalidRequestError, match="no working memory of the scope 'task'"):
            run_sync(ask())
    assert run_sync(memory.history()) == ()
    memory.close()
    with pytest.raises(InvalidInputError, match="scope"):
        SqlWorkingMemory(tmp_path / "memories.db", "task", start=begun(scope="other"))
    with pytest.raises(InvalidInputError, match="scope"):
        SqlWorkingMemory(tmp_path / "memories.db", "")


def test_a_row_that_was_damaged_is_told_without_its_text(tmp_path: Path) -> None:
    memory = SqlWorkingMemory(tmp_path / "memories.db", "a", start=begun(scope="a"))
    run_sync(memory.current())
    with memory.database.writing() as connection:
        connection.execute(WORKING_MEMORIES.update().values(body='{"secret": 1}'))
    with pytest.raises(StoreError, match="The working memory 'a'"):
        run_sync(memory.current())
    memory.close()
