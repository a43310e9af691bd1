from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from playground import InvalidInputError, TokenEstimator
from playground.errors import ToolExecutionError
from playground.exports import to_anthropic, to_openai
from playground.working_memory.tools import working_memory_tools
from tests.unit.working_memory.helpers import (
    ADD,
    DROP,
    NOTE,
    READ,
    UPDATE,
    asked,
    call,
    memory,
    refusal,
    started,
)


def test_r240_the_prefix_names_the_three_tools() -> None:
    names = [tool.name for tool in working_memory_tools(memory=memory())]
    assert names == ["working_memory_read", "working_memory_add", "working_memory_update"]
    notes = working_memory_tools(memory=memory(), prefix="n" * 57)
    assert [tool.name for tool in notes] == ["n" * 57 + ending for ending in ("_read", "_add", "_update")]
    assert {tool.replay for tool in notes} == {"idempotent"}, "R241"


@pytest.mark.parametrize(
    "wrong",
    [
        {"agent_path": "main"},
        {"agent_path": [None]},
        {"memory": None},
        {"memory": started()},
    ],
)
def test_tools_of_something_else_are_refused_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        working_memory_tools(**{"memory": memory(), **wrong})


@pytest.mark.parametrize("prefix", ["", "n" * 58, "my memory", "a.b", "größe", "a\n", None])
def test_a_prefix_that_makes_no_name_of_a_tool_is_refused(prefix: Any) -> None:
    with pytest.raises(InvalidInputError, match="The prefix is"):
        working_memory_tools(memory=memory(), prefix=prefix)


def test_r240_providers_take_the_schemas() -> None:
    schemas = [tool.schema() for tool in working_memory_tools(memory=memory())]
    for schema in schemas:
        Draft202012Validator.check_schema(schema["parameters"])
        assert keywords(schema["parameters"]) <= {
            "type", "properties", "required", "additionalProperties", "items", "enum", "description",
            "minItems", "maxItems", "minLength", "maxLength",
        }  # fmt: skip
    anthropic = to_anthropic([], model_id="claude", max_tokens=1, tools=schemas)["tools"]
    openai = to_openai([], model_id="gpt-5", max_tokens=1, tools=schemas)["tools"]
    assert [tool["input_schema"] for tool in anthropic] == [schema["parameters"] for schema in schemas]
    assert [tool["function"]["parameters"] for tool in openai] == [schema["parameters"] for schema in schemas]
    assert json.loads(json.dumps([anthropic, openai])) == [anthropic, openai]
    assert TokenEstimator().overhead(schemas) < 1_200, "they are paid for with every request"


def keywords(schema: Any) -> set[str]:
    """Return every keyword of a schema; each object in it must say that it takes no other property."""
    found = set(schema)
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False
    for inner in schema.get("properties", {}).values():
        found |= keywords(inner)
    return found | keywords(schema["items"]) if "items" in schema else found


def test_r240_the_schemas_name_the_kinds_actions_and_numbers() -> None:
    _, add, update = (tool.parameters["properties"] for tool in working_memory_tools(memory=memory()))
    items, changes = add["items"], update["changes"]
    assert [(one["minItems"], one["maxItems"]) for one in (items, changes)] == [(1, 16), (1, 16)]
    item, change = items["items"], changes["items"]
    assert list(item["properties"]) == ["kind", "text", "rationale", "outcome", "detail", "evidence"]
    assert list(change["properties"]) == ["action", "id", "answer", "outcome", "detail"]
    kinds = ["observation", "hypothesis", "decision", "question", "attempt"]
    assert item["properties"]["kind"]["enum"] == kinds
    assert change["properties"]["action"]["enum"] == ["answer", "drop", "attempt", "remove"]
    assert (item["required"], change["required"]) == (["kind", "text"], ["action", "id"])


