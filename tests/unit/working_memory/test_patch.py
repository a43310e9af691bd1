"""Patches as values: what makes two of them the same, what may be empty, and their JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from playground import InvalidInputError
from playground.working_memory import WorkingMemoryPatch

OBSERVE = {"op": "add-observation", "text": "x"}
CITES = {"kind": "tool", "toolCallId": "a"}


def patch(*operations: dict[str, Any], **more: Any) -> WorkingMemoryPatch:
    return WorkingMemoryPatch.parse(
        {"operationId": "a", "expectedRevision": 0, "writer": "host", "operations": operations, **more}
    )


def test_r229_who_wants_what_makes_a_patch_the_same_and_not_its_id_or_revision() -> None:
    same = patch(OBSERVE).digest
    assert same.startswith("sha256:")
    assert patch(OBSERVE, operationId="b", expectedRevision=7).digest == same
    assert patch({**OBSERVE, "sources": None}).digest == same
    others = [
        patch(OBSERVE, writer="model"),
        patch(OBSERVE, OBSERVE),
        patch({"op": "add-question", "text": "x"}),
        patch({**OBSERVE, "sources": []}),
        patch({**OBSERVE, "sources": [CITES]}),
        patch({**OBSERVE, "sources": [{**CITES, "step": 1}]}),
        patch({**OBSERVE, "sources": [CITES, CITES]}),
        patch(OBSERVE, {"op": "add-question", "text": "x"}),
        patch({"op": "add-question", "text": "x"}, OBSERVE),
    ]
    assert len({same, *(other.digest for other in others)}) == 10


def test_what_is_said_beside_a_text_may_be_empty() -> None:
    assert patch(
        {"op": "add-decision", "text": "x", "rationale": ""},
        {"op": "record-attempt", "text": "x", "outcome": "failed", "detail": ""},
        {"op": "update-attempt", "id": "a", "detail": ""},
        {"op": "set-tasks", "list": [{"title": "x", "notes": ""}]},
    )


@pytest.mark.parametrize(
    ("operation", "field"),
    [
        ({"op": "set-goal"}, "text"),
        ({"op": "add-constraint"}, "text"),
        ({"op": "add-observation"}, "text"),
        ({"op": "add-hypothesis"}, "text"),
        ({"op": "add-decision"}, "text"),
        ({"op": "add-question"}, "text"),
        ({"op": "record-attempt", "outcome": "failed"}, "text"),
        ({"op": "answer-question", "id": "q"}, "answer"),
    ],
    ids=str,
)
@pytest.mark.parametrize("blank", ["", " ", "\n\t\u2003"], ids=ascii)
def test_r231_a_text_that_says_nothing_is_malformed(operation: dict[str, Any], field: str, blank: str) -> None:
    assert patch({**operation, field: f"{blank}x"})
    with pytest.raises(InvalidInputError):
        patch({**operation, field: blank})


def test_an_id_may_be_blank_where_a_snapshot_has_such_a_one() -> None:
    assert patch({"op": "remove-item", "id": " "}, {"op": "set-active-task", "id": " "})


@pytest.mark.parametrize("task", ["", " ", {"title": ""}, {"id": "", "title": "x"}, {"id": "a"}], ids=repr)
def test_r231_a_task_has_a_title_and_no_empty_id(task: Any) -> None:
    with pytest.raises(InvalidInputError):
        patch({"op": "set-tasks", "list": [task]})


@pytest.mark.parametrize(
    "operation", [{"op": "set-goal", "text": None}, {"op": "set-active-task", "id": None}], ids=repr
)
def test_null_that_means_something_stays_in_the_json_of_a_patch(operation: dict[str, Any]) -> None:
    cleared = patch(operation)
    assert json.loads(cleared.to_json())["operations"] == [operation]
    assert WorkingMemoryPatch.from_json(cleared.to_json()) == cleared
    name = next(name for name in operation if name != "op")
    with pytest.raises(InvalidInputError):
        patch({"op": operation["op"]})
    assert json.loads(patch({**operation, name: "x"}).to_json())["operations"] == [{**operation, name: "x"}]
