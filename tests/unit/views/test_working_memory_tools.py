"""The model's tools in words: schemas with their cost, inputs to start from, receipts and errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from playground.concurrency import run_sync
from playground.errors import InvalidInputError, ToolExecutionError
from playground.tokens import TokenEstimator
from playground.tools import Tool, ToolContext
from playground.views.working_memory_tools import (
    answered,
    failed,
    parsed_input,
    patch_view,
    pretty,
    sample_input,
    sample_patch,
    tools_total,
    tools_view,
)
from playground.working_memory import WorkingMemorySnapshot, apply_working_memory_patch
from playground.working_memory.handle import InMemoryWorkingMemory
from playground.working_memory.tools import working_memory_tools
from tests.unit.views.memories import NOON, filled, started


def tools(snapshot: WorkingMemorySnapshot) -> tuple[Tool, ...]:
    return working_memory_tools(memory=InMemoryWorkingMemory(snapshot))


def call(tool: Tool, data: Any) -> dict[str, Any]:
    async def called() -> dict[str, Any]:
        return dict(await tool.execute(data, ToolContext(tool_call_id="c", model_step=0)))

    return run_sync(called())


def test_each_tool_has_its_schema_and_what_it_costs() -> None:
    found = tools(filled())
    views = tools_view(found, TokenEstimator())
    assert [view.name for view in views] == [tool.name for tool in found]
    assert [json.loads(view.schema) for view in views] == [tool.parameters for tool in found]
    sizes = [TokenEstimator().overhead([tool.schema()]) for tool in found]
    assert [view.total for view in views] == [f"would add {size} tokens to every request" for size in sizes]
    assert tools_total(found, TokenEstimator()) == (
        f"3 tools · would add {sum(sizes):,} tokens to every request; not counted above"
    )


@pytest.mark.parametrize("snapshot", [filled(), started()], ids=["filled", "started"])
def test_the_inputs_to_start_from_fit_the_tools(snapshot: WorkingMemorySnapshot) -> None:
    read, add, _ = tools(snapshot)
    update = tools(snapshot)[2]  # of a memory of its own, without what was just added
    assert call(read, json.loads(sample_input("read", snapshot)))["revision"] == snapshot.revision
    assert call(add, json.loads(sample_input("add", snapshot)))["status"] == "applied"
    change = json.loads(sample_input("update", snapshot))
    if snapshot.questions:
        assert call(update, change)["status"] == "applied"
    else:
        with pytest.raises(ToolExecutionError, match="the id of an item that the model wrote"):
            call(update, change)


def test_an_update_to_start_from_names_an_item_that_the_model_may_change() -> None:
    snapshot = filled()
    (own,) = (question.id for question in snapshot.questions)
    for operation in (
        {"op": "drop-question", "id": own},
        {"op": "answer-question", "id": own, "answer": "No."},
    ):
        patch = {"operationId": "host", "expectedRevision": snapshot.revision, "writer": "host"}
        settled = apply_working_memory_patch(snapshot, {**patch, "operations": [operation]}, now=NOON).snapshot
        assert own not in sample_input("update", settled)
        assert call(tools(settled)[2], json.loads(sample_input("update", settled)))["status"] == "applied"


def test_the_patch_to_start_from_is_for_the_present_revision() -> None:
    snapshot = filled()
    patch = json.loads(sample_patch(snapshot, "model"))
    assert patch["writer"] == "model"
    assert apply_working_memory_patch(snapshot, patch, now=NOON).status == "applied"
    assert "operations" in json.loads(patch_view().schema)["properties"]


@pytest.mark.parametrize("text", ["", "{", "{'a': 1}", "[" * 100_000])
def test_what_is_no_json_is_said_with_a_remedy(text: str) -> None:
    with pytest.raises(InvalidInputError, match="no JSON") as caught:
        parsed_input(text)
    assert caught.value.remedy


def test_a_receipt_and_an_error_are_told_apart() -> None:
    receipt = answered("working_memory_add", {"status": "applied", "revision": 3})
    assert (receipt.title, receipt.failed) == ("working_memory_add answered: applied", False)
    assert json.loads(receipt.body) == {"status": "applied", "revision": 3}
    assert answered("working_memory_read", {"revision": 3}).title == "working_memory_read answered"
    refused = failed("working_memory_add", ToolExecutionError("Too long.", tool="t", reason="limit"))
    assert (refused.title, refused.body, refused.failed) == (
        "working_memory_add failed: limit",
        "Too long.",
        True,
    )
    assert (
        failed("working_memory_add", InvalidInputError("No JSON.")).title == "working_memory_add was not called"
    )
    assert failed("The patch", InvalidInputError("No."), sent="sent").title == "The patch was not sent"


def test_json_for_people_holds_half_a_character_as_its_escape() -> None:
    assert pretty({"a": "\ud83d"}) == '{\n  "a": "\\ud83d"\n}'


def test_an_answer_has_an_end_and_json_to_send_again_does_not() -> None:
    long = {"text": "x" * 90_000}
    assert answered("working_memory_read", long).body.endswith("…")
    assert json.loads(pretty(long)) == long
