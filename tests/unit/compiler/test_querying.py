from __future__ import annotations

import asyncio
import gc
import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from playground import CancelToken, ContextBudget, ContextCandidate, InvalidInputError, SourceResult
from playground.compiler.querying import budget_hints, check_sources, query_sources
from playground.compiler.values import ContextSourceRequest, Kind
from playground.concurrency import run_sync
from playground.errors import CallCancelledError, SourceTimeoutError

Answer = Callable[[ContextSourceRequest], Awaitable[Any]]


class Source:
    """A source of one's own: whatever the function answers."""

    def __init__(self, answer: Answer, *, id: str = "own", kind: Kind = "rag", required: bool = False) -> None:  # noqa: A002
        self.id, self.kind, self.required = id, kind, required
        self._answer = answer

    async def query(self, request: ContextSourceRequest) -> Sequence[ContextCandidate]:
        answer: Sequence[ContextCandidate] = await self._answer(request)
        return answer


def answering(value: Any) -> Answer:
    async def answer(request: ContextSourceRequest) -> Any:
        return value() if callable(value) else value

    return answer


def ask(*sources: Source, query: str = "q", **more: Any) -> tuple[SourceResult, ...]:
    return run_sync(query_sources(sources, ContextSourceRequest(query), **more))


@pytest.mark.parametrize(
    "bad",
    [
        {"tokens": -1},
        {"tokens": 1.5},
        {"score": math.nan},
        {"digest": "sha256:" + "0" * 64},
        {"digest": "none"},
        {"record_id": 5},
    ],
    ids=repr,
)
def test_r38_r150_a_source_that_makes_a_malformed_candidate_has_failed(bad: dict[str, Any]) -> None:
    def make() -> list[ContextCandidate]:
        return [ContextCandidate(**{"record_id": "a", "text": "t", "score": 1.0, **bad})]

    broken, sound = ask(Source(answering(make)), Source(answering([ContextCandidate("b", "t", 1.0)]), id="two"))
    assert (broken.status, broken.candidates) == ("failed", ())
    assert isinstance(broken.error, InvalidInputError)
    assert (sound.status, len(sound.candidates)) == ("ok", 1)


@pytest.mark.parametrize("answer", [None, 5, "text", {"a": 1}, ["text"], [None]])
def test_r150_an_answer_that_is_no_list_of_candidates_is_a_failure(answer: Any) -> None:
    (result,) = ask(Source(answering(answer)))
    assert (result.status, result.candidates) == ("failed", ())


def test_r149_nothing_found_is_an_empty_list_and_no_error() -> None:
    (result,) = ask(Source(answering([])))
    assert (result.status, result.candidates, result.error) == ("ok", (), None)


def test_r144_what_a_source_raises_is_kept_as_the_very_object() -> None:
    error = RuntimeError("down")

    def fail() -> None:
        raise error

    (result,) = ask(Source(answering(fail), required=True))
    assert result.error is error
    assert (result.status, result.required) == ("failed", True)


def test_r39_each_source_is_told_the_tokens_of_its_whole_share() -> None:
    budget = ContextBudget(shares={"memory": 0.35, "rag": 0.33, "transcript": 0.1, "skills": 0.0})
    hints = budget_hints(budget, context_tokens=1_000, tail_tokens=101)
    assert hints == {"memory": 314, "rag": 296, "transcript": 89, "skills": 0}
    assert set(budget_hints(budget, context_tokens=5, tail_tokens=9).values()) == {0}

    seen: dict[str, int] = {}

    def spy(name: str) -> Answer:
        async def answer(request: ContextSourceRequest) -> list[ContextCandidate]:
            seen[name] = request.budget_tokens
            return []

        return answer

    ask(
        Source(spy("one"), id="one"),
        Source(spy("two"), id="two"),
        Source(spy("three"), id="three", kind="memory"),
        hints=hints,
    )
    assert seen == {"one": 296, "two": 296, "three": 314}


def test_r39_a_hint_is_the_floor_of_the_share_itself() -> None:
    budget = ContextBudget(shares={"memory": 0.29, "rag": 0.35, "transcript": 0, "skills": 0})
    for tokens in range(2_000):
        hints = budget_hints(budget, context_tokens=tokens)
        assert hints["memory"] == math.floor(0.29 * tokens)
        assert hints["rag"] == math.floor(0.35 * tokens)


def test_r130_a_blank_query_asks_nobody() -> None:
    def fail() -> None:
        raise AssertionError("asked")

    results = ask(Source(answering(fail)), Source(answering(fail), id="two", required=True), query=" \n")
    assert [result.status for result in results] == ["skipped", "skipped"]


def test_r153_a_source_that_never_answers_is_bounded_by_the_time_limit() -> None:
    async def never(request: ContextSourceRequest) -> list[ContextCandidate]:
        await asyncio.Event().wait()
        return []

    slow, quick = ask(Source(never), Source(answering([]), id="two"), time_limit=0.05)
    assert isinstance(slow.error, SourceTimeoutError)
    assert slow.error.source_id == "own"
    assert (slow.status, quick.status) == ("failed", "ok")


