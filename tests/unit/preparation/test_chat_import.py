"""25a: chat logs of both providers, and this project's own, as the items of a context."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from playground.errors import InvalidInputError, InvalidToolProtocolError
from playground.preparation.chat_import import import_conversation, import_conversations
from tests.preparation import call, items, message, result

BFCL = Path(__file__).parents[2] / "data" / "bfcl" / "transcripts.jsonl"


def openai_call(call_id: str, name: str = "look", arguments: Any = "{}", **more: Any) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, **more}


def openai_turn(*calls: dict[str, Any], content: Any = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": [*calls]}


def tool(call_id: str, content: Any = "done", **more: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **more}


HI = {"role": "user", "content": "Hi"}


def test_a_chat_completions_log_becomes_items_25a() -> None:
    arguments = '{"path":  "a.txt", "n": 1.0}'  # as the model spaced it
    read = import_conversation(
        [
            {"role": "system", "content": "Be brief."},
            HI,
            openai_turn(openai_call("c1", "read", arguments), openai_call("c2")),
            tool("c1", "text of a", name="read"),
            tool("c2", "None"),
            {"role": "assistant", "content": "There it is."},
            {"role": "user", "content": "Thanks"},
        ]
    )
    assert read.system_prompt == "Be brief."
    assert read.conversation == (
        message("user", "Hi"),
        message("assistant", call("c1", "read", arguments=arguments), call("c2")),
        message("user", result("c1", "text of a"), result("c2", "None")),
        message("assistant", "There it is."),
    )
    assert read.current_input == (message("user", "Thanks"),)
    assert read.warnings == ()


def test_a_messages_log_of_anthropic_becomes_items_25a() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    read = import_conversation(
        {
            "system": [{"type": "text", "text": "Be brief."}],
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "Look"}, image]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm", "signature": "c2ln"},
                        {"type": "redacted_thinking", "data": "c2VjcmV0"},
                        {"type": "text", "text": "I look."},
                        {"type": "tool_use", "id": "t1", "name": "look", "input": {"b": "ä", "a": [1]}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t1", "content": "a cat"},
                        {"type": "text", "text": "And?"},
                    ],
                },
            ],
        }
    )
    assert read.system_prompt == "Be brief."
    assert read.conversation == (
        message(
            "user", "Look", {"type": "input_image_url", "image_url": {"url": "data:image/png;base64,aGk="}}
        ),
        message(
            "assistant",
            {"type": "thinking", "thinking": "Hm", "signature": "c2ln", "persistInHistory": True},
            {"type": "redacted_thinking", "data": "c2VjcmV0"},
            "I look.",
            call("t1", arguments='{"b":"ä","a":[1]}'),
        ),
    )
    assert read.current_input == (message("user", result("t1", "a cat"), "And?"),)
    assert not read.warnings
    assert items(*read.conversation, *read.current_input)


def test_every_item_of_the_149_real_logs_is_one_that_a_context_takes_25a() -> None:
    for line in BFCL.read_text().splitlines():
        log = json.loads(line)
        read = import_conversation(log)
        assert [warning.rpartition(": ")[2] for warning in read.warnings] == [
            "involved_classes, split, transcript_id."
        ]
        taken = items(*read.conversation, *read.current_input)
        assert len(read.current_input) == 1, "the last message of each log is a result"
        told = [message for message in log["messages"] if message["role"] != "tool"]
        results = [message for message in log["messages"] if message["role"] == "tool"]
        assert len(taken) == len(told) + len(results), "no two results stand side by side here"
        calls = [call for one in log["messages"] for call in one.get("tool_calls", ())]
        assert [
            block["arguments"] for one in taken for block in one.data["content"] if "arguments" in block
        ] == [call["function"]["arguments"] for call in calls]


def test_null_content_gives_no_block_and_an_answer_of_nothing_is_told_25a() -> None:
    read = import_conversation([HI, {"role": "assistant", "content": None}, HI])
    assert read.conversation == (message("user", "Hi"),)
    assert read.current_input == (message("user", "Hi"),)
    assert read.warnings == ("Message 2 says nothing; it was left out.",)
    read = import_conversation([HI, openai_turn(openai_call("c"), content="")])
    assert read.conversation[1] == message("assistant", call("c"))


def test_everything_after_the_last_answer_is_the_current_input_25a() -> None:
    assert import_conversation([HI, HI]).conversation == ()
    assert len(import_conversation([HI, HI]).current_input) == 2
    read = import_conversation([HI, openai_turn(openai_call("c")), tool("c"), HI])
    assert read.current_input == (message("user", result("c")), message("user", "Hi"))
    assert import_conversation([HI, {"role": "assistant", "content": "Hi."}]).current_input == ()


def test_results_join_only_while_nothing_stands_between_them_25a() -> None:
    calls = openai_turn(openai_call("a"), openai_call("b"), openai_call("c"))
    read = import_conversation([calls, tool("a"), tool("b"), HI, tool("c")])
    assert read.current_input == (
        message("user", result("a"), result("b")),
        message("user", "Hi"),
        message("user", result("c")),
    )


def test_custom_calls_and_their_results_have_a_namespace_of_their_own_25a() -> None:
    custom = {"id": "c", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}
    read = import_conversation([openai_turn(custom), tool("c", "1")])
    assert read.conversation == (message("assistant", call("c", "run", custom=True) | {"input": "print(1)"}),)
    assert read.current_input == (message("user", result("c", "1", custom=True)),)
    both = import_conversation([openai_turn(custom, openai_call("c")), tool("c", "f"), tool("c", "g")])
    assert [block["type"] for block in both.current_input[0]["content"]] == [
        "tool_result",
        "custom_tool_result",
    ]


@pytest.mark.parametrize(
    ("content", "kept", "error"),
    [
        ("no such file", "", "no such file"),
        ("", "", "error"),
        (None, "", "error"),
        ([{"type": "text", "text": "no"}], [{"type": "text", "text": "no"}], "error"),
    ],
)
def test_is_error_becomes_the_error_and_is_not_counted_twice_25a(content: Any, kept: Any, error: str) -> None:
    failed = {"type": "tool_result", "tool_use_id": "t", "content": content, "is_error": True}
    read = import_conversation([{"role": "user", "content": [failed]}])
    assert read.current_input == (message("user", result("t", kept, error=error)),)
    fine = import_conversation([{"role": "user", "content": [{**failed, "is_error": False}]}])
    assert "error" not in fine.current_input[0]["content"][0]


def test_texts_and_images_in_a_result_stay_parts_25a() -> None:
    parts = [
        {"type": "text", "text": "seen:"},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    ]
    block = {"type": "tool_result", "tool_use_id": "t", "content": parts}
    read = import_conversation([{"role": "user", "content": [block]}])
    assert read.current_input == (message("user", result("t", parts)),)


def test_images_keep_their_detail_and_files_their_id_25a() -> None:
    content = [
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "document", "source": {"type": "file", "file_id": "f2"}},
    ]
    (read,) = import_conversation([{"role": "user", "content": content}]).current_input
    assert read["content"] == [
        {"type": "input_image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
        {"type": "input_file", "file_id": "f1"},
        {"type": "input_file", "file_id": "f2"},
    ]


def test_system_messages_become_the_prompt_wherever_they_stand_25a() -> None:
    read = import_conversation(
        [
            {"role": "system", "content": "One."},
            HI,
            {"role": "developer", "content": [{"type": "text", "text": "Two."}]},
            {"role": "system", "content": ""},
        ]
    )
    assert read.system_prompt == "One.\n\nTwo."
    assert read.current_input == (message("user", "Hi"),)
    assert [warning.partition(" is ")[0] for warning in read.warnings] == ["Message 3", "Message 4"]
    assert import_conversation([HI]).system_prompt is None


def test_functions_without_ids_are_paired_by_their_order_25a() -> None:
    ask = {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}}
    answers = [{"role": "function", "name": "look", "content": text} for text in ("a", "b")]
    read = import_conversation([ask, answers[0], ask, answers[1]])
    (first, second) = ("function_call_look_1", "function_call_look_2")
    assert read.conversation == (
        message("assistant", call(first)),
        message("user", result(first, "a")),
        message("assistant", call(second)),
    )
    assert read.current_input == (message("user", result(second, "b")),)


def test_an_id_used_twice_names_both_positions_25a() -> None:
    log = [{"role": "system", "content": "x"}, HI, openai_turn(openai_call("c")), tool("c")]
    with pytest.raises(InvalidToolProtocolError, match="message 3 and message 5") as caught:
        import_conversation([*log, openai_turn(openai_call("c"))])
    assert (caught.value.code, caught.value.positions) == ("INVALID_TOOL_PROTOCOL", (1, 3))
    assert (caught.value.namespace, caught.value.call_id) == ("function", "c")
    assert "items 1 and 3" in str(caught.value)
    with pytest.raises(InvalidToolProtocolError, match="Two results answer") as caught:
        import_conversation([*log, tool("c")])
    assert caught.value.positions == (2, 2), "both stand in one item"


def test_prefix_ids_makes_joined_logs_unique_25a() -> None:
    log = [HI, openai_turn(openai_call("c"), openai_call("d")), tool("c"), tool("d")]
    with pytest.raises(InvalidToolProtocolError):
        import_conversation([*log, *log])
    read = import_conversation([*log, *log], prefix_ids=True)
    joined = import_conversations([log, log], prefix_ids=True)
    assert read == joined
    blocks = [block for one in (*read.conversation, *read.current_input) for block in one["content"]]
    assert [block["id"] for block in blocks if "id" in block] == ["1_c", "1_d", "2_c", "2_d"]
    assert [block["tool_use_id"] for block in blocks if "tool_use_id" in block] == ["1_c", "1_d", "2_c", "2_d"]
    with pytest.raises(InvalidToolProtocolError):
        import_conversation([openai_turn(openai_call("c"), openai_call("c"))], prefix_ids=True)


def test_a_result_finds_its_call_though_another_part_has_begun_25a() -> None:
    first, second = openai_turn(openai_call("late"), openai_call("c")), openai_turn(openai_call("c"))
    read = import_conversation(
        [first, tool("c"), second, tool("c"), tool("late"), tool("stray")], prefix_ids=True
    )
    (results,) = read.current_input
    assert [block["tool_use_id"] for block in results["content"]] == ["2_c", "1_late", "2_stray"]


def test_joined_logs_share_a_prompt_and_keep_their_order_25a() -> None:
    logs = [{"system": "S", "messages": [HI, {"role": "assistant", "content": "a"}, HI]}] * 2
    read = import_conversations([*logs, [HI]])
    assert read.system_prompt == "S"
    assert [one["role"] for one in read.conversation] == ["user", "assistant", "user", "user", "assistant"]
    assert len(read.current_input) == 2
    with pytest.raises(InvalidInputError, match=r"log 2, message 1: "):
        import_conversations([[HI], [{"role": "nobody", "content": ""}]])


def user(*parts: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [*parts]}]


@pytest.mark.parametrize(
    ("log", "told"),
    [
        (user({"type": "input_audio", "input_audio": {}}), "message 1: a part 'input_audio' has no place"),
        (user({"type": "document", "source": {"type": "text", "data": "x"}}), "'document' has no place"),
        (
            user({"type": "file", "file": {"file_data": "data:application/pdf;base64,aa"}}),
            "'file' has no place",
        ),
        (user({"type": "image", "source": {"type": "file", "file_id": "f"}}), "'image' has no place"),
        (user({"type": "image", "image": "aa", "mediaType": "application/pdf"}), "'image' has no place"),
        (user({"type": "text"}), "'text' lacks a field"),
        (user("text"), "'text' has no place"),
        (user({"type": ["text"]}), "has no place"),
        (user({"type": "tool_result", "content": "x"}), "a result names no call"),
        (
            user({"type": "tool_result", "tool_use_id": "t", "content": [{"type": "search_result"}]}),
            "'search_result' has no place in the result of a tool",
        ),
        ([{"role": "assistant", "content": [{"type": "server_tool_use", "id": "s"}]}], "'server_tool_use'"),
        (
            [{"role": "assistant", "content": [{"type": "reasoning", "text": "", "encrypted": "x"}]}],
            "'reasoning'",
        ),
        ([openai_turn(openai_call(""))], "'tool_use' lacks a field"),
        ([openai_turn(openai_call("c", arguments={"a": float("nan")}))], "no JSON"),
        ([openai_turn({"id": "c", "custom": {"name": "run", "input": {}}})], "input of a custom call"),
        ([openai_turn({"id": "c"})], "names no function"),
        ([{"role": "tool", "content": "x"}], "a tool message answers no call"),
        (
            [{"role": "system", "content": user()[0]["content"] + [{"type": "image", "image": "u"}]}],
            "the system pr",
        ),
        ([{"role": "nobody", "content": "x"}], "the role 'nobody'"),
        ([{"role": "user", "content": 5}], "the content is 5"),
        (["Hi"], "a message is 'Hi'"),
        ("Hi", "no list of messages"),
        ({"message": []}, "no list of messages"),
        ({"system": 5, "messages": []}, "system: system is no text"),
    ],
)
def test_what_has_no_equivalent_is_refused_and_named_25a(log: Any, told: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        import_conversation(log)
    assert told in str(caught.value)


def test_fields_that_are_left_out_are_told_25a() -> None:
    log = [
        {"role": "user", "name": "ada", "content": [{"type": "text", "text": "x", "cache_control": {"a": 1}}]},
        {"role": "assistant", "content": "y", "annotations": [], "refusal": None},
    ]
    assert import_conversation({"messages": log, "model": "m"}).warnings == (
        "Fields that are no part of a conversation were left out: annotations, cache_control, model, name.",
    )
    many = {f"f{number}": 1 for number in range(10)}
    (warning,) = import_conversation({"messages": [], **many}).warnings
    assert warning.endswith("f7 and 2 more.")


def test_what_was_imported_is_nobody_elses_25a() -> None:
    source = {"type": "url", "url": "https://example.org"}
    parts = [{"type": "image", "source": source}]
    log = user({"type": "tool_result", "tool_use_id": "t", "content": parts})
    read = import_conversation(log)
    source["url"] = "changed"
    assert read.current_input[0]["content"][0]["content"][0]["source"]["url"] == "https://example.org"


def test_a_system_message_between_results_parts_them_not_25a() -> None:
    log = [
        HI,
        openai_turn(openai_call("a"), openai_call("b")),
        tool("a"),
        {"role": "system", "content": "S"},
        tool("b"),
    ]
    read = import_conversation(log)
    assert read.system_prompt == "S"
    assert read.conversation == (message("user", "Hi"), message("assistant", call("a"), call("b")))
    assert read.current_input == (message("user", result("a"), result("b")),)


@pytest.mark.parametrize("content", [None, []])
def test_a_result_without_content_is_an_empty_text_25a(content: Any) -> None:
    read = import_conversation([HI, openai_turn(openai_call("a")), tool("a", content)])
    assert read.current_input == (message("user", result("a", "")),)


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        (
            {
                "type": "document",
                "source": {"type": "file", "file_id": "f", "more": 1},
                "title": "T",
                "context": "C",
            },
            "context, more, title",
        ),
        ({"type": "file", "file": {"file_id": "f", "filename": "a.pdf"}}, "filename"),
        ({"type": "image_url", "image_url": {"url": "http://x", "detail": "low", "more": 1}}, "more"),
        ({"type": "image", "source": {"type": "url", "url": "http://x", "more": 1}}, "more"),
    ],
    ids=["document", "file", "image by address", "image by source"],
)
def test_25a_fields_inside_a_part_that_are_left_out_are_named(part: dict[str, Any], fields: str) -> None:
    read = import_conversation([{"role": "user", "content": [part]}])
    assert [warning.rpartition(": ")[2] for warning in read.warnings] == [f"{fields}."]


def test_25a_a_file_with_its_own_content_beside_an_id_has_no_place() -> None:
    part = {"type": "file", "file": {"file_id": "f", "file_data": "QUJD"}}
    with pytest.raises(InvalidInputError, match="message 1"):
        import_conversation([{"role": "user", "content": [part]}])