FITTING = [
    (READ, {}),
    (READ, {"sections": None}),
    (READ, {"sections": []}),
    (READ, {"sections": ["goal", "questions"]}),
    (ADD, {"items": [NOTE]}),
    (ADD, {"items": [NOTE] * 16}),
    (ADD, {"items": [{**NOTE, "rationale": None, "outcome": None, "detail": None, "evidence": None}]}),
    (ADD, {"items": [{**NOTE, "evidence": []}, {**NOTE, "evidence": ["a", "a"]}]}),
    (ADD, {"items": [{**NOTE, "evidence": [str(number) for number in range(16)]}]}),
    (ADD, {"items": [{**NOTE, "evidence": ["x" * 256]}]}),
    (ADD, {"items": [{"kind": "decision", "text": "x" * 1_000, "rationale": "y" * 1_000}]}),
    (ADD, {"items": [{"kind": "attempt", "text": "𝄞" * 1_000, "outcome": "failed", "detail": "\x00"}]}),
    (UPDATE, {"changes": [DROP]}),
    (UPDATE, {"changes": [{**DROP, "answer": None, "outcome": None, "detail": None}]}),
    (UPDATE, {"changes": [{"action": "answer", "id": "questions-1-0", "answer": "So."}]}),
    (UPDATE, {"changes": [{"action": "attempt", "id": "attempts-1-0", "outcome": "succeeded"}]}),
    (UPDATE, {"changes": [{"action": "attempt", "id": "attempts-1-0", "detail": "Green."}]}),
    (UPDATE, {"changes": [{"action": "remove", "id": "attempts-1-0"}]}),
]
UNFITTING: list[tuple[int, Any]] = [
    (READ, []),
    (READ, "goal"),
    (READ, {"sections": "goal"}),
    (READ, {"sections": ["operations"]}),
    (READ, {"sections": ["goal"] * 9}),
    (READ, {"all": True}),
    (ADD, {}),
    (ADD, []),
    (ADD, {"items": None}),
    (ADD, {"items": NOTE}),
    (ADD, {"items": [NOTE], "note": 1}),
    (ADD, {"items": ["The build is red."]}),
    (ADD, {"items": [{"kind": "observation"}]}),
    (ADD, {"items": [{"text": "x"}]}),
    (ADD, {"items": [{"kind": "goal", "text": "x"}]}),
    (ADD, {"items": [{"kind": "constraint", "text": "x"}]}),
    (ADD, {"items": [{"kind": None, "text": "x"}]}),
    (ADD, {"items": [{"kind": ["observation"], "text": "x"}]}),
    (ADD, {"items": [{**NOTE, "text": ""}]}),
    (ADD, {"items": [{**NOTE, "text": None}]}),
    (ADD, {"items": [{**NOTE, "text": 7}]}),
    (ADD, {"items": [{**NOTE, "text": True}]}),
    (ADD, {"items": [{**NOTE, "text": float("nan")}]}),
    (ADD, {"items": [{**NOTE, "text": ["x"]}]}),
    (ADD, {"items": [{**NOTE, "text": "x" * 1_001}]}),
    (ADD, {"items": [{**NOTE, "id": "observations-9-9"}]}),
    (ADD, {"items": [{**NOTE, "status": "accepted"}]}),
    (ADD, {"items": [{**NOTE, "writer": "host"}]}),
    (ADD, {"items": [{**NOTE, "sources": [{"kind": "host"}]}]}),
    (ADD, {"items": [{**NOTE, "evidence": "a"}]}),
    (ADD, {"items": [{**NOTE, "evidence": [1]}]}),
    (ADD, {"items": [{**NOTE, "evidence": [None]}]}),
    (ADD, {"items": [{**NOTE, "evidence": [""]}]}),
    (ADD, {"items": [{**NOTE, "evidence": ["a"] * 17}]}),
    (ADD, {"items": [{**NOTE, "evidence": ["x" * 257]}]}),
    (ADD, {"items": [{**NOTE, "evidence": {"a": 1}}]}),
    (ADD, {"items": [{"kind": "decision", "text": "x", "rationale": "y" * 1_001}]}),
    (ADD, {"items": [{"kind": "attempt", "text": "x", "outcome": "won"}]}),
    (ADD, {"items": [{"kind": "attempt", "text": "x", "outcome": True}]}),
    (ADD, {"items": [{"kind": "attempt", "text": "x", "detail": ""}]}),
    (UPDATE, {}),
    (UPDATE, {"items": [NOTE]}),
    (UPDATE, {"changes": [{"action": "drop"}]}),
    (UPDATE, {"changes": [{"id": "questions-1-0"}]}),
    (UPDATE, {"changes": [{"action": "accept", "id": "questions-1-0"}]}),
    (UPDATE, {"changes": [{**DROP, "id": ""}]}),
    (UPDATE, {"changes": [{**DROP, "id": 1}]}),
    (UPDATE, {"changes": [{**DROP, "id": "x" * 257}]}),
    (UPDATE, {"changes": [{**DROP, "text": "x"}]}),
    (UPDATE, {"changes": [{"action": "answer", "id": "questions-1-0", "answer": "x" * 1_001}]}),
    (UPDATE, {"changes": [{"action": "answer", "id": "questions-1-0", "answer": ["So."]}]}),
]


@pytest.mark.parametrize(("which", "data"), FITTING)
def test_r240_what_the_schema_takes_the_tool_takes(which: int, data: Any) -> None:
    tool = working_memory_tools(memory=asked())[which]
    assert Draft202012Validator(tool.parameters).is_valid(data)
    assert call(tool, data)


@pytest.mark.parametrize(("which", "data"), UNFITTING)
def test_r240_what_the_schema_refuses_the_tool_refuses(which: int, data: Any) -> None:
    found = asked()
    before = found.current()
    tool = working_memory_tools(memory=found)[which]
    assert not Draft202012Validator(tool.parameters).is_valid(data)
    assert refusal(tool, data).reason in {"malformed", "limit"}
    assert found.current() is before


