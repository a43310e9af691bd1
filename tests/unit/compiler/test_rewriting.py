"""Rewriting a query: whatever the function does, the step goes on with the query that it had."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import Future

import pytest

from playground import CallCancelledError, CancelToken, ContextCompiler
from playground.compiler.rewriting import rewritten
from playground.concurrency import run_sync
from tests.host import Spy, call, fails_to_rewrite


def test_r135_r153_a_function_that_is_deaf_to_its_cancellation_is_left_behind() -> None:
    over = threading.Event()

    async def rewrite(query: str) -> str:
        while not over.is_set():
            try:
                await asyncio.sleep(0.05)
            except asyncio.CancelledError:
                continue
        return query

    outcome: Future[None] = Future()

    def check() -> None:
        try:
            fails_to_rewrite(rewrite, time_limit=0.1)
        except BaseException as error:  # noqa: BLE001  # handed to the waiting test
            outcome.set_exception(error)
        else:
            outcome.set_result(None)

    threading.Thread(target=check, daemon=True).start()
    try:
        outcome.result(10)
    finally:
        over.set()


def test_r135_r151_a_function_that_says_cancelled_though_nobody_asked_for_it_is_a_failure() -> None:
    def rewrite(query: str) -> str:
        raise CallCancelledError("inner")

    fails_to_rewrite(rewrite)


@pytest.mark.parametrize("seconds", [0.0, 0.05])
def test_what_a_function_raises_that_nobody_waits_for_is_not_logged(
    seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    async def rewrite(query: str) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            raise ValueError("SECRET")

    async def run() -> None:
        token = CancelToken()
        compiler = ContextCompiler(sources=[Spy()], refresh={"rewrite_query": rewrite})
        task = asyncio.create_task(compiler.before_model_call(**call(signal=token)))
        await asyncio.sleep(0.02)
        token.cancel()
        with pytest.raises(CallCancelledError):
            await task
        await asyncio.sleep(seconds)

    asyncio.run(run())
    gc.collect()
    assert caplog.text == ""


def test_r135_r153_a_time_limit_beyond_every_float_is_none() -> None:
    query, failure = run_sync(rewritten("q", str.upper, signal=CancelToken(), time_limit=10**400))
    assert (query, failure) == ("Q", None)
