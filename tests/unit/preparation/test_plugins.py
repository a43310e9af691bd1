"""Plugins of a context: order, tools, stores (3.3, 3.4)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from playground.errors import InvalidInputError, InvalidRequestError
from playground.preparation import (
    AgentContext,
    BasePlugin,
    ContextTool,
    InContextMemoryPlugin,
    ToolCatalogPlugin,
    ToolGroup,
    WorkingMemoryPlugin,
)
from playground.preparation.store_overview import STORE_TOOLS
from tests.preparation import ScriptedPlugin
from tests.unit.preparation.calls import prepare, stubbed


class Tooled(BasePlugin):
    """Brings tools of the names that it is given."""

    def __init__(self, name: str, *tools: str) -> None:
        self.name = name
        self.names = tools

    def get_tools(self) -> list[Any]:
        return [ContextTool(name, f"Does {name}.") for name in self.names]


def test_two_plugins_of_one_name_are_refused() -> None:
    """3.4."""
    context, _ = stubbed()
    first = ScriptedPlugin("same")
    context.register_plugin(first)
    with pytest.raises(InvalidRequestError, match="same is already registered"):
        context.register_plugin(ScriptedPlugin("same"))
    assert list(context.plugins.values()) == [first]


def test_contents_and_instructions_come_in_the_order_of_registration() -> None:
    """3.2, 3.4."""
    context, _ = stubbed()
    for name in ("zulu", "alpha"):
        context.register_plugin(ScriptedPlugin(name, [f"content of {name}"], instructions=f"use of {name}"))
    text = prepare(context).input[0]["content"][0]["text"]
    parts = ["use of zulu", "use of alpha", "content of zulu", "content of alpha"]
    assert sorted(parts, key=text.index) == parts


def test_tools_of_plugins_are_the_contexts() -> None:
    """3.4."""
    context, _ = stubbed()
    context.register_plugin(Tooled("a", "one", "two"))
    assert [tool["name"] for tool in prepare(context).tools] == ["one", "two"]
    context.tools.enable("one", False)
    assert [tool["name"] for tool in prepare(context).tools] == ["two"]


def test_a_plugin_whose_tool_is_taken_adds_nothing() -> None:
    context, _ = stubbed()
    context.register_plugin(Tooled("a", "taken"))
    with pytest.raises(InvalidRequestError, match="taken"):
        context.register_plugin(Tooled("b", "free", "taken"))
    assert context.tools.names == ("taken",)
    assert list(context.plugins) == ["a"]


def test_the_five_store_tools_come_once_with_the_first_store() -> None:
    """3.4: and serve every store."""
    context, _ = stubbed(max_context_tokens=5000)
    context.register_plugin(Tooled("a", "one"))
    assert context.tools.names == ("one",)
    context.register_plugin(WorkingMemoryPlugin())
    assert context.tools.names == ("one", *STORE_TOOLS)
    context.register_plugin(InContextMemoryPlugin())
    assert context.tools.names == ("one", *STORE_TOOLS)
    for store in ("notes", "whiteboard"):
        entry = {"store": store, "key": "k", "description": "d", "value": 5}
        assert asyncio.run(context.tools.execute("store_set", entry))["success"]
    board = asyncio.run(context.tools.execute("store_get", {"store": "whiteboard", "key": "k"}))
    assert board["found"]


def test_plugins_are_registered_with_the_context_alone() -> None:
    """8.2: or the change would not be seen."""
    context, _ = stubbed()
    assert not hasattr(context.plugins, "register")
    with pytest.raises(TypeError):
        context.plugins["new"] = ScriptedPlugin("new")  # type: ignore[index]


def test_two_stores_of_one_id_are_refused() -> None:
    context, _ = stubbed(max_context_tokens=5000)
    context.register_plugin(WorkingMemoryPlugin())
    other = WorkingMemoryPlugin()
    other.name = "other"
    with pytest.raises(InvalidRequestError, match="notes"):
        context.register_plugin(other)
    assert list(context.plugins) == ["working_memory"]


def test_the_overview_stands_only_where_there_is_a_store() -> None:
    """3.2.3, 3.3."""
    context, _ = stubbed(max_context_tokens=5000)
    context.register_plugin(ScriptedPlugin(instructions="Use it."))
    assert "store_get" not in prepare(context).input[0]["content"][0]["text"]
    context.register_plugin(WorkingMemoryPlugin())
    text = prepare(context).input[0]["content"][0]["text"]
    assert "# Instructions for context plugins\n\nYou have 1 store" in text
    assert "## Notes\n\n" in text


def test_a_plugins_content_that_is_no_text_is_told() -> None:
    context, _ = stubbed()
    context.register_plugin(ScriptedPlugin("odd", [5]))  # type: ignore[list-item]
    with pytest.raises(InvalidInputError, match="odd"):
        prepare(context)


def test_a_plugins_instructions_that_are_no_text_are_told() -> None:
    context, _ = stubbed()
    context.register_plugin(ScriptedPlugin("odd", instructions=5))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="odd"):
        prepare(context)


def test_an_older_plugin_may_show_its_content_synchronously() -> None:
    """12: older ones keep working."""
    context, _ = stubbed()
    plugin = ScriptedPlugin("old")
    plugin.get_content = lambda: "shown at once"  # type: ignore[method-assign,assignment,return-value]
    context.register_plugin(plugin)
    assert "shown at once" in prepare(context).input[0]["content"][0]["text"]


class Half:
    name = "half"

    async def get_content(self) -> str | None:
        return None


@pytest.mark.parametrize(
    ("plugin", "said"), [(Half(), "half lacks .*get_instructions"), (BasePlugin(), "name")]
)
def test_what_is_no_plugin_is_told(plugin: Any, said: str) -> None:
    context, _ = stubbed()
    with pytest.raises(InvalidInputError, match=said):
        context.register_plugin(plugin)


def test_an_older_plugin_may_say_none_for_no_tools() -> None:
    """3.4, 12: older implementations keep working."""

    class Older(ScriptedPlugin):
        def get_tools(self) -> Any:
            return None

    context, _ = stubbed()
    context.register_plugin(Older("older", ["Shown"]))
    assert prepare(context).tools == []


def test_3_4_a_feature_may_be_a_plugin_that_is_set_up() -> None:
    """A plugin that is set up already stands in the place of the feature's own."""
    group = ToolGroup(
        "mail", "Sends mail", [{"name": "send", "description": "Sends", "parameters": {"type": "object"}}]
    )
    context = AgentContext(model="no-such-model", features={"tool_catalog": ToolCatalogPlugin([group])})
    assert list(context.plugins) == ["working_memory", "in_context_memory", "tool_catalog"]
    names = [tool["name"] for tool in prepare(context).tools]
    assert "tool_catalog_search" in names
    assert "send" not in names
    with pytest.raises(InvalidInputError, match="is called 'tool_catalog'"):
        AgentContext(model="no-such-model", features={"working_memory": ToolCatalogPlugin()})