@pytest.mark.parametrize("which", [ADD, UPDATE])
@pytest.mark.parametrize("number", [0, 17])
def test_r240_a_write_has_1_to_16_entries(which: int, number: int) -> None:
    found = asked()
    field, entry = ("items", NOTE) if which == ADD else ("changes", DROP)
    error = refusal(working_memory_tools(memory=found)[which], {field: [entry] * number})
    assert error.reason == "malformed"
    assert field in str(error)
    assert str(number) in str(error)


@pytest.mark.parametrize(
    ("which", "entry", "told"),
    [
        (ADD, {"kind": "observation", "text": "x", "rationale": "y"}, "items.0: rationale does not belong"),
        (ADD, {"kind": "hypothesis", "text": "x", "detail": "y"}, "items.0: detail does not belong"),
        (ADD, {"kind": "question", "text": "x", "outcome": "failed"}, "an item of the kind question"),
        (ADD, {"kind": "decision", "text": "x", "outcome": "failed"}, "an item of the kind decision"),
        (ADD, {"kind": "decision", "text": "x", "detail": "y"}, "an item of the kind decision"),
        (ADD, {"kind": "attempt", "text": "x", "rationale": "y"}, "an item of the kind attempt"),
        (UPDATE, {**DROP, "answer": "x"}, "changes.0: answer does not belong to the action drop"),
        (UPDATE, {"action": "remove", "id": "a", "detail": "x"}, "detail does not belong to the action remove"),
        (UPDATE, {"action": "attempt", "id": "a", "answer": "x", "detail": "y"}, "answer does not belong"),
        (
            UPDATE,
            {"action": "answer", "id": "a", "answer": "x", "outcome": "failed"},
            "outcome does not belong",
        ),
        (UPDATE, {"action": "answer", "id": "a"}, "changes.0: the action answer needs an answer"),
        (
            UPDATE,
            {"action": "attempt", "id": "a"},
            "changes.0: the action attempt needs an outcome or a detail",
        ),
    ],
)
def test_r240_a_field_that_does_not_belong_to_the_entry_is_refused(
    which: int, entry: dict[str, Any], told: str
) -> None:
    error = refusal(
        working_memory_tools(memory=memory())[which], {"items" if which == ADD else "changes": [entry]}
    )
    assert error.reason == "malformed"
    assert told in str(error)


VALUES = {"rationale": "y", "detail": "y", "outcome": "failed", "answer": "y"}
OWN = {
    "observation": set(), "hypothesis": set(), "question": set(), "decision": {"rationale"},
    "attempt": {"outcome", "detail"}, "drop": set(), "remove": set(), "answer": {"answer"},
}  # fmt: skip


@pytest.mark.parametrize("of", OWN)
def test_r240_each_kind_and_each_action_takes_its_own_fields_alone(of: str) -> None:
    def refused(which: int, data: dict[str, Any]) -> bool:
        try:
            call(working_memory_tools(memory=memory())[which], data)
        except ToolExecutionError as error:
            return error.reason == "malformed"
        return False

    for name, value in VALUES.items():
        own = name in OWN[of]
        if of in {"drop", "remove", "answer"}:
            if name != "rationale":  # no action has it, and the schema does not know it
                change = {"action": of, "id": "questions-1-0", "answer": "x" if of == "answer" else None}
                assert refused(UPDATE, {"changes": [{**change, name: value}]}) != own, name
        elif name != "answer":
            assert refused(ADD, {"items": [{"kind": of, "text": "x", name: value}]}) != own, name


def deep(levels: int = 100_000) -> list[Any]:
    inner: list[Any] = []
    for _ in range(levels):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    "data",
    [
        {"items": [{**NOTE, "text": "\ud83d"}]},
        {"items": [{**NOTE, "text": " \n"}]},
        {"items": [{"kind": "decision", "text": "x", "rationale": "\t"}]},
        {"items": [{**NOTE, "evidence": ["\udc00"]}]},
        {"items": [{**NOTE, "\ud800": "x"}]},
        {"items": [{**NOTE, "x" * 1_000_000: "x"}]},
        {"items": [{**NOTE, 1: "x"}]},
        {("items",): [NOTE]},
        {"items": [{**NOTE, "text": "x" * 1_000_000}]},
        {"items": [{**NOTE, "text": b"bytes"}]},
        {"items": [{**NOTE, "text": 10**5_000}]},
        {"items": [{**NOTE, "text": float("inf")}]},
        {"items": [{**NOTE, "evidence": ["x" * 1_000_000]}]},
        {"items": deep()},
        {"items": [{**NOTE, "text": deep()}]},
        {"items": [{**NOTE, "extra": deep()}]},
        {"items": [{str(number): number for number in range(10_000)}]},
        {"items": [object()]},
        {"items": [{**NOTE, "kind": "observation\n"}]},
    ],
    ids=lambda data: ascii(list(data))[:20],
)
def test_whatever_a_model_sends_it_gets_an_error_that_it_can_read(data: Any) -> None:
    found = memory()
    assert refusal(working_memory_tools(memory=found)[ADD], data).reason in {"malformed", "limit"}
    assert found.current() == started()
