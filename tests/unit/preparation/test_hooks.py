"""Hooks that look on before a preparation (8.1)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest

from playground.preparation import ContextSnapshot
from playground.preparation.hooks import run_hooks
from tests.preparation import ScriptedPlugin
from tests.unit.preparation.calls import filled, prepare, stubbed


def test_a_hook_sees_the_conversation_before_rendering() -> None:
    """8.1, 27: no messages and one input on the first turn."""
    context, _ = stubbed()
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    context.add_user_message("Hello")
    prepare(context)
    (snapshot,) = plugin.snapshots
    assert isinstance(snapshot, ContextSnapshot)
    assert snapshot.messages == ()
    assert [item["id"] for item in snapshot.current_input] == ["msg_1"]


def test_a_snapshot_may_be_scribbled_on() -> None:
    """8.1: nothing live is handed out, and each hook has its own copy."""
    context, _ = stubbed()

    def scribble(snapshot: ContextSnapshot) -> None:
        snapshot.current_input[0]["content"].clear()

    first, second = ScriptedPlugin("first", at_hook=scribble), ScriptedPlugin("second")
    for plugin in (first, second):
        context.register_plugin(plugin)
    context.add_user_message("Hello")
    assert prepare(context).input[1]["content"] == context.current_input[0]["content"] != []
    assert second.snapshots[0].current_input[0]["content"] != []


def raising(_: Any) -> None:
    raise ValueError("secret content")


def cancelling(_: Any) -> None:
    raise asyncio.CancelledError


async def failing_later(_: Any) -> None:
    raise ValueError("secret content")


@pytest.mark.parametrize("hook", [raising, cancelling, failing_later])
def test_a_failing_hook_is_logged_with_its_plugin_and_preparation_goes_on(
    hook: Callable[[Any], Any], caplog: pytest.LogCaptureFixture
) -> None:
    """8.1, 27: what it raised is named by its kind alone, since it may quote content."""
    context, _ = stubbed()
    plugins = [ScriptedPlugin("tracker", at_hook=hook), ScriptedPlugin("next")]
    for plugin in plugins:
        context.register_plugin(plugin)

    async def prepare_and_wait() -> None:
        await context.prepare()
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    with caplog.at_level(logging.WARNING):
        asyncio.run(prepare_and_wait())
    assert [len(plugin.snapshots) for plugin in plugins] == [1, 1]
    (record,) = caplog.records
    assert "tracker" in record.getMessage()
    assert "secret" not in record.getMessage()


def test_an_asynchronous_hook_is_never_waited_for() -> None:
    """8.1."""
    context, _ = stubbed()

    async def run() -> None:
        gate = asyncio.Event()
        done = []

        async def slow(_: Any) -> None:
            await gate.wait()
            done.append(True)

        context.register_plugin(ScriptedPlugin(at_hook=slow))
        await context.prepare()
        assert not done
        gate.set()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert done

    asyncio.run(run())


def test_what_asks_the_program_to_end_is_not_swallowed() -> None:
    context, _ = stubbed()

    def interrupt(_: Any) -> None:
        raise KeyboardInterrupt

    context.register_plugin(ScriptedPlugin(at_hook=interrupt))
    with pytest.raises(KeyboardInterrupt):
        prepare(context)


def test_a_change_that_a_hook_makes_costs_no_second_rendering() -> None:
    """8.1, 8.2: hooks run before anything is captured."""
    context, _ = stubbed()
    plugin = ScriptedPlugin(at_hook=lambda _: context.add_user_message("From the hook"))
    context.register_plugin(plugin)
    assert prepare(context).input[-1]["content"][0]["text"] == "From the hook"
    assert plugin.renderings == 1


def test_destroying_cancels_what_hooks_still_do() -> None:
    context, _ = stubbed()

    async def run() -> None:
        cancelled = []

        async def endless(_: Any) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled.append(True)
                raise

        context.register_plugin(ScriptedPlugin(at_hook=endless))
        await context.prepare()
        await asyncio.sleep(0)
        context.destroy()
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert cancelled

    asyncio.run(run())


def test_a_hook_that_outlived_its_loop_does_not_hinder_destroying() -> None:
    context, _ = stubbed()
    started: list[Any] = []

    async def endless(_: Any) -> None:
        started.append(True)
        await asyncio.Event().wait()

    context.register_plugin(ScriptedPlugin(at_hook=endless))
    prepare(context)
    context.destroy()


def test_hooks_run_in_the_order_of_registration() -> None:
    """7.1.3."""
    context, _ = stubbed()
    order: list[str] = []
    for name in ("b", "a", "c"):
        context.register_plugin(ScriptedPlugin(name, at_hook=lambda _, name=name: order.append(name)))  # type: ignore[misc]
    prepare(context)
    assert order == ["b", "a", "c"]


def test_what_an_asynchronous_hook_did_is_forgotten_once_it_is_done() -> None:
    """8.1: whether it failed or not."""

    async def later(snapshot: object) -> None:
        if plugins[0].snapshots == [snapshot]:
            raise ValueError

    plugins = [ScriptedPlugin(name, at_hook=later) for name in ("a", "b")]
    running: set[asyncio.Future[object]] = set()

    async def run() -> None:
        run_hooks(plugins, lambda: ContextSnapshot((), ()), running)
        assert len(running) == 2
        for _ in range(3):
            await asyncio.sleep(0)

    asyncio.run(run())
    assert running == set()


def test_neither_an_estimate_nor_a_consolidation_runs_hooks() -> None:
    """8.1, 10, 17: they look on before a preparation."""
    context, stub = filled(850)
    plugin = ScriptedPlugin()
    context.register_plugin(plugin)
    asyncio.run(context.consolidate())
    assert stub.consolidations == 1
    asyncio.run(context.get_snapshot())
    assert plugin.snapshots == []
    prepare(context)
    assert len(plugin.snapshots) == 1
