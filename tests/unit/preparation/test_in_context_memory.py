"""The whiteboard, whose values stand in every request (15.5)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import InvalidInputError, ToolExecutionError
from playground.preparation import PreparationEstimator
from playground.preparation.in_context_memory import MAX_ENTRIES, MAX_TOKENS, InContextMemoryPlugin

ESTIMATOR = PreparationEstimator()


def board(**settings: Any) -> InContextMemoryPlugin:
    return InContextMemoryPlugin(**settings)


def content(plugin: InContextMemoryPlugin) -> str:
    return asyncio.run(plugin.get_content()) or ""


def call(answer: Any) -> Any:
    return asyncio.run(answer)


def test_15_5_names_limits_and_default_priority() -> None:
    plugin = board()
    schema = plugin.get_store_schema()
    assert (plugin.name, schema.store_id, schema.display_name) == (
        "in_context_memory",
        "whiteboard",
        "Whiteboard",
    )
    assert (plugin.max_entries, plugin.max_tokens) == (MAX_ENTRIES, MAX_TOKENS) == (20, 40_000)
    plugin.set("a", 1)
    assert plugin.get_contents()[0]["priority"] == "normal"


def test_15_5_values_stand_in_the_content_one_line_each() -> None:
    plugin = board()
    assert call(plugin.get_content()) is None
    plugin.set("state", {"open": ["a", None]}, description="What is open", priority="critical")
    plugin.set("plan", "first\nsecond")
    assert content(plugin) == (
        '- state (What is open) [critical]: {"open":["a",null]}\n- plan: "first\\nsecond"'
    )
    assert plugin.get_token_size() == ESTIMATOR.text(content(plugin))


TEXT = st.text(st.characters() | st.sampled_from("\n\r\x0b\x1c\x85\u2028\u2029\ud800- "), max_size=20)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner) | st.dictionaries(TEXT, inner),
    max_leaves=5,
)


@given(st.lists(st.tuples(JSON, TEXT), min_size=1, max_size=5))
def test_15_5_no_value_and_no_description_can_fake_an_entry(entries: list[tuple[Any, str]]) -> None:
    plugin = board()
    for number, (value, description) in enumerate(entries):
        plugin.set(f"k{number}", value, description=description)
    lines = content(plugin).splitlines()
    assert [line[:4] for line in lines] == [f"- k{number}" for number in range(len(entries))]
    assert content(plugin).encode()


@given(JSON)
def test_15_5_the_value_in_a_line_is_exact(value: Any) -> None:
    plugin = board()
    plugin.set("k", value)
    assert json.loads(content(plugin).removeprefix("- k: ")) == value == plugin.get("k")


def test_15_5_what_was_stored_cannot_be_changed_from_outside() -> None:
    plugin = board()
    value = [1]
    plugin.set("a", value)
    value.append(2)
    plugin.get("a").append(3)
    plugin.get_contents()[0]["value"].append(4)
    assert plugin.get("a") == [1]


def test_15_5_the_lowest_priority_and_then_the_oldest_makes_room() -> None:
    plugin = board(max_entries=3)
    plugin.set("low", 1, priority="low")
    plugin.set("a", 1)
    plugin.set("b", 1)
    plugin.set("a", 2)  # newer than b now
    assert plugin.set("c", 1) == ("low",)
    assert plugin.set("d", 1) == ("b",)
    assert plugin.keys() == ("a", "c", "d")


def test_15_5_an_update_is_no_new_entry() -> None:
    plugin = board(max_entries=2)
    plugin.set("a", 1)
    plugin.set("b", 1)
    assert plugin.set("a", 2) == ()
    assert plugin.get("a") == 2


def test_15_5_too_many_tokens_make_room_too() -> None:
    plugin = board(max_tokens=100)
    for key in "abc":
        plugin.set(key, "x" * 100)
    assert plugin.set("d", "x" * 200) == ("a", "b")
    assert plugin.get_token_size() <= 100


def test_15_5_critical_entries_stay_and_what_finds_no_room_is_refused() -> None:
    plugin = board(max_entries=2, max_tokens=100)
    plugin.set("a", "x" * 100, priority="critical")
    plugin.set("b", "x" * 100)
    before = plugin.get_contents()
    for key, value in (("c", "x" * 300), ("b", "x" * 400)):
        with pytest.raises(InvalidInputError, match="notes"):
            plugin.set(key, value)
    assert plugin.get_contents() == before
    plugin.set("b", 1, priority="critical")
    with pytest.raises(InvalidInputError, match="3 entries"):
        plugin.set("c", 1)
    assert plugin.keys() == ("a", "b")


def test_15_5_compacting_evicts_until_the_target_is_met() -> None:
    plugin = board()
    for key, priority in (("a", "normal"), ("b", "low"), ("c", "critical"), ("d", "normal")):
        plugin.set(key, "x" * 100, priority=priority)
    before = plugin.get_token_size()
    freed = call(plugin.compact(40))
    assert plugin.keys() == ("c", "d")
    assert freed == before - plugin.get_token_size() >= 40
    call(plugin.compact(10_000))
    assert plugin.keys() == ("c",)
    assert call(plugin.compact(10_000)) == 0
    assert plugin.is_compactable()


@pytest.mark.parametrize(
    "fields",
    [
        {"key": "a b"}, {"key": ""}, {"key": None}, {"value": object()}, {"value": float("nan")},
        {"description": "x" * 151}, {"description": None}, {"priority": "urgent"}, {"priority": None},
    ],
)  # fmt: skip
def test_15_5_a_malformed_entry_is_refused(fields: dict[str, Any]) -> None:
    plugin = board()
    with pytest.raises(InvalidInputError):
        plugin.set(**{"key": "a", "value": 1, **fields})
    assert plugin.keys() == ()


def test_15_4_without_a_key_the_whiteboard_gives_its_values() -> None:
    plugin = board()
    assert call(plugin.store_get()) == {"found": True, "entries": []}
    plugin.set("a", [1], description="A")
    entry = {"key": "a", "description": "A", "priority": "normal", "value": [1]}
    assert call(plugin.store_get("")) == {"found": True, "entries": [entry]}
    assert call(plugin.store_get("a")) == {"found": True, "key": "a", "entry": entry}
    assert call(plugin.store_get("b")) == {"found": False, "key": "b"}


def test_15_4_the_whiteboard_is_written_through_its_store() -> None:
    plugin = board(max_entries=1)
    answer = call(plugin.store_set("a", {"value": "é", "description": None, "priority": "low"}))
    assert answer == {"success": True, "key": "a", "message": "Saved.", "sizeBytes": 4}
    answer = call(plugin.store_set("b", {"value": None}))
    assert answer["message"] == "Evicted to make room: a."
    assert plugin.get_contents() == [{"key": "b", "description": "", "priority": "normal", "value": None}]
    for data in ({}, {"description": "A"}, {"value": 1, "tier": "raw"}, {"value": 1, "priority": "urgent"}):
        refused = call(plugin.store_set("c", data))
        assert (refused["success"], refused["key"]) == (False, "c")
        assert refused["message"]
    assert plugin.keys() == ("b",)


def test_15_4_the_whiteboard_lists_and_deletes() -> None:
    plugin = board()
    for key in ("a.1", "a.2", "b"):
        plugin.set(key, 1)
    assert call(plugin.store_list())["total"] == 3
    listed = call(plugin.store_list({"pattern": "a.*"}))
    assert listed["entries"][0] == {"key": "a.1", "description": "", "priority": "normal"}
    assert listed["total"] == 2
    for filters in ({"tier": "raw"}, {"pattern": 5}):
        with pytest.raises(ToolExecutionError):
            call(plugin.store_list(filters))
    assert call(plugin.store_delete("b")) == {"deleted": True, "key": "b"}
    assert call(plugin.store_delete("b")) == {"deleted": False, "key": "b"}


def test_15_4_the_whiteboard_is_cleared_only_when_confirmed() -> None:
    plugin = board()
    plugin.set("a", 1)
    assert call(plugin.store_action("clear", {}))["success"] is False
    assert call(plugin.store_action("other", {"confirm": True}))["success"] is False
    answer = call(plugin.store_action("clear", {"confirm": True}))
    assert answer == {"success": True, "action": "clear", "deleted": 1, "keys": ["a"]}
    assert plugin.keys() == ()


def test_23_the_state_of_the_whiteboard_comes_back() -> None:
    plugin, again = board(), board()
    plugin.set("a", {"x": ["\ud800", None]}, description="A", priority="high")
    plugin.set("b", 1)
    again.restore_state(json.loads(json.dumps(plugin.get_state())))
    assert again.get_state() == plugin.get_state()
    plugin.destroy()
    assert (plugin.keys(), again.keys()) == ((), ("a", "b"))


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"version": 2, "entries": []},
        {"version": 1, "entries": [{"key": "a"}]},
        {"version": 1, "entries": [{"key": "a", "value": 1}, {"key": "a b", "value": 1}]},
        {"version": 1, "entries": ["a"]},
    ],
)
def test_23_a_malformed_state_is_refused_and_changes_nothing(state: Any) -> None:
    plugin = board()
    plugin.set("kept", 1)
    with pytest.raises(InvalidInputError):
        plugin.restore_state(state)
    assert plugin.keys() == ("kept",)
