"""Whatever a source does, a step goes on without it or stops with its error; the compiler stays as it was."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from playground import (
    ContextCandidate,
    ContextCompiler,
    ContextPackage,
    ContextSourceRequest,
    InvalidInputError,
    RagSource,
)
from playground.compiler.values import ContextSource
from playground.errors import CallCancelledError, ExecutionError, SourceError, SourceTimeoutError
from tests.host import Spy, call, step

BOUND = 20.0  # seconds; far more than is needed, far less than for ever
LIMIT = 0.2  # seconds that a source may take here
Does = Callable[[ContextSourceRequest], Awaitable[Any]]
GOOD = ContextCandidate("good", "Deploys need a green CI run.", 0.9)


class Odd:
    """A source that does whatever its function does."""

    kind: Any = "memory"

    def __init__(self, does: Does, *, required: bool = False) -> None:
        self.id, self.required, self._does = "odd", required, does

    async def query(self, request: ContextSourceRequest) -> Any:
        return await self._does(request)


class NoTextError(Exception):
    """An error that cannot be shown."""

    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class HugeError(Exception):
    def __str__(self) -> str:
        return "x" * 10_000_000


class Endless(Sequence[ContextCandidate]):
    """A list that never ends."""

    def __len__(self) -> int:
        return 2**62

    def __getitem__(self, index: Any) -> Any:
        return GOOD


class Unruly(str):
    """A text that cannot be cut."""

    __slots__ = ()

    def __getitem__(self, index: Any) -> Any:
        raise RuntimeError("no part")


class UnrulyError(Exception):
    def __str__(self) -> str:
        return Unruly("text")


class OddCodeError(SourceError):
    code = 5  # type: ignore[assignment]  # what the test is about


class Untruthful(Sequence[ContextCandidate]):
    """A list whose reading fails."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: Any) -> Any:
        raise OSError("connection lost")


def compiler_with(odd: ContextSource, **more: Any) -> ContextCompiler:
    return ContextCompiler(sources=[odd, Spy([GOOD])], **{"time_limit": LIMIT, **more})


def raising(error: BaseException) -> Does:
    async def fail(request: ContextSourceRequest) -> Any:
        raise error

    return fail


def answering(answer: Callable[[], Any]) -> Does:
    async def give(request: ContextSourceRequest) -> Any:
        return answer()

    return give


async def sleeps(request: ContextSourceRequest) -> Any:
    await asyncio.sleep(3_600)


async def never_wakes(request: ContextSourceRequest) -> Any:
    await asyncio.get_running_loop().create_future()


async def cancels_itself(request: ContextSourceRequest) -> Any:
    inner = asyncio.ensure_future(asyncio.sleep(3_600))
    inner.cancel()
    await inner


async def is_deaf(request: ContextSourceRequest) -> Any:
    """Retries whatever happens, being cancelled included."""
    until = time.monotonic() + BOUND
    while time.monotonic() < until and not request.signal.cancelled:
        try:
            await asyncio.sleep(BOUND)
        except asyncio.CancelledError:
            await asyncio.sleep(0.01)


def counted_generator() -> Iterator[ContextCandidate]:
    yield GOOD


async def asynchronous_generator() -> AsyncIterator[ContextCandidate]:
    yield GOOD


def unmade() -> ContextCandidate:
    return ContextCandidate.__new__(ContextCandidate)


def candidate(**fields: Any) -> Callable[[], Any]:
    return lambda: [ContextCandidate(**{"record_id": "a", "text": "t", "score": 1.0, **fields})]


