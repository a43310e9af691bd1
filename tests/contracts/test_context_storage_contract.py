"""23: what every storage of sessions must do; each implementation runs all of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidInputError
from playground.preparation.file_storage import FileContextStorage
from playground.preparation.memory_storage import InMemoryContextStorage
from playground.preparation.ports import ContextStorage
from playground.preparation.results import SessionSummary
from playground.preparation.sql_storage import SqlContextStorage
from playground.preparation.stored_session import SessionState, StoredSession
from tests.unit.working_memory.helpers import in_threads

Make = Callable[[], ContextStorage]

HOSTILE = [
    "../x",
    "/etc/passwd",
    "a/b",
    "x" * 10_000,
    "nul\x00",
    "\ud800",
    "\ud83d\ude00",
    ".",
    "CON",
    " ",
    "a\nb",
    "'",
]


@pytest.fixture(params=["memory", "files", "sqlite", "postgresql"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes storages that keep their sessions in one place."""
    if request.param == "memory":
        one = InMemoryContextStorage()
        yield lambda: one
    elif request.param == "files":
        yield lambda: FileContextStorage(tmp_path / "sessions" / "here")
    else:
        sqlite = request.param == "sqlite"
        url = str(tmp_path / "memories.db") if sqlite else request.getfixturevalue("postgres").new_url()
        with ExitStack() as stack:

            def made() -> ContextStorage:
                storage = SqlContextStorage(url)
                stack.callback(storage.close)
                return storage

            yield made


def text_of(session_id: str, saved_at: str = "2026-01-01T00:00:00.000Z", *items: Any) -> str:
    session = StoredSession(
        session_id=session_id,
        created_at="2026-01-01T00:00:00.000Z",
        last_saved_at=saved_at,
        state=SessionState(conversation=items),
    )
    return session.to_json()


def run(awaitable: Any) -> Any:
    return asyncio.run(awaitable)


def test_a_session_comes_back_as_it_was_saved_also_elsewhere(make: Make) -> None:
    storage = make()
    assert isinstance(storage, ContextStorage)
    text = text_of(
        "s", "2026-01-01T00:00:00.000Z", {"type": "message", "text": "nul \x00, \ud800, ä, \u2028, 漢"}
    )
    run(storage.save("s", text))
    assert run(storage.load("s")) == text
    assert run(make().load("s")) == text


def test_an_unknown_session_is_nothing_and_no_error(make: Make) -> None:
    storage = make()
    assert run(storage.load("s")) is None
    assert run(storage.read_journal("s")) == ()
    assert run(storage.list()) == ()
    assert run(storage.delete("s")) is False


@pytest.mark.parametrize("session_id", HOSTILE, ids=range(len(HOSTILE)))
def test_any_text_is_an_id_and_none_is_another(make: Make, session_id: str) -> None:
    storage = make()
    others = [f"{session_id}_", session_id.replace("/", "_"), session_id.lower(), session_id.strip() or "blank"]
    for other in {*others} - {session_id}:
        run(storage.save(other, text_of(other)))
    run(storage.append_journal(session_id, ["{}"]))
    run(storage.save(session_id, text_of(session_id)))
    assert run(storage.load(session_id)) == text_of(session_id)
    assert run(make().read_journal(session_id)) == ("{}",)
    assert session_id in [summary.session_id for summary in run(storage.list())]
    for other in {*others} - {session_id}:
        assert run(storage.load(other)) == text_of(other)
        assert run(storage.read_journal(other)) == ()
    assert run(storage.delete(session_id)) is True
    assert len(run(storage.list())) == len({*others} - {session_id})


@pytest.mark.parametrize("wrong", ["", None, 5, b"s"])
def test_what_is_no_id_is_refused(make: Make, wrong: Any) -> None:
    storage = make()
    for call in (
        lambda: storage.save(wrong, text_of("s")),
        lambda: storage.load(wrong),
        lambda: storage.delete(wrong),
        lambda: storage.append_journal(wrong, ["{}"]),
        lambda: storage.read_journal(wrong),
    ):
        with pytest.raises(InvalidInputError, match="session id"):
            run(call())


