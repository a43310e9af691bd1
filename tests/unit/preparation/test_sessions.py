"""23: what a session holds, and how it goes to a storage and comes back."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from playground.errors import InvalidInputError, InvalidRequestError, StoreError
from playground.preparation import BasePlugin
from playground.preparation.memory_storage import InMemoryContextStorage
from playground.preparation.sessions import (
    load_session,
    new_session_id,
    required_storage,
    restore_plugins,
    restored_items,
    save_session,
    session_state,
)
from playground.preparation.stored_session import SessionState
from tests.preparation import ESTIMATOR, NOW, call, items, message, native, result

OPAQUE: list[dict[str, Any]] = [
    {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "gAAA\ud800=="},
    {"type": "compaction", "id": "k", "encrypted_content": "cipher"},
    message("assistant", {**call("c", thoughtSignature="s\ud83d"), "async": True}),
    message("assistant", {"type": "thinking", "thinking": "", "signature": "sig", "persistInHistory": True}),
    message("user", result("d", "", error="e", __images=[{"base64": "aa", "mediaType": "image/png"}])),
    {**native("c", [{"type": "input_text", "text": "x"}]), "persistence": {"version": 1, "status": "open"}},
    {"type": "future_kind", "nested": {"none": None, "list": [1, 2.5, True]}},
]


class Kept(BasePlugin):
    def __init__(self, name: str = "kept", state: Any = None, *, refuses: bool = False) -> None:
        self.name, self.state, self.refuses = name, state, refuses

    def get_state(self) -> Any:
        return self.state

    def restore_state(self, state: Any) -> None:
        self.state = state
        if self.refuses and state != "before":
            raise RuntimeError("refused")


def state_of(*data: Any, plugins: Any = (), **more: Any) -> SessionState:
    settings: dict[str, Any] = {"system_prompt": None, "saved_at": NOW, "model": "m", **more}
    return session_state(items(*data), plugins, **settings)


def saved_and_loaded(state: SessionState, storage: InMemoryContextStorage | None = None) -> Any:
    storage = storage or InMemoryContextStorage()

    async def both() -> Any:
        await save_session(storage, "s", state, saved_at=NOW)
        return await load_session(storage, "s")

    return asyncio.run(both())


def test_the_text_has_the_wrapper_and_the_state_of_version_1_r23() -> None:
    storage = InMemoryContextStorage()
    state = state_of(
        message("user", "Hi"),
        plugins=[Kept(state={"version": 1, "entries": []}), Kept("empty", {}), Kept("none")],
        system_prompt="Be brief.",
        agent_id="a",
        user_id="u",
        metadata={"title": "T"},
        agent_state={"step": 3},
    )
    asyncio.run(save_session(storage, "s", state, saved_at=NOW))
    moment = "2026-09-21T14:13:20.000Z"
    assert json.loads(asyncio.run(storage.load("s")) or "") == {
        "version": 1,
        "sessionId": "s",
        "createdAt": moment,
        "lastSavedAt": moment,
        "state": {
            "conversation": [message("user", "Hi")],
            "pluginStates": {"kept": {"version": 1, "entries": []}},
            "systemPrompt": "Be brief.",
            "metadata": {"savedAt": moment, "agentId": "a", "userId": "u", "model": "m", "title": "T"},
            "agentState": {"step": 3},
        },
        "metadata": {},
    }


def test_a_later_save_keeps_when_the_session_was_made_r23() -> None:
    storage = InMemoryContextStorage()

    async def twice() -> Any:
        first = await save_session(storage, "s", state_of(), saved_at=NOW)
        return first, await save_session(storage, "s", state_of(), saved_at=NOW + 1_500)

    first, second = asyncio.run(twice())
    assert second.created_at == first.created_at == "2026-09-21T14:13:20.000Z"
    assert second.last_saved_at == "2026-09-21T14:13:21.500Z"


def test_opaque_bytes_survive_r23() -> None:
    loaded = saved_and_loaded(state_of(*OPAQUE))
    assert [*loaded.state.conversation] == OPAQUE
    read = restored_items(loaded, ESTIMATOR)
    assert [item.data for item in read] == OPAQUE
    assert [item.tokens for item in read] == [item.tokens for item in items(*OPAQUE)]


def test_what_is_saved_is_a_copy_r23() -> None:
    plugin = Kept(state={"list": [1]})
    held = items(message("user", result("c", {"a": [1]})))
    state = session_state(held, [plugin], system_prompt=None, saved_at=NOW, model="m")
    plugin.state["list"].append(2)
    held[0].data["content"][0]["content"]["a"].append(2)
    assert state.plugin_states == {"kept": {"list": [1]}}
    assert state.conversation[0]["content"][0]["content"] == {"a": [1]}


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (object(), "a object is no data"),
        (b"x", "a bytes is no data"),
        (float("nan"), "nan is no number"),
        ({1: "x"}, "the key 1 is no text"),
        ({"a": {"b": {1, 2}}}, "a set is no data"),
    ],
)
def test_what_has_no_json_form_is_named_r23(value: Any, told: str) -> None:
    with pytest.raises(InvalidInputError, match=f"Item 1 of the conversation has no JSON form: {told}"):
        state_of(message("user", "x"), message("user", result("c", value)))
    with pytest.raises(InvalidInputError, match=f"The state of the plugin 'kept' has no JSON form: {told}"):
        state_of(plugins=[Kept(state=value)])
    with pytest.raises(InvalidInputError, match="metadata is a list"):
        state_of(metadata=[1])
    with pytest.raises(InvalidInputError, match="metadata has no JSON form"):
        state_of(metadata={"x": value})
    with pytest.raises(InvalidInputError, match="agent's state has no JSON form"):
        state_of(agent_state=value)


def test_a_state_that_holds_itself_is_refused_r23() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(InvalidInputError, match="nested more than 200 levels"):
        state_of(plugins=[Kept(state=loop)])


def test_an_unknown_session_is_none_r23() -> None:
    assert asyncio.run(load_session(InMemoryContextStorage(), "s")) is None


def test_without_a_storage_it_is_said_r23() -> None:
    with pytest.raises(InvalidRequestError, match=r"^No storage"):
        required_storage(None)
    storage = InMemoryContextStorage()
    assert required_storage(storage) is storage


class Damaged(InMemoryContextStorage):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    async def load(self, session_id: str) -> str | None:
        return self.text


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version":2}', '{"version":true}', '{"sessionId":"s"}'])
def test_a_damaged_session_is_no_missing_one_and_is_not_written_over_r23(text: str) -> None:
    storage = Damaged(text)
    with pytest.raises(StoreError, match="The session 's' cannot be read"):
        asyncio.run(load_session(storage, "s"))
    with pytest.raises(StoreError):
        asyncio.run(save_session(storage, "s", state_of(), saved_at=NOW))
    assert asyncio.run(storage.list()) == ()


def test_a_malformed_item_is_named_when_it_is_read_r23() -> None:
    text = '{"version":1,"sessionId":"s","createdAt":"","lastSavedAt":"","state":{"conversation":[{"type":5}]}}'
    session = asyncio.run(load_session(Damaged(text), "s"))
    assert session is not None
    with pytest.raises(StoreError, match="Item 0 of the session 's' is damaged"):
        restored_items(session, ESTIMATOR)


def test_plugins_get_their_state_and_unknown_ones_are_ignored_r23() -> None:
    loaded = saved_and_loaded(state_of(plugins=[Kept("one", {"a": 1}), Kept("gone", {"b": 2})]))
    one, other = Kept("one"), Kept("other", "untouched")
    restore_plugins(loaded, [one, other])
    assert (one.state, other.state) == ({"a": 1}, "untouched")
    one.state["a"] = 2
    assert loaded.state.plugin_states["one"] == {"a": 1}


def test_a_plugin_that_refuses_its_state_leaves_all_as_they_were_r23() -> None:
    loaded = saved_and_loaded(state_of(plugins=[Kept("one", {"a": 1}), Kept("two", {"b": 2})]))
    one, two = Kept("one", "before"), Kept("two", "before", refuses=True)
    with pytest.raises(RuntimeError, match="refused"):
        restore_plugins(loaded, [one, two])
    assert (one.state, two.state) == ("before", "before")


def test_new_ids_differ_and_ids_are_texts() -> None:
    assert new_session_id() != new_session_id()
    with pytest.raises(InvalidInputError, match="session id"):
        asyncio.run(load_session(InMemoryContextStorage(), ""))
    with pytest.raises(InvalidInputError, match="The clock says"):
        state_of(saved_at=10**20)
