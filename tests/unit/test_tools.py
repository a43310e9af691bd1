from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from pydantic import Field

from playground.cancel import CancelToken
from playground.errors import TOOL_MESSAGE_LENGTH, CallCancelledError, InvalidInputError, ToolExecutionError
from playground.exports import to_anthropic, to_openai
from playground.messages import Message, ToolUsePart
from playground.tokens import TokenEstimator
from playground.tools import Tool, ToolContext, ToolInput

EMPTY = {"type": "object", "properties": {}}


class Line(ToolInput):
    """One line of an order."""

    title: Annotated[str, Field(strict=True, min_length=1)]
    """What is ordered,
    in one word."""
    size: Literal["small", "large"] | None = None
    """How large."""
    notes: list[Annotated[str, Field(strict=True)]] | None = None


class Order(ToolInput):
    """An order."""

    lines: Annotated[list[Line], Field(min_length=1, max_length=2)]
    """What is wanted."""


async def nothing(data: Any, context: ToolContext) -> Mapping[str, Any]:
    return {}


def tool(**changes: Any) -> Tool:
    return Tool(
        **{"name": "order", "description": "Orders.", "parameters": EMPTY, "execute": nothing, **changes}
    )


def test_a_call_takes_its_history_in_either_form() -> None:
    call = {"type": "tool_use", "id": "a", "name": "look", "input": {}}
    context = ToolContext(
        "call-1",
        3,
        messages=[{"role": "assistant", "content": [call]}],  # type: ignore[arg-type]  # read as everywhere
        agent_path=["main"],  # type: ignore[arg-type]
    )
    assert context.messages == (Message("assistant", (ToolUsePart("a", "look", {}),)),)
    assert context.agent_path == ("main",)
    assert ToolContext("call-1", 3) == ToolContext("call-1", 3, (), None, ())


@pytest.mark.parametrize(
    "wrong",
    [
        {"tool_call_id": ""},
        {"tool_call_id": None},
        {"model_step": -1},
        {"model_step": True},
        {"model_step": 1.5},
        {"messages": "Hello."},
        {"agent_path": "main"},
        {"agent_path": [1]},
        {"agent_path": None},
        {"signal": 5},
    ],
)
def test_a_call_that_its_host_describes_wrongly_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        ToolContext(**{"tool_call_id": "call-1", "model_step": 0, **wrong})


def test_a_call_stops_where_its_signal_is_set() -> None:
    signal = CancelToken()
    context = ToolContext("call-1", 0, signal=signal)
    context.raise_if_cancelled()
    ToolContext("call-1", 0).raise_if_cancelled()
    signal.cancel()
    with pytest.raises(CallCancelledError):
        context.raise_if_cancelled()


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "a" * 65},
        {"name": "working memory"},
        {"name": "größe"},
        {"name": "order\n"},
        {"name": None},
        {"description": ""},
        {"description": None},
        {"parameters": {}},
        {"parameters": {"type": "array"}},
        {"parameters": "{}"},
        {"execute": None},
        {"replay": "always"},
    ],
)
def test_a_tool_that_no_provider_takes_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        tool(**wrong)


def test_a_tool_is_shown_and_counted_as_the_exports_and_the_estimator_take_it() -> None:
    shown = tool(name="a" * 64, parameters=Order.parameters()).schema()
    anthropic = to_anthropic([], model_id="claude", max_tokens=1, tools=[shown])["tools"]
    assert anthropic == [
        {"name": "a" * 64, "description": "Orders.", "input_schema": Order.parameters()},
    ]
    openai = to_openai([], model_id="gpt-5", max_tokens=1, tools=[shown])["tools"]
    assert openai[0]["function"] == {
        "name": "a" * 64, "description": "Orders.", "parameters": Order.parameters()
    }  # fmt: skip
    assert TokenEstimator().overhead([shown]) > TokenEstimator().overhead([tool().schema()]) > 0


