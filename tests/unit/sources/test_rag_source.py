from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from playground.cancel import CancelToken
from playground.compiler.querying import query_sources
from playground.compiler.values import ContextSourceRequest
from playground.errors import InvalidInputError, SourceTimeoutError
from playground.sources import RagSource
from tests.unit.sources.helpers import ask, run

DOCS: list[dict[str, Any]] = [
    {"text": "Deploys need a green CI run.", "index": 0, "score": 0.9},
    {"text": "Rollbacks use the previous image tag.", "index": 1, "score": 0.4},
]


@dataclass
class Chunk:
    text: str
    index: int
    score: float
    match: str | None = None


def test_id_defaults_to_the_kind_and_required_to_false_R183() -> None:
    source = RagSource(retrieve=lambda _query, top_k, _signal: DOCS[:top_k])
    assert (source.id, source.kind, source.required) == ("rag", "rag", False)


def test_the_record_id_is_the_chunk_index_as_text_R190() -> None:
    found = ask(RagSource(retrieve=lambda _query, top_k, _signal: DOCS[:top_k]))
    assert [(one.record_id, one.text, one.score) for one in found] == [
        ("0", "Deploys need a green CI run.", 0.9),
        ("1", "Rollbacks use the previous image tag.", 0.4),
    ]


async def _async_retrieve(_query: str, top_k: int, _signal: CancelToken) -> list[dict[str, Any]]:
    await asyncio.sleep(0)
    return DOCS[:top_k]


def _coroutine(query: str, top_k: int, signal: CancelToken) -> Any:
    return _async_retrieve(query, top_k, signal)


def _numpy_numbers(_query: str, top_k: int, _signal: CancelToken) -> list[dict[str, Any]]:
    numbers = [{"index": np.int64(doc["index"]), "score": np.float32(doc["score"])} for doc in DOCS]
    return [doc | number for doc, number in zip(DOCS, numbers, strict=True)][:top_k]


class Recorder:
    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __call__(self, *given: Any) -> list[Any]:
        self.calls.append(given)
        return []


class CallableSearch:
    async def __call__(self, _query: str, top_k: int, _signal: CancelToken) -> list[dict[str, Any]]:
        return DOCS[:top_k]


@pytest.mark.parametrize(
    "retrieve",
    [
        _async_retrieve,
        CallableSearch(),
        _coroutine,
        lambda _query, top_k, _signal: [Chunk(**doc) for doc in DOCS][:top_k],
        lambda _query, top_k, _signal: tuple(DOCS)[:top_k],
        _numpy_numbers,
    ],
)
def test_plain_and_async_functions_objects_and_dictionaries_all_work(retrieve: Any) -> None:
    found = ask(RagSource(retrieve=retrieve), limit=1)
    assert [(one.record_id, one.score) for one in found] == [("0", 0.9)]


def test_without_accounting_exactly_three_arguments_are_given_R200() -> None:
    retrieve, signal = Recorder(), CancelToken()
    ask(RagSource(retrieve=retrieve), "q", limit=7, signal=signal)
    assert retrieve.calls == [("q", 7, signal)]


def test_with_accounting_a_mapping_to_spread_is_the_fourth_argument_R201() -> None:
    retrieve, warn, accounting = Recorder(), print, {"execution": object(), "request_id": "run/1"}
    ask(RagSource(retrieve=retrieve), "q", accounting=accounting, on_warning=warn)
    assert dict(**retrieve.calls[0][3]) == {"accounting": accounting, "on_warning": warn}


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000\r\n"])
def test_a_blank_chunk_is_not_offered_and_the_others_are(text: str) -> None:
    blank = {"text": text, "index": 2, "score": 1.0}
    found = ask(RagSource(retrieve=lambda _query, _top_k, _signal: [blank, *DOCS]))
    assert [one.record_id for one in found] == ["0", "1"]


