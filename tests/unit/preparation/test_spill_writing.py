"""Writing results, and reading them back before anything may go (section 14)."""

from __future__ import annotations

from typing import Any

from playground.preparation.items import Json
from playground.preparation.memory_store import MemoryStore, Stored
from playground.preparation.protocol import Group, protocol_map
from playground.preparation.spill import Spilled, allocate, inventory
from playground.preparation.spill_writing import write_spills
from tests.preparation import call, items, message, pair, result


class Disk(MemoryStore):
    """A store that fails for some keys: it raises, forgets, or keeps something else."""

    def __init__(self, **failures: str) -> None:
        super().__init__()
        self.failures = failures

    def set(self, key: str, description: str, value: Any, **more: Any) -> Stored:
        failure = self.failures.get(key.rpartition(".")[2])
        if failure == "raises":
            raise OSError("the disk is full")
        stored = super().set(key, description, "other" if failure == "garbles" else value, **more)
        if failure == "forgets":
            self.delete(stored.key)
        return stored if failure != "answers nothing" else None  # type: ignore[return-value]


def spills_of(*data: Json) -> tuple[tuple[Group, ...], tuple[Spilled, ...]]:
    held = items(*data)
    groups = protocol_map(held, ()).groups
    found = [one for group in groups for one in inventory(group, held)]
    return groups, allocate(found, (), lambda name, arguments: None)


def two_groups() -> list[Json]:
    both = message("assistant", call("a"), call("b"))
    return [both, message("user", result("a", "A")), message("user", result("b", "B")), *pair("c", "C")]


def written(store: MemoryStore) -> tuple[list[bool], list[str]]:
    groups, spills = spills_of(*two_groups())
    log: list[str] = []
    safe = write_spills(spills, store, log.append)
    return [group in safe for group in groups], log


def test_14_all_results_are_written_as_raw_and_each_move_is_told_with_its_final_key() -> None:
    store = MemoryStore()
    safe, log = written(store)
    assert safe == [True, True]
    assert log == [
        "moved look result a (3B) to raw.tool_result.look.a",
        "moved look result b (3B) to raw.tool_result.look.b",
        "moved look result c (3B) to raw.tool_result.look.c",
    ]
    entry = store.peek("raw.tool_result.look.b")
    assert entry is not None
    assert (entry.value, entry.tier, entry.priority, entry.access_count) == ("B", "raw", "low", 0)


def test_14_a_write_that_raises_keeps_its_whole_group_and_no_other() -> None:
    store = Disk(b="raises")
    safe, log = written(store)
    assert safe == [False, True]
    assert log == [
        "kept look result b: writing raw.tool_result.look.b raised OSError",
        "moved look result c (3B) to raw.tool_result.look.c",
    ]
    assert store.peek("raw.tool_result.look.a")  # an earlier write may remain


def test_14_a_result_that_is_gone_or_another_when_read_back_keeps_its_group() -> None:
    safe, log = written(Disk(a="forgets"))
    assert (safe, log[0]) == ([False, True], "kept look result a: raw.tool_result.look.a is not in notes")
    safe, log = written(Disk(c="garbles"))
    assert safe == [True, False]
    assert "kept look result c: raw.tool_result.look.c holds something else" in log


def test_14_reading_that_raises_keeps_the_group() -> None:
    class Unreadable(MemoryStore):
        def peek(self, key: str) -> Any:
            raise OSError

    safe, log = written(Unreadable())
    assert safe == [False, False]
    assert log[0] == "kept look result a: reading raw.tool_result.look.a raised OSError"


def test_14_reading_back_is_no_use_of_an_entry() -> None:
    store = MemoryStore()
    written(store)
    assert [entry.access_count for entry in store.list()] == [0, 0, 0]


def test_4_2_what_a_store_evicts_for_them_is_told() -> None:
    store = MemoryStore(max_entries=3)
    store.set("raw.old", "old", 1, tier="raw")
    safe, log = written(store)
    assert safe == [True, True]
    assert log[0] == "evicted raw.old from notes to make room"


def test_14_spills_that_evict_each_other_are_not_taken_for_safe() -> None:
    safe, log = written(MemoryStore(max_entries=2))
    assert safe == [False, True]
    assert "evicted raw.tool_result.look.a from notes to make room" in log
    assert "kept look result a: raw.tool_result.look.a is not in notes" in log


def test_14_a_store_that_does_not_say_what_it_did_keeps_the_group() -> None:
    safe, log = written(Disk(b="answers nothing"))
    assert safe == [False, True]
    assert "kept look result b: writing raw.tool_result.look.b raised AttributeError" in log