def test_whoever_changes_a_shown_schema_does_not_change_the_tool() -> None:
    orders = tool(parameters=Order.parameters())
    orders.schema()["parameters"]["properties"].clear()
    assert orders.schema()["parameters"] == Order.parameters()


def test_the_schema_of_an_input_stands_inline_without_what_providers_refuse() -> None:
    line = {
        "type": "object",
        "description": "One line of an order.",
        "properties": {
            "title": {"type": "string", "minLength": 1, "description": "What is ordered, in one word."},
            "size": {
                "type": ["string", "null"],
                "enum": ["small", "large", None],
                "description": "How large.",
            },
            "notes": {"type": ["array", "null"], "items": {"type": "string"}},
        },
        "required": ["title"],
        "additionalProperties": False,
    }
    lines = {"type": "array", "items": line, "minItems": 1, "maxItems": 2, "description": "What is wanted."}
    schema = Order.parameters()
    assert schema == {
        "type": "object", "properties": {"lines": lines}, "required": ["lines"], "additionalProperties": False
    }  # fmt: skip
    Draft202012Validator.check_schema(schema)


def test_null_is_read_as_an_absent_field_and_as_an_empty_input() -> None:
    class Nothing(ToolInput):
        """Nothing."""

    assert Nothing.read(None, tool="look") == Nothing()
    stated = {"lines": [{"title": "tea", "size": None, "notes": None}]}
    assert Order.read(stated, tool="order") == Order.read({"lines": [{"title": "tea"}]}, tool="order")


def test_a_model_is_told_the_first_fields_that_do_not_fit() -> None:
    lines = [{"title": 1}, {"title": "tea", "size": "huge", "weight": 3}]
    with pytest.raises(ToolExecutionError) as caught:
        Order.read({"lines": lines, "speed": "fast"}, tool="order")
    assert (caught.value.tool, caught.value.reason) == ("order", "malformed")
    assert str(caught.value) == (
        "The input does not fit: lines.0.title: Input should be a valid string; "
        "lines.1.size: Input should be 'small' or 'large'; "
        "lines.1.weight: Extra inputs are not permitted; and 1 more."
    )


def test_what_a_model_is_told_is_bounded_and_encodes_whatever_it_sent() -> None:
    for key in ("x" * 100_000, "\ud800", "a\nb", (1, 2), 10**5000):
        with pytest.raises(ToolExecutionError) as caught:
            Order.read({key: 1}, tool="order")
        assert len(str(caught.value)) <= TOOL_MESSAGE_LENGTH
        assert "\n" not in str(caught.value)
        str(caught.value).encode()


def test_a_tool_is_carried_out_from_synchronous_code_too_even_inside_a_running_loop() -> None:
    async def echo(data: Any, context: ToolContext) -> Mapping[str, Any]:
        return {"data": data, "step": context.model_step}

    tool = Tool("echo", "Echoes.", {"type": "object"}, echo)
    context = ToolContext(tool_call_id="c", model_step=2)

    async def notebook() -> Mapping[str, Any]:
        return tool.execute_sync("x", context)

    assert asyncio.run(notebook()) == {"data": "x", "step": 2}


def test_a_call_needs_a_context() -> None:
    async def echo(data: Any, context: ToolContext) -> Mapping[str, Any]:
        return {}

    with pytest.raises(InvalidInputError, match="ToolContext"):
        Tool("echo", "Echoes.", {"type": "object"}, echo).execute_sync({}, None)  # type: ignore[arg-type]


def test_input_comes_as_json_text_too() -> None:
    assert Line.read('{"title": "tea", "size": null}', tool="t") == Line(title="tea")
    for text, said in (
        ("{", "not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ('"tea"', "object"),
        ("[]", "object"),
    ):
        with pytest.raises(ToolExecutionError, match=said) as caught:
            Line.read(text, tool="t")
        assert caught.value.reason == "malformed"
        assert "Line" not in str(caught.value)