FAILURES: dict[str, Does] = {
    "hangs": sleeps,
    "hangs without a timer": never_wakes,
    "hangs and cannot be cancelled": is_deaf,
    "raises": raising(RuntimeError("down")),
    "raises without a text": raising(NoTextError()),
    "raises a huge text": raising(HugeError()),
    "raises an unruly text": raising(UnrulyError()),
    "raises an odd code": raising(OddCodeError("down")),
    "raises an error with a long name": raising(type("X" * 5_000, (Exception,), {})()),
    "raises a lone surrogate": raising(RuntimeError("\ud800")),
    "raises a group": raising(ExceptionGroup("several", [OSError("a"), ValueError("b")])),
    "raises a base group": raising(BaseExceptionGroup("several", [KeyboardInterrupt()])),
    "raises StopIteration": raising(StopIteration(5)),
    "raises StopAsyncIteration": raising(StopAsyncIteration()),
    "raises KeyboardInterrupt": raising(KeyboardInterrupt()),
    "raises SystemExit": raising(SystemExit(3)),
    "raises GeneratorExit": raising(GeneratorExit()),
    "raises CancelledError": raising(asyncio.CancelledError()),
    "raises TimeoutError": raising(TimeoutError()),
    "is cancelled from inside": cancels_itself,
    "answers None": answering(lambda: None),
    "answers a number": answering(lambda: 5),
    "answers a string": answering(lambda: "text"),
    "answers bytes": answering(lambda: b"text"),
    "answers a dictionary": answering(lambda: {"record_id": "a", "text": "t", "score": 1.0}),
    "answers dictionaries": answering(lambda: [{"record_id": "a", "text": "t", "score": 1.0}]),
    "answers a set": answering(lambda: {GOOD}),
    "answers a generator": answering(counted_generator),
    "answers an asynchronous generator": answering(asynchronous_generator),
    "answers wrong things among right ones": answering(lambda: [GOOD, None]),
    "answers unmade candidates": answering(lambda: [unmade(), unmade()]),
    "answers an endless list": answering(Endless),
    "answers an unreadable list": answering(Untruthful),
    "scores NaN": answering(candidate(score=float("nan"))),
    "scores infinity": answering(candidate(score=float("inf"))),
    "scores text": answering(candidate(score="high")),
    "gives a digest of another text": answering(candidate(digest="sha256:" + "0" * 64)),
    "gives a digest of another form": answering(candidate(digest="md5:0")),
    "gives an id that is no string": answering(candidate(record_id=5)),
    "gives a text that is no string": answering(candidate(text=None)),
    "claims a fraction of a token": answering(candidate(tokens=0.5)),
}
ALL = pytest.mark.parametrize("does", FAILURES.values(), ids=FAILURES.keys())


def in_bounded_time(ask: Callable[[], ContextPackage]) -> ContextPackage:
    """The answer of a call that must come back; what it raises is raised here."""
    found: list[Any] = []

    def work() -> None:
        try:
            found.append(ask())
        except BaseException as error:  # noqa: BLE001  # raised again where the test sees it
            found.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(BOUND / 2)
    assert found, "the call did not come back"
    if isinstance(found[0], BaseException):
        raise found[0]
    package: ContextPackage = found[0]
    return package


@ALL
def test_r144_r148_r150_r153_a_failed_optional_source_costs_a_warning_and_its_records(does: Any) -> None:
    warnings: list[Mapping[str, Any]] = []
    compiler = compiler_with(Odd(does), on_warning=warnings.append)
    manifest = in_bounded_time(lambda: step(compiler)).manifest
    assert [(row.id, row.status, row.selected) for row in manifest.sources] == [
        ("odd", "failed", 0),
        ("rag", "ok", 1),
    ]
    assert manifest.fallback == "source-failed"
    assert [(warning["type"], warning["setting"]) for warning in warnings] == [("context-source-failed", "odd")]
    error = manifest.sources[0].error
    assert error is not None
    assert len(error.message) <= 200
    manifest.to_json().encode()
    assert compiler.state().passes == 1
    later = in_bounded_time(lambda: step(compiler, 1))
    assert later.manifest.refresh == "reused"


@ALL
def test_r145_r147_a_required_source_that_fails_stops_the_step_and_leaves_the_state(does: Any) -> None:
    odd = Odd(does, required=True)
    compiler = compiler_with(odd)
    before = compiler.state().to_json()
    with pytest.raises(Exception) as caught:  # noqa: PT011  # which one is told below
        in_bounded_time(lambda: step(compiler))
    assert not isinstance(caught.value, CallCancelledError)
    assert compiler.state().to_json() == before
    odd._does = answering(lambda: [ContextCandidate("late", "Back again.", 1.0)])
    package = in_bounded_time(lambda: step(compiler))
    assert package.manifest.refresh == "initial"
    assert [entry.record_id for entry in package.manifest.entries if entry.selected] == ["late", "good"]


