"""Loops and threads: nothing hangs, nothing is lost, and a process can always end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextvars import ContextVar
from pathlib import Path

import pytest

from playground import ContextCompiler, ContextSourceRequest, InvalidRequestError, RagSource
from playground.compiler.values import ContextCandidate
from playground.concurrency import Turns, in_thread, run_sync

ROOT = Path(__file__).parents[2]
MODEL = {"provider": "openai", "model_id": "gpt-5", "context_window": 20_000, "max_output_tokens": 4_000}
STEP = {
    "run_id": "r",
    "messages": [{"role": "user", "content": "Which region?"}],
    "model": MODEL,
    "refresh": True,
}


def compiler_of(seconds: float) -> ContextCompiler:
    def retrieve(query: str, top_k: int, signal: object) -> list[dict[str, object]]:
        time.sleep(seconds)
        return [{"text": "eu-west", "index": 0, "score": 1.0}]

    return ContextCompiler(sources=[RagSource(retrieve)])


def test_one_compiler_serves_async_calls_of_several_loops_and_sync_calls_together() -> None:
    compiler = compiler_of(0.05)
    passes: list[int] = []

    def asynchronous(number: int) -> None:
        package = asyncio.run(compiler.before_model_call(**STEP, step=number))  # type: ignore[arg-type]
        passes.append(package.manifest.retrieval_pass)

    def synchronous(number: int) -> None:
        passes.append(compiler.before_model_call_sync(**STEP, step=number).manifest.retrieval_pass)

    threads = [
        threading.Thread(target=target, args=(n,)) for n in range(3) for target in (asynchronous, synchronous)
    ]
    for thread in threads:
        thread.daemon = True
        thread.start()
    for thread in threads:
        thread.join(timeout=20)
    assert not [thread for thread in threads if thread.is_alive()]
    assert sorted(passes) == [1, 2, 3, 4, 5, 6]


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


def test_a_synchronous_call_inside_an_asynchronous_source_is_refused_instead_of_waiting_for_ever() -> None:
    class Nested:
        id, kind, required = "nested", "rag", True

        async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
            compiler_of(0).before_model_call_sync(**STEP, step=0)
            return []

    with pytest.raises(InvalidRequestError, match="same event loop"):
        ContextCompiler(sources=[Nested()]).before_model_call_sync(**STEP, step=0)  # type: ignore[list-item]


def test_hung_functions_neither_starve_other_sources_nor_keep_the_process_from_ending() -> None:
    program = """
import time
from playground import ContextCompiler, RagSource
step = dict(run_id="r", step=0, messages=[{"role": "user", "content": "x y"}],
            model=dict(provider="openai", model_id="gpt-5", context_window=9000, max_output_tokens=10))
for _ in range(40):
    hung = ContextCompiler(sources=[RagSource(lambda q, k, s: time.sleep(600))], time_limit=0.01)
    assert hung.before_model_call_sync(**step).manifest.sources[0].error.name == "SourceTimeoutError"
good = ContextCompiler(sources=[RagSource(lambda q, k, s: [])], time_limit=5)
print(good.before_model_call_sync(**step).manifest.sources[0].status)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ok\n"), done.stderr


def test_a_generator_that_never_ends_is_cut_off_and_blocks_nobody() -> None:
    def endless(query: str, top_k: int, signal: object) -> object:
        while True:
            time.sleep(0.001)
            yield {"text": "x", "index": 0, "score": 0.5}

    started = time.monotonic()
    compiler = ContextCompiler(sources=[RagSource(endless)], time_limit=0.2)
    package = compiler.before_model_call_sync(**STEP, step=0)
    assert package.manifest.sources[0].status == "failed"
    assert time.monotonic() - started < 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_can_make_synchronous_calls() -> None:
    program = """
import os, sys, warnings
warnings.simplefilter("ignore")
from playground.concurrency import run_sync
async def one(): return 1
run_sync(one())
child = os.fork()
if child == 0:
    os._exit(0 if run_sync(one()) == 1 else 1)
print(os.waitpid(child, 0)[1])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.stdout == "0\n", done.stderr


def test_what_a_function_raises_is_raised_where_it_is_awaited() -> None:
    def stop() -> None:
        raise StopIteration

    def fail() -> None:
        raise KeyError("k")

    with pytest.raises(KeyError):
        run_sync(in_thread(fail))
    with pytest.raises(RuntimeError, match="StopIteration"):
        run_sync(in_thread(stop))
    assert run_sync(in_thread(max, 1, 2)) == 2


def test_a_function_in_a_thread_sees_the_callers_context_variables() -> None:
    caller: ContextVar[str] = ContextVar("caller", default="nobody")

    async def ask() -> str:
        caller.set("ada")
        return await in_thread(caller.get)

    assert run_sync(ask()) == "ada"
    assert caller.get() == "nobody"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_what_asks_the_program_to_end_reaches_the_synchronous_caller(error: BaseException) -> None:
    async def stop() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run_sync(stop())
    assert caught.value is error
    assert run_sync(asyncio.sleep(0, result=5)) == 5
