"""25a: prepared items as the requests of both providers, and errors for what has no equivalent there."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest

from playground.errors import InvalidInputError, InvalidToolProtocolError
from playground.preparation.chat_export import export_anthropic, export_openai
from tests.preparation import call, message, native, result

SYSTEM = message("developer", "Be brief.")
ARGUMENTS = '{"path":  "ä.txt", "n": 1.0}'  # as the model spaced it
PNG = {"base64": "aGk=", "mediaType": "image/png"}
IMAGE = {"type": "input_image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}}
LOG = [
    SYSTEM,
    message("user", "Look", IMAGE),
    message("assistant", "I look.", call("c", "read", arguments=ARGUMENTS), call("d")),
    message("user", result("c", "text"), result("d", "", error="no such file"), "And?"),
]


def openai(*items: Any, **more: Any) -> Any:
    return export_openai(items, model="m", max_tokens=10, **more)


def anthropic(*items: Any, **more: Any) -> Any:
    return export_anthropic(items, model="m", max_tokens=10, **more)


def test_a_request_as_chat_completions_25a() -> None:
    kept = copy.deepcopy(LOG)
    assert openai(*LOG) == {
        "model": "m",
        "max_completion_tokens": 10,
        "messages": [
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
                ],
            },
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [
                    {"id": "c", "type": "function", "function": {"name": "read", "arguments": ARGUMENTS}},
                    {"id": "d", "type": "function", "function": {"name": "look", "arguments": "{}"}},
                ],
            },
            {"role": "tool", "tool_call_id": "c", "content": "text"},
            {"role": "tool", "tool_call_id": "d", "content": "Error: no such file"},
            {"role": "user", "content": "And?"},
        ],
    }
    assert kept == LOG


def test_a_request_as_messages_of_anthropic_25a() -> None:
    later = message("user", "Please.")
    assert anthropic(*LOG, later) == {
        "model": "m",
        "max_tokens": 10,
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Look"},
                    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
                ],
            },
            {
                "role": "assistant",
                "content": [
                    {"type": "text", "text": "I look."},
                    {"type": "tool_use", "id": "c", "name": "read", "input": {"path": "ä.txt", "n": 1.0}},
                    {"type": "tool_use", "id": "d", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c", "content": "text"},
                    {"type": "tool_result", "tool_use_id": "d", "content": "no such file", "is_error": True},
                    {"type": "text", "text": "And?"},
                    {"type": "text", "text": "Please."},
                ],
            },
        ],
    }


def test_results_come_first_in_a_merged_turn_25a() -> None:
    (_, turn) = anthropic(
        message("assistant", call("c")), message("user", "x", result("c")), message("user", "y")
    )["messages"]
    assert [block["type"] for block in turn["content"]] == ["tool_result", "text", "text"]
    split = openai(message("assistant", call("c")), message("user", "x", result("c")))["messages"]
    assert [one["role"] for one in split] == ["assistant", "tool", "user"]


def test_a_custom_call_stays_one_25a() -> None:
    asked = {**call("c", "run", custom=True), "input": "print(1)"}
    (turn, answer) = openai(message("assistant", asked), message("user", result("c", "1", custom=True)))[
        "messages"
    ]
    assert turn["content"] is None
    assert turn["tool_calls"] == [{"id": "c", "type": "custom", "custom": {"name": "run", "input": "print(1)"}}]
    assert answer == {"role": "tool", "tool_call_id": "c", "content": "1"}


@pytest.mark.parametrize(
    ("block", "to_openai", "to_anthropic"),
    [
        (result("c", "text"), "text", "text"),
        (result("c", "", error="why"), "Error: why", "why"),
        (result("c", "part", error="why"), "Error: part\n\nwhy", "part\n\nwhy"),
        (result("c", "", error="error"), "Error: error", "error"),
        (result("c", {"a": [1, "ä"]}, error="error"), 'Error: {"a":[1,"ä"]}', '{"a":[1,"ä"]}'),
        (result("c", None), "", ""),
        (result("c", [1, 2]), "[1,2]", "[1,2]"),
        (result("c", "", error={"code": 5}), 'Error: {"code":5}', '{"code":5}'),
        (
            result("c", [{"type": "text", "text": "a"}], error="why"),
            [{"type": "text", "text": "Error: why"}, {"type": "text", "text": "a"}],
            [{"type": "text", "text": "a"}, {"type": "text", "text": "why"}],
        ),
        (
            result("c", [{"type": "text", "text": "a"}], error="error"),
            [{"type": "text", "text": "Error: error"}, {"type": "text", "text": "a"}],
            [{"type": "text", "text": "a"}],
        ),
    ],
)
def test_a_result_says_its_content_and_its_error_25a(block: Any, to_openai: Any, to_anthropic: Any) -> None:
    items = message("assistant", call("c")), message("user", block)
    (_, told) = openai(*items)["messages"]
    assert told == {"role": "tool", "tool_call_id": "c", "content": to_openai}
    (_, turn) = anthropic(*items)["messages"]
    flag = {"is_error": True} if "error" in block else {}
    expected = {"type": "tool_result", "tool_use_id": "c", "content": to_anthropic, **flag}
    assert turn == {"role": "user", "content": [expected]}


def test_native_outputs_become_results_of_their_calls_25a() -> None:
    items = message("assistant", call("c")), native("c", [{"type": "output_text", "text": "a"}])
    assert openai(*items)["messages"][1]["content"] == [{"type": "text", "text": "a"}]
    assert anthropic(*items)["messages"][1]["content"][0]["content"] == [{"type": "text", "text": "a"}]


def test_attached_images_follow_the_text_of_a_result_25a() -> None:
    items = message("assistant", call("c")), message("user", result("c", "seen", __images=[PNG]))
    (block,) = anthropic(*items)["messages"][1]["content"]
    source = {"type": "base64", "media_type": "image/png", "data": "aGk="}
    assert block["content"] == [{"type": "text", "text": "seen"}, {"type": "image", "source": source}]


def test_thinking_goes_back_as_it_came_25a() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "Hm", "signature": "s", "persistInHistory": True},
        {"type": "redacted_thinking", "data": "d"},
    ]
    (turn,) = anthropic(message("assistant", *blocks))["messages"]
    assert turn["content"] == [
        {"type": "thinking", "thinking": "Hm", "signature": "s"},
        {"type": "redacted_thinking", "data": "d"},
    ]


def test_definitions_go_out_in_either_spelling_25a() -> None:
    schema = {"type": "object", "properties": {"a": {}}}
    flat = {"name": "f", "description": "d", "parameters": schema}
    nested = {"type": "function", "function": flat}
    bare = {"name": "g"}
    (first, second, third) = openai(tools=[flat, nested, bare])["tools"]
    assert first == second == {"type": "function", "function": flat}
    assert third == {
        "type": "function",
        "function": {"name": "g", "parameters": {"type": "object", "properties": {}}},
    }
    (first, second, _) = anthropic(tools=[flat, nested, bare])["tools"]
    assert first == second == {"name": "f", "description": "d", "input_schema": schema}
    custom = {"type": "custom", "custom": {"name": "run"}}
    assert openai(tools=[custom])["tools"] == [custom]
    with pytest.raises(InvalidInputError, match="Tool 1 is a custom tool"):
        anthropic(tools=[flat, custom])
    with pytest.raises(InvalidInputError, match="Tool 0 has the name None"):
        openai(tools=[{"description": "nameless"}])


def test_what_says_nothing_is_left_out_25a() -> None:
    items = message("user", ""), message("assistant"), message("assistant", "", call("c", arguments=""))
    (turn,) = anthropic(*items)["messages"]
    assert turn == {
        "role": "assistant",
        "content": [{"type": "tool_use", "id": "c", "name": "look", "input": {}}],
    }
    (empty, asked) = openai(*items)["messages"]
    assert empty == {"role": "user", "content": ""}
    assert asked["content"] is None


def test_every_body_is_utf_8_json_25a() -> None:
    for export in (openai, anthropic):
        text = json.dumps(export(message("user", "half \ud83d")), ensure_ascii=False)
        assert "half \ufffd" in text.encode().decode()


BOTH: tuple[Callable[..., Any], ...] = (openai, anthropic)
ASKED = message("assistant", call("c"))
REFUSED: list[tuple[tuple[Callable[..., Any], ...], list[Any], str]] = [
    (BOTH, [{"type": "reasoning", "id": "r", "encrypted_content": "x"}], "an item of the type reasoning"),
    (BOTH, [{"type": "compaction", "encrypted_content": "x"}], "compaction"),
    (BOTH, [{"type": "configuration_update"}], "configuration_update"),
    (BOTH, [message("assistant", {**call("c"), "async": True})], "'async' of a tool_use"),
    (BOTH, [message("assistant", call("c", thoughtSignature="s"))], "'thoughtSignature' of a tool_use"),
    (BOTH, [message("user", {"type": "input_text", "text": "x", "stray": 0})], "'stray' of a input_text"),
    (BOTH, [{**message("user", "x"), "phase": "final"}], "'phase' of a message"),
    (BOTH, [{**native("c"), "stray": 1}], "'c'"),
    (BOTH, [native("elsewhere")], "the output of the call 'elsewhere', which the provider keeps,"),
    (BOTH, [message("assistant", call("c"), call("c", custom=True))], "'c' of both"),
    (BOTH, [message("user", {"type": "input_audio", "data": "x"})], "input_audio"),
    (BOTH, [message("developer", IMAGE)], "in a developer message"),
    (BOTH, [message("user", {"type": "input_file"})], "it lacks the field 'file_id'"),
    (
        BOTH,
        [{"type": "message", "role": "user", "content": [{"text": "x"}]}],
        "block 0 of a message has no type",
    ),
    (BOTH, [message("nobody", "x")], "the role 'nobody'"),
    (BOTH, [message("user", result(""))], "the tool_use_id of a tool_result"),
    (BOTH, ["text"], "an item is a str"),
    (BOTH, [ASKED, message("user", result("c", {1: object()}))], "no JSON form"),
    (
        BOTH,
        [ASKED, message("user", result("c", "", __images=[{"base64": "aa"}]))],
        "without base64 and mediaType",
    ),
    ((openai,), [ASKED, message("user", result("c", "", __images=[PNG]))], "an image in the result of a tool"),
    (
        (openai,),
        [message("assistant", {"type": "thinking", "thinking": "x", "signature": "s"})],
        "thinking in an ans",
    ),
    ((openai,), [message("assistant", IMAGE)], "input_image_url in an answer"),
    ((openai,), [message("user", call("c"))], "tool_use in a message of the user"),
    ((anthropic,), [message("assistant", call("c", custom=True))], "custom_tool_use"),
    ((anthropic,), [message("user", result("c", custom=True))], "custom_tool_result"),
    (BOTH, [message("assistant", {"type": "thinking", "thinking": "x"})], "thinking"),
    ((anthropic,), [message("assistant", call("c", arguments="{oops"))], "arguments of the call 'c'"),
    ((anthropic,), [message("assistant", call("c", arguments="[1]"))], "arguments of the call 'c'"),
    ((anthropic,), [message("assistant", call("c", arguments='{"a": NaN}'))], "arguments of the call 'c'"),
    ((anthropic,), [message("user", {"type": "input_image_url", "image_url": "ftp://x"})], "neither at a URL"),
    (
        (anthropic,),
        [message("user", {"type": "input_image_url", "image_url": "data:image/bmp;base64,aa"})],
        "neither",
    ),
]


@pytest.mark.parametrize(("exports", "items", "told"), REFUSED)
def test_what_has_no_equivalent_is_refused_and_its_item_named_25a(
    exports: tuple[Callable[..., Any], ...], items: list[Any], told: str
) -> None:
    for export in exports:
        with pytest.raises(InvalidInputError) as caught:
            export(SYSTEM, *items)
        assert told in str(caught.value)
        assert str(caught.value).startswith(f"Item {len(items)} cannot be exported to ")
        assert caught.value.to_json()["position"] == len(items)
    for export in set(BOTH) - set(exports):
        export(SYSTEM, *items)


@pytest.mark.parametrize("tokens", [0, True, 1.5, "10"])
def test_an_answer_has_at_least_one_token(tokens: Any) -> None:
    for export in (export_openai, export_anthropic):
        with pytest.raises(InvalidInputError, match="max_tokens"):
            export([], model="m", max_tokens=tokens)


def test_notes_of_the_host_stay_here_25a() -> None:
    noted = call("c", persistence={"version": 1, "status": "acknowledged"})
    for export in BOTH:
        assert "persistence" not in json.dumps(export({**message("assistant", noted), "id": "msg_1"}))


def test_an_empty_text_beside_a_call_is_left_out_25a() -> None:
    for texts, content in (([""], None), (["", "I look."], "I look.")):
        items = [message("assistant", *texts, call("a")), message("user", result("a"))]
        told, _ = export_openai(items, model="m", max_tokens=1)["messages"]
        assert told["content"] == content
        assert [one["id"] for one in told["tool_calls"]] == ["a"]


def test_the_older_form_of_arguments_is_exported_too_25a() -> None:
    """2.2: an object under input, without the text."""
    older = {"type": "tool_use", "id": "a", "name": "look", "input": {"n": 1}}
    items = [message("assistant", older), message("user", result("a"))]
    told, _ = export_openai(items, model="m", max_tokens=1)["messages"]
    assert told["tool_calls"][0]["function"]["arguments"] == '{"n":1}'
    turn, _ = export_anthropic(items, model="m", max_tokens=1)["messages"]
    assert turn["content"][0]["input"] == {"n": 1}


@pytest.mark.parametrize("export", [export_openai, export_anthropic])
def test_a_field_that_says_nothing_hinders_no_export_25a(export: Callable[..., Any]) -> None:
    for flag in (False, None):
        items = [message("assistant", {**call("a"), "async": flag}), message("user", result("a"))]
        assert len(export(items, model="m", max_tokens=1)["messages"]) == 2
    late = [message("assistant", {**call("a"), "async": True}), message("user", result("a"))]
    with pytest.raises(InvalidInputError, match="async"):
        export(late, model="m", max_tokens=1)


@pytest.mark.parametrize("export", [export_openai, export_anthropic])
@pytest.mark.parametrize("tools", [True, "look", ["look"], {"name": "look"}], ids=repr)
def test_25a_tools_that_are_no_definitions_are_refused(export: Callable[..., Any], tools: Any) -> None:
    with pytest.raises(InvalidInputError, match="The tools are"):
        export([message("user", "Hi")], model="m", max_tokens=5, tools=tools)


@pytest.mark.parametrize("export", [export_openai, export_anthropic])
def test_25a_attachments_that_are_no_list_are_refused_with_the_item_named(export: Callable[..., Any]) -> None:
    items = [message("assistant", call("a")), message("user", result("a", "", __images=True))]
    with pytest.raises(InvalidInputError, match=r"[Ii]tem 2.*|images of a result") as caught:
        export(items, model="m", max_tokens=5)
    assert "images of a result" in str(caught.value)


EXPORTS = pytest.mark.parametrize("export", [export_openai, export_anthropic])


def asked(**fields: Any) -> list[dict[str, Any]]:
    given = {"type": "tool_use", "id": "a", "name": "pay", **fields}
    return [message("assistant", given), message("user", result("a", "done"))]


@EXPORTS
@pytest.mark.parametrize("field", ["arguments", "input"])
def test_25a_arguments_that_are_an_object_are_exported_as_they_are(
    export: Callable[..., Any], field: str
) -> None:
    body = json.dumps(export(asked(**{field: {"amount": 100}}), model="m", max_tokens=5))
    assert "amount" in body
    assert "100" in body


@EXPORTS
def test_25a_two_different_arguments_of_one_call_are_refused_and_equal_ones_are_one(
    export: Callable[..., Any],
) -> None:
    with pytest.raises(InvalidInputError, match=r"Item 0.*two different arguments"):
        export(asked(arguments='{"amount": 1}', input={"amount": 2}), model="m", max_tokens=5)
    assert export(asked(arguments='{"amount": 1}', input={"amount": 1}), model="m", max_tokens=5)


@pytest.mark.parametrize("arguments", ['{"a": 1e400}', '{"a": 1, "a": 2}'])
def test_25a_arguments_that_an_object_would_change_are_refused_there(arguments: str) -> None:
    with pytest.raises(InvalidInputError, match="no JSON object"):
        export_anthropic(asked(arguments=arguments), model="m", max_tokens=5)
    assert (
        arguments
        in export_openai(asked(arguments=arguments), model="m", max_tokens=5)["messages"][0]["tool_calls"][0][
            "function"
        ]["arguments"]
    )


@EXPORTS
@pytest.mark.parametrize(
    "items",
    [
        asked(input={"limit": float("inf")}),
        [
            message("assistant", call("a")),
            message("user", result("a", [{"type": "text", "text": "x", "b": 1}])),
        ],
        [
            message("assistant", call("a")),
            message("user", result("a", [{"type": "image", "source": {"type": "url", "url": "u", "b": 1}}])),
        ],
        [message("user", {"type": "input_image_url", "image_url": {"url": "http://x", "b": 1}})],
    ],
    ids=["infinity", "field of a part", "field of a source", "field of an address"],
)
def test_25a_nothing_is_left_out_or_changed_in_silence(export: Callable[..., Any], items: Any) -> None:
    with pytest.raises(InvalidInputError):
        export(items, model="m", max_tokens=5)


@EXPORTS
def test_25a_an_error_that_is_a_number_is_an_error(export: Callable[..., Any]) -> None:
    items = [message("assistant", call("a")), message("user", result("a", "x", error=0))]
    assert json.dumps(export(items, model="m", max_tokens=5)) != json.dumps(
        export([items[0], message("user", result("a", "x"))], model="m", max_tokens=5)
    )


@EXPORTS
def test_25a_two_results_of_one_call_are_not_exported(export: Callable[..., Any]) -> None:
    items = [message("assistant", call("a")), message("user", result("a"), result("a"))]
    with pytest.raises(InvalidToolProtocolError):
        export(items, model="m", max_tokens=5)


def test_25a_tools_keep_what_their_shape_knows_and_nothing_is_lost() -> None:
    given = {"name": "look", "parameters": {"type": "object"}}
    strict, cached = {**given, "strict": True}, {**given, "cache_control": {"type": "ephemeral"}}
    hi = [message("user", "Hi")]
    assert export_openai(hi, model="m", max_tokens=5, tools=[strict])["tools"][0]["function"]["strict"] is True
    sent = export_anthropic(hi, model="m", max_tokens=5, tools=[cached])["tools"][0]
    assert sent["cache_control"] == {"type": "ephemeral"}
    custom = {"type": "custom", "name": "run", "description": "Runs."}
    sent = export_openai(hi, model="m", max_tokens=5, tools=[custom])["tools"][0]
    assert sent == {"type": "custom", "custom": {"name": "run", "description": "Runs."}}
    for export, tool in (
        (export_openai, cached),
        (export_anthropic, strict),
        (export_anthropic, {"type": "web_search_20250305", "name": "web_search"}),
        (export_openai, {"type": "custom"}),
    ):
        with pytest.raises(InvalidInputError, match="Tool 0"):
            export(hi, model="m", max_tokens=5, tools=[tool])
