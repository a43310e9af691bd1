"""Loops and threads: nothing hangs, nothing is lost, and a process can always end."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextvars import ContextVar
from pathlib import Path

import pytest

from playground import (
    CallCancelledError,
    CancelToken,
    ContextCompiler,
    ContextSourceRequest,
    InvalidRequestError,
    RagSource,
)
from playground.compiler.values import ContextCandidate
from playground.concurrency import called, in_thread, outcome_within, run_sync, until_done
from tests.deadlocks import in_time

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


class Slow:
    """An asynchronous source that sleeps, and then does what it is told."""

    id, kind, required = "slow", "rag", True

    def __init__(self, seconds: float, then: Callable[[], object] = lambda: None) -> None:
        self._seconds, self._then = seconds, then

    async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
        await asyncio.sleep(self._seconds)
        self._then()
        return []


def slow_compiler(seconds: float, then: Callable[[], object] = lambda: None) -> ContextCompiler:
    return ContextCompiler(sources=[Slow(seconds, then)])  # type: ignore[list-item]


def test_a_synchronous_call_behind_a_task_of_the_loop_that_it_blocks_is_refused() -> None:
    compiler = slow_compiler(0.2)

    async def cell() -> str:
        task = asyncio.create_task(compiler.before_model_call(**STEP, step=0))  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        with pytest.raises(InvalidRequestError, match="its own event loop") as caught:
            compiler.before_model_call_sync(**STEP, step=1)
        await task
        # Where nobody is in the way, a notebook may call it inside its running loop.
        assert compiler.before_model_call_sync(**STEP, step=1).manifest.retrieval_pass == 2
        return caught.value.remedy

    assert "Await" in str(in_time(lambda: asyncio.run(cell())))


def test_a_synchronous_call_behind_a_waiting_task_of_its_own_loop_is_refused() -> None:
    compiler = slow_compiler(0.3)

    async def cell() -> None:
        waiting = asyncio.create_task(compiler.before_model_call(**STEP, step=1))  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        with pytest.raises(InvalidRequestError, match="its own event loop"):
            compiler.before_model_call_sync(**STEP, step=2)
        await waiting

    holder = threading.Thread(target=lambda: compiler.before_model_call_sync(**STEP, step=0), daemon=True)
    holder.start()
    time.sleep(0.05)
    in_time(lambda: asyncio.run(cell()))


def test_a_source_on_the_hosts_loop_that_calls_its_own_compiler_synchronously_fails_at_once() -> None:
    def again() -> None:
        compiler.before_model_call_sync(**STEP, step=5)

    compiler = slow_compiler(0, again)
    with pytest.raises(InvalidRequestError, match="its own event loop"):
        in_time(lambda: asyncio.run(compiler.before_model_call(**STEP, step=0)))  # type: ignore[arg-type]


def test_a_source_in_a_thread_below_a_synchronous_call_knows_which_loop_stands_still() -> None:
    behind = slow_compiler(0.3)
    outer = ContextCompiler(
        sources=[RagSource(lambda *_: behind.before_model_call_sync(**STEP, step=1) and [], required=True)]
    )

    async def cell() -> None:
        task = asyncio.create_task(behind.before_model_call(**STEP, step=0))  # type: ignore[arg-type]
        await asyncio.sleep(0.05)
        with pytest.raises(InvalidRequestError, match="its own event loop"):
            outer.before_model_call_sync(**STEP, step=0)
        await task

    in_time(lambda: asyncio.run(cell()))


def test_an_outcome_is_the_result_or_the_very_error_and_a_deaf_function_is_left_behind() -> None:
    error = GeneratorExit()

    async def fails() -> None:
        raise error

    async def answers() -> str:
        return "answer"

    async def deaf() -> None:
        while not over.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue

    over = threading.Event()
    assert run_sync(outcome_within(5, answers)) == ("answer", None)
    assert run_sync(outcome_within(5, fails))[1] is error
    with pytest.raises(TimeoutError):
        in_time(lambda: run_sync(outcome_within(0.05, deaf)))
    over.set()


def test_a_function_is_called_in_a_thread_only_where_it_is_plain_and_what_it_returns_is_awaited() -> None:
    here: list[str] = []

    async def asynchronous(name: str) -> str:
        here.append(threading.current_thread().name)
        return name

    def plain(name: str) -> str:
        here.append(threading.current_thread().name)
        return name

    class Asynchronous:
        async def __call__(self, name: str) -> str:
            return await asynchronous(name)

    def hidden(name: str) -> object:
        return asynchronous(plain(name))

    for function in (asynchronous, Asynchronous(), plain, hidden):
        assert run_sync(called(function, "answer")) == "answer"
    assert here == ["playground-loop"] * 2 + ["playground-call"] * 2 + ["playground-loop"]


def test_tasks_are_waited_for_until_one_raises_or_the_caller_no_longer_waits() -> None:
    error, token = KeyError("mine"), CancelToken()

    async def fails() -> None:
        raise error

    async def cancels() -> None:
        token.cancel()
        await asyncio.sleep(60)

    async def wait(*functions: Callable[[], Coroutine[object, object, None]]) -> None:
        tasks = [asyncio.create_task(function()) for function in functions]
        try:
            await until_done(tasks, token)
        finally:
            for task in tasks:
                task.cancel()

    async def ends() -> None:
        return

    run_sync(wait(ends, ends))
    with pytest.raises(KeyError) as caught:
        in_time(lambda: run_sync(wait(lambda: asyncio.sleep(60), fails)))
    assert caught.value is error
    with pytest.raises(CallCancelledError):
        in_time(lambda: run_sync(wait(cancels)))