def test_a_function_of_three_arguments_gets_three_and_charges_nothing_R205() -> None:
    class Three:
        def __call__(self, _query: str, top_k: int, _signal: CancelToken) -> list[dict[str, Any]]:
            return DOCS[:top_k]

    async def three(_query: str, top_k: int, _signal: CancelToken) -> list[dict[str, Any]]:
        return DOCS[:top_k]

    for retrieve in (Three(), Three().__call__, three):
        assert len(ask(RagSource(retrieve=retrieve), accounting={"request_id": "run/1"})) == 2


def test_a_plain_function_runs_in_a_thread_so_that_time_limits_hold() -> None:
    release = threading.Event()
    source = RagSource(retrieve=lambda *_: release.wait(10) and [])
    results = run(_with_release(source, release))
    assert isinstance(results[0].error, SourceTimeoutError)


async def _with_release(source: RagSource, release: threading.Event) -> Any:
    results = await query_sources([source], ContextSourceRequest(query="q"), time_limit=0.05)
    release.set()
    return results


def test_a_blank_query_retrieves_nothing() -> None:
    assert ask(RagSource(retrieve=lambda *_: DOCS), "  ") == []


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "text",
        {"text": "a", "index": 0, "score": 1.0},
        7,
        [{"index": 0, "score": 1.0}],
        [{"text": "a", "score": 1.0}],
        [{"text": "a", "index": 0}],
        [{"text": 5, "index": 0, "score": 1.0}],
        [{"text": "a", "index": 0, "score": float("nan")}],
        [{"text": "a", "index": 0, "score": "high"}],
        [{"text": "a", "index": 0, "score": True}],
    ],
)
def test_an_answer_that_is_not_a_list_of_chunks_is_refused(answer: Any) -> None:
    with pytest.raises(InvalidInputError):
        ask(RagSource(retrieve=lambda *_: answer))


@pytest.mark.parametrize(
    ("index", "record_id"),
    [(7, "7"), (-1, "-1"), (np.int64(7), "7"), (np.uint8(7), "7"), ("a-1", "a-1"), (np.str_("a-1"), "a-1")],
)
def test_r190_an_index_is_a_whole_number_or_a_string(index: Any, record_id: str) -> None:
    (found,) = ask(RagSource(retrieve=lambda *_: [{"text": "a", "index": index, "score": 1.0}]))
    assert found.record_id == record_id
    assert type(found.record_id) is str


@pytest.mark.parametrize(
    "index",
    [object(), lambda: 1, 1.5, 2.0, True, np.bool_(True), b"1", (1, 2), [1], {"a": 1}, 10**5_000],
    ids=lambda index: type(index).__name__,
)
def test_r190_any_other_index_is_refused_because_its_text_may_hold_an_address(index: Any) -> None:
    with pytest.raises(InvalidInputError, match="index") as caught:
        ask(RagSource(retrieve=lambda *_: [{"text": "a", "index": index, "score": 1.0}]))
    assert caught.value.remedy


def test_something_that_cannot_be_called_is_refused_at_once() -> None:
    with pytest.raises(InvalidInputError, match="retrieve is a list"):
        RagSource(retrieve=DOCS)  # type: ignore[arg-type]  # what the test is about


def test_what_retrieve_raises_reaches_the_caller_as_it_is() -> None:
    error = RuntimeError("index is gone")

    def broken(*_: Any) -> list[Any]:
        raise error

    with pytest.raises(RuntimeError) as caught:
        ask(RagSource(retrieve=broken))
    assert caught.value is error


def test_scores_are_compared_at_six_decimals_and_the_way_of_finding_is_kept() -> None:
    (found,) = ask(RagSource(retrieve=lambda *_: [Chunk("a", 3, 0.12345678, "hybrid")]))
    assert (found.score, found.match) == (0.123457, "hybrid")


@pytest.mark.parametrize("retrieve", [lambda query: [], lambda query, k: [], lambda a, b, c, d, e: []])
def test_a_function_that_could_never_be_called_is_refused_at_once(retrieve: Any) -> None:
    with pytest.raises(InvalidInputError, match="three parameters"):
        RagSource(retrieve)
