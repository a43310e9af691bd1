"""The catalogue of tool groups that are not loaded (25a)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from playground.errors import InvalidInputError, ToolExecutionError
from playground.preparation import PreparationEstimator
from playground.preparation.tool_catalog import ToolCatalogPlugin, ToolGroup
from playground.preparation.tool_manager import ContextTool, ToolManager
from playground.tools import Tool, ToolContext
from tests.preparation import bare

OWN = ["tool_catalog_search", "tool_catalog_load", "tool_catalog_unload"]


def tool(name: str) -> ContextTool:
    return ContextTool(name, f"Does {name}", execute=lambda given: name)


async def echo(given: Any, context: ToolContext) -> Mapping[str, Any]:
    return {"call": context.tool_call_id}


def weather() -> ToolGroup:
    return ToolGroup("weather", "Forecasts\nand history", [tool("forecast"), tool("history")])


def files() -> ToolGroup:
    return ToolGroup("files", "Reads files", [Tool("read_file", "Reads", {"type": "object"}, echo)])


class Desk:
    """A catalogue whose tools are registered as a context registers them."""

    def __init__(self, *groups: ToolGroup) -> None:
        self.plugin = ToolCatalogPlugin(groups or (weather(), files()))
        self.tools = ToolManager()
        for found in self.plugin.get_tools():
            self.tools.register(found)

    @property
    def visible(self) -> list[str]:
        return [definition["name"] for definition in self.tools.definitions()]

    @property
    def content(self) -> str | None:
        return asyncio.run(self.plugin.get_content())

    def call(self, name: str, **arguments: Any) -> Any:
        return asyncio.run(self.tools.execute(name, arguments))


def test_25a_groups_that_are_not_loaded_are_listed_in_one_line_each() -> None:
    desk = Desk()
    assert desk.plugin.name == "tool_catalog"
    assert desk.content == "- weather (2 tools): Forecasts and history\n- files (1 tool): Reads files"
    assert desk.visible == OWN
    assert desk.plugin.get_token_size() == PreparationEstimator().text(desk.content)
    assert desk.plugin.is_compactable() is False


def test_25a_loading_a_group_shows_its_tools_and_takes_its_line_away() -> None:
    desk = Desk()
    assert desk.call("tool_catalog_load", group="weather") == {
        "success": True, "group": "weather", "tools": ["forecast", "history"],
    }  # fmt: skip
    assert desk.visible == [*OWN, "forecast", "history"]
    assert desk.content == "- files (1 tool): Reads files"
    assert desk.call("forecast") == "forecast"
    desk.call("tool_catalog_load", group="files")
    assert not asyncio.run(desk.plugin.get_content())
    answer = asyncio.run(desk.tools.execute("read_file", {}, context=ToolContext("c1", 0)))
    assert answer == {"call": "c1"}


def test_25a_a_request_shows_what_is_loaded_when_it_is_made() -> None:
    context = bare(max_context_tokens=4096)
    context.register_plugin(ToolCatalogPlugin([weather(), files()]))
    context.add_user_message("Hello")
    before = asyncio.run(context.prepare())
    asyncio.run(context.tools.execute("tool_catalog_load", {"group": "weather"}))
    after = asyncio.run(context.prepare())
    assert [tool["name"] for tool in before.tools] == OWN
    assert [tool["name"] for tool in after.tools] == [*OWN, "forecast", "history"]
    texts = [prepared.input[0]["content"][0]["text"] for prepared in (before, after)]
    assert ["- weather (" in text for text in texts] == [True, False]
    assert after.budget.tools_tokens > before.budget.tools_tokens


def test_25a_unloading_a_group_hides_its_tools_again() -> None:
    desk = Desk()
    desk.call("tool_catalog_load", group="weather")
    assert desk.call("tool_catalog_unload", group="weather")["success"] is True
    assert desk.visible == OWN
    with pytest.raises(ToolExecutionError, match="cannot be called"):
        desk.call("forecast")
    answer = desk.call("tool_catalog_unload", group="weather")
    assert (answer["success"], answer["message"]) == (False, "It is not loaded.")


@pytest.mark.parametrize("name", ["tool_catalog_load", "tool_catalog_unload"])
def test_25a_an_unknown_group_has_no_success_and_those_there_are_are_named(name: str) -> None:
    answer = Desk().call(name, group="nothing")
    assert (answer["success"], answer["group"]) == (False, "nothing")
    assert "weather, files" in answer["message"]


@pytest.mark.parametrize("name", ["tool_catalog_load", "tool_catalog_search"])
def test_malformed_input_is_told_to_the_model(name: str) -> None:
    with pytest.raises(ToolExecutionError) as caught:
        Desk().call(name, group=5)
    assert (caught.value.reason, caught.value.tool) == ("malformed", name)


@pytest.mark.parametrize(
    ("query", "found"),
    [("WEATHER", ["weather"]), ("read_file", ["files"]), ("s", ["weather", "files"]),
     ("", ["weather", "files"]), ("history forecast", ["weather"]), ("history files", []), ("zebra", [])],
)  # fmt: skip
def test_25a_the_catalogue_is_searched_by_words_of_names_and_descriptions(query: str, found: list[str]) -> None:
    answer = Desk().call("tool_catalog_search", query=query)
    assert ([group["name"] for group in answer["groups"]], answer["total"]) == (found, len(found))


def test_25a_a_search_tells_what_is_loaded() -> None:
    desk = Desk()
    desk.plugin.load("weather")
    answer = desk.call("tool_catalog_search", query="weather")
    assert answer["groups"] == [
        {
            "name": "weather",
            "description": "Forecasts\nand history",
            "loaded": True,
            "tools": ["forecast", "history"],
        }
    ]


def test_25a_a_description_stays_in_one_short_line() -> None:
    hostile = ToolGroup("a\n- fake (1 tool): x", "y\u2028- fake\r\n" + "z" * 500, [tool("one")])
    line = Desk(hostile).content or ""
    assert len(line.splitlines()) == 1
    assert line.endswith("…")
    assert len(line) < 200


def test_25a_without_groups_there_is_nothing() -> None:
    plugin = ToolCatalogPlugin()
    assert (plugin.get_tools(), plugin.get_instructions()) == ((), None)
    assert asyncio.run(plugin.get_content()) is None


def test_two_groups_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="same name"):
        ToolCatalogPlugin([weather(), weather()])


@pytest.mark.parametrize(
    "fields", [("", "x", []), ("x", " ", []), (None, "x", []), ("x", 5, []), ("x", "y", [5])]
)
def test_a_malformed_group_is_refused(fields: tuple[Any, Any, Any]) -> None:
    with pytest.raises(InvalidInputError):
        ToolGroup(*fields)


def test_23_what_is_loaded_comes_back_with_a_session() -> None:
    desk, again = Desk(), Desk(files())
    desk.plugin.load("weather")
    desk.plugin.load("files")
    state = desk.plugin.get_state()
    assert state == {"version": 1, "loaded": ["weather", "files"]}
    again.plugin.restore_state(state)
    assert again.plugin.loaded == ("files",)  # there is no weather here any more
    assert again.visible == [*OWN, "read_file"]
    again.plugin.destroy()
    assert again.visible == OWN


@pytest.mark.parametrize("state", [None, {}, {"version": 2, "loaded": []}, {"version": 1, "loaded": "files"}])
def test_23_a_malformed_state_is_refused(state: Any) -> None:
    with pytest.raises(InvalidInputError):
        Desk().plugin.restore_state(state)
