"""One operation at a time (8.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from playground.errors import ContextBusyError
from playground.preparation import AgentContext
from tests.preparation import ScriptedPlugin, message
from tests.unit.preparation.calls import budget_of, filled, prepare, stubbed


async def summarize(_: Any) -> str:
    return "Summary"


OPERATIONS: dict[str, Callable[[AgentContext], Awaitable[Any]]] = {
    "prepare": lambda context: context.prepare(),
    "consolidate": lambda context: context.consolidate(),
    "rollover": lambda context: context.rollover(summarize=summarize, preserve_recent_turns=0),
}


def gated() -> tuple[AgentContext, ScriptedPlugin]:
    context, _ = stubbed()
    context.add_input_items([message("user", "One"), message("assistant", "Two")])
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    return context, plugin


@pytest.mark.parametrize("second", OPERATIONS)
@pytest.mark.parametrize("first", OPERATIONS)
def test_a_second_operation_is_rejected_at_once_and_the_first_goes_on(first: str, second: str) -> None:
    """8.3, 27."""
    context, plugin = gated()

    async def run() -> None:
        gate = asyncio.Event()
        plugin.at_content = gate.wait  # type: ignore[assignment]

        async def waiting(_: Any) -> str:
            await gate.wait()
            return "Summary"

        running = asyncio.ensure_future(
            context.rollover(summarize=waiting, preserve_recent_turns=0)
            if first == "rollover"
            else OPERATIONS[first](context)
        )
        await asyncio.sleep(0)
        renderings = plugin.renderings
        with pytest.raises(ContextBusyError) as caught:
            await asyncio.wait_for(OPERATIONS[second](context), 5)
        assert (caught.value.code, caught.value.operation) == ("CONTEXT_BUSY", first)
        assert plugin.renderings == renderings
        assert not running.done()
        gate.set()
        await running
        assert await OPERATIONS[second](context)

    asyncio.run(run())


def test_cancelling_a_preparation_lets_the_next_one_run() -> None:
    """8.3: and records nothing."""
    context, plugin = gated()

    async def run() -> None:
        plugin.at_content = asyncio.Event().wait  # type: ignore[assignment]
        running = asyncio.create_task(context.prepare())
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        plugin.at_content = None
        assert context.last_preparation is None
        await context.prepare()

    asyncio.run(run())
    assert context.last_preparation is not None


def test_a_failed_preparation_lets_the_next_one_run() -> None:
    """8.3."""
    context, _ = filled(950)
    for _attempt in range(2):
        with pytest.raises(Exception, match="950"):
            prepare(context)
    context.clear_conversation()
    assert prepare(context).budget.total_used


def test_a_strategy_cannot_prepare_in_the_middle_of_a_preparation() -> None:
    """8.3."""
    context, stub = filled(850)
    stub.does = lambda *_: context.prepare()
    with pytest.raises(ContextBusyError):
        prepare(context)
    assert context.last_preparation is None


def test_a_listener_of_a_preparation_finds_it_still_running() -> None:
    context, _ = stubbed()
    caught: list[Exception] = []

    def nested(_: Any) -> None:
        coroutine = context.prepare()
        try:
            coroutine.send(None)
        except ContextBusyError as error:
            caught.append(error)

    context.on("context:prepared", nested)
    prepare(context)
    assert len(caught) == 1


def test_looking_is_not_excluded() -> None:
    """8.3, 10: estimates, snapshots and validation run beside an operation."""
    context, plugin = gated()

    async def run() -> None:
        gate = asyncio.Event()
        plugin.at_content = gate.wait  # type: ignore[assignment]
        running = asyncio.create_task(context.prepare())
        await asyncio.sleep(0)
        plugin.at_content = None
        assert (await context.calculate_budget()).total_used
        assert (await context.get_snapshot()).available
        assert context.validate_request_budget({"input": "Hello"}).total_used == 6
        gate.set()
        await running

    asyncio.run(run())
    assert budget_of(context) == context.last_budget


def test_a_rejected_preparation_changes_nothing() -> None:
    """7.1.1, 8.3: not even what was thought last."""
    context, plugin = gated()

    async def run() -> None:
        gate = asyncio.Event()
        plugin.at_content = gate.wait  # type: ignore[assignment]
        running = asyncio.ensure_future(context.consolidate())
        await asyncio.sleep(0)
        context.add_assistant_response([{"type": "thinking", "thinking": "Hm"}])
        with pytest.raises(ContextBusyError):
            await context.prepare()
        assert context.last_thinking == "Hm"
        assert not plugin.snapshots
        gate.set()
        await running

    asyncio.run(run())
