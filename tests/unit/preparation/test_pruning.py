"""What a request leaves out (11.4)."""

from __future__ import annotations

from typing import Any

from playground.preparation.protocol import protocol_map
from playground.preparation.pruning import Pruned, prune, pruned_tokens, request_tokens
from tests.preparation import call, item, items, message, native, result


def pruned(*data: dict[str, Any]) -> Pruned:
    read = items(*data)
    made = prune(read, protocol_map(read, ()).dropped)
    assert [entry.out() for entry in read] == list(data), "the items stay as they are"
    return made


def test_27_text_beside_a_call_without_result_stays_and_the_call_does_not_count() -> None:
    made = pruned(message("assistant", "text", call("a")), message("user", "next"))
    assert list(made.items) == [message("assistant", "text"), message("user", "next")]
    assert made.tokens == (4 + 2) + (4 + 2)


def test_27_a_message_of_nothing_but_that_call_is_absent() -> None:
    assert pruned(message("assistant", call("a")), message("user", "next")).items == (message("user", "next"),)


def test_27_a_result_without_call_is_absent() -> None:
    made = pruned(message("user", result("a", "x" * 700)), message("user", "b", result("c", custom=True)))
    assert list(made.items) == [message("user", "b")]
    assert made.tokens == 5


def test_matching_sees_native_outputs_and_namespaces() -> None:
    kept = [message("assistant", call("a")), native("a")]
    assert list(pruned(*kept).items) == kept
    other = [message("assistant", "t", call("a")), native("a", custom=True)]
    assert list(pruned(*other).items) == [message("assistant", "t"), native("a", custom=True)]


def test_order_of_call_and_result_is_the_adapters_business() -> None:
    turned = [message("user", result("a")), message("assistant", call("a"))]
    assert list(pruned(*turned).items) == turned


def test_a_message_that_was_empty_before_is_left_alone() -> None:
    assert pruned(message("user")) == Pruned((message("user"),), 4)


def test_what_comes_out_is_a_copy() -> None:
    read = item(message("user", "a"))
    prune([read], ()).items[0]["content"].clear()
    dropped = prune([item(message("user", "a", result("x")))], {(0, 1)})
    assert read.out() == message("user", "a")
    partly = item(message("user", "a", result("x")))
    prune([partly], {(0, 1)}).items[0]["content"][0]["text"] = "changed"
    assert partly.out()["content"][0]["text"] == "a"
    assert dropped.items == (message("user", "a"),)


def test_places_count_from_the_first_items_position() -> None:
    read = items(message("user", "a", result("x")), message("user", "b"))
    for start, content in ((0, 2), (5, 1)):
        made = prune(read, {(5, 1), (9, 0)}, start=start)
        assert len(made.items[0]["content"]) == content
        assert made.tokens == pruned_tokens(read, {(5, 1), (9, 0)}, start=start)


def test_an_item_counts_its_blocks_that_are_left() -> None:
    read = item(message("user", "x" * 7, "x" * 35))
    assert [request_tokens(read, blocks) for blocks in ((), {0}, {1}, {0, 1})] == [16, 14, 6, 0]
    assert request_tokens(item(native("a", "x" * 7)), ()) == 6
