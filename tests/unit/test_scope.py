from __future__ import annotations

import pytest

from playground import InvalidInputError, MemoryScope
from playground.scope import MemorySourceRef, narrow


@pytest.mark.parametrize(
    ("record", "query", "expected"),
    [
        ({"user_id": "ada"}, {"user_id": "ada"}, True),
        ({"user_id": "ada"}, {"user_id": "bob"}, False),
        ({"user_id": "ada", "chat_id": "1"}, {"user_id": "ada"}, True),
        ({"user_id": "ada"}, {"user_id": "ada", "chat_id": "1"}, False),
        ({"user_id": "ada"}, {}, True),
        ({}, {"user_id": "ada"}, False),
        ({"user_id": "ada"}, {"user_id": "ADA"}, False),
        ({"user_id": "ada*"}, {"user_id": "ada"}, False),
        ({"user_id": "ada"}, {"user_id": ""}, True),
    ],
)
def test_a_record_matches_by_equality_on_every_field_that_the_query_sets(
    record: dict[str, str], query: dict[str, str], expected: bool
) -> None:
    assert MemoryScope(**record).matches(MemoryScope(**query)) is expected


def test_r185_a_request_may_add_fields_to_a_pinned_scope() -> None:
    pinned = MemoryScope(user_id="ada")
    assert narrow(pinned, MemoryScope(chat_id="1")) == MemoryScope(user_id="ada", chat_id="1")
    assert narrow(pinned, MemoryScope(user_id="ada", run_id="r")) == MemoryScope(user_id="ada", run_id="r")


def test_r186_a_request_cannot_change_a_pinned_field() -> None:
    with pytest.raises(InvalidInputError, match="user_id") as caught:
        narrow(MemoryScope(user_id="ada"), MemoryScope(user_id="bob"))
    assert isinstance(caught.value, TypeError)
    assert "ada" not in str(caught.value)


def test_r187_a_request_that_leaves_a_pinned_field_out_does_not_widen_it() -> None:
    pinned = MemoryScope(user_id="ada", chat_id="1")
    assert narrow(pinned, MemoryScope()) == pinned
    assert narrow(pinned, MemoryScope(user_id="")) == pinned


def test_scopes_are_frozen_hashable_and_closed() -> None:
    scope = MemoryScope(user_id="ada")
    assert hash(scope) == hash(MemoryScope(user_id="ada"))
    with pytest.raises(InvalidInputError):
        MemoryScope.parse({"tenant": "x"})
    assert MemoryScope.parse({"userId": "ada"}) == scope


def test_a_reference_says_what_kind_of_source_it_cites() -> None:
    reference = MemorySourceRef(kind="tool", tool_call_id="call-1")
    assert reference.model_dump(by_alias=True, exclude_none=True) == {"kind": "tool", "toolCallId": "call-1"}
    with pytest.raises(InvalidInputError):
        MemorySourceRef.parse({"kind": "rumour"})


@pytest.mark.parametrize(
    "field",
    [{"step": True}, {"step": "3"}, {"step": 1.0}, {"step": -1}, {"step": 2**60}, {"id": b"x"}],
    ids=repr,
)
def test_a_reference_takes_no_value_of_another_type(field: dict[str, object]) -> None:
    assert MemorySourceRef(kind="tool", id="\ud800", step=0).step == 0
    with pytest.raises(InvalidInputError):
        MemorySourceRef.parse({"kind": "tool", **field})
