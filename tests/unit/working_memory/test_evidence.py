from __future__ import annotations

from typing import Any

import pytest

from playground import Message
from playground.digests import text_digest
from playground.messages import COMPACTION_SUMMARY, TextPart, ToolResultPart
from playground.working_memory.tools import working_memory_tools
from tests.unit.working_memory.helpers import ADD, NOTE, call, memory, refusal, started, used


def cited(ids: list[str], *, messages: tuple[Message, ...] = (), **more: Any) -> list[dict[str, Any]]:
    """Return the sources of an item that cites the ids."""
    found = memory()
    call(
        working_memory_tools(memory=found)[ADD],
        {"items": [{**NOTE, "evidence": ids}]},
        messages=messages,
        **more,
    )
    return [source.model_dump(exclude_none=True) for source in found.current().observations[0].sources]


def test_evidence_becomes_references_with_the_digests_of_the_results() -> None:
    data = {"lines": ["größer", 2]}
    messages = used("a", "b", "c", results={"a": "Red.", "b": data})
    assert cited(["b", "a", "c", "a"], messages=messages) == [
        {"kind": "tool", "tool_call_id": "b", "digest": text_digest('{"lines":["größer",2]}')},
        {"kind": "tool", "tool_call_id": "a", "digest": text_digest("Red.")},
        {"kind": "tool", "tool_call_id": "c"},
    ]


def test_each_item_has_its_own_evidence() -> None:
    found = memory()
    items = [{**NOTE, "evidence": ["a"]}, NOTE, {**NOTE, "evidence": ["b"]}]
    call(working_memory_tools(memory=found)[ADD], {"items": items}, messages=used("a", "b"))
    sources = [item.sources for item in found.current().observations]
    assert [[(one.kind, one.tool_call_id) for one in each] for each in sources] == [
        [("tool", "a")], [("model", None)], [("tool", "b")]
    ]  # fmt: skip


def test_no_evidence_leaves_the_model_as_the_source() -> None:
    assert cited([]) == [{"kind": "model"}]


def test_a_result_that_compaction_pruned_has_no_digest() -> None:
    messages = used("a", "b", results={"a": "[pruned 1234 chars]", "b": "It says [pruned 5 chars]."})
    assert [source.get("digest") for source in cited(["a", "b"], messages=messages)] == [
        None, text_digest("It says [pruned 5 chars].")
    ]  # fmt: skip


def test_a_result_belongs_to_the_last_call_of_its_id() -> None:
    messages = (*used("a", results={"a": "Old."}), *used("a"))
    assert cited(["a"], messages=messages) == [{"kind": "tool", "tool_call_id": "a"}]
    messages = (*used("a", results={"a": "Old."}), *used("a", results={"a": "New."}))
    assert cited(["a"], messages=messages)[0]["digest"] == text_digest("New.")


@pytest.mark.parametrize(
    ("ids", "messages"),
    [
        (["call-1"], ()),
        (["call-1"], used("call-1", results={"call-1": "Earlier."})),
        (["call-1"], (Message("user", f"{COMPACTION_SUMMARY}\nThey talked."),)),
        (["a", "b"], used("a", results={"a": "Red."})),
        (["b"], (*used("a"), Message("tool", (ToolResultPart("b", "An orphan."),)))),
        (["b"], (Message("user", "Go on."),)),
        (["x" * 256], used("a")),
    ],
)
def test_evidence_that_cannot_be_an_earlier_call_is_refused(
    ids: list[str], messages: tuple[Message, ...]
) -> None:
    found = memory()
    data = {"items": [NOTE, {**NOTE, "evidence": ids}]}
    error = refusal(working_memory_tools(memory=found)[ADD], data, messages=messages)
    assert error.reason == "evidence"
    assert ids[-1][:20] in str(error)
    assert found.current() == started()


@pytest.mark.parametrize(
    "messages",
    [
        (),
        (Message("user", f"{COMPACTION_SUMMARY}\nThey talked."), *used("b")),
        (Message("user", (TextPart(f"{COMPACTION_SUMMARY}\nThey talked."),)),),
    ],
)
def test_evidence_is_taken_on_trust_where_earlier_calls_cannot_be_seen(messages: tuple[Message, ...]) -> None:
    assert cited(["a"], messages=messages) == [{"kind": "tool", "tool_call_id": "a"}]


@pytest.mark.parametrize(
    "later",
    [
        (),
        used("other"),
        used("a", results={"a": "[pruned 4 chars]"}),
        (Message("user", f"{COMPACTION_SUMMARY}\nThey talked."),),
        used("a", results={"a": "Red."}),
    ],
)
def test_r241_a_replay_is_recognised_though_its_evidence_has_left_the_history(
    later: tuple[Message, ...],
) -> None:
    found = memory()
    add = working_memory_tools(memory=found)[ADD]
    data = {"items": [{**NOTE, "evidence": ["a", "b"]}]}
    call(add, data, messages=used("a", "b", results={"a": "Red."}))
    call(
        add,
        {"items": [{**NOTE, "evidence": ["b"]}]},
        call_id="call-2",
        messages=used("b", results={"b": "Late."}),
    )
    after = found.current()
    assert call(add, data, messages=used("a", "b", results={"a": "Red."})) == {
        "status": "duplicate",
        "revision": 1,
    }
    assert found.current() is after
    if later:
        found.apply(
            {
                "operation_id": "r",
                "expected_revision": 2,
                "writer": "host",
                "operations": [{"op": "remove-item", "id": f"observations-{n}-0"} for n in (1, 2)],
            }
        )
    assert call(add, data, messages=later)["status"] == "duplicate"
