"""Turns across loops and threads: first come, first served, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import gc
import threading
import time

import pytest

from playground.concurrency import in_thread, run_sync
from playground.turns import Turns
from tests.deadlocks import in_time


def test_a_turn_given_up_while_waiting_goes_to_the_next() -> None:
    async def run() -> list[str]:
        turns, order = Turns(), []

        async def hold(name: str, seconds: float) -> None:
            async with turns.turn():
                order.append(name)
                await asyncio.sleep(seconds)

        first = asyncio.create_task(hold("first", 0.05))
        await asyncio.sleep(0)
        second = asyncio.create_task(hold("second", 0))
        third = asyncio.create_task(hold("third", 0))
        await asyncio.sleep(0.01)
        second.cancel()
        await asyncio.gather(first, third)
        return order

    assert asyncio.run(asyncio.wait_for(run(), 5)) == ["first", "third"]


def test_a_turn_cancelled_in_the_moment_it_comes_is_passed_on() -> None:
    async def run() -> bool:
        turns = Turns()
        async with turns.turn():
            waiting = asyncio.create_task(turns._wait())
            await asyncio.sleep(0.01)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        async with turns.turn():
            return True

    assert asyncio.run(asyncio.wait_for(run(), 5))


def test_what_outlives_a_synchronous_call_may_wait_for_the_loop_that_goes_on_again() -> None:
    turns = Turns()
    later: list[asyncio.Task[None]] = []

    async def take_turn() -> None:
        await asyncio.sleep(0.1)
        async with turns.turn():
            return

    async def start() -> None:
        later.append(asyncio.create_task(take_turn()))

    async def cell() -> None:
        run_sync(start())
        async with turns.turn():
            await asyncio.sleep(0.2)

    asyncio.run(cell())
    in_time(lambda: run_sync(asyncio.wait_for(_finished(later[0]), 5)))


@pytest.mark.parametrize("end", ["closed", "closed and dropped", "stopped"])
def test_a_waiter_whose_loop_ended_does_not_get_the_turn(end: str) -> None:
    turns = Turns()
    loop = asyncio.new_event_loop()

    async def take_turn() -> str:
        async with turns.turn():
            return "had it"

    async def hold() -> None:
        async with turns.turn():
            waiting = [loop.create_task(take_turn())]
            await in_thread(loop.run_until_complete, asyncio.sleep(0.05))
            if end != "stopped":
                loop.close()
            if end == "closed":
                kept.extend(waiting)
            elif end == "stopped":
                stopped.extend(waiting)
            del waiting
            gc.collect()

    kept: list[asyncio.Task[str]] = []
    stopped: list[asyncio.Task[str]] = []
    in_time(lambda: asyncio.run(hold()))
    assert in_time(lambda: asyncio.run(asyncio.wait_for(take_turn(), 5))) == "had it"
    if end == "stopped":
        # It was passed over, not forgotten.
        assert loop.run_until_complete(asyncio.wait_for(stopped[0], 5)) == "had it"
        loop.close()


def test_a_waiter_that_is_closed_at_its_place_leaves_the_queue() -> None:
    async def run() -> str:
        turns = Turns()
        async with turns.turn():
            waiting = turns._wait()
            waiting.send(None)
            waiting.close()
        async with turns.turn():
            return "had it"

    assert in_time(lambda: asyncio.run(asyncio.wait_for(run(), 5))) == "had it"


def test_a_turn_that_came_to_a_waiter_in_the_moment_it_is_closed_is_passed_on() -> None:
    async def run() -> str:
        turns = Turns()
        waiting = turns._wait()
        async with turns.turn():
            waiting.send(None)
        waiting.close()
        async with turns.turn():
            return "had it"

    assert in_time(lambda: asyncio.run(asyncio.wait_for(run(), 5))) == "had it"


def test_a_holder_whose_loop_was_closed_does_not_keep_the_turn() -> None:
    turns = Turns()
    loop = asyncio.new_event_loop()

    async def hold() -> None:
        async with turns.turn():
            await asyncio.Event().wait()

    async def replace() -> None:
        async with turns.turn():
            # The end of the one who held it first takes it from nobody.
            held.clear()
            gc.collect()
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(_take(turns), 0.05)
        await asyncio.wait_for(_take(turns), 5)

    held = [loop.create_task(hold())]
    loop.run_until_complete(asyncio.sleep(0.01))
    loop.close()
    in_time(lambda: asyncio.run(replace()))


async def _take(turns: Turns) -> None:
    async with turns.turn():
        return


def test_turns_come_in_the_order_of_arrival_in_whatever_loop() -> None:
    turns, order = Turns(), []

    def take_turn(number: int) -> None:
        async def run() -> None:
            async with turns.turn():
                order.append(number)
                await asyncio.sleep(0.05)

        asyncio.run(run())

    threads = [threading.Thread(target=take_turn, args=(number,), daemon=True) for number in range(6)]
    for thread in threads:
        thread.start()
        time.sleep(0.02)
    for thread in threads:
        thread.join(10)
    assert order == list(range(6))


async def _finished(task: asyncio.Task[None]) -> None:
    await task
