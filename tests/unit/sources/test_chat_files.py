"""Chat logs of every shape, and what is wrong with files that are none."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from playground.errors import DocumentError
from playground.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    UnknownPart,
)
from playground.retrieval import json_records
from playground.scope import MemoryScope
from playground.sources import ChatRecord
from playground.sources.chat_files import ChatLoad, load_chats
from playground.sources.chats import positions_of

SCOPE = MemoryScope(user_id="ada")
HELLO = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi."}]
SPOKEN = (Message("user", "Hello"), Message("assistant", "Hi."))


def load(value: Any, name: str = "log.json") -> ChatLoad:
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return load_chats([(name, data)], scope=SCOPE)


def lines(*values: Any) -> bytes:
    return b"\n".join(json.dumps(value).encode() for value in values)


def only_chat(value: Any, *, warnings: int = 0, name: str = "log.json") -> ChatRecord:
    loaded = load(value, name)
    assert not loaded.errors, loaded.errors
    assert len(loaded.warnings) == warnings, loaded.warnings
    (chat,) = loaded.chats
    return chat


def only_message(*messages: Any, warnings: int = 0) -> Message:
    (message,) = only_chat(list(messages), warnings=warnings).messages
    return message


@pytest.mark.parametrize(
    "data",
    [
        HELLO,
        {"messages": HELLO},
        [{"messages": HELLO}],
        [HELLO],
        json.dumps(HELLO, indent=2).encode(),
        json.dumps({"messages": HELLO}, indent=2).encode(),
        lines(*HELLO),
        lines({"messages": HELLO}),
        lines(HELLO) + b"\n",
        json.dumps(HELLO).encode("utf-16"),
        b"\xef\xbb\xbf" + json.dumps(HELLO).encode(),
        lines(*HELLO).replace(b"\n", b"\r\n\r\n"),
    ],
)
@pytest.mark.parametrize("name", ["log.json", "log.jsonl", "log.txt", "log"])
def test_one_chat_is_recognised_by_its_content_whatever_the_file_is_called(data: Any, name: str) -> None:
    chat = only_chat(data, name=name)
    assert (chat.chat_id, chat.scope, chat.messages) == (f"{name}-1", SCOPE, SPOKEN)


@pytest.mark.parametrize("data", [lines({"messages": HELLO}, HELLO), [{"messages": HELLO}, HELLO]])
def test_several_chats_of_a_file_are_numbered(data: Any) -> None:
    loaded = load(data, "tuning.jsonl")
    assert [chat.chat_id for chat in loaded.chats] == ["tuning.jsonl-1", "tuning.jsonl-2"]
    assert {chat.messages for chat in loaded.chats} == {SPOKEN}


def test_text_without_a_name_gets_an_id_of_its_messages_so_that_the_same_text_gives_the_same_chat() -> None:
    first, again, other = load(HELLO, ""), load({"messages": HELLO}, ""), load(HELLO[:1], "")
    assert first.chats[0].chat_id == again.chats[0].chat_id
    assert first.chats[0].chat_id.startswith("chat-")
    assert first.chats[0].chat_id != other.chats[0].chat_id


def test_this_projects_own_chats_come_back_with_ids_titles_and_times() -> None:
    own = ChatRecord("c-1", SCOPE, SPOKEN, parent_id="c-0", updated_at=7)
    loaded = load(lines({**own.to_json(), "title": "Greeting"}, {**own.to_json(), "chatId": "c-2"}))
    assert loaded.chats == (own, ChatRecord("c-2", SCOPE, SPOKEN, parent_id="c-0", updated_at=7))
    assert (loaded.titles, loaded.warnings, loaded.errors) == ({"c-1": "Greeting"}, (), ())


def test_openai_tool_calls_and_their_results_stay_paired() -> None:
    call = {
        "id": "call_1",
        "type": "function",
        "function": {"name": "weather", "arguments": '{"city": "Bonn"}'},
    }
    chat = only_chat(
        {
            "messages": [
                {"role": "developer", "content": "Be brief."},
                {"role": "user", "content": "Weather?"},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"},
                {"role": "assistant", "content": "12 degrees in Bonn."},
            ]
        }
    )
    assert [message.role for message in chat.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert chat.messages[2].content == (ToolUsePart("call_1", "weather", {"city": "Bonn"}),)
    assert chat.messages[3].content == (ToolResultPart("call_1", "12 degrees"),)
    assert positions_of(chat.messages)[1].text == '[weather] {"city":"Bonn"}\n12 degrees'


@pytest.mark.parametrize("arguments", ["{not json", '{"n": NaN}', '{"n": 1e999}', "[" * 5_000])
def test_arguments_that_are_no_json_stay_the_text_the_model_wrote(arguments: str) -> None:
    call = {"id": "a", "function": {"name": "f", "arguments": arguments}}
    message = only_message({"role": "assistant", "tool_calls": [call]}, warnings=1)
    assert message.content == (ToolUsePart("a", "f", arguments),)


def test_the_older_function_calls_are_paired_by_name() -> None:
    chat = only_chat(
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "done"},
        ]
    )
    (position,) = positions_of(chat.messages)
    assert position.text == "[f] {}\ndone"


def test_openai_parts_become_text_images_and_files() -> None:
    message = only_message(
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "Look"},
                {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
                {"type": "image_url", "image_url": "https://example.org/b.png"},
                {
                    "type": "file",
                    "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,BBBB"},
                },
            ],
        }
    )
    assert message.content == (
        TextPart("Look"),
        ImagePart("https://example.org/a.png"),
        ImagePart("AAAA", "image/png"),
        ImagePart("https://example.org/b.png"),
        ImagePart("BBBB", "application/pdf"),
    )


def test_what_a_model_refused_to_say_is_its_text() -> None:
    assert only_message({"role": "assistant", "content": None, "refusal": "No."}).content == (TextPart("No."),)
    listed = {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}
    assert only_message(listed).content == (TextPart("No."),)


@pytest.mark.parametrize("message", [{"role": "assistant", "content": None}, {"role": "user", "content": ""}])
def test_an_empty_turn_keeps_its_place(message: dict[str, Any]) -> None:
    chat = only_chat([message, *HELLO])
    assert chat.messages[0] == Message(message["role"], "")
    assert [place.index for place in positions_of(chat.messages) if place.text] == [1, 2]


def test_anthropic_blocks_are_read_whole() -> None:
    chat = only_chat(
        {
            "system": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}],
            "messages": [
                {"role": "user", "content": [
                    {"type": "text", "text": "See", "cache_control": {"type": "ephemeral"}},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                    {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
                    {"type": "document",
                     "source": {"type": "base64", "media_type": "application/pdf", "data": "BBBB"}},
                ]},
                {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": "Hm", "signature": "s=="},
                    {"type": "redacted_thinking", "data": "x=="},
                    {"type": "tool_use", "id": "t1", "name": "look", "input": {"at": 1}},
                ]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "is_error": True,
                     "content": [{"type": "text", "text": "a"}, {"type": "image", "source": {}}]},
                ]},
            ],
        }
    )  # fmt: skip
    system, more, user, assistant, result = chat.messages
    assert (system, more) == (Message("system", (TextPart("One."),)), Message("system", (TextPart("Two."),)))
    assert user.content == (
        TextPart("See"),
        ImagePart("AAAA", "image/png"),
        ImagePart("https://example.org/a.png"),
        ImagePart("BBBB", "application/pdf"),
    )
    assert assistant.content == (
        ReasoningPart("Hm", "s=="),
        ReasoningPart("", encrypted="x==", redacted=True),
        ToolUsePart("t1", "look", {"at": 1}),
    )
    assert isinstance(result.content[0], ToolResultPart)
    assert result.content[0].is_error
    assert positions_of(chat.messages)[1].text == '[look] {"at":1}\n[error] a\n[image]'


def test_a_system_text_leads_its_chat_and_null_is_none() -> None:
    first, second = load(
        lines({"system": "Be brief.", "messages": HELLO}, {"system": None, "messages": HELLO})
    ).chats
    assert first.messages == (Message("system", (TextPart("Be brief."),)), *SPOKEN)
    assert second.messages == SPOKEN


def test_a_tools_own_lists_of_objects_are_not_taken_for_content_blocks() -> None:
    rows = [{"type": "image", "price": 3}, {"type": "text", "n": 1}]
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": rows}]}
    (position,) = positions_of(only_chat([result], warnings=1).messages)
    assert position.text == json.dumps(rows, separators=(",", ":"))


def test_calls_without_a_result_and_results_without_a_call_stay_and_are_named() -> None:
    loaded = load(
        [
            {"role": "tool", "tool_call_id": "lost", "content": "nobody asked"},
            {"role": "assistant", "tool_calls": [{"id": "open", "function": {"name": "f", "arguments": "{}"}}]},
        ]
    )
    (chat,) = loaded.chats
    assert [place.text for place in positions_of(chat.messages)] == ["nobody asked", "[f] {}"]
    orphan, unanswered = (warning.message for warning in loaded.warnings)
    assert "'lost' in message 1 has no call" in orphan
    assert "'open' of 'f' in message 2 has no result" in unanswered
    assert {warning.name for warning in loaded.warnings} == {"log.json"}


def test_unknown_parts_are_kept_and_named_with_fields_that_are_left_out() -> None:
    loaded = load({"model": "m", "messages": [
        {"role": "user", "name": "Ada", "content": [{"type": "input_audio", "input_audio": {"data": "A"}}, {},
                                                    {"type": []}]}
    ]})  # fmt: skip
    assert loaded.chats[0].messages[0].content == (
        UnknownPart({"type": "input_audio", "input_audio": {"data": "A"}}),
        UnknownPart({}),
        UnknownPart({"type": []}),
    )
    fields, kinds = (warning.message for warning in loaded.warnings)
    assert "model, name" in fields
    assert "None, [], input_audio" in kinds


def test_repeated_ids_get_a_number_and_a_warning_across_files() -> None:
    chat = {"chatId": "c", "title": "T", "messages": HELLO}
    files = [("a.jsonl", lines(chat, chat)), ("b.json", json.dumps(chat).encode())]
    loaded = load_chats(files, scope=SCOPE)
    assert [chat.chat_id for chat in loaded.chats] == ["c", "c~2", "c~3"]
    assert loaded.titles == {"c": "T", "c~2": "T", "c~3": "T"}
    assert [warning.name for warning in loaded.warnings] == ["a.jsonl", "b.json"]


def test_a_file_never_chooses_whose_chat_it_is() -> None:
    loaded = load({"chatId": "c", "scope": {"userId": "eve"}, "messages": HELLO})
    assert loaded.chats[0].scope == SCOPE
    assert "another scope" in loaded.warnings[0].message


def test_nul_and_lone_surrogates_are_replaced_everywhere_with_one_warning() -> None:
    call = {"id": "a\ud800", "function": {"name": "f", "arguments": '{"k\\u0000": "\\udfff"}'}}
    loaded = load(
        [{"chatId": "c\0", "title": "T\ud800", "messages": [
            {"role": "assistant", "content": "x\0y", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a\ud800", "content": "ok"},
        ]}]
    )  # fmt: skip
    (chat,) = loaded.chats
    assert (chat.chat_id, loaded.titles) == ("c\ufffd", {"c\ufffd": "T\ufffd"})
    assert chat.messages[0].content == (
        TextPart("x\ufffdy"),
        ToolUsePart("a\ufffd", "f", {"k\ufffd": "\ufffd"}),
    )
    assert [warning.message for warning in loaded.warnings] == [
        "7 NUL or lone surrogate characters were replaced by U+FFFD."
    ]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "log.json is empty"),
        (b"   \n", "log.json is empty"),
        (b"[]", "holds no chat"),
        (b"Once upon a time", "not valid JSON"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"7", "there are no messages"),
        (b"{}", "there are no messages"),
        (b'{"messages": {}}', "there are no messages"),
        (b'[{"mapping": {}}]', "log.json, chat 1: there are no messages"),
        (lines({"messages": HELLO}, HELLO[0]), "log.json, line 2: a message stands among chats"),
        (lines({"messages": HELLO}) + b"\n\n{broken", "line 3"),
        (lines(HELLO[0]) + b'\n{"role": "user"}', "line 2: a message has no content"),
        ([HELLO[0], {"content": "x"}], "log.json, message 2: a message has the role None"),
        ([HELLO[0], 7], "message 2: a message is 7"),
        (lines({"messages": HELLO}, {"messages": [{"role": "bot", "content": "x"}]}), "line 2, message 1: "),
        ([{"role": "bot", "content": "x"}], "'bot'"),
        ([{"role": "user", "content": 7}], "message 1: A message has no content"),
        ([{"role": "user", "content": ["x"]}], "message 1: A message part is a str"),
        ([{"role": "user", "content": [{"type": "text"}]}], "message 1: A text part lacks"),
        ([{"role": ["user"], "content": "x"}], "message 1: a message has the role ['user']"),
        ([{"role": "assistant", "tool_calls": 7}], "message 1: tool_calls is no list"),
        ([{"role": "assistant", "tool_calls": [{"id": "a"}]}], "names no function"),
        ([{"role": "assistant", "tool_calls": [{"function": {"name": "f"}}]}], "tool_use part lacks"),
        ([{"role": "assistant", "function_call": 7}], "function_call is no object"),
        ({"system": 7, "messages": HELLO}, "log.json: system is no text"),
        ({"id": [], "messages": HELLO}, "the chat's id is []"),
        ({"parentId": 7, "messages": HELLO}, "parentId"),
        ({"updatedAt": -1, "messages": HELLO}, "updatedAt"),
        ({"scope": {"who": "x"}, "messages": HELLO}, "log.json: MemoryScope is not valid"),
        (b'[{"role": "user", "content": [{"type": "x", "d": ' + b"[" * 80 + b"]" * 80 + b"}]}]", "too deep"),
        (b"[" * 200_000, "too deep"),
        (b'[{"role": "user", "content": "x", "n": 1e999}]', "not a finite number"),
    ],
)
def test_a_fault_is_one_typed_error_with_place_and_remedy_and_the_other_files_load(
    data: Any, words: str
) -> None:
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    loaded = load_chats([("log.json", raw), ("good.json", json.dumps(HELLO).encode())], scope=SCOPE)
    assert [chat.chat_id for chat in loaded.chats] == ["good.json-1"]
    (error,) = loaded.errors
    assert words in str(error)
    assert "log.json" in str(error)
    assert error.name == "log.json"
    assert error.remedy
    assert isinstance(pickle.loads(pickle.dumps(error)), DocumentError)


def test_a_file_over_the_limit_is_refused_with_both_sizes() -> None:
    loaded = load_chats([("log.json", b"x" * 1_001)], scope=SCOPE, size_limit=1_000)
    assert "1,001" in str(loaded.errors[0])
    assert "1,000" in str(loaded.errors[0])


LINES = ('{"role": "user", "content": "a", "x": [%s1]}', '{"messages": [], "x": [%s1]}\n{}')


@pytest.mark.parametrize("line", LINES)
def test_a_log_of_more_values_than_memory_has_room_for_is_refused(
    line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_records, "VALUE_LIMIT", 1_000)
    loaded = load_chats([("log.jsonl", (line % ("[]," * 1_000)).encode())], scope=SCOPE)
    assert "more than 1,000 values" in str(loaded.errors[0])


def test_a_chat_without_messages_is_kept_and_named() -> None:
    loaded = load({"chatId": "c", "messages": []})
    assert (loaded.chats[0].messages, loaded.warnings[0].message) == ((), "Chat 'c' holds no message.")


def test_a_hundred_thousand_messages_and_as_many_faults_stay_bounded() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}}]}
    loaded = load([HELLO[0], call] * 50_000)
    assert len(loaded.chats[0].messages) == 100_000
    assert len(loaded.warnings) == 21
    assert loaded.warnings[-1].message == "49,980 more of this kind."
