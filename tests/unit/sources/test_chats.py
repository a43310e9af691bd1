from __future__ import annotations

import json

import pytest

from playground.errors import InvalidInputError, InvalidRequestError
from playground.messages import Message, as_messages
from playground.scope import MemoryScope
from playground.sources import ChatRecord, ChatStore, InMemoryChatStore
from playground.sources.chats import positions_of
from tests.unit.sources.helpers import run

ADA = MemoryScope(user_id="ada")


def chat(name: str, *texts: str, scope: MemoryScope = ADA) -> ChatRecord:
    roles = ("user", "assistant")
    messages = [{"role": roles[at % 2], "content": text} for at, text in enumerate(texts)]
    return ChatRecord(chat_id=name, scope=scope, messages=as_messages(messages))


def test_chats_are_kept_apart_by_scope_and_listed_by_id() -> None:
    store = InMemoryChatStore(
        [chat("b", "x"), chat("a", "x"), chat("c", "x", scope=MemoryScope(user_id="bob"))]
    )
    assert isinstance(store, ChatStore)
    assert [record.chat_id for record in run(store.list_chats(ADA))] == ["a", "b"]


def test_a_saved_chat_replaces_the_one_of_its_id_and_can_be_deleted() -> None:
    store = InMemoryChatStore([chat("a", "old")])
    run(store.save_chat(chat("a", "new")))
    loaded = run(store.load_chat("a"))
    assert loaded is not None
    assert loaded.messages[0].content == "new"
    assert (run(store.delete_chat("a")), run(store.delete_chat("a"))) == (True, False)
    assert run(store.load_chat("a")) is None


def test_a_chat_of_nobody_is_refused() -> None:
    with pytest.raises(InvalidRequestError):
        InMemoryChatStore([chat("a", "x", scope=MemoryScope())])
    with pytest.raises(InvalidInputError):
        chat("", "x")


def test_a_chat_round_trips_through_json() -> None:
    messages = as_messages(
        [{"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": 1}]}]
    )
    record = ChatRecord("a", ADA, messages, parent_id="p", updated_at=5)
    assert ChatRecord.from_json(json.loads(json.dumps(record.to_json()))) == record
    assert ChatRecord.from_json({"chat_id": "a", "scope": {"user_id": "ada"}}).messages == ()
    with pytest.raises(InvalidInputError):
        ChatRecord.from_json({"chatId": "a", "scope": {"userId": "ada"}, "updatedAt": "now"})


def test_a_tool_call_and_its_results_are_one_position() -> None:
    messages = as_messages(
        [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Deploy."},
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "Looking."},
                    {"type": "tool_use", "id": "1", "name": "ci", "input": {"run": 7}},
                    {"type": "tool_use", "id": "2", "name": "tag", "input": {}},
                ],
            },
            {
                "role": "tool",
                "content": [{"type": "tool_result", "toolUseId": "2", "result": "v9", "isError": True}],
            },
            {"role": "tool", "content": [{"type": "tool_result", "toolUseId": "1", "result": {"ok": True}}]},
            {"role": "assistant", "content": "Done."},
        ]
    )
    places = positions_of(messages)
    assert [(place.index, place.role, place.uses_tools) for place in places] == [
        (1, "user", False),
        (2, "assistant", True),
        (5, "assistant", False),
    ]
    assert places[1].text == 'Looking.\n[ci] {"run":7}\n{"ok":true}\n[tag] {}\n[error] v9'


def test_a_result_without_its_call_is_a_position_of_its_own() -> None:
    orphan = {"role": "tool", "content": [{"type": "tool_result", "toolUseId": "9", "result": "r"}]}
    assert [(place.index, place.role, place.text) for place in positions_of(as_messages([orphan]))] == [
        (0, "tool", "r")
    ]


def test_a_message_without_text_keeps_its_place() -> None:
    image = {"role": "user", "content": [{"type": "image", "image": "x"}]}
    assert [place.text for place in positions_of((*as_messages([image]), Message("user", "a")))] == ["", "a"]
