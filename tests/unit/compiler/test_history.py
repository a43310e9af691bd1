from __future__ import annotations

import copy
import dataclasses
import gc
import json
import pickle
import threading
import weakref
from typing import Any

import pytest

from playground.compiler.history import history_digests, prefix_digest
from playground.messages import (
    ImagePart,
    Message,
    ReasoningPart,
    TextPart,
    ToolResultPart,
    ToolUsePart,
    UnknownPart,
    as_message,
    message_to_json,
)

DIFFERENT = (
    Message("user", "hi"),
    Message("assistant", "hi"),
    Message("user", "hi "),
    Message("user", "hi", {"id": "1"}),
    Message("user", "hi", {"id": "2"}),
    Message("user", ()),
    Message("user", ""),
    Message("user", (TextPart("hi"), TextPart(""))),
    Message("user", (TextPart("h"), TextPart("i"))),
    Message("user", (TextPart("i"), TextPart("h"))),
    Message("user", '["user",[["text","h"],["text","i"]],null]'),
    Message("user", "user\nhi"),
    Message("user", (ReasoningPart("hi"),)),
    Message("user", (ReasoningPart("hi", signature="s"),)),
    Message("user", (ReasoningPart("hi", encrypted="s"),)),
    Message("user", (ReasoningPart("hi", redacted=True),)),
    Message("user", (ImagePart("hi"),)),
    Message("user", (ImagePart(b"hi"),)),
    Message("user", (ImagePart(b"hi", "image/png"),)),
    Message("user", (ToolUsePart("1", "n", {"a": 1}),)),
    Message("user", (ToolUsePart("2", "n", {"a": 1}),)),
    Message("user", (ToolUsePart("1", "m", {"a": 1}),)),
    Message("user", (ToolUsePart("1", "n", {"a": "1"}),)),
    Message("user", (ToolUsePart("1", "n", {"a": 1}, {"sig": b"1"}),)),
    Message("user", (ToolResultPart("1", {"a": 1}),)),
    Message("user", (ToolResultPart("1", '{"a":1}'),)),
    Message("user", (ToolResultPart("1", {"a": 1}, is_error=True),)),
    Message("user", (ToolResultPart("1", b"\x00"),)),
    Message("user", (UnknownPart({"type": "audio", "data": b"\x00"}),)),
    Message("user", (UnknownPart({"type": "audio", "data": b"\x01"}),)),
    Message("user", "\ud83d\ude00"),
    Message("user", "\U0001f600"),
    Message("user", "\ud83d"),
)


def test_messages_that_differ_in_anything_have_different_digests() -> None:
    assert len(set(history_digests(DIFFERENT))) == len(DIFFERENT)


def test_r109_a_string_has_the_digest_of_one_text_part() -> None:
    one, two = history_digests([Message("user", "hi"), Message("user", (TextPart("hi"),))])
    assert one == two
    one, two = history_digests([Message("user", "hi", {"a": 1}), Message("user", (TextPart("hi"),), {"a": 1})])
    assert one == two


@pytest.mark.parametrize("message", DIFFERENT, ids=lambda message: str(message.content)[:30])
def test_r109_a_message_keeps_its_digest_through_json(message: Message) -> None:
    data = message_to_json(message)
    text = json.dumps(data)
    read = json.loads(text)
    assert history_digests([as_message(data)]) == history_digests([message])
    # JSON joins the two halves of a character; that is another text.
    assert (history_digests([as_message(read)]) == history_digests([message])) == (read == data)


def test_r109_the_kind_of_keys_does_not_matter_after_json() -> None:
    numbers: dict[Any, int] = {10: 1, 9: 2, True: 3}
    message = Message("assistant", (ToolUsePart("1", "n", {"b": numbers, "a": (1, 2)}),), {"b": 1, "a": 2})
    read = as_message(json.loads(json.dumps(message_to_json(message))))
    assert history_digests([read]) == history_digests([message])


