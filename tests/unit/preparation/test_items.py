"""Items: read once, counted once, never handed out (2.1 and 2.2)."""

from __future__ import annotations

import copy
import weakref
from types import MappingProxyType
from typing import Any

import pytest

from playground.errors import InvalidInputError
from playground.preparation.items import DEEPEST, Call, Result, detached, text_message
from tests.preparation import call, item, message, native, result

BLOCKS: list[dict[str, Any]] = [
    {"type": "input_text", "text": "a", "extra": {"n": [1, None, 2.5, True]}},
    {"type": "output_text", "text": "b", "annotations": []},
    {"type": "input_image_url", "image_url": {"url": "https://x/y.png", "detail": "low"}},
    {"type": "input_file", "file_id": "file_1", "filename": "a.pdf"},
    {"type": "tool_use", "id": "f1", "name": "look", "arguments": '{"a": 1 }', "thoughtSignature": "s=="},
    {"type": "tool_use", "id": "f2", "name": "look", "input": {"a": 1}, "async": True},
    {"type": "tool_result", "tool_use_id": "f0", "content": "ok", "error": "e", "__images": [{"base64": "AA"}]},
    {"type": "thinking", "thinking": "hm", "signature": "sig", "persistInHistory": True},
    {"type": "custom_tool_use", "id": "f1", "name": "run", "input": "ls", "async": True},
    {"type": "custom_tool_result", "tool_use_id": "f2", "content": "out"},
    {"type": "brand_new", "anything": {"goes": []}},
]
OPAQUE: list[dict[str, Any]] = [
    {"type": "compaction", "id": "c", "encrypted_content": "\ud800=="},
    {"type": "reasoning", "id": "r", "effort": "high", "summary": [], "encrypted_content": "x"},
    *(
        {"type": kind, "id": kind, "payload": {"deep": [1, {"x": None}]}}
        for kind in (
            "configuration_update", "compaction_trigger", "computer_call_output", "shell_call_output",
            "apply_patch_call_output", "tool_search_output", "something_newer",
        )
    ),
]  # fmt: skip


def test_2_2_blocks_of_every_kind_are_kept_with_every_field() -> None:
    data = {"type": "message", "id": "m1", "role": "assistant", "content": BLOCKS, "phase": "final"}
    read = item(data)
    assert read.out() == data
    assert list(read.out()) == list(data)
    assert (read.id, read.role, read.is_message, read.opaque) == ("m1", "assistant", True, False)
    assert read.calls == (
        Call("function", "f1", "look", 4, False),
        Call("function", "f2", "look", 5, True),
        Call("custom", "f1", "run", 8, True),
    )
    assert read.results == (Result("function", "f0", 6), Result("custom", "f2", 9))
    assert read.tokens == 4 + sum(read.block_tokens)


@pytest.mark.parametrize("data", OPAQUE, ids=lambda data: data["type"])
def test_2_1_opaque_items_travel_as_they_came(data: dict[str, Any]) -> None:
    read = item(data)
    assert read.out() == data
    assert (read.opaque, read.is_message, read.role, read.calls, read.results) == (True, False, None, (), ())


def test_2_1_native_outputs_are_results_and_not_opaque() -> None:
    function, custom = item(native("a", [{"type": "input_text", "text": "t"}])), item(native("b", custom=True))
    assert (function.results, custom.results) == (
        (Result("function", "a", None),),
        (Result("custom", "b", None),),
    )
    assert not function.opaque
    assert not function.is_message
    assert function.id is None


def test_2_1_a_messages_content_is_always_a_list() -> None:
    assert item({"type": "message", "role": "user", "content": "hi"}).out() == message("user", "hi")
    assert item({"role": "assistant", "content": "hi"}).out() == message("assistant", "hi")
    assert item({"type": "message", "role": "developer", "content": []}).out()["content"] == []
    assert text_message("assistant", "hi", "m")["content"] == [{"type": "output_text", "text": "hi"}]


