"""Telling the host: its clock, its observer and its callback may do what they like, a step goes on."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from playground import ContextCompiler, InvalidInputError
from playground.compiler.reporting import CompileReport
from tests.host import Spy, call, step

ERRORS = [RuntimeError("SECRET"), asyncio.CancelledError(), GeneratorExit()]


def clock_that_fails_at(number: int, error: BaseException) -> Callable[[], int]:
    def times() -> Iterator[int]:
        yield from range(number)
        raise error

    clock = times()
    return lambda: next(clock)


def names(errors: list[BaseException]) -> list[str]:
    return [type(error).__name__ for error in errors]


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("error", ERRORS, ids=names(ERRORS))
def test_a_clock_that_raises_costs_the_report_and_nothing_else(
    number: int, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    reports: list[CompileReport] = []
    compiler = ContextCompiler(
        sources=[Spy()], clock=clock_that_fails_at(number, error), observer=reports.append
    )
    assert step(compiler).manifest.sources[0].selected == 1
    assert (reports, compiler.state().passes) == ([], 1)
    assert type(error).__name__ in caplog.text
    assert "SECRET" not in caplog.text


@pytest.mark.parametrize("number", [0, 1])
def test_a_clock_that_raises_hides_no_error_of_the_step(number: int) -> None:
    error = KeyError("mine")
    compiler = ContextCompiler(
        sources=[Spy(fails=error, required=True)],
        clock=clock_that_fails_at(number, RuntimeError("no")),
        observer=lambda report: None,
    )
    with pytest.raises(KeyError) as caught:
        step(compiler)
    assert caught.value is error


def test_a_clock_without_whole_numbers_gives_no_report() -> None:
    reports: list[CompileReport] = []
    clock: Any = lambda: "noon"  # noqa: E731  # of a wrong type on purpose
    step(ContextCompiler(sources=[Spy()], clock=clock, observer=reports.append))
    assert reports == []


@pytest.mark.parametrize("error", ERRORS, ids=names(ERRORS))
def test_r152_an_observer_or_a_callback_that_raises_does_not_break_the_step(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(told: object) -> None:
        raise error

    compiler = ContextCompiler(sources=[Spy(fails=ValueError("down"))], observer=broken, on_warning=broken)
    assert step(compiler).manifest.fallback == "source-failed"
    assert compiler.state().passes == 1
    assert "SECRET" not in caplog.text


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt()])
def test_an_observer_may_end_the_program(error: BaseException) -> None:
    def end(report: CompileReport) -> None:
        raise error

    with pytest.raises(type(error)):
        step(ContextCompiler(sources=[Spy()], observer=end))


async def asynchronous(told: object) -> None:
    raise AssertionError("called")


async def generating(told: object) -> Any:
    yield told


class Asynchronous:
    async def __call__(self, told: object) -> None:
        raise AssertionError("called")


@pytest.mark.parametrize("name", ["on_warning", "observer"])
@pytest.mark.parametrize(
    "function",
    [asynchronous, generating, Asynchronous(), Asynchronous().__call__, functools.partial(asynchronous)],
    ids=["function", "generator", "object", "method", "partial"],
)
def test_an_asynchronous_callback_is_refused_because_nobody_would_await_it(function: Any, name: str) -> None:
    with pytest.raises(InvalidInputError, match=name) as caught:
        ContextCompiler(sources=[], **{name: function})
    assert caught.value.remedy
    if name == "on_warning":
        with pytest.raises(InvalidInputError, match=name):
            asyncio.run(ContextCompiler(sources=[]).before_model_call(**call(on_warning=function)))


@pytest.mark.filterwarnings("error")
def test_a_callback_that_turns_out_to_be_asynchronous_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def hidden(warning: Mapping[str, Any]) -> Any:
        return asynchronous(warning)

    step(ContextCompiler(sources=[Spy(fails=ValueError("down"))], on_warning=hidden))
    assert "asynchronous" in caplog.text