def test_r153_the_signal_of_a_source_that_is_no_longer_waited_for_is_set_and_no_other() -> None:
    signals: dict[str, CancelToken] = {}

    async def never(request: ContextSourceRequest) -> list[ContextCandidate]:
        signals["slow"] = request.signal
        await asyncio.Event().wait()
        return []

    async def quick(request: ContextSourceRequest) -> list[ContextCandidate]:
        signals["quick"] = request.signal
        return []

    ask(Source(never), Source(quick, id="two"), time_limit=0.05)
    assert signals["slow"].cancelled
    assert not signals["quick"].cancelled


def test_r151_a_cancelled_call_is_not_swallowed() -> None:
    token = CancelToken()
    token.cancel()
    with pytest.raises(CallCancelledError):
        run_sync(query_sources([Source(answering([]))], ContextSourceRequest("q", signal=token)))

    later = CancelToken()

    async def cancelled(request: ContextSourceRequest) -> list[ContextCandidate]:
        later.cancel()
        request.signal.raise_if_cancelled()
        return []

    with pytest.raises(CallCancelledError):
        run_sync(query_sources([Source(cancelled)], ContextSourceRequest("q", signal=later)))


def test_r144_r151_a_source_that_says_cancelled_though_nobody_asked_for_it_has_failed() -> None:
    error = CallCancelledError("inner")

    def cancelled() -> None:
        raise error

    failed, sound = ask(Source(answering(cancelled)), Source(answering([]), id="two"))
    assert (failed.status, failed.error, sound.status) == ("failed", error, "ok")


class FatalError(RuntimeError):
    fatal_execution = True


def test_of_several_errors_that_end_the_run_the_first_source_has_the_word() -> None:
    def fail(name: str) -> Answer:
        async def answer(request: ContextSourceRequest) -> list[ContextCandidate]:
            raise FatalError(name)

        return answer

    for _ in range(20):
        with pytest.raises(FatalError, match=r"^0$"):
            ask(*(Source(fail(str(number)), id=str(number)) for number in range(8)))


async def polls_its_signal(request: ContextSourceRequest) -> list[ContextCandidate]:
    while True:
        await asyncio.sleep(0.001)
        if request.signal.cancelled:
            raise ValueError("SECRET")


async def raises_at_its_end(request: ContextSourceRequest) -> list[ContextCandidate]:
    try:
        await asyncio.sleep(60)
    finally:
        raise ValueError("SECRET")


async def ends_the_run(request: ContextSourceRequest) -> list[ContextCandidate]:
    raise FatalError("SECRET")


@pytest.mark.parametrize("seconds", [0.0, 0.05])
@pytest.mark.parametrize("answer", [polls_its_signal, raises_at_its_end, ends_the_run])
def test_what_sources_raise_that_nobody_waits_for_is_not_logged(
    answer: Answer, seconds: float, caplog: pytest.LogCaptureFixture
) -> None:
    async def run() -> None:
        signal = CancelToken()
        sources = [Source(answer, id=name) for name in "abc"]
        asking = asyncio.create_task(query_sources(sources, ContextSourceRequest("q", signal=signal)))
        await asyncio.sleep(0.02)
        signal.cancel()
        with pytest.raises((CallCancelledError, FatalError)):
            await asking
        await asyncio.sleep(seconds)

    asyncio.run(run())
    gc.collect()
    assert caplog.text == ""


def test_r153_a_time_limit_beyond_every_float_is_none() -> None:
    (result,) = ask(Source(answering([])), time_limit=10**400)
    assert result.status == "ok"


def test_sources_are_asked_at_the_same_time() -> None:
    async def run() -> tuple[SourceResult, ...]:
        barrier = asyncio.Barrier(3)

        async def meet(request: ContextSourceRequest) -> list[ContextCandidate]:
            await barrier.wait()
            return []

        sources = [Source(meet, id=str(i)) for i in range(3)]
        return await query_sources(sources, ContextSourceRequest("q"), time_limit=5)

    assert [result.status for result in run_sync(run())] == ["ok", "ok", "ok"]


def test_r142_r197_sources_with_one_id_or_an_unknown_kind_are_refused() -> None:
    one, two = Source(answering([])), Source(answering([]))
    with pytest.raises(InvalidInputError, match="'own'"):
        check_sources([one, two])
    web: Any = "web"
    with pytest.raises(InvalidInputError, match="web"):
        check_sources([Source(answering([]), kind=web)])
    assert check_sources([one]) == (one,)


@pytest.mark.parametrize(
    "bad", [{"id": 5}, {"id": ""}, {"id": []}, {"required": "no"}, {"required": None}], ids=repr
)
def test_a_source_without_a_name_or_a_plain_flag_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        check_sources([Source(answering([]), **bad)])
    assert caught.value.remedy


def test_synchronous_code_can_call_from_inside_a_running_loop() -> None:
    async def inside() -> int:
        return run_sync(asyncio.sleep(0, result=5))

    assert asyncio.run(inside()) == 5
