"""Which items belong together, and which may not go (11)."""

from __future__ import annotations

from typing import Any

import pytest

from playground.errors import AIError, InvalidToolProtocolError
from playground.preparation.protocol import ProtocolMap, protocol_map
from tests.preparation import call, items, message, native, pair, result

USER = message("user", "And now?")
LATER: dict[str, Any] = {**call("a"), "async": True}
EVIDENCE = {"version": 1, "status": "unacknowledged", "invocationId": "i"}


def groups(history: list[dict[str, Any]], current_input: list[dict[str, Any]] | None = None) -> ProtocolMap:
    return protocol_map(items(*history), items(*(current_input or [])))


def members(found: ProtocolMap) -> list[tuple[int, ...]]:
    return [group.members for group in found.groups]


def protections(found: ProtocolMap) -> list[str | None]:
    return [group.protection for group in found.groups]


def test_11_1_function_and_custom_ids_are_two_namespaces() -> None:
    found = groups(
        [
            message("assistant", call("a"), call("a", custom=True)),
            message("user", result("a")),
            native("a", custom=True),
            USER,
        ]
    )
    assert members(found) == [(0, 1, 2), (3,)]
    assert found.groups[0].pairs == 2
    alone = groups([message("assistant", call("a")), message("user", result("a", custom=True)), USER])
    assert members(alone) == [(0,), (1,), (2,)]
    assert alone.dropped == {(0, 0), (1, 0)}
    assert protections(alone) == [None, None, None], "what no request holds may go"
    assert [group.tokens for group in alone.groups] == [0, 0, items(USER)[0].tokens]


def test_27_one_message_of_two_calls_ties_all_messages_with_their_results() -> None:
    history = [message("assistant", call("a"), call("b")), message("user", result("a")), USER]
    found = groups([*history, message("user", result("b")), USER])
    assert members(found) == [(0, 1, 3), (2,), (4,)]
    assert found.removable([3]) == (0, 1, 3)


def test_11_2_chains_join_up() -> None:
    found = groups(
        [
            message("assistant", call("a")),
            message("assistant", result("a"), call("b")),
            message("assistant", result("b"), call("c")),
            USER,
            native("c"),
            USER,
        ]
    )
    assert members(found) == [(0, 1, 2, 4), (3,), (5,)]
    assert found.groups[0].pairs == 3


def test_a_result_may_come_before_its_call() -> None:
    found = groups([message("user", result("a")), USER, message("assistant", call("a")), USER])
    assert members(found) == [(0, 2), (1,), (3,)]
    assert found.dropped == frozenset()


def test_11_3_whatever_a_current_result_answers_stays_with_all_its_siblings() -> None:
    history = [message("assistant", call("a"), call("b")), message("user", result("a")), *pair("c")]
    found = groups(history, [message("user", result("b"))])
    assert members(found) == [(0, 1, 4), (2, 3)]
    assert protections(found) == ["input", None]
    assert found.removable(range(5)) == (2, 3)
    assert found.groups[0].tokens == 10 + 6  # the calls and the first result; not the input
    assert found.history_length == 4


def test_11_3_an_asynchronous_call_stays_until_its_final_output() -> None:
    history = [
        message("assistant", LATER, call("b")),
        message("user", result("b")),
        USER,
    ]
    found = groups(history)
    assert protections(found) == ["async", None]
    assert found.dropped == frozenset(), "it stays in the request too"
    done = groups([*history, native("a")])
    assert protections(done) == [None, None]
    assert members(done) == [(0, 1, 3), (2,)]


def test_11_3_evidence_that_is_not_stored_keeps_its_group() -> None:
    history = [message("assistant", call("a")), message("user", result("a", persistence=EVIDENCE)), *pair("b")]
    assert protections(groups([*history, USER])) == ["evidence", None, None]


def test_11_3_outputs_of_calls_that_the_provider_holds_stay_and_are_not_pruned() -> None:
    found = groups([native("a", custom=True), USER])
    assert protections(found) == ["continuation", None]
    assert found.dropped == frozenset()
    assert found.removable([0]) == ()


@pytest.mark.parametrize("kind", ["compaction", "reasoning", "tool_search_output", "something_newer"])
def test_11_3_opaque_items_stay(kind: str) -> None:
    assert protections(groups([{"type": kind, "id": "x"}, USER])) == ["opaque", None]


@pytest.mark.parametrize(
    ("behind", "protection"),
    [
        ([], "pending"),
        ([message("user", result("b"))], "pending"),
        ([native("b")], "pending"),
        ([{"type": "reasoning", "id": "r"}], "pending"),
        ([USER], None),
        ([message("user", "But", result("b"))], None),
        ([message("user")], None),
        ([message("assistant", "Well.")], None),
    ],
)
def test_a_call_whose_results_are_being_gathered_stays(behind: list[Any], protection: str | None) -> None:
    found = groups([message("assistant", call("a"), call("b")), *behind])
    assert found.groups[0].protection == protection
    assert (0, 0) in found.dropped, "a request cannot hold it for all that"
    waiting = groups([message("assistant", call("a"), call("b"))], behind)
    assert waiting.groups[0].protection in {protection, "input"}


@pytest.mark.parametrize("custom", [False, True])
@pytest.mark.parametrize(
    ("entries", "what"),
    [
        (lambda c: [message("assistant", call("x", custom=c), call("x", custom=c))], "calls"),
        (lambda c: [message("assistant", call("x", custom=c)), message("user", call("x", custom=c))], "calls"),
        (lambda c: [message("user", result("x", custom=c), result("x", custom=c))], "final results"),
        (lambda c: [message("user", result("x", custom=c)), native("x", custom=c)], "final results"),
        (lambda c: [native("x", custom=c), native("x", custom=c)], "final results"),
    ],
)
def test_11_5_an_id_used_twice_is_refused_with_both_places(entries: Any, what: str, custom: bool) -> None:
    with pytest.raises(AIError, match=f"Two {what}") as caught:
        groups([USER, *entries(custom)])
    error = caught.value
    assert isinstance(error, InvalidToolProtocolError)
    assert error.code == "INVALID_TOOL_PROTOCOL"
    assert (error.namespace, error.call_id) == ("custom" if custom else "function", "x")
    assert error.positions in {(1, 1), (1, 2)}


def test_11_5_places_count_through_the_input_and_two_calls_are_no_duplicate() -> None:
    with pytest.raises(InvalidToolProtocolError) as caught:
        groups(pair("a"), [message("user", result("a"))])
    assert caught.value.positions == (1, 2)
    groups([message("assistant", call("a"), call("b"), call("a", custom=True))])


def test_what_is_no_position_of_the_history_is_ignored() -> None:
    found = groups([USER, *pair("a"), USER], [message("user", "new")])
    assert found.removable([-1, 4, 5, 99, True, 1.0, "1", None]) == ()
    assert found.removable([2, 1, 1]) == (1, 2)
    assert protections(found)[-1] == "input"


def test_the_same_item_object_twice_is_told_apart_from_one() -> None:
    (entry,) = items(message("assistant", "a", call("x")))
    with pytest.raises(InvalidToolProtocolError) as caught:
        protocol_map([entry, entry], ())
    assert caught.value.positions == (0, 1)


def test_nothing_gives_nothing() -> None:
    found = protocol_map((), ())
    assert (found.groups, found.group_of, found.dropped) == ((), (), frozenset())
