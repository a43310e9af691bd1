"""The default strategy through whole preparations (13.2, 14, 27)."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from playground.errors import ContextChangedError, ContextOverflowError
from playground.preparation import AgentContext, PreparedContext
from playground.preparation.algorithmic import AlgorithmicStrategy
from playground.preparation.items import Json
from playground.preparation.memory_store import MemoryStore, Stored
from tests.preparation import ESTIMATOR, FixedClock, call, message, native, pad, pair, result
from tests.unit.preparation.calls import prepare

SOURCE = "x y " * 500  # 2,000 characters
MEMORY = ("working_memory",)
KEY = "raw.tool_result.read_file.12345678"


def context_of(
    *data: Json, total: int = 3300, features: tuple[str, ...] = MEMORY, **settings: Any
) -> AgentContext:
    """A context of window 4,000 and reserve 500: some items, and behind them padding up to a total."""
    defaults: dict[str, Any] = {"model": "no-such-model", "max_context_tokens": 4000, "response_reserve": 500}
    context = AgentContext(**{**defaults, "features": features, "clock": FixedClock(), **settings})
    context.add_input_items(data)
    missing = total - asyncio.run(context.calculate_budget()).total_used
    if missing >= 5:
        context.add_input_items([pad(missing)])
    return context


def store_of(context: AgentContext) -> MemoryStore:
    store: MemoryStore = context.plugins["working_memory"].store  # type: ignore[attr-defined]
    return store


def pairs(count: int, text: str = "done", first: int = 0) -> list[Json]:
    return [half for number in range(first, first + count) for half in pair(f"call-{number:03}", text)]


def read(context: AgentContext, key: str) -> Json:
    found: Json = asyncio.run(context.tools.execute("store_get", {"store": "notes", "key": key}))
    return found


def calls_in(prepared: PreparedContext) -> list[str]:
    return [
        block["id"]
        for item in prepared.input
        for block in item.get("content", ())
        if block["type"] == "tool_use"
    ]


def test_27_a_large_result_moves_and_its_key_is_in_the_same_request() -> None:
    context = context_of(*pair("toolu_01ABC12345678", SOURCE, "read_file", path="/etc/hosts"))
    prepared = prepare(context)
    developer = prepared.input[0]["content"][0]["text"]
    assert KEY in developer
    assert SOURCE not in json.dumps(prepared.input)
    assert calls_in(prepared) == []
    assert read(context, KEY) == {"found": True, "key": KEY, "entry": {"value": SOURCE}}
    assert prepared.compaction_log[1:3] == (
        f"moved read_file result toolu_01ABC12345678 (2KB) to {KEY}",
        "removed 2 items from the history",
    )


def test_13_2_the_log_begins_with_the_target_and_ends_with_what_was_freed() -> None:
    context = context_of(*pair("toolu_01ABC12345678", SOURCE, "read_file"), pad(600, "old"))
    log = prepare(context).compaction_log
    assert log[0] == "algorithmic: 802 tokens to free"
    assert log[1].startswith("moved read_file result ")
    assert log[3] == "rolling window: 269 tokens still to free"
    assert log[4:6] == ("dropped user message old (600 tokens)", "removed 1 item from the history")
    assert log[6:] == ("algorithmic: 1,184 tokens freed",)


@pytest.mark.parametrize(("length", "moved"), [(1022, False), (1023, True)])
def test_27_1022_characters_stay_and_1023_move(length: int, moved: bool) -> None:
    context = context_of(pad(1500, "old"), *pair("a", "x y " * (length // 4) + "z" * (length % 4)))
    prepare(context)
    assert (len(store_of(context)) == 1) is moved


def test_14_small_results_and_native_ones_of_a_large_group_move_with_it() -> None:
    parts = [{"type": "input_text", "text": "small"}]
    several = message("assistant", call("a", "read"), call("b", "see"))
    context = context_of(several, message("user", result("a", SOURCE)), native("b", parts))
    prepare(context)
    assert store_of(context).keys() == ("raw.tool_result.read.a", "raw.tool_result.see.b")
    assert read(context, "raw.tool_result.see.b")["entry"] == {"value": parts}


def test_27_of_15_small_pairs_the_5_oldest_move() -> None:
    context = context_of(*pairs(15), pad(2000, "old"))
    prepared = prepare(context)
    assert calls_in(prepared) == [f"call-{number:03}" for number in range(5, 15)]
    assert sorted(store_of(context).keys()) == [f"raw.tool_result.look.call_{number:03}" for number in range(5)]


def test_27_without_working_memory_the_5_oldest_are_dropped() -> None:
    context = context_of(*pairs(15), pad(2000, "old"), features=())
    prepared = prepare(context)
    assert calls_in(prepared) == [f"call-{number:03}" for number in range(5, 15)]
    lines = [line for line in prepared.compaction_log if line.startswith("dropped look group")]
    assert lines == [
        f"dropped look group of 2 items, 13 tokens (calls call-{number:03})" for number in range(5)
    ]
    assert "removed 10 items from the history" in prepared.compaction_log
    assert (
        prepared.compaction_log[0]
        == "the strategy algorithmic works best with working_memory, which is not there"
    )


def test_27_10_pairs_stay() -> None:
    context = context_of(pad(2000, "old"), *pairs(10))
    assert len(calls_in(prepare(context))) == 10
    assert len(store_of(context)) == 0


def test_13_2_without_memory_large_results_only_roll_away() -> None:
    context = context_of(*pair("a", SOURCE), pad(2000, "old"), features=())
    prepared = prepare(context)
    assert calls_in(prepared) == ["a"]
    assert not any(line.startswith(("moved", "aged")) for line in prepared.compaction_log)


def test_13_2_the_window_rolls_plain_items_first_and_then_tool_groups() -> None:
    text = "x y " * 200
    held = (*pairs(10, text), pad(100, "one"), pad(100, "two"))
    context = context_of(*held, features=(), total=0)
    context.add_user_message("u" * 3000)
    prepared = prepare(context)
    assert prepared.compaction_log[2:] == (
        "rolling window: 1,201 tokens still to free",
        *[f"aged out look group of 2 items, 240 tokens (calls call-00{number})" for number in range(5)],
        "dropped user message one (100 tokens)",
        "dropped user message two (100 tokens)",
        "removed 12 items from the history",
        "algorithmic: 1,400 tokens freed",
    )


def test_25_10_freed_is_what_the_conversation_really_lost() -> None:
    context = context_of(*pairs(12), *pair("big", SOURCE), pad(500, "old"))
    before = asyncio.run(context.calculate_budget()).conversation_tokens
    prepared = prepare(context)
    freed = int(prepared.compaction_log[-1].split()[1].replace(",", ""))
    assert freed == before - prepared.budget.conversation_tokens


def test_d3_what_the_index_grew_by_is_freed_beyond_the_target() -> None:
    context = context_of(*pairs(40), pad(300, "one"), pad(300, "two"))
    prepared = prepare(context)
    index = prepared.budget.breakdown.plugin_contents["working_memory"]
    target, freed = (int(prepared.compaction_log[place].split()[1].replace(",", "")) for place in (0, -1))
    assert index > 100
    assert freed >= target + index


def test_13_2_step_3_comes_only_where_the_target_is_missed() -> None:
    text = "x y " * 1200
    context = context_of(*pair("a", text), pad(300, "old"))
    prepared = prepare(context)
    assert not any(line.startswith("rolling") for line in prepared.compaction_log)
    assert [item.get("id") for item in context.conversation][:1] == ["old"]


def test_15_3_only_the_newest_groups_that_the_store_holds_move_and_none_displaces_another() -> None:
    context = context_of(*pairs(60), pad(1200, "old"))
    prepare(context)
    assert sorted(store_of(context).keys()) == [
        f"raw.tool_result.look.call_{number:03}" for number in range(20, 50)
    ]


def test_d2_groups_without_room_stay_unless_the_target_asks_for_them() -> None:
    context = context_of(*pairs(60), pad(1500, "old"))
    prepared = prepare(context)
    assert "notes have no room for the results of 20 older groups" in prepared.compaction_log
    assert len(calls_in(prepared)) == 30  # 10 newest, and 20 oldest that neither fit nor had to go
    assert not any(line.startswith("aged out") for line in prepared.compaction_log)


def test_d2_groups_without_room_age_out_where_the_target_asks_for_them() -> None:
    context = context_of(*pairs(3, "x y " * 900), total=0)
    context.plugins["working_memory"].store = MemoryStore(max_entries=1)  # type: ignore[attr-defined]
    aged = [line for line in prepare(context).compaction_log if line.startswith("aged out")]
    assert aged == ["aged out look group of 2 items, 1,040 tokens (calls call-000)"]
    assert store_of(context).keys() == ("raw.tool_result.look.call_002",)


class Failing(MemoryStore):
    """A store that cannot write one key."""

    def __init__(self, ending: str) -> None:
        super().__init__()
        self.ending = ending

    def set(self, key: str, description: str, value: Any, **more: Any) -> Stored:
        if key.endswith(self.ending):
            raise OSError
        return super().set(key, description, value, **more)


def test_14_26d_a_group_whose_write_fails_stays_and_others_go() -> None:
    context = context_of(*pair("first", SOURCE), *pair("second", SOURCE))
    context.plugins["working_memory"].store = Failing("first")  # type: ignore[attr-defined]
    prepared = prepare(context)
    assert calls_in(prepared) == ["first"]
    assert (
        "kept look result first: writing raw.tool_result.look.first raised OSError" in prepared.compaction_log
    )


def test_14_a_group_that_failed_does_not_roll_away_either_and_overflow_is_told() -> None:
    context = context_of(*pair("first", "x y " * 2700), total=0)
    context.plugins["working_memory"].store = Failing("first")  # type: ignore[attr-defined]
    context.add_user_message("u " * 500)
    with pytest.raises(ContextOverflowError) as caught:
        prepare(context)
    assert any(line.startswith("kept look result first") for line in caught.value.budget.degradation_log)
    assert len(context.conversation) == 2


@pytest.mark.parametrize("value", [{1, 2}, {1: "a", "1": "b"}], ids=["a set", "keys that JSON spells alike"])
def test_14_a_result_that_json_cannot_write_keeps_its_group(value: object) -> None:
    several = message("assistant", call("a"), call("b"))
    odd = message("user", result("a", SOURCE), result("b", value))
    context = context_of(several, odd, pad(2400, "old"))
    prepared = prepare(context)
    assert calls_in(prepared) == ["a", "b"]
    assert len(store_of(context)) == 0
    assert any(line.endswith("(calls a, b): a result has no JSON form") for line in prepared.compaction_log)


def test_14_a_retry_after_a_failure_writes_a_copy_and_overwrites_nothing() -> None:
    several = message("assistant", call("a"), call("b"))
    context = context_of(several, message("user", result("a", SOURCE), result("b", SOURCE)))
    context.plugins["working_memory"].store = store = Failing("look.b")  # type: ignore[attr-defined]
    prepare(context)
    store.ending = "nothing"
    context.add_input_items([pad(1300, "more")])
    prepare(context)
    assert sorted(store.keys()) == [
        "raw.tool_result.look.a",
        "raw.tool_result.look.a.function.1",
        "raw.tool_result.look.b",
    ]


def test_14_25_7_ids_that_end_alike_are_both_readable() -> None:
    context = context_of(*pair("one-12345678", SOURCE + "1"), *pair("two-12345678", SOURCE + "2"))
    prepare(context)
    plain = "raw.tool_result.look.12345678"
    assert read(context, plain)["entry"] == {"value": SOURCE + "1"}
    assert read(context, f"{plain}.function.1")["entry"] == {"value": SOURCE + "2"}


def test_4_2_entries_that_a_spill_displaces_are_told() -> None:
    context = context_of(*pair("first", SOURCE))
    context.plugins["working_memory"].store = store = MemoryStore(max_entries=1)  # type: ignore[attr-defined]
    store.set("raw.old", "old", 1, tier="raw")
    assert "evicted raw.old from notes to make room" in prepare(context).compaction_log


def test_d5_nothing_but_low_entries_make_room() -> None:
    context = context_of(*pair("first", SOURCE), pad(2000, "old"))
    context.plugins["working_memory"].store = store = MemoryStore(max_entries=1)  # type: ignore[attr-defined]
    store.set("finding", "kept", 1, tier="findings")
    prepared = prepare(context)
    assert store.keys() == ("findings.finding",)
    assert "notes have no room for the results of 1 older group" in prepared.compaction_log


def test_11_3_the_group_of_the_current_results_stays_however_large() -> None:
    several = message("assistant", call("a"), call("b"))
    context = context_of(several, message("user", result("a", SOURCE)), pad(2200, "old"), total=0)
    context.add_tool_results([{"tool_use_id": "b", "content": "x y " * 300}])
    prepared = prepare(context)
    assert calls_in(prepared) == ["a", "b"]
    assert len(store_of(context)) == 0


def test_11_3_an_asynchronous_call_that_waits_keeps_its_group() -> None:
    several = message("assistant", {**call("a"), "async": True}, call("b"))
    context = context_of(several, message("user", result("b", SOURCE)), pad(2600, "old"), total=0)
    prepared = prepare(context)
    assert calls_in(prepared) == ["a", "b"]
    context.add_input_items([native("a", "late"), pad(2600, "more")])
    assert calls_in(prepare(context)) == []
    assert sorted(store_of(context).keys()) == ["raw.tool_result.look.a", "raw.tool_result.look.b"]


def test_1_the_system_message_is_counted_again_after_the_index_grew() -> None:
    context = context_of(*pairs(14), pad(1500, "old"))
    prepared = prepare(context)
    text = prepared.input[0]["content"][0]["text"]
    assert prepared.budget.system_message_tokens == ESTIMATOR.text(text)
    assert "raw.tool_result" in text


def test_a_host_that_writes_while_the_index_is_read_is_refused_before_anything_is_written() -> None:
    context = context_of(*pair("first", SOURCE))
    plugin = context.plugins["working_memory"]
    inner, reads = plugin.get_content, []

    async def get_content() -> str | None:
        reads.append(1)
        if len(reads) == 2:  # the first is the rendering's
            context.add_user_message("New")
        return await inner()

    plugin.get_content = get_content  # type: ignore[method-assign]
    with pytest.raises(ContextChangedError):
        prepare(context)
    assert len(store_of(context)) == 0
    assert (len(context.conversation), len(context.current_input)) == (3, 1)


def test_13_2_the_strategys_numbers_can_be_chosen() -> None:
    context = context_of(
        *pairs(4), pad(2300, "old"), strategy=AlgorithmicStrategy(0.8, result_bytes=5, max_pairs=1)
    )
    prepare(context)
    assert len(store_of(context)) == 4


def test_what_leaves_beside_a_result_that_moved_is_told() -> None:
    """Texts and unanswered calls of its group have no place in the notes."""
    asked = message("assistant", "I look.", call("one", "read_file"), call("lost", "read_file"))
    answered = message("user", result("one", SOURCE), "My name is Ada.")
    context = context_of({**asked, "id": "asked"}, {**answered, "id": "answered"})
    log = prepare(context).compaction_log
    assert not any("Ada" in line for line in log)
    assert [line for line in log if _of_a_companion(line)] == [
        "dropped call read_file lost of assistant message asked, which has no result",
        "dropped 1 other block of assistant message asked, beside what was moved",
        "dropped 1 other block of user message answered, beside what was moved",
    ]


def test_a_plain_pair_that_moved_leaves_nothing_more_to_tell() -> None:
    log = prepare(context_of(*pair("toolu_01ABC12345678", SOURCE, "read_file"))).compaction_log
    assert any(line.startswith("moved") for line in log)
    assert not any(map(_of_a_companion, log))


def _of_a_companion(line: str) -> bool:
    return line.endswith(("which has no result", "beside what was moved"))
