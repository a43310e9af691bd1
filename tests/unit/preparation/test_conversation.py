"""How things enter a conversation (2.3)."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from playground.errors import InvalidInputError
from playground.preparation.conversation import Conversation
from playground.preparation.items import Item
from tests.preparation import ESTIMATOR, call, message, native, result


def conversation() -> Conversation:
    return Conversation(ESTIMATOR)


def out(items: tuple[Item, ...]) -> list[dict[str, Any]]:
    return [item.out() for item in items]


def without_ids(items: tuple[Item, ...]) -> list[dict[str, Any]]:
    return [{name: value for name, value in item.out().items() if name != "id"} for item in items]


def state(talk: Conversation) -> tuple[Any, ...]:
    return talk.history, talk.current_input, talk.mutations, talk.turn, talk.last_thinking, talk.original_input


def test_2_3a_a_users_text_becomes_the_current_input_and_begins_a_turn() -> None:
    talk = conversation()
    assert talk.add_user_message("Hi") == "msg_1"
    assert out(talk.current_input) == [{"id": "msg_1", **message("user", "Hi")}]
    assert (talk.history, talk.turn, talk.mutations) == ((), 1, 1)
    assert talk.add_user_message([{"type": "input_file", "file_id": "f"}]) == "msg_2"
    assert without_ids(talk.current_input) == [message("user", {"type": "input_file", "file_id": "f"})]
    assert (talk.history, talk.turn, talk.mutations) == ((), 2, 2)


def test_2_3b_the_original_input_outlasts_rounds_of_tools() -> None:
    talk = conversation()
    talk.set_current_input("Do it")
    talk.add_assistant_response([message("assistant", call("a"))])
    talk.add_tool_results([{"tool_use_id": "a", "content": "ok"}])
    talk.add_user_message("Also")
    assert talk.original_input == {"id": "msg_1", **message("user", "Do it")}
    copied = talk.original_input
    copied["content"].clear()
    assert talk.original_input != copied
    assert conversation().original_input is None
    assert talk.turn == 2


def test_2_3c_an_answer_moves_the_input_first_and_becomes_one_message() -> None:
    talk = conversation()
    talk.add_user_message("Hi")
    signed = {**call("a", thoughtSignature="s=="), "async": True}
    custom = call("a", custom=True)
    answer_id = talk.add_assistant_response(
        [
            {"type": "reasoning", "id": "r", "encrypted_content": "x"},
            message("assistant", {"type": "text", "text": "One", "annotations": [1]}, signed),
            {"type": "compaction", "id": "c", "encrypted_content": "y"},
            message("assistant", {"type": "input_text", "text": "Two"}),
            custom,
        ]
    )
    assert answer_id == "msg_2"
    assert talk.current_input == ()
    assert out(talk.history) == [
        {"id": "msg_1", **message("user", "Hi")},
        {
            "type": "message",
            "id": "msg_2",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "One", "annotations": [1]},
                signed,
                {"type": "output_text", "text": "Two"},
                custom,
            ],
        },
    ]
    assert talk.mutations == 2


@pytest.mark.parametrize("output", [[], [message("assistant")], [{"type": "reasoning", "id": "r"}]])
def test_2_3c_an_answer_without_content_is_no_message_but_the_input_moved(output: Any) -> None:
    talk = conversation()
    talk.add_user_message("Hi")
    assert talk.add_assistant_response(output) == ""
    assert (without_ids(talk.history), talk.current_input) == ([message("user", "Hi")], ())
    assert talk.add_user_message("Again") == "msg_2"


@pytest.mark.parametrize(("keep", "stored"), [(True, 2), (False, 1), (None, 1), ("yes", 1)])
def test_2_3c_thinking_is_remembered_and_stored_only_on_demand(keep: Any, stored: int) -> None:
    talk = conversation()
    thinking = {"type": "thinking", "thinking": "hm", "signature": "sig", "persistInHistory": keep}
    talk.add_assistant_response([message("assistant", thinking, "Yes.")])
    assert talk.last_thinking == "hm"
    content = talk.history[0].out()["content"]
    assert len(content) == stored
    assert (thinking in content) == (stored == 2)
    talk.add_assistant_response("No.")
    assert talk.last_thinking == "hm", "whoever prepares forgets it"


def test_items_of_other_kinds_stand_beside_the_message() -> None:
    talk = conversation()
    first, last = {"type": "configuration_update", "n": 1}, {"type": "computer_call", "n": 2}
    talk.add_assistant_response([first, message("assistant", "Yes."), last])
    assert without_ids(talk.history) == [first, message("assistant", "Yes."), last]


def test_a_text_is_an_answer_too() -> None:
    talk = conversation()
    talk.add_assistant_response("Yes.")
    talk.add_assistant_response([{"role": "assistant", "content": "No."}])
    assert without_ids(talk.history) == [message("assistant", "Yes."), message("assistant", "No.")]


def test_2_3d_results_become_the_current_input_as_one_message() -> None:
    talk = conversation()
    message_id = talk.add_tool_results(
        [
            {"tool_use_id": "a", "content": "as it is\n"},
            {"tool_use_id": "b", "content": {"k": [1, "ü"]}, "error": "odd", "name": "look", "state": "done"},
            {"tool_use_id": "c", "content": None, "error": "failed"},
            {"tool_use_id": "d", "content": None, "error": None},
            {"type": "custom_tool_result", "tool_use_id": "a", "content": 5, "cache_control": {"x": 1}},
        ]
    )
    assert message_id == "msg_1"
    assert without_ids(talk.current_input) == [
        message(
            "user",
            result("a", "as it is\n"),
            result("b", '{"k":[1,"ü"]}', error="odd"),
            result("c", "", error="failed"),
            result("d", "null"),
            result("a", "5", custom=True, cache_control={"x": 1}),
        )
    ]
    assert talk.turn == 0


def test_2_3d_no_results_change_nothing() -> None:
    talk = conversation()
    talk.add_user_message("Hi")
    before = state(talk)
    assert talk.add_tool_results([]) == ""
    assert state(talk) == before


def test_2_3d_images_leave_the_content_and_ride_on_the_block() -> None:
    images = [{"base64": "AAAA", "mediaType": "image/png"}]
    talk = conversation()
    talk.add_tool_results(
        [
            {"tool_use_id": "a", "content": {"title": "t", "__images": images, "base64": "AAAA"}},
            {"tool_use_id": "b", "content": {"title": "t", "__images": [], "base64": "AAAA"}},
            {"tool_use_id": "c", "content": {"title": "t", "__images": "no list"}},
        ]
    )
    content = talk.current_input[0].out()["content"]
    assert content[0] == {**result("a", '{"title":"t"}'), "__images": images}
    assert json.loads(content[1]["content"]) == {"title": "t", "__images": [], "base64": "AAAA"}
    assert "__images" not in content[1]
    assert json.loads(content[2]["content"]) == {"title": "t", "__images": "no list"}


def test_a_result_that_json_cannot_write_is_kept_as_it_is() -> None:
    thing = object()
    talk = conversation()
    talk.add_tool_results([{"tool_use_id": "a", "content": {"handle": thing}}])
    assert talk.current_input[0].out()["content"][0]["content"] == {"handle": thing}
    assert talk.current_input[0].tokens == 104


def test_2_3e_items_are_appended_to_the_history_as_they_are() -> None:
    talk = conversation()
    talk.add_user_message("Hi")
    added = [native("a"), {"type": "compaction", "encrypted_content": "x"}, message("user", "old")]
    talk.add_input_items(added)
    assert out(talk.history) == added
    assert len(talk.current_input) == 1
    assert talk.mutations == 2
    talk.add_input_items([])
    assert talk.mutations == 2


def test_2_3e_clearing_empties_both() -> None:
    talk = conversation()
    talk.set_current_input("Hi")
    talk.add_assistant_response("Yes.")
    talk.add_user_message("And?")
    talk.clear()
    assert (talk.history, talk.current_input, talk.original_input) == ((), (), None)
    assert talk.mutations == 4
    assert talk.add_user_message("New") == "msg_4", "an id is never given twice"


def test_2_3e_the_newest_answer_can_be_replaced() -> None:
    talk = conversation()
    talk.add_user_message("Hi")
    assert not talk.replace_last_assistant_response("No.")
    talk.add_assistant_response("Yes.")
    talk.add_input_items([message("user", "more")])
    before = talk.mutations
    assert not talk.replace_last_assistant_response([])
    assert talk.mutations == before
    assert talk.replace_last_assistant_response([message("assistant", '{"fixed": true}')])
    assert [item.id for item in talk.history] == ["msg_1", "msg_2", None]
    assert without_ids(talk.history)[1:] == [message("assistant", '{"fixed": true}'), message("user", "more")]
    assert talk.mutations == before + 1


def test_ids_go_on_past_those_that_a_history_brings() -> None:
    talk = conversation()
    talk.add_input_items([{"id": "msg_7", **message("user", "a")}, {"id": "msg_x9", **message("user", "b")}])
    assert talk.add_user_message("c") == "msg_8"
    talk.replace_history(talk.read([{"id": "msg_20", **message("user", "a")}]), host=True)
    assert talk.add_user_message("c") == "msg_21"
    counted = (f"own-{number}" for number in itertools.count())
    assert Conversation(ESTIMATOR, lambda: next(counted)).add_user_message("a") == "own-0"


def test_replacements_count_only_when_they_are_the_hosts() -> None:
    talk = conversation()
    talk.add_input_items([message("user", "a"), message("user", "b")])
    talk.replace_history(talk.history[1:], host=False)
    talk.replace_input(talk.history, host=False)
    assert (talk.mutations, len(talk.history), len(talk.current_input)) == (1, 1, 1)
    talk.replace_input((), host=True)
    talk.replace_history((), host=True)
    talk.bump()
    assert talk.mutations == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda talk: talk.add_user_message(5),
        lambda talk: talk.add_user_message(["text"]),
        lambda talk: talk.add_user_message({"type": "input_text", "text": "one block"}),
        lambda talk: talk.add_user_message([{"type": "input_text"}]),
        lambda talk: talk.set_current_input([{"text": "no type"}]),
        lambda talk: talk.add_assistant_response({"type": "message", "content": []}),
        lambda talk: talk.add_assistant_response([message("assistant", "ok"), 5]),
        lambda talk: talk.add_assistant_response([{"type": "message", "content": [5]}]),
        lambda talk: talk.add_assistant_response([{"type": "message", "content": 5}]),
        lambda talk: talk.add_assistant_response([message("assistant", call(""))]),
        lambda talk: talk.add_assistant_response([{"no": "type"}, message("assistant", "ok")]),
        lambda talk: talk.replace_last_assistant_response([message("assistant", call(""))]),
        lambda talk: talk.add_tool_results([{"tool_use_id": "a", "content": "ok"}, {"content": "no id"}]),
        lambda talk: talk.add_tool_results([native("a")]),
        lambda talk: talk.add_tool_results({"tool_use_id": "a"}),
        lambda talk: talk.add_tool_results([5]),
        lambda talk: talk.add_input_items([message("user", "ok"), {"type": "message"}]),
        lambda talk: talk.add_input_items("text"),
    ],
)
def test_what_is_malformed_is_refused_and_changes_nothing(change: Any) -> None:
    talk = conversation()
    talk.add_assistant_response("Yes.")
    talk.set_current_input("Hi")
    before = state(talk)
    with pytest.raises(InvalidInputError):
        change(talk)
    assert state(talk) == before
    assert talk.add_user_message("next") == "msg_3", "it takes no id either"


def test_nothing_live_goes_in() -> None:
    talk = conversation()
    block: dict[str, Any] = {"type": "tool_use", "id": "a", "name": "n", "arguments": "{}", "extra": [1]}
    talk.add_assistant_response([message("assistant", block)])
    results: list[dict[str, Any]] = [{"tool_use_id": "a", "content": "ok", "__images": [{"base64": "A"}]}]
    talk.add_tool_results(results)
    block["extra"] = None
    results[0]["__images"].append(5)
    assert talk.history[0].out()["content"][0]["extra"] == [1]
    assert talk.current_input[0].out()["content"][0]["__images"] == [{"base64": "A"}]


def test_2_3e_of_several_answers_only_the_newest_is_replaced() -> None:
    talk = conversation()
    for text in ("One.", "Two."):
        talk.add_user_message("?")
        talk.add_assistant_response(text)
    assert talk.replace_last_assistant_response("Three.")
    answers = [data for data in without_ids(talk.history) if data["role"] == "assistant"]
    assert answers == [message("assistant", "One."), message("assistant", "Three.")]
    assert [item.id for item in talk.history] == ["msg_1", "msg_2", "msg_3", "msg_4"]


def test_2_3e_what_the_replacing_answer_thought_is_thought_last() -> None:
    talk = conversation()
    talk.add_assistant_response(
        [{"type": "thinking", "thinking": "Hm"}, {"type": "output_text", "text": "No."}]
    )
    assert talk.replace_last_assistant_response(
        [{"type": "thinking", "thinking": "Aha"}, {"type": "output_text", "text": "Yes."}]
    )
    assert talk.last_thinking == "Aha"
    assert without_ids(talk.history) == [message("assistant", "Yes.")]


@pytest.mark.parametrize("nothing", ["", b"", {}])
def test_2_3_an_empty_text_or_object_is_no_empty_list(nothing: Any) -> None:
    talk = conversation()
    for add in (talk.add_input_items, talk.add_tool_results):
        with pytest.raises(InvalidInputError, match="is a "):
            add(nothing)
    assert talk.mutations == 0
