"""Keys, tiers, priorities, sizes and patterns of memory entries (15.1, 15.2, 15.4)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playground.errors import InvalidInputError
from playground.preparation.items import DEEPEST
from playground.preparation.memory_entries import (
    byte_size,
    check_description,
    check_key,
    check_priority,
    matches,
    size_text,
    tier_of,
    tiered_key,
    value_json,
)
from playground.preparation.memory_scopes import Scope, TaskScope, read_scope, scope_data, task_priority
from playground.preparation.memory_store import MemoryStore


@pytest.mark.parametrize("key", ["a", "A-b_9", "raw.tool_result.x.1", "a.b.c", "0", "-"])
def test_15_2_a_key_of_letters_digits_and_single_dots_is_taken(key: str) -> None:
    assert check_key(key) == key


@pytest.mark.parametrize(
    "key", ["", ".", "a.", ".a", "a..b", "a b", "a/b", "../x", "ä", "a\n", "a\x00", "raw.", None, 5, ["a"]]
)
def test_15_2_another_key_is_refused(key: Any) -> None:
    with pytest.raises(InvalidInputError, match="key"):
        check_key(key)


def test_15_2_a_description_has_at_most_150_characters() -> None:
    assert check_description("é" * 150) == "é" * 150
    with pytest.raises(InvalidInputError, match="151"):
        check_description("x" * 151)


@pytest.mark.parametrize("description", ["", "  \n", None, 3])
def test_15_2_an_entry_without_a_description_is_refused(description: Any) -> None:
    with pytest.raises(InvalidInputError, match="description"):
        check_description(description)


@pytest.mark.parametrize(
    ("key", "tier", "kept"),
    [
        ("data", "findings", "findings.data"),
        ("raw.data", "findings", "findings.data"),
        ("summary.raw.data", "raw", "raw.raw.data"),
        ("rawest.data", "raw", "raw.rawest.data"),
        ("raw", "summary", "summary.raw"),
        ("data", None, "data"),
        ("raw.data", None, "raw.data"),
    ],
)
def test_15_2_a_tier_replaces_the_prefix_of_another(key: str, tier: str | None, kept: str) -> None:
    assert tiered_key(key, tier) == kept


@pytest.mark.parametrize("tier", ["Raw", "", "final", 1, ["raw"]])
def test_15_2_another_tier_is_refused(tier: Any) -> None:
    with pytest.raises(InvalidInputError, match="tier"):
        tiered_key("data", tier)


def test_15_2_only_a_prefix_makes_a_tier() -> None:
    keys = ("raw.x", "summary.x.y", "findings.x", "raw", "x.raw", "rawx.y")
    assert [tier_of(key) for key in keys] == ["raw", "summary", "findings", None, None, None]


@pytest.mark.parametrize("priority", ["urgent", "", None, 1, ["low"]])
def test_15_2_another_priority_is_refused(priority: Any) -> None:
    with pytest.raises(InvalidInputError, match="priority"):
        check_priority(priority)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0B"),
        (1, "1B"),
        (1023, "1023B"),
        (1024, "1KB"),
        (1536, "1.5KB"),
        (2000, "2KB"),
        (2**20, "1MB"),
        (25 * 2**20, "25MB"),
        (3 * 2**29, "1.5GB"),
        (5 * 2**40, "5120GB"),
    ],
)
def test_15_1_sizes_are_told_with_one_decimal_at_most(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("é", '"é"'),
        ({"b": [1, 2.5, True], "a": ()}, '{"b":[1,2.5,true],"a":[]}'),
        ("\ud800", '"\ud800"'),
    ],
)
def test_15_2_a_value_is_kept_as_compact_json(value: Any, text: str) -> None:
    assert value_json(value) == text


def test_15_2_sizes_are_bytes_of_utf_8() -> None:
    assert [byte_size(text) for text in ('"a"', '"é"', '"€"', '"😀"', '"\ud800"')] == [3, 4, 5, 6, 5]


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [object(), {1, 2}, b"x", float("nan"), {"a": float("inf")}, _deep(DEEPEST + 1)]
)
def test_15_2_a_value_without_json_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError):
        value_json(value)


def test_15_2_the_deepest_value_can_be_read_again() -> None:
    store = MemoryStore()
    store.set("deep", "A deep value", _deep(DEEPEST))
    found = store.get("deep")
    assert found is not None
    assert found.value == _deep(DEEPEST)


@pytest.mark.parametrize(
    ("pattern", "key", "fits"),
    [
        ("raw.*", "raw.a.b", True),
        ("raw.*", "rawxa", False),
        ("a.c", "abc", False),
        ("*", "", True),
        ("", "", True),
        ("", "a", False),
        ("a*a", "a", False),
        ("a*a", "aa", True),
        ("*b*", "abc", True),
        ("a*b*c", "abbbc", True),
        ("ab", "xab", False),
        ("ab", "abx", False),
        ("[a-z]", "b", False),
        ("a?", "ab", False),
        ("**", "anything", True),
    ],
)
def test_15_4_a_star_is_any_run_and_everything_else_is_literal(pattern: str, key: str, fits: bool) -> None:
    assert matches(pattern, key) is fits


@given(st.text("ab.*", max_size=8), st.text("ab.", max_size=10))
def test_15_4_patterns_agree_with_a_regular_expression(pattern: str, key: str) -> None:
    expression = ".*".join(map(re.escape, pattern.split("*")))
    assert matches(pattern, key) == bool(re.fullmatch(expression, key, re.DOTALL))


def test_15_4_a_hostile_pattern_takes_no_time() -> None:
    assert not matches("a*" * 5_000 + "b", "a" * 20_000)


def test_15_2_scopes_are_read_and_written() -> None:
    for data in ("session", "plan", "persistent", {"type": "task", "taskIds": ["t1", "t2"]}):
        assert scope_data(read_scope(data)) == data
    assert read_scope(TaskScope(("t",))) == TaskScope(("t",))


@pytest.mark.parametrize("scope", ["task", "", None, {"type": "task"}, {"type": "task", "taskIds": []}, 7])
def test_15_2_another_scope_is_refused(scope: Any) -> None:
    with pytest.raises(InvalidInputError, match="scope"):
        read_scope(scope)


STATES = {"run": "in_progress", "wait": "pending", "done": "completed", "bad": "failed"}


@pytest.mark.parametrize(
    ("scope", "priority"),
    [
        (TaskScope(("done", "run")), "critical"),
        (TaskScope(("done", "wait")), "high"),
        (TaskScope(("done", "bad")), "low"),
        (TaskScope(("done", "nobody-knows")), "low"),
        (TaskScope(("nobody-knows",)), "normal"),
        ("plan", "normal"),
        ("persistent", "high"),
        ("session", "normal"),
    ],
)
def test_15_2_the_rule_for_tasks_ranks_by_their_states(scope: Scope, priority: str) -> None:
    assert task_priority(lambda: STATES)(scope, "normal") == priority


def test_15_2_the_rule_for_tasks_is_off_by_default_and_spares_what_is_pinned() -> None:
    scope = {"type": "task", "taskIds": ["done"]}
    plain, ruled = MemoryStore(), MemoryStore(priority_rule=task_priority(lambda: STATES))
    for store in (plain, ruled):
        store.set("a", "An entry", 1, scope=scope, priority="high")
        store.set("b", "A pinned entry", 1, scope=scope, pinned=True)
    assert {entry.key: entry.priority for entry in plain.list()} == {"a": "high", "b": "critical"}
    assert {entry.key: entry.priority for entry in ruled.list()} == {"a": "low", "b": "critical"}


def test_15_2_a_rule_that_answers_nonsense_is_told() -> None:
    store = MemoryStore(priority_rule=lambda scope, asked: "urgent")  # type: ignore[arg-type, return-value]
    store.set("a", "An entry", 1)
    with pytest.raises(InvalidInputError, match="urgent"):
        store.list()


@pytest.mark.parametrize("value", [{1: "a", "1": "b"}, [{"x": {None: 1, "null": 2}}], ({True: 1, "true": 2},)])
def test_15_2_a_value_that_json_would_take_an_entry_from_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInputError, match="two keys that are the same text"):
        value_json(value)


def test_15_2_other_keys_are_spelled_as_json_does() -> None:
    assert value_json({1: "a", "b": {None: 2.5}}) == '{"1":"a","b":{"null":2.5}}'
