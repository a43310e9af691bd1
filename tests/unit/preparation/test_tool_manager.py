"""The tools of a context (3.4, 4.4, 25a)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from playground.errors import InvalidInputError, InvalidRequestError, ToolExecutionError
from playground.preparation.tool_manager import ContextTool, ToolManager, as_context_tool
from playground.tools import Tool, ToolContext

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}


def weather(**changes: Any) -> ContextTool:
    fields: dict[str, Any] = {
        "name": "get_weather", "description": "Get weather", "parameters": SCHEMA,
        "execute": lambda given: given,
    }  # fmt: skip
    return ContextTool(**{**fields, **changes})


def manager(*tools: Any) -> ToolManager:
    made = ToolManager()
    for tool in tools:
        made.register(tool)
    return made


async def echo(given: Any, context: ToolContext) -> Mapping[str, Any]:
    return {"given": given, "call": context.tool_call_id}


def run(made: ToolManager, name: Any, arguments: Any = None, **more: Any) -> Any:
    return asyncio.run(made.execute(name, arguments, **more))


def test_25a_definitions_have_name_description_and_parameters() -> None:
    assert manager(weather()).definitions() == [
        {"name": "get_weather", "description": "Get weather", "parameters": SCHEMA}
    ]


def test_4_4_a_description_is_read_anew_for_every_request() -> None:
    said = ["first"]
    made = manager(weather(description=lambda: said[0]))
    assert made.definitions()[0]["description"] == "first"
    said[0] = "second"
    assert made.definitions()[0]["description"] == "second"


def test_3_4_a_description_that_is_no_text_is_told() -> None:
    with pytest.raises(InvalidInputError, match="get_weather"):
        manager(weather(description=lambda: None)).definitions()


def test_25a_tools_are_enabled_and_disabled_in_their_order() -> None:
    made = manager(*[weather(name=name) for name in "abc"])
    made.enable("a", False)
    assert ([tool["name"] for tool in made.definitions()], made.enabled("a")) == (["b", "c"], False)
    made.enable("a", True)
    made.disable("c")
    assert ([tool["name"] for tool in made.definitions()], made.names) == (["a", "b"], ("a", "b", "c"))


def test_25a_an_unknown_tool_cannot_be_enabled() -> None:
    with pytest.raises(InvalidRequestError, match="nothing"):
        manager().enable("nothing", True)


def test_3_4_a_second_tool_of_a_name_is_refused() -> None:
    made = manager(weather())
    with pytest.raises(InvalidRequestError, match="already registered"):
        made.register(weather())
    made.enable("get_weather", False)
    assert made.unregister("get_weather") is True
    assert made.unregister("get_weather") is False
    made.register(weather())
    assert made.enabled("get_weather")


def test_a_tool_may_say_itself_whether_it_is_shown() -> None:
    shown = [False]
    made = manager(weather(visible=lambda: shown[0]))
    assert made.definitions() == []
    with pytest.raises(ToolExecutionError, match="cannot be called"):
        run(made, "get_weather")
    shown[0] = True
    assert len(made.definitions()) == 1
    made.disable("get_weather")
    assert made.definitions() == []


def test_both_conditions_of_a_tool_in_a_group_count() -> None:
    own, group = [True], [True]
    tool = as_context_tool(weather(visible=lambda: own[0]), visible=lambda: group[0])
    made = manager(tool)
    assert made.enabled("get_weather")
    own[0] = False
    assert not made.enabled("get_weather")
    own[0], group[0] = True, False
    assert not made.enabled("get_weather")


def test_7_3_definitions_can_be_changed_without_harm() -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {}}
    made = manager(weather(parameters=schema))
    schema["properties"]["later"] = {}
    made.definitions()[0]["parameters"]["properties"]["other"] = {}
    assert made.definitions()[0]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""}, {"name": "a b"}, {"name": None}, {"name": "x" * 65}, {"description": None},
        {"description": 3}, {"parameters": {}}, {"parameters": None}, {"parameters": {"type": "array"}},
        {"execute": 1}, {"describe_call": "x"}, {"visible": True},
    ],
)  # fmt: skip
def test_a_malformed_tool_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError):
        weather(**changes)


@pytest.mark.parametrize("tool", [None, "get_weather", {}, {"name": 5}, {"function": {}}])
def test_what_is_no_tool_is_refused(tool: Any) -> None:
    with pytest.raises(InvalidInputError):
        manager(tool)


@pytest.mark.parametrize("arguments", [{"city": "Bern"}, '{"city": "Bern"}'])
def test_25a_a_call_takes_an_object_or_its_json(arguments: Any) -> None:
    assert run(manager(weather()), "get_weather", arguments) == {"city": "Bern"}


def test_a_call_may_have_no_input() -> None:
    assert [run(manager(weather()), "get_weather", *given) for given in ((), (None,), ("",))] == [{}, {}, {}]


def test_an_asynchronous_tool_is_awaited() -> None:
    async def later(given: Mapping[str, Any]) -> str:
        await asyncio.sleep(0)
        return f"rain in {given['city']}"

    assert run(manager(weather(execute=later)), "get_weather", {"city": "Bern"}) == "rain in Bern"


@pytest.mark.parametrize("arguments", ["{", "[1]", '"x"', 5, ["a"], "[" * 5_000, " "])
def test_malformed_input_is_told_to_the_model(arguments: Any) -> None:
    with pytest.raises(ToolExecutionError) as caught:
        run(manager(weather()), "get_weather", arguments)
    assert (caught.value.reason, caught.value.tool) == ("malformed", "get_weather")


@pytest.mark.parametrize("name", ["nothing", "", None, 5])
def test_an_unknown_tool_is_told_to_the_model(name: Any) -> None:
    with pytest.raises(ToolExecutionError) as caught:
        run(manager(weather()), name)
    assert caught.value.reason == "unknown-tool"


def test_a_disabled_tool_cannot_be_called() -> None:
    made = manager(weather())
    made.disable("get_weather")
    with pytest.raises(ToolExecutionError) as caught:
        run(made, "get_weather")
    assert caught.value.reason == "disabled"


def test_a_tool_of_the_other_kind_is_called_in_its_context() -> None:
    made = manager(Tool("echo", "Says it again", SCHEMA, echo))
    context = ToolContext(tool_call_id="c1", model_step=2)
    assert run(made, "echo", {"city": "Bern"}, context=context) == {"given": {"city": "Bern"}, "call": "c1"}
    with pytest.raises(InvalidRequestError, match="context"):
        run(made, "echo", {})


def test_a_definition_alone_is_shown_but_not_called() -> None:
    definition = {"name": "get_weather", "description": "Get weather", "parameters": SCHEMA}
    for given in (definition, {"type": "function", "function": definition}):
        made = manager(given)
        assert made.definitions() == [definition]
        with pytest.raises(InvalidRequestError, match="definition"):
            run(made, "get_weather", {})
    empty = {"type": "object", "properties": {}}
    assert manager({"name": "now"}).definitions() == [{"name": "now", "description": "", "parameters": empty}]


def test_12_a_call_is_described_and_failures_are_swallowed() -> None:
    made = manager(
        weather(describe_call=lambda given: f"weather of {given['city']}"),
        weather(name="silent"),
        weather(name="odd", describe_call=lambda given: 5),
    )
    assert made.describe_call("get_weather", '{"city": "Bern"}') == "weather of Bern"
    assert made.describe_call("get_weather", {"city": "Bern"}) == "weather of Bern"
    calls: list[tuple[str, Any]] = [("get_weather", {}), ("get_weather", "{"), ("silent", {}), ("odd", {})]
    for name, given in [*calls, ("nothing", {})]:
        assert made.describe_call(name, given) is None
