"""What a context tells of itself (6, 10)."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from playground.preparation import BasePlugin, CompactionResult, ContextPreparation
from tests.preparation import NOW, FixedClock, ScriptedPlugin, message, pad
from tests.unit.preparation.calls import budget_of, filled, listening, prepare, stubbed


def test_revisions_count_successes_from_one() -> None:
    """10, 27: the time is in ms and never goes back."""
    clock = FixedClock()
    context, _ = stubbed(clock=clock)
    assert (context.last_preparation, context.last_budget) == (None, None)
    found: list[ContextPreparation] = []
    for ms in (NOW, NOW + 5, NOW - 60_000):
        clock.ms = ms
        prepare(context)
        assert context.last_preparation is not None
        found.append(context.last_preparation)
    assert [one.revision for one in found] == [1, 2, 3]
    assert [one.prepared_at for one in found] == [NOW, NOW + 5, NOW + 5]


def test_diagnostics_are_detached() -> None:
    """10: reading twice gives two copies; later messages change none."""
    context, _ = stubbed()
    context.register_plugin(ScriptedPlugin("board", ["Plan"]))
    prepare(context)
    first, second = context.last_preparation, context.last_preparation
    assert first is not second
    assert first is not None
    first.budget.breakdown.plugin_contents["board"] = 10**6  # type: ignore[index]  # a plain dict after all
    context.add_user_message("Later")
    context.add_assistant_response("Answer")
    assert context.last_preparation == second != first
    budget = context.last_budget
    assert budget is not None
    budget.breakdown.plugin_contents["board"] = 10**6  # type: ignore[index]
    assert context.last_budget != budget


def test_diagnostics_have_their_recorded_names() -> None:
    """10, 25a: camelCase in JSON."""
    context, _ = stubbed()
    prepare(context)
    assert context.last_preparation is not None
    text = context.last_preparation.to_json()
    for name in (
        "preparedAt",
        "maxTokens",
        "responseReserve",
        "systemMessageTokens",
        "utilizationPercent",
        "systemOverhead",
    ):
        assert f'"{name}"' in text
    assert ContextPreparation.from_json(text) == context.last_preparation


def test_an_estimate_neither_compacts_nor_counts_as_a_preparation() -> None:
    """10, 27: an over-full context, before any preparation; no hook runs."""
    context, stub = filled(1200)
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    told = listening(context)
    budget = budget_of(context)
    assert budget.total_used == 1200 > budget.limit
    assert budget.available == -300
    assert not stub.targets
    assert not plugin.snapshots
    assert context.last_preparation is None
    assert context.last_budget is None
    assert told == []


def test_an_estimate_after_a_preparation_is_the_cached_budget() -> None:
    """10, 27: whatever came since."""
    context, _ = stubbed()
    prepared = prepare(context)
    context.add_input_items([pad(100)])
    assert budget_of(context) == prepared.budget


def test_an_estimate_survives_a_host_that_never_rests() -> None:
    """10."""
    context, _ = stubbed()
    plugin = ScriptedPlugin()

    def add() -> None:
        context.add_input_items([pad(10)])

    plugin.at_content = add
    context.register_plugin(plugin)
    assert budget_of(context).conversation_tokens == 20
    assert plugin.renderings == 2


def test_a_snapshot_tells_what_there_is_without_preparing() -> None:
    """10."""
    context, stub = filled(
        1500, system_prompt="Be helpful", features=["working_memory"], max_context_tokens=1700
    )
    context.tools.register({"name": "hidden"})
    context.tools.disable("hidden")
    context.add_user_message("Hi")
    snapshot = asyncio.run(context.get_snapshot())
    assert snapshot.available
    assert (snapshot.model, snapshot.strategy, snapshot.system_prompt) == (
        "no-such-model",
        "stub",
        "Be helpful",
    )
    assert [(plugin.name, plugin.compactable) for plugin in snapshot.plugins] == [("working_memory", True)]
    assert "store_get" in snapshot.tools
    assert "hidden" not in snapshot.tools
    assert (snapshot.messages, snapshot.current_input) == (1, 1)
    assert snapshot.budget is not None
    assert snapshot.budget.total_used > 1500
    assert context.last_preparation is None
    assert not stub.targets


def test_a_view_prepares() -> None:
    """10: so it can compact."""
    context, stub = filled(850)
    view = asyncio.run(context.get_view_context())
    assert view.available
    assert len(stub.targets) == 1
    assert context.last_preparation is not None
    assert view.budget == context.last_budget
    assert sum(one.tokens for one in view.items) == 850
    assert [one.item["role"] for one in view.items] == ["developer", "user"]


def test_validation_alone_replaces_recorded_diagnostics() -> None:
    """10: rollover clears the cached budget, and leaves the preparation."""
    context, _ = stubbed()
    context.add_input_items([message("user", "One"), message("assistant", "Two")])
    prepare(context)
    before = context.last_preparation
    asyncio.run(context.consolidate())
    assert context.last_preparation == before
    assert context.last_budget is not None

    async def summarize(_: Any) -> str:
        return "Summary"

    result = asyncio.run(context.rollover(summarize=summarize, preserve_recent_turns=0))
    assert result.performed
    assert context.last_preparation == before
    assert budget_of(context) != (before and before.budget)


class Shown(BasePlugin):
    name = "shown"

    def get_contents(self) -> Any:
        return {"a": 1}


def test_a_snapshot_shows_what_plugins_hold() -> None:
    context, _ = stubbed()
    context.register_plugin(Shown())
    (plugin,) = asyncio.run(context.get_snapshot()).plugins
    assert (plugin.name, plugin.compactable, plugin.contents) == ("shown", False, {"a": 1})


def test_an_estimate_after_a_preparation_is_a_copy_of_the_cached_budget() -> None:
    """10: scribbling on it changes no diagnostics."""
    context, _ = stubbed()
    context.register_plugin(ScriptedPlugin("board", ["Plan"]))
    prepared = prepare(context)
    budget = budget_of(context)
    budget.breakdown.plugin_contents["board"] = 10**6  # type: ignore[index]  # a plain dict after all
    assert context.last_budget == prepared.budget == budget_of(context)
    assert context.last_preparation is not None
    assert context.last_preparation.budget == prepared.budget


def test_10_a_failed_preparation_does_not_change_what_a_strategy_reported_before() -> None:
    """The report is a copy."""
    context, stub = filled(850)
    report = {"passes": 0}

    def does(given: Any, target: int) -> CompactionResult:
        report["passes"] += 1
        if report["passes"] == 2:
            raise RuntimeError
        return CompactionResult(report=report)

    stub.does = does
    prepare(context)
    before = context.last_preparation
    with pytest.raises(RuntimeError):
        prepare(context)
    assert before is not None
    assert context.last_preparation is not None
    assert (before.compaction, context.last_preparation.compaction) == ({"passes": 1}, {"passes": 1})


def test_10_diagnostics_can_be_read_whatever_a_strategy_reports() -> None:
    """A report that cannot be copied must not break the getter for ever."""
    context, stub = filled(850)
    stub.does = lambda *_: CompactionResult(report=threading.Lock())
    prepare(context)
    assert context.last_preparation is not None
