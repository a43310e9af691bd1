"""The store of memory entries: access, limits, eviction and room (15.2, 15.3)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playground.errors import InvalidInputError
from playground.preparation.memory_store import MAX_BYTES, MAX_ENTRIES, MemoryStore, Stored
from tests.preparation import NOW, FixedClock


def filled(count: int, **limits: Any) -> MemoryStore:
    """A store with the entries k0, k1, … in the order of their writing."""
    store = MemoryStore(**limits)
    for number in range(count):
        store.set(f"k{number}", "An entry", number)
    return store


def test_15_2_an_entry_has_its_defaults() -> None:
    store = MemoryStore(clock=FixedClock())
    assert store.set("a", "An entry", {"é": 1}) == Stored("a", len('{"é":1}') + 1, ())
    entry = store.peek("a")
    assert entry is not None
    assert (entry.scope, entry.priority, entry.pinned, entry.tier) == ("session", "normal", False, None)
    assert (entry.updated_at, entry.last_accessed_at, entry.access_count) == (NOW, NOW, 0)
    assert entry.value == {"é": 1}


@pytest.mark.parametrize(("tier", "priority"), [("raw", "low"), ("summary", "normal"), ("findings", "high")])
def test_15_2_a_tier_sets_prefix_and_priority_over_what_was_asked_for(tier: str, priority: str) -> None:
    store = MemoryStore()
    key = store.set("raw.data", "An entry", 1, tier=tier, priority="critical").key
    entry = store.peek(key)
    assert entry is not None
    assert (key, entry.priority, entry.tier) == (f"{tier}.data", priority, tier)


def test_15_2_a_pinned_entry_is_critical() -> None:
    store = MemoryStore()
    store.set("raw.a", "An entry", 1, tier="raw", pinned=True)
    entry = store.peek("raw.a")
    assert entry is not None
    assert (entry.priority, entry.base_priority, entry.removable) == ("critical", "low", False)


def test_15_2_reading_counts_as_an_access_and_peeking_does_not() -> None:
    clock = FixedClock()
    store = MemoryStore(clock=clock)
    store.set("a", "An entry", 1)
    clock.ms += 5
    before = store.peek("a")
    assert store.peek("a") == before
    read = store.get("a")
    assert read is not None
    assert before is not None
    assert (before.access_count, before.last_accessed_at) == (0, NOW)
    assert (read.access_count, read.last_accessed_at, read.updated_at) == (1, NOW + 5, NOW)
    assert store.peek("a") == read


def test_14_peeking_leaves_the_order_of_eviction_alone() -> None:
    store = filled(3)
    store.peek("k0")
    assert store.evict(1) == ("k0",)


def test_15_2_what_was_stored_cannot_be_changed_from_outside() -> None:
    store = MemoryStore()
    value = {"list": [1]}
    store.set("a", "An entry", value)
    value["list"].append(2)
    for read in (store.get("a"), store.peek("a"), store.list()[0]):
        assert read is not None
        assert read.value == {"list": [1]}
        read.value["list"].append(3)
    assert store.used_bytes == len('{"list":[1]}')


def test_15_2_an_unknown_key_gives_none() -> None:
    store = filled(1)
    assert store.get("x") is None
    assert store.peek("x") is None
    assert store.delete("x") is False
    assert store.delete("k0") is True
    assert (len(store), "k0" in store) == (0, False)


def test_15_3_the_limits_are_25_mib_and_30_entries() -> None:
    store = MemoryStore()
    assert (store.max_bytes, store.max_entries) == (MAX_BYTES, MAX_ENTRIES) == (26_214_400, 30)


@pytest.mark.parametrize("limits", [{"max_entries": 0}, {"max_entries": True}, {"max_bytes": 0.5}])
def test_15_3_a_limit_is_a_whole_number_of_1_or_more(limits: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        MemoryStore(**limits)


def test_15_3_at_the_limit_the_least_recently_used_entry_makes_room() -> None:
    store = filled(3, max_entries=3)
    store.get("k0")
    assert store.set("new", "An entry", 1).evicted == ("k1",)
    assert store.keys() == ("k2", "k0", "new")


def test_15_3_a_lower_priority_goes_before_an_older_access() -> None:
    store = MemoryStore(max_entries=3)
    store.set("old-high", "An entry", 1, priority="high")
    store.set("normal", "An entry", 1)
    store.set("new-low", "An entry", 1, priority="low")
    evicted = [store.set(f"n{number}", "An entry", 1, priority="critical").evicted for number in range(3)]
    assert evicted == [("new-low",), ("normal",), ("old-high",)]


def test_15_3_an_update_is_no_new_entry() -> None:
    store = filled(3, max_entries=3)
    assert store.set("k1", "An entry again", 2).evicted == ()
    assert store.keys() == ("k0", "k2", "k1")


def test_15_3_pinned_and_critical_entries_stay_and_the_write_still_happens() -> None:
    store = MemoryStore(max_entries=2, max_bytes=20)
    store.set("pinned", "An entry", "x" * 5, pinned=True)
    store.set("critical", "An entry", "x" * 5, priority="critical")
    assert store.set("new", "An entry", "x" * 30).evicted == ()
    assert set(store.keys()) == {"pinned", "critical", "new"}


def test_15_3_too_many_bytes_free_what_leaves_four_fifths_in_use() -> None:
    store = MemoryStore(max_bytes=100)
    for number in range(10):
        store.set(f"k{number}", "An entry", "x" * 8)  # 10 bytes each: full to the byte
    # 100 + 12 - 80 = 32 bytes are to be freed: four entries.
    assert store.set("new", "An entry", "x" * 10).evicted == ("k0", "k1", "k2", "k3")
    assert store.used_bytes == 72


def test_15_3_a_write_that_just_fits_evicts_nothing() -> None:
    store = MemoryStore(max_bytes=100)
    store.set("a", "An entry", "x" * 58)
    assert store.set("b", "An entry", "x" * 38).evicted == ()
    assert store.used_bytes == 100


def test_15_3_an_update_counts_by_its_growth_and_never_evicts_itself() -> None:
    store = MemoryStore(max_bytes=100)
    for key in ("a", "b"):
        store.set(key, "An entry", "x" * 38)
    assert store.set("a", "An entry", "x" * 58).evicted == ()
    assert store.set("b", "An entry", "x" * 39).evicted == ("a",)  # used last, but b is written
    store.set("c", "An entry", "x" * 48)
    assert store.set("b", "An entry", "x" * 60).evicted == ("c",)  # though b was used first
    assert store.keys() == ("b",)


def test_15_3_evicting_by_size_takes_the_largest_of_the_lowest_priority() -> None:
    store = MemoryStore()
    for key, size, priority in (("a", 9, "low"), ("b", 99, "low"), ("c", 999, "normal"), ("d", 99, "low")):
        store.set(key, "An entry", "x" * size, priority=priority)
    store.set("pinned", "An entry", "x", pinned=True)
    assert store.evict(3, "size") == ("b", "d", "a")
    assert store.evict(9, "lru") == ("c",)
    assert store.keys() == ("pinned",)


@pytest.mark.parametrize("arguments", [(-1,), (1.5,), (True,), (1, "age")])
def test_15_3_a_malformed_eviction_is_refused(arguments: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidInputError):
        filled(2).evict(*arguments)


def test_15_3_a_refused_write_changes_nothing() -> None:
    store = filled(3, max_entries=3)
    before = store.list()
    refused: list[dict[str, Any]] = [
        {"key": "a b"}, {"description": "x" * 151}, {"value": object()}, {"tier": "top"}, {"scope": 1},
        {"priority": "urgent"}, {"pinned": "yes"}, {"pinned": 1},
    ]  # fmt: skip
    for wrong in refused:
        arguments: dict[str, Any] = {"key": "new", "description": "An entry", "value": 1, **wrong}
        with pytest.raises(InvalidInputError):
            store.set(**arguments)
    assert store.list() == before


def test_15_1_entries_are_listed_by_priority_then_by_last_access() -> None:
    store = MemoryStore(clock=FixedClock())  # times are all equal
    for key, priority in (("n1", "normal"), ("l", "low"), ("n2", "normal"), ("c", "critical"), ("h", "high")):
        store.set(key, "An entry", 1, priority=priority)
    store.get("n1")
    assert [entry.key for entry in store.list()] == ["c", "h", "n1", "n2", "l"]


def test_23_the_state_has_the_recorded_fields_and_gives_the_same_entries_again() -> None:
    store = MemoryStore()
    task = {"type": "task", "taskIds": ["t"]}
    store.set("raw.a", "Raw", {"x": [None, "\ud800"]}, tier="raw")
    store.set("b", "Pinned", 1, pinned=True, scope=task)
    store.get("raw.a")
    state = store.state()
    assert state["version"] == 1
    assert state["entries"][0] == {
        "key": "b", "description": "Pinned", "value": 1, "scope": task, "sizeBytes": 1,
        "basePriority": "normal", "pinned": True,
    }  # fmt: skip
    again = MemoryStore()
    again.restore(json.loads(json.dumps(state)))
    assert again.state() == state
    assert [entry.priority for entry in again.list()] == ["critical", "low"]
    assert again.keys() == ("b", "raw.a")  # what was used last is still evicted last


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"version": 2, "entries": []},
        {"version": True, "entries": []},
        {"version": 1, "entries": {}},
        {"version": 1, "entries": [1]},
        {"version": 1, "entries": [{"key": "a", "description": "An entry"}]},
        {"version": 1, "entries": [{"key": "a b", "description": "An entry", "value": 1}]},
        {"version": 1, "entries": [{"key": "a", "description": "x" * 151, "value": 1}]},
        {"version": 1, "entries": [{"key": "a", "description": "An entry", "value": 1, "pinned": 1}]},
        {"version": 1, "entries": [{"key": "a", "description": "An entry", "value": 1, "scope": "all"}]},
        {"version": 1, "entries": [{"key": "a", "description": "An entry", "value": 1}] * 2},
    ],
)
def test_23_a_malformed_state_is_refused_and_changes_nothing(state: Any) -> None:
    store = filled(2)
    before = store.list()
    with pytest.raises(InvalidInputError):
        store.restore(state)
    assert store.list() == before


def test_23_a_state_of_optional_fields_left_out_is_read() -> None:
    store = filled(2)
    store.restore({"version": 1, "entries": [{"key": "a", "description": "An entry", "value": None}]})
    entry = store.peek("a")
    assert entry is not None
    assert (store.keys(), entry.value, entry.priority, entry.size_bytes) == (("a",), None, "normal", 4)


ENTRY = st.tuples(st.integers(0, 40), st.sampled_from(["critical", "high", "normal", "low"]), st.booleans())
STEP = st.tuples(st.sampled_from(["set", "get", "evict"]), st.integers(0, 9), ENTRY)


@settings(max_examples=200)
@given(st.integers(1, 6), st.integers(10, 120), st.lists(STEP, max_size=25))
def test_15_3_no_limit_is_passed_but_by_what_cannot_go(
    max_entries: int, max_bytes: int, steps: list[tuple[str, int, tuple[int, str, bool]]]
) -> None:
    store = MemoryStore(max_entries, max_bytes)
    fixed: set[str] = set()  # pinned and critical, as the test knows it
    for name, number, (size, priority, pinned) in steps:
        key = f"k{number}"
        if name == "get":
            store.get(key)
            continue
        if name == "evict":
            assert not fixed & set(store.evict(number))
            continue
        before = set(store.keys())
        stored = store.set(key, "An entry", "x" * size, priority=priority, pinned=pinned)
        assert not (fixed | {key}) & set(stored.evicted)
        assert set(store.keys()) == (before - set(stored.evicted)) | {key}
        fixed = fixed | {key} if pinned or priority == "critical" else fixed - {key}
        others_fixed = {other for other in set(store.keys()) if other == key or other in fixed}
        over = len(store) > max_entries or store.used_bytes > max_bytes
        assert not over or set(store.keys()) == others_fixed
    assert store.used_bytes == sum(entry.size_bytes for entry in store.list())


@settings(max_examples=400)
@given(
    st.integers(1, 8),
    st.integers(20, 200),
    st.lists(ENTRY, max_size=12),
    st.lists(st.integers(0, 60), min_size=1, max_size=8),
    st.integers(0, 4),
)
def test_4_4_after_a_batch_that_room_for_allowed_all_its_keys_are_there(
    max_entries: int,
    max_bytes: int,
    before: list[tuple[int, str, bool]],
    sizes: list[int],
    shrunk: int,
) -> None:
    store = MemoryStore(max_entries, max_bytes)
    for number, (size, priority, pinned) in enumerate(before):
        store.set(f"k{number}", "An entry", "x" * size, priority=priority, pinned=pinned)
    state = store.state()
    store = MemoryStore(max(1, max_entries - shrunk), max_bytes)  # a session may hold more than fits now
    store.restore(state)
    kept = [entry.key for entry in store.list() if entry.priority != "low"]
    values = ["x" * size for size in sizes]
    if not store.room_for([len(value) + 2 for value in values]):
        return
    stored = [store.set(f"b{number}", "A result", value, tier="raw") for number, value in enumerate(values)]
    for value, one in zip(values, stored, strict=True):
        entry = store.peek(one.key)
        assert entry is not None
        assert entry.value == value
    assert set(kept) <= set(store.keys())  # and only low ones made room


def test_4_4_room_is_refused_only_where_it_must_be() -> None:
    store = MemoryStore(max_entries=4, max_bytes=100)
    store.set("kept", "An entry", "x" * 38)  # 40 bytes
    store.set("low", "An entry", "x" * 38, priority="low")
    assert store.room_for([])
    assert store.room_for([20])  # both stay
    assert store.room_for([40])  # the low one goes: 40 + 40 are four fifths
    assert not store.room_for([41])
    assert store.room_for([1, 1, 1])
    assert not store.room_for([1, 1, 1, 1])