def test_nothing_live_goes_in_or_comes_out() -> None:
    data: dict[str, Any] = copy.deepcopy({"type": "message", "role": "assistant", "content": BLOCKS})
    read = item(data)
    data["content"][0]["extra"]["n"].append(5)
    out = read.out()
    out["content"][0]["extra"]["n"].clear()
    out["content"].clear()
    assert read.out()["content"] == BLOCKS


def test_mappings_and_tuples_become_plain_data_and_foreign_objects_stay() -> None:
    thing = object()
    copied = detached(MappingProxyType({"a": (1, {"b": thing})}))
    assert copied == {"a": [1, {"b": thing}]}
    assert copied["a"][1]["b"] is thing
    assert type(copied) is dict


def test_items_are_told_apart_by_identity() -> None:
    one, two = item(message("user", "a")), item(message("user", "a"))
    assert one != two
    assert len({one, two}) == 2
    assert weakref.ref(one)() is one


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, "An item is a NoneType"),
        ([], "An item is a list"),
        ({}, "type None"),
        ({"type": 3}, "type 3"),
        ({"type": ""}, "type ''"),
        ({"type": "message", "role": "system", "content": []}, "role 'system'"),
        ({"type": "message", "role": ["user"], "content": []}, "role"),
        ({"type": "message", "role": "user"}, "content is a NoneType"),
        ({"type": "message", "role": "user", "content": None}, "content is a NoneType"),
        ({"type": "message", "role": "user", "content": {}}, "content is a dict"),
        (message("user", *["a", "b"], {"no": "type"}), "Block 2"),
        ({"type": "message", "role": "user", "content": ["a"]}, "Block 0"),
        (message("user", {"type": "input_text"}), "no text"),
        (message("user", {"type": "input_text", "text": 5}), "no text"),
        (message("assistant", call("")), "id of a tool_use"),
        (message("assistant", {"type": "tool_use", "id": "a"}), "name None"),
        (
            message("assistant", {"type": "custom_tool_use", "name": "a", "input": ""}),
            "id of a custom_tool_use",
        ),
        (message("user", {"type": "tool_result", "content": ""}), "tool_use_id of a tool_result"),
        (message("user", result(3)), "tool_use_id"),  # type: ignore[arg-type]  # what a stranger passes
        ({"type": "function_call_output", "output": ""}, "call_id of a function_call_output"),
        ({"type": "custom_tool_call_output", "call_id": None}, "call_id"),
    ],
)
def test_what_is_no_item_is_refused_and_told(data: Any, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        item(data)


def test_data_in_itself_or_nested_too_deeply_is_refused() -> None:
    deep: Any = 1
    for _ in range(DEEPEST):
        deep = [deep]
    assert detached(deep) == deep
    with pytest.raises(InvalidInputError, match="nested"):
        detached([deep])
    loop: dict[str, Any] = {}
    loop["self"] = loop
    with pytest.raises(InvalidInputError, match="nested"):
        detached(loop)


@pytest.mark.parametrize(
    ("persistence", "evidence"),
    [
        (None, False),
        ({"version": 1, "status": "unacknowledged", "invocationId": "i"}, True),
        ({"version": 1, "status": "acknowledged", "invocationId": "i"}, False),
        ({"version": 2, "status": "acknowledged"}, True),
        ({"version": True, "status": "acknowledged"}, True),
        ({}, True),
        ("odd", True),
    ],
)
def test_19_metadata_that_says_or_may_say_unacknowledged_marks_its_item(
    persistence: Any, evidence: bool
) -> None:
    assert item(message("user", "a", result("c", persistence=persistence))).evidence is evidence
    assert item({**native("c"), "persistence": persistence}).evidence is evidence


@pytest.mark.parametrize(
    ("flag", "late"), [(True, True), (False, False), (None, False), (1, False), ("true", False)]
)
def test_2_2_only_a_true_async_says_that_the_answer_comes_late(flag: Any, late: bool) -> None:
    (found,) = item(message("assistant", call("a", **{"async": flag}))).calls
    assert found.is_async is late
