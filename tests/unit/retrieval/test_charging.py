from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from playground.accounting import Charge
from playground.cancel import CancelToken
from playground.compiler.values import ContextSource, ContextSourceRequest
from playground.errors import CallCancelledError, EmbeddingUnavailableError, ExecutionError, InvalidInputError
from playground.retrieval.charging import EmbedQuery
from playground.retrieval.chunking import Chunk
from playground.retrieval.index import ExactIndex, Vectors
from playground.retrieval.search import ChunkSearch, SearchMode
from playground.sources import RagSource
from tests.unit.retrieval.ledger import Ledger
from tests.unit.sources.helpers import run

QUERY = "How do I deploy a service?"
VECTOR = np.array([1.0, 0.0], dtype=np.float32)
CHUNKS = [Chunk("Deploys need a green build.", 0), Chunk("The canteen opens at noon.", 1)]


class Accounted:
    """An embedder that reports what it used."""

    def __init__(self, usage: Any = 6, error: BaseException | None = None) -> None:
        self._usage, self._error = usage, error

    def __call__(self, query: str) -> Vectors:
        return VECTOR

    def with_usage(self, query: str) -> tuple[Vectors, Any]:
        if self._error is not None:
            raise self._error
        return VECTOR, self._usage


def plain(query: str) -> Vectors:
    return VECTOR


def search(embed_query: EmbedQuery = plain, mode: SearchMode = "hybrid") -> ChunkSearch:
    index = ExactIndex(["0", "1"], np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32))
    return ChunkSearch(CHUNKS, index=index, embed_query=embed_query, mode=mode)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


@pytest.fixture
def warnings() -> list[Mapping[str, Any]]:
    return []


@pytest.fixture
def charge(ledger: Ledger, warnings: list[Mapping[str, Any]]) -> Charge:
    return {
        "accounting": {"execution": ledger, "request_id": "r/context/0/1/rag"},
        "on_warning": warnings.append,
    }


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_r202_a_charge_spread_into_a_search_charges_the_query_to_the_run(
    mode: SearchMode, ledger: Ledger, charge: Charge
) -> None:
    found = search(Accounted(), mode)(QUERY, 2, **charge)
    assert found == search(mode=mode)(QUERY, 2)
    assert ledger.committed == 6
    by_name = getattr(search(Accounted(), mode), mode)
    assert by_name(QUERY, 2, **charge) == found
    assert ledger.committed == 6, "R206: the same query once more reserves nothing new"


def test_r203_an_embedder_that_reports_its_usage_settles_the_hold(
    ledger: Ledger, charge: Charge, warnings: list[Any]
) -> None:
    search(Accounted(usage=9))(QUERY, 2, **charge)
    assert list(ledger.states.values()) == ["settled"]
    assert ledger.calls == ["reserve", "settle"]
    assert (ledger.committed, warnings) == (9, [])