@pytest.mark.parametrize(
    "wrong", ["", "{}", "no json", text_of("other"), None, text_of("s").replace("1", "2", 1)]
)
def test_what_is_no_session_of_that_id_is_refused_and_nothing_is_written(make: Make, wrong: Any) -> None:
    storage = make()
    run(storage.save("s", text_of("s")))
    with pytest.raises(InvalidInputError):
        run(storage.save("s", wrong))
    assert run(storage.load("s")) == text_of("s")
    assert [summary.session_id for summary in run(storage.list())] == ["s"]


def test_the_last_writer_wins_and_lists_tell_of_it(make: Make) -> None:
    first, second = make(), make()
    run(first.save("b", text_of("b")))
    run(second.save("b", text_of("b", "2026-01-02T00:00:00.000Z")))
    run(first.save("a", text_of("a")))
    assert run(first.list()) == (
        SessionSummary("a", "2026-01-01T00:00:00.000Z"),
        SessionSummary("b", "2026-01-02T00:00:00.000Z"),
    )


def test_of_two_who_save_at_once_one_whole_session_remains(make: Make) -> None:
    texts = [text_of("s", "now", {"type": "x", "text": letter * 200_000}) for letter in "abcd"]
    storages = [make() for _ in texts]

    def save(worker: int) -> None:
        for _ in range(5):
            run(storages[worker].save("s", texts[worker]))

    in_threads(*(partial(save, worker) for worker in range(4)))
    assert run(make().load("s")) in texts


def test_a_journal_only_grows_and_a_save_leaves_it(make: Make) -> None:
    storage = make()
    run(storage.append_journal("s", ['{"n":1}', '{"n":"ä\\u0000"}']))
    run(storage.append_journal("s", []))
    run(storage.save("s", text_of("s")))
    run(make().append_journal("s", ('{"n":3}',)))
    assert run(storage.read_journal("s")) == ('{"n":1}', '{"n":"ä\\u0000"}', '{"n":3}')
    assert run(storage.read_journal("t")) == ()


@pytest.mark.parametrize("wrong", [["a\nb"], ["{}", ""], ["\x00"], ["\ud800"], [5], "{}"])
def test_what_is_no_line_is_refused_and_no_other_of_them_is_written(make: Make, wrong: Any) -> None:
    storage = make()
    with pytest.raises(InvalidInputError):
        run(storage.append_journal("s", wrong))
    assert run(storage.read_journal("s")) == ()


def test_writers_of_one_journal_lose_no_line_and_tear_none(make: Make) -> None:
    storages = [make() for _ in range(4)]

    def append(worker: int) -> None:
        for turn in range(8):
            lines = [f'"{worker}/{turn}/{line} {"x" * 3_000}"' for line in range(3)]
            run(storages[worker].append_journal("s", lines))

    in_threads(*(partial(append, worker) for worker in range(4)))
    kept = [line.strip('"').partition(" ")[0] for line in run(make().read_journal("s"))]
    assert len(kept) == 4 * 8 * 3
    for worker in range(4):
        mine = [line for line in kept if line.startswith(f"{worker}/")]
        assert mine == [f"{worker}/{turn}/{line}" for turn in range(8) for line in range(3)]


def test_what_is_deleted_is_gone_with_its_journal(make: Make) -> None:
    storage = make()
    run(storage.save("s", text_of("s")))
    run(storage.append_journal("s", ["{}"]))
    run(storage.append_journal("t", ["{}"]))
    assert run(storage.delete("s")) is True
    assert run(storage.load("s")) is None
    assert run(storage.read_journal("s")) == ()
    assert run(storage.delete("s")) is False
    assert run(storage.delete("t")) is True, "a journal alone is something, too"