@pytest.mark.parametrize(
    "part",
    [
        lambda data: ToolUsePart("1", "n", data),
        lambda data: ToolResultPart("1", data),
        lambda data: ToolResultPart("1", [{"deep": data}]),
        lambda data: UnknownPart({"type": "audio", "data": data}),
    ],
    ids=["input", "result", "deep", "unknown"],
)
def test_r109_the_order_of_keys_counts_in_what_providers_match_by_their_bytes(part: Any) -> None:
    one, two = (Message("assistant", (part(data),)) for data in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    assert history_digests([one]) != history_digests([two])


HINTS = (
    {"cacheControl": {"type": "ephemeral"}},
    {"cache_control": {"type": "ephemeral", "ttl": "1h"}},
    {"anthropic": {"cacheControl": {"type": "ephemeral"}}},
    {"a": {"b": {"cache_control": 1}}},
)


@pytest.mark.parametrize("hint", HINTS, ids=str)
def test_r109_a_hint_where_to_cache_is_no_part_of_a_message(hint: dict[str, Any]) -> None:
    for plain, hinted in (
        (Message("user", "hi"), Message("user", "hi", hint)),
        (Message("user", "hi", {}), Message("user", (TextPart("hi"),), hint)),
        (Message("user", "hi", {"b": [1], "id": "1"}), Message("user", "hi", {"id": "1", "b": [1], **hint})),
        (
            Message("assistant", (ToolUsePart("1", "n", {}, {"sig": b"1"}),)),
            Message("assistant", (ToolUsePart("1", "n", {}, {**hint, "sig": b"1"}),)),
        ),
    ):
        assert history_digests([plain]) == history_digests([hinted])


def test_r109_a_hint_on_a_part_of_unknown_kind_is_none_of_its_data() -> None:
    data = {"type": "audio", "data": {"cache_control": 1}, "providerMetadata": {"a": 1}}
    hinted = {**data, "cache_control": 1, "providerMetadata": {"a": 1, "x": {"cacheControl": 1}}}
    other = {**data, "data": {}}
    digests = history_digests([Message("user", (UnknownPart(one),)) for one in (data, hinted, other)])
    assert digests[0] == digests[1]
    assert digests[0] != digests[2]
    one, two = ({"type": "audio"}, {"type": "audio", "providerMetadata": {"x": {"cacheControl": 1}}})
    assert history_digests([Message("user", (UnknownPart(one),))]) == history_digests(
        [Message("user", (UnknownPart(two),))]
    )


def test_r109_the_same_words_in_a_tools_data_count() -> None:
    one, two = (
        Message("assistant", (ToolUsePart("1", "set_header", data),)) for data in ({}, {"cache_control": "no"})
    )
    assert history_digests([one]) != history_digests([two])


class Opaque:
    pass


def test_what_json_cannot_hold_brings_no_address_and_no_order_into_a_digest() -> None:
    def message(order: list[str]) -> Message:
        data = {"o": Opaque(), "s": set(order), "i": {Opaque(): 1}, "f": float("nan")}
        return Message("tool", (ToolResultPart("1", data),), {"lock": threading.Lock()})

    one, two = history_digests([message(["a", "b", "c"]), message(["c", "b", "a"])])
    assert one == two


def test_data_that_holds_itself_or_endless_digits_never_raises() -> None:
    loop: list[Any] = []
    loop.append(loop)
    huge = 10**5_000
    digests = history_digests(
        [
            Message("tool", (ToolResultPart("1", loop),)),
            Message("tool", (ToolResultPart("1", huge),)),
            Message("tool", (ToolUsePart("1", "n", loop),)),
            Message("user", "x", loop),
            Message("user", "x", {"loop": loop}),
            Message("tool", (ToolResultPart(5, "x"), TextPart(None))),  # type: ignore[arg-type]  # a host may
        ]
    )
    assert all(digest.startswith("sha256:") for digest in digests)


def test_the_digest_of_a_prefix_is_that_of_its_messages_in_their_order() -> None:
    digests = history_digests(DIFFERENT)
    every = [prefix_digest(digests, count) for count in range(len(digests) + 1)]
    assert len(set(every)) == len(every)
    assert prefix_digest(digests[:3], 3) == prefix_digest(digests, 3) == every[3]
    assert prefix_digest((digests[1], digests[0]), 2) != every[2]


def test_digests_are_the_same_in_every_process_and_release() -> None:
    first, second = history_digests(
        [Message("user", "hi"), Message("assistant", (ToolUsePart("1", "n", {"b": 1, "a": b"\x00"}),))]
    )
    assert first == "sha256:4a2fac02856571541902e8edc867b4eb22b67f184993c592c8920339c2f96d53"
    assert second == "sha256:d828021f246ac067869763417c3126a96d5341f04daf45e6be8ab53334341d90"
    assert (
        prefix_digest((first, second), 2)
        == "sha256:192103ee5029932a26671d059839de58f28832c5718db42c21406420d8203c1a"
    )


def test_a_remembered_digest_is_no_part_of_the_message() -> None:
    message, fresh = (Message("user", (ToolUsePart("1", "n", "x"),)) for _ in range(2))
    (digest,) = history_digests([message])
    assert history_digests([message])[0] is digest
    assert message == fresh
    assert hash(message) == hash(fresh)
    assert repr(message) == repr(fresh)
    assert pickle.dumps(message) == pickle.dumps(fresh)
    assert [field.name for field in dataclasses.fields(message)] == ["role", "content", "provider_metadata"]
    assert dataclasses.asdict(message) == dataclasses.asdict(fresh)
    assert message_to_json(message) == message_to_json(fresh)
    for copied in (pickle.loads(pickle.dumps(message)), copy.copy(message), copy.deepcopy(message)):
        assert copied == message
        assert history_digests([copied]) == (digest,)
    changed = dataclasses.replace(message, role="assistant")
    assert history_digests([changed]) != (digest,)


def test_a_copy_whose_data_is_changed_has_a_digest_of_its_own() -> None:
    message = Message("assistant", (ToolUsePart("1", "n", {"a": 1}),))
    (digest,) = history_digests([message])
    copied = copy.deepcopy(message)
    part = copied.content[0]
    assert isinstance(part, ToolUsePart)
    part.input["a"] = 2
    assert history_digests([copied]) != (digest,)


def test_nothing_keeps_a_message_alive_that_was_forgotten() -> None:
    class Text(str):
        __slots__ = ("__weakref__",)

    text = Text("forgotten")
    gone = weakref.ref(text)
    message = Message("user", text)
    history_digests([message])
    del text, message
    gc.collect()
    assert gone() is None


def test_many_threads_find_the_same_digests() -> None:
    messages = [Message("user", f"message {number}") for number in range(2_000)]
    found: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(history_digests(messages))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1
