"""What is shown of a prepared request: a budget that adds up, each group's fate, and the estimate's error."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from playground.preparation import AgentContext, ImportedConversation, MemoryStore, WorkingMemoryPlugin
from playground.preparation.items import Json
from playground.views.preparation import (
    PreparationReport,
    TokenizerCount,
    count_again,
    preparation_report,
)
from playground.views.preparation_groups import group_rows, with_ids
from tests.preparation import ESTIMATOR, NOW, call, items, message, native, pair, result

WORDS = "x y " * 900  # 3,600 characters, some 1,030 tokens


def report(
    history: list[Json], current_input: list[Json], *, tokenizer: TokenizerCount | None = None, **settings: Any
) -> PreparationReport:
    context = AgentContext(
        model="m", max_context_tokens=2_000, response_reserve=100, clock=lambda: NOW, **settings
    )
    before = with_ids(history)
    now = with_ids(current_input, len(history))
    context.add_conversation(ImportedConversation(None, before, now))
    prepared = asyncio.run(context.prepare())
    preparation = context.last_preparation
    memory = context.plugins.get("working_memory")
    assert preparation is not None
    return preparation_report(
        before,
        now,
        after=[*context.conversation, *context.current_input],
        notes=memory.store.list() if isinstance(memory, WorkingMemoryPlugin) else (),
        prepared=prepared,
        preparation=preparation,
        estimator=ESTIMATOR,
        tokenizer=tokenizer,
    )


def fates(told: PreparationReport) -> list[tuple[str, str, str]]:
    return [(row.places, row.outcome, row.because) for row in told.groups]


def test_the_parts_of_the_budget_add_up_to_the_total() -> None:
    told = report(
        [message("user", "Hi"), *pair("c", WORDS), message("assistant", "Yes")], [message("user", "?")]
    )
    parts = [row for row in told.budget if not row.is_sum]
    sums = {row.name: row.tokens for row in told.budget if row.is_sum}
    assert sum(row.tokens for row in parts) == sums["Total"]
    assert (
        sums["Total"] + sums["Free below the limit"] + sums["Reserved for the answer"]
        == sums["Window"]
        == 2_000
    )
    names = [row.name for row in parts]
    assert "Content of working_memory" in names
    assert "Headings, rules and date" in names
    assert all(row.tokens for row in parts)
    assert told.headline.startswith(
        f"revision 1 · {sums['Total']:,} of 1,900 tokens (estimate by heuristic) · comp"
    )


def test_each_group_tells_what_became_of_it() -> None:
    history = [
        message("user", "x" * 100),
        *pair("call_12345678", WORDS, "read"),
        message("assistant", call("open", "wait", **{"async": True})),
        message("assistant", call("lost", "gone")),
        {"type": "reasoning", "encrypted_content": "c"},
        native("elsewhere"),
        message("assistant", call("a", "one"), call("b", "two")),
        message("user", result("a")),
    ]
    told = report(history, [message("user", result("b"))])
    assert fates(told) == [
        ("0", "kept", ""),
        ("1–2", "moved", "to raw.tool_result.read.12345678"),
        ("3", "kept", "its result comes later"),
        ("4", "kept", "what has no counterpart is not sent"),
        ("5", "kept", "only the provider can read it"),
        ("6", "kept", "its call is at the provider"),
        ("7–9", "kept", "the current input needs it"),
    ]
    assert [row.what for row in told.groups] == [
        "user",
        "1 call: read",
        "1 call: wait",
        "1 call: gone",
        "reasoning",
        "results without a call",
        "2 calls: one, two",
    ]
    assert told.groups[1].keys == ("raw.tool_result.read.12345678",)
    assert told.groups[1].tokens == sum(item.tokens for item in items(*history[1:3]))
    assert any("raw.tool_result.read.12345678" in line for line in told.log)


def test_a_call_that_is_not_sent_is_told_in_a_group_that_must_stay_too() -> None:
    """11.4: the history keeps it, the request does not."""
    told = report([message("assistant", call("a"), call("b"))], [message("user", result("a"))])
    assert fates(told) == [("0–1", "kept", "the current input needs it; what has no counterpart is not sent")]


def test_results_with_one_key_are_told_apart() -> None:
    history = [*pair("one_12345678", WORDS, "read"), *pair("two_12345678", WORDS, "read")]
    told = report(history, [message("user", "?")])
    keys = {"raw.tool_result.read.12345678", "raw.tool_result.read.12345678.function.1"}
    assert {row.keys[0] for row in told.groups[:2]} == keys
    for row, called in zip(told.groups, ("one", "two"), strict=False):
        assert any(line.endswith(row.keys[0]) and f"{called}_12345678" in line for line in told.log)


def test_where_the_log_says_nothing_the_value_tells_results_apart() -> None:
    history = with_ids([*pair("one_12345678", "one", "read"), *pair("two_12345678", "two", "read")])
    store = MemoryStore()
    for value in ("two", "one"):
        key = "raw.tool_result.read.12345678" + (".function.1" if len(store) else "")
        store.set(key, "Read.", value)
    for notes in (store.list(), store.list()[::-1]):
        rows = group_rows(history, (), after=(), notes=notes, log=(), estimator=ESTIMATOR)
        assert [store.peek(row.keys[0]).value for row in rows] == ["one", "two"]  # type: ignore[union-attr]


def test_two_equal_results_of_one_group_have_a_key_each() -> None:
    calls = message("assistant", call("one_12345678", "read"), call("two_12345678", "read"))
    told = report([calls, message("user", result("one_12345678", WORDS), result("two_12345678", WORDS))], [])
    assert len({*told.groups[0].keys}) == 2


def test_what_is_gone_and_nowhere_kept_says_so() -> None:
    told = report([message("user", "x" * 6_000), message("assistant", "y")], [message("user", "?")])
    assert fates(told)[0] == ("0", "removed", "see below")
    assert any(line.startswith("dropped user message item_0") for line in told.log)


def test_a_result_that_was_cut_says_so() -> None:
    asked = message("assistant", call("c", "read"))
    told = report([asked], [message("user", result("c", "Some words. " * 2_000))])
    assert fates(told) == [("0–1", "cut", "the current input needs it")]
    assert any(line.startswith("truncated") for line in told.log)


def test_places_are_ranges_and_many_tools_are_counted() -> None:
    calls = [call(f"c{n}", f"tool{n}") for n in range(6)]
    history = [message("assistant", *calls), message("user", "x")]
    told = report(history, [message("user", *[result(f"c{n}") for n in range(6)])])
    (first, _) = told.groups
    assert first.places == "0, 2"
    assert first.what == "6 calls: tool0, tool1, tool2, tool3 and 2 more"


@pytest.mark.parametrize(
    ("tokens", "told"), [(0.5, "the estimate is 100.0% above that"), (2, "the estimate is 50.0% below that")]
)
def test_the_estimate_is_shown_with_its_error_against_a_tokenizer(tokens: float, told: str) -> None:
    size = json.loads(report([], [message("user", "?")]).to_json())["budget"]["totalUsed"]
    counted = report([], [message("user", "?")], tokenizer=TokenizerCount("t", round(size * tokens)))
    assert counted.error.startswith("The tokenizer t counts ")
    if size % 2 == 0 or tokens == 2:
        assert told in counted.error
    assert report([], [message("user", "?")]).error == ""
    assert report([], [message("user", "?")], tokenizer=TokenizerCount("t", size)).error.endswith(
        "as the estimate does."
    )


def test_a_tokenizer_counts_the_same_request() -> None:
    context = AgentContext(model="m", max_context_tokens=9_000, clock=lambda: NOW)
    context.add_user_message("Hello")
    prepared = asyncio.run(context.prepare())
    assert count_again(prepared, ESTIMATOR.text, "same") == TokenizerCount("same", prepared.budget.total_used)
    assert count_again(prepared, len, "letters").tokens > prepared.budget.total_used * 3


def test_the_recorded_report_has_everything() -> None:
    told = report(pair("c", WORDS, "read"), [message("user", "?")], tokenizer=TokenizerCount("t", 9))
    recorded: Any = json.loads(told.to_json())
    assert recorded["revision"] == 1
    assert recorded["preparedAt"] == NOW
    assert recorded["budget"]["maxTokens"] == 2_000
    assert recorded["estimator"] == "heuristic"
    assert recorded["tokenizer"] == {"name": "t", "totalUsed": 9}
    assert recorded["compactionLog"] == list(told.log)
    assert recorded["compacted"] is told.headline.endswith(" · compacted")
    assert [group["positions"] for group in recorded["groups"]] == [[0, 1], [2]]
    assert recorded["groups"][0]["keys"] == list(told.groups[0].keys)


def test_equal_results_are_told_apart_by_ids_that_the_log_shortens() -> None:
    first, second = f"{'a' * 80}_12345678", f"{'b' * 80}_12345678"
    told = report([*pair(first, WORDS, "read"), *pair(second, WORDS, "read")], [])
    assert [row.keys for row in told.groups] == [
        ("raw.tool_result.read.12345678",),
        ("raw.tool_result.read.12345678.function.1",),
    ]