def test_r204_another_embedder_leaves_the_estimate_held_and_warns_in_the_same_words(
    ledger: Ledger, charge: Charge, warnings: list[Any]
) -> None:
    for query in ("one", "two of them", "three"):
        search()(query, 2, **charge)
    assert list(ledger.states.values()) == ["unknown"] * 3
    assert ledger.committed == sum(-(-len(query) // 4) for query in ("one", "two of them", "three"))
    assert warnings[0]["type"] == "unaccounted-usage"
    assert warnings == [warnings[0]] * 3, "equal, so that a run shows one"
    assert not any(query in str(warnings) for query in ("two of them", "three"))


@pytest.mark.parametrize("usage", [-1, 1.5, float("nan"), None, "9", True])
def test_r204_a_usage_that_is_no_number_of_tokens_is_none(
    usage: Any, ledger: Ledger, charge: Charge, warnings: list[Any]
) -> None:
    assert search(Accounted(usage))(QUERY, 2, **charge)
    assert list(ledger.states.values()) == ["unknown"]
    assert len(warnings) == 1


def test_r206_a_replay_under_a_restored_ledger_reserves_and_settles_nothing_new(
    charge: Charge, ledger: Ledger
) -> None:
    search(Accounted())(QUERY, 2, **charge)
    before = (dict(ledger.states), ledger.committed)
    search(Accounted(usage=99))(QUERY, 2, **charge)
    assert (dict(ledger.states), ledger.committed) == before
    assert ledger.calls == ["reserve", "settle", "reserve"]


def test_r206_queries_of_one_request_are_charged_each_for_itself(charge: Charge, ledger: Ledger) -> None:
    for query in ("short", "a much longer second query", "short"):
        search(Accounted(usage=3))(query, 2, **charge)
    assert ledger.committed == 6
    assert all(name.startswith("r/context/0/1/rag/") for name in ledger.states)


@pytest.mark.parametrize("embedder", ["plain", "accounted"])
@pytest.mark.parametrize("error", [OSError("down"), EmbeddingUnavailableError("none"), KeyboardInterrupt()])
def test_r208_a_failure_after_the_reservation_leaves_it_unknown(
    embedder: str, error: BaseException, ledger: Ledger, charge: Charge
) -> None:
    def failing(query: str) -> Vectors:
        raise error

    chosen: EmbedQuery = failing if embedder == "plain" else Accounted(error=error)
    if isinstance(error, EmbeddingUnavailableError):
        assert {chunk.match for chunk in search(chosen)(QUERY, 2, **charge)} == {"lexical"}
    else:
        with pytest.raises(type(error)) as caught:
            search(chosen)(QUERY, 2, **charge)
        assert caught.value is error
    assert list(ledger.states.values()) == ["unknown"]
    assert ledger.committed == -(-len(QUERY) // 4)


def test_the_hold_is_taken_before_anything_is_embedded(ledger: Ledger, charge: Charge) -> None:
    seen: list[list[str]] = []

    def embed(query: str) -> Vectors:
        seen.append(list(ledger.calls))
        return VECTOR

    search(embed)(QUERY, 2, **charge)
    assert seen == [["reserve"]]


def test_what_embeds_nothing_charges_nothing(ledger: Ledger, charge: Charge) -> None:
    words = search(mode="lexical")
    assert words(QUERY, 2, **charge) == words.lexical(QUERY, 2, **charge) == words(QUERY, 2)
    assert ChunkSearch(CHUNKS)(QUERY, 2, **charge)
    assert ledger.calls == []


@pytest.mark.parametrize(
    "cause",
    [
        RuntimeError("budget_exceeded"),
        CallCancelledError("inner"),
        KeyboardInterrupt(),
        SystemExit(1),
        asyncio.CancelledError(),
        GeneratorExit(),
        StopIteration(),
    ],
    ids=lambda cause: type(cause).__name__,
)
@pytest.mark.parametrize("method", ["reserve", "settle", "mark_unknown"])
def test_r151_what_a_ledger_raises_ends_the_run(
    method: str, cause: BaseException, ledger: Ledger, charge: Charge
) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise cause

    setattr(ledger, method, refuse)
    with pytest.raises(ExecutionError) as caught:
        search(plain if method == "mark_unknown" else Accounted())(QUERY, 2, **charge)
    assert caught.value.fatal_execution
    assert caught.value.__cause__ is cause


def test_r151_an_error_of_the_ledger_that_says_it_is_fatal_stays_the_very_object(
    ledger: Ledger, charge: Charge
) -> None:
    error = ExecutionError("over")

    def refuse(*_: Any, **__: Any) -> Any:
        raise error

    ledger.reserve = refuse  # type: ignore[method-assign]
    with pytest.raises(ExecutionError) as caught:
        search()(QUERY, 2, **charge)
    assert caught.value is error


@pytest.mark.parametrize("error", [RuntimeError("no"), asyncio.CancelledError()])
def test_r152_a_callback_that_raises_changes_nothing(
    error: BaseException, ledger: Ledger, charge: Charge
) -> None:
    def broken(_warning: Mapping[str, Any]) -> None:
        raise error

    assert search()(QUERY, 2, accounting=charge["accounting"], on_warning=broken)
    assert search()(QUERY, 2, accounting=charge["accounting"])


@pytest.mark.filterwarnings("error")
def test_an_asynchronous_callback_is_logged_and_nobody_is_warned_that_it_was_not_awaited(
    ledger: Ledger, charge: Charge, caplog: pytest.LogCaptureFixture
) -> None:
    async def asynchronous(_warning: Mapping[str, Any]) -> None:
        raise AssertionError("called")

    hidden: Any = asynchronous
    assert search()(QUERY, 2, accounting=charge["accounting"], on_warning=hidden)
    gc.collect()
    assert "asynchronous" in caplog.text
    assert list(ledger.states.values()) == ["unknown"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_a_callback_may_end_the_program(error: BaseException, charge: Charge) -> None:
    def end(_warning: Mapping[str, Any]) -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        search()(QUERY, 2, accounting=charge["accounting"], on_warning=end)
    assert caught.value is error


@pytest.mark.parametrize(
    "accounting", [{}, {"execution": 5, "request_id": "r"}, {"execution": Ledger(), "request_id": ""}]
)
def test_a_malformed_accounting_is_the_callers_mistake(accounting: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        search()(QUERY, 2, accounting=accounting)


def ask(source: ContextSource, charge: Charge) -> list[str]:
    request = ContextSourceRequest(QUERY, accounting=charge["accounting"], on_warning=charge["on_warning"])
    return [one.record_id for one in run(source.query(request))]


def test_r201_r209_a_host_that_asks_a_source_itself_charges_its_own_run(
    ledger: Ledger, charge: Charge, warnings: list[Any]
) -> None:
    assert ask(RagSource(search()), charge) == ["0", "1"]
    assert list(ledger.states.values()) == ["unknown"]
    assert [warning["type"] for warning in warnings] == ["unaccounted-usage"]
    spread = RagSource(lambda query, k, signal, charge: search(Accounted()).hybrid(query, k, signal, **charge))
    assert ask(spread, {**charge, "accounting": {"execution": ledger, "request_id": "r/2"}}) == ["0", "1"]
    assert [state for name, state in ledger.states.items() if name.startswith("r/2")] == ["settled"]


def test_r205_a_retrieve_that_ignores_the_charge_charges_nothing(ledger: Ledger, charge: Charge) -> None:
    def three(query: str, k: int, signal: CancelToken) -> Any:
        return search()(query, k, signal)

    def four(query: str, k: int, signal: CancelToken, _charge: Charge | None = None) -> Any:
        return search()(query, k, signal)

    assert ask(RagSource(three), charge) == ask(RagSource(four), charge) == ["0", "1"]
    assert (ledger.calls, ledger.committed) == ([], 0)


def test_searches_of_several_threads_are_charged_each() -> None:
    ledger = Ledger()
    ready = threading.Barrier(8)

    def one(number: int) -> None:
        ready.wait()
        search()(QUERY, 1, accounting={"execution": ledger, "request_id": f"r/{number}"})

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert list(ledger.states.values()) == ["unknown"] * 8
