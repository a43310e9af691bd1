"""Signals, plugins without overrides, request options and events."""

from __future__ import annotations

import asyncio
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from playground.cancel import CancelToken
from playground.errors import CallCancelledError, InvalidInputError
from playground.preparation import BasePlugin, ContextPlugin, RequestOptions
from playground.preparation.events import EVENTS, ContextCleared, Events
from playground.preparation.ports import is_cancelled, raise_if_cancelled


def signals() -> list[tuple[Any, Any]]:
    """Signals with what sets them."""
    token, event, later = CancelToken(), threading.Event(), asyncio.Event()
    flag, method = SimpleNamespace(cancelled=False), SimpleNamespace(on=False)
    method.cancelled = lambda: method.on
    return [
        (token, token.cancel),
        (event, event.set),
        (later, later.set),
        (flag, lambda: setattr(flag, "cancelled", True)),
        (method, lambda: setattr(method, "on", True)),
    ]


@pytest.mark.parametrize("number", range(5))
def test_a_signal_is_a_token_or_an_event(number: int) -> None:
    signal, cancel = signals()[number]
    assert not is_cancelled(signal)
    raise_if_cancelled(signal)
    cancel()
    assert is_cancelled(signal)
    with pytest.raises(CallCancelledError):
        raise_if_cancelled(signal)


def test_no_signal_never_cancels() -> None:
    assert not is_cancelled(None)
    raise_if_cancelled(None)


def test_a_plugin_that_overrides_nothing_is_one_and_shows_nothing() -> None:
    plugin = BasePlugin()
    assert isinstance(plugin, ContextPlugin)
    assert asyncio.run(plugin.get_content()) is None
    assert (plugin.get_instructions(), plugin.is_compactable(), plugin.get_tools()) == (None, False, ())
    assert asyncio.run(plugin.compact(100)) == 0
    plugin.restore_state(plugin.get_state())


def test_7_2_request_options_are_read_from_a_mapping_or_nothing_and_detached() -> None:
    tool = {"type": "web_search", "filters": ["a"]}
    read = RequestOptions.read({"native_tools": [tool], "response_format": {"type": "json_object"}})
    assert read == RequestOptions(None, {"type": "json_object"}, ({"type": "web_search", "filters": ["a"]},))
    tool["filters"] = []
    assert read.native_tools[0]["filters"] == ["a"]
    assert RequestOptions.read(None) == RequestOptions()
    assert RequestOptions.read(RequestOptions("Be brief.")) == RequestOptions("Be brief.")


async def late() -> dict[str, Any]:
    return {}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (5, "int"),
        ([], "list"),
        ({"responseFormat": {}}, "unknown field 'responseFormat'"),
        ({"instructions": 5}, "instructions are 5"),
        ({"native_tools": {"type": "x"}}, "native tools"),
    ],
)
def test_7_2_what_is_no_request_options_is_refused(value: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        RequestOptions.read(value)


@pytest.mark.filterwarnings("error")
def test_7_2_an_asynchronous_callback_of_options_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="synchronous"):
        RequestOptions.read(late())


def test_listeners_are_called_in_order_until_they_are_taken_away() -> None:
    events, heard = Events(), list[str]()
    first = events.on("context:cleared", lambda event: heard.append(f"1 {event.reason}"))
    events.on("context:cleared", lambda event: heard.append(f"2 {event.reason}"))
    events.emit("context:cleared", ContextCleared("new topic"))
    events.emit("context:prepared", None)
    first()
    first()
    events.emit("context:cleared", ContextCleared(None))
    assert heard == ["1 new topic", "2 new topic", "2 None"]
    events.clear()
    events.emit("context:cleared", ContextCleared(None))
    assert len(heard) == 3


def test_a_listener_that_raises_or_leaves_hurts_nobody() -> None:
    events, heard = Events(), list[int]()

    def raises(_: Any) -> None:
        heard.append(1)
        leave()
        raise RuntimeError("down")

    events.on("budget:updated", raises)
    leave = events.on("budget:updated", lambda _: heard.append(2))
    events.emit("budget:updated", None)
    events.emit("budget:updated", None)
    assert heard == [1, 2, 1]


def test_the_same_function_may_listen_twice() -> None:
    events, heard = Events(), list[Any]()
    one = events.on("budget:updated", heard.append)
    events.on("budget:updated", heard.append)
    one()
    events.emit("budget:updated", "x")
    assert heard == ["x"]


@pytest.mark.parametrize("name", ["budget", "", None, ["budget:updated"]])
def test_an_event_that_there_is_not_is_refused_and_the_others_are_named(name: Any) -> None:
    with pytest.raises(InvalidInputError, match="compaction:starting"):
        Events().on(name, print)
    with pytest.raises(InvalidInputError, match="listener"):
        Events().on("budget:updated", None)  # type: ignore[arg-type]  # what a stranger passes


def test_the_names_of_the_events_are_the_wires() -> None:
    assert set(EVENTS) == {
        "budget:updated", "budget:warning", "budget:critical", "context:prepared", "compaction:starting",
        "context:compacted", "input:oversized", "context:rolled_over", "input:replaced", "context:cleared",
    }  # fmt: skip