@pytest.mark.parametrize(
    "error",
    [RuntimeError("down"), NoTextError(), ExceptionGroup("several", [OSError()]), InvalidInputError("bad")],
)
def test_r145_the_very_error_of_a_required_source_is_raised(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        step(compiler_with(Odd(raising(error), required=True)))
    assert caught.value is error


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1), GeneratorExit()])
def test_what_would_end_the_program_comes_as_the_error_of_the_source_that_raised_it(
    error: BaseException,
) -> None:
    with pytest.raises(SourceError, match=type(error).__name__) as caught:
        step(compiler_with(Odd(raising(error), required=True)))
    assert caught.value.source_id == "odd"
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("does", [sleeps, is_deaf], ids=["sleeps", "is_deaf"])
def test_r153_a_source_that_hangs_is_told_that_nobody_waits_any_more(does: Any) -> None:
    asked: list[ContextSourceRequest] = []

    async def spied(request: ContextSourceRequest) -> Any:
        asked.append(request)
        return await does(request)

    with pytest.raises(SourceTimeoutError) as caught:
        step(compiler_with(Odd(spied, required=True)))
    assert caught.value.source_id == "odd"
    assert asked[0].signal.cancelled


def test_r153_a_plain_retrieve_that_blocks_is_bounded_and_later_steps_go_on() -> None:
    over = threading.Event()
    compiler = compiler_with(RagSource(lambda *_: over.wait(BOUND) and [], id="odd"))
    try:
        first = in_bounded_time(lambda: step(compiler))
        second = in_bounded_time(lambda: step(compiler, 1, refresh=True))
    finally:
        over.set()
    assert [package.manifest.sources[0].status for package in (first, second)] == ["failed", "failed"]
    assert first.manifest.sources[1].selected == 1


def test_r151_a_call_that_is_cancelled_is_no_failed_source_and_leaves_the_state() -> None:
    compiler = compiler_with(Odd(sleeps), time_limit=BOUND)
    before = compiler.state().to_json()

    async def cancelled() -> None:
        task = asyncio.create_task(compiler.before_model_call(**call()))
        await asyncio.sleep(0.05)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert compiler.state().to_json() == before


@pytest.mark.parametrize("required", [True, False])
def test_r151_an_error_that_ends_the_run_is_raised_for_an_optional_source_too(required: bool) -> None:
    error = ExecutionError("The budget of the run is spent.")
    compiler = compiler_with(Odd(raising(error), required=required))
    before = compiler.state().to_json()
    with pytest.raises(ExecutionError) as caught:
        step(compiler)
    assert caught.value is error
    assert compiler.state().to_json() == before


@pytest.mark.parametrize("error", [RuntimeError("no"), NoTextError()])
def test_r152_a_warning_callback_that_raises_does_not_break_the_step(error: Exception) -> None:
    def broken(_warning: Mapping[str, Any]) -> None:
        raise error

    package = step(compiler_with(Odd(raising(RuntimeError("down"))), on_warning=broken))
    assert package.manifest.fallback == "source-failed"


@pytest.mark.parametrize("required", [True, False])
def test_a_hundred_thousand_candidates_are_too_many_to_show_and_no_failure(required: bool) -> None:
    many = [ContextCandidate(f"{number:06}", f"text {number}", number / 100_000) for number in range(100_000)]
    compiler = compiler_with(Odd(answering(lambda: many), required=required), time_limit=BOUND)
    package = in_bounded_time(lambda: step(compiler))
    row = package.manifest.sources[0]
    assert (row.status, row.selected + row.excluded) == ("ok", 100_000)
    assert sum(entry.reason == "limit" for entry in package.manifest.entries) == 100_000 - 16
    assert row.selected == 16
    assert len(compiler.state().placed) == 17
