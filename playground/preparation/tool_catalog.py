"""A catalogue of tools as a plugin: groups that are not loaded cost a line, and the model loads what it needs.

A group's tools are registered with the others and shown once the group is loaded. What is listed and what is
shown is rendered anew for every request.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.listing import listed, shortened
from playground.preparation.plugin_state import state_entries, versioned
from playground.preparation.ports import BasePlugin
from playground.preparation.tool_manager import ContextTool, as_context_tool
from playground.tools import Tool, ToolInput
from playground.values import shown

__all__ = ["ToolCatalogPlugin", "ToolGroup"]

LINE_LENGTH = 150  # code points of a group's description

INSTRUCTIONS = (
    "The tool groups listed under the heading of the catalogue are not loaded. Load a group before you use its "
    "tools, and unload it when you no longer need them."
)


@dataclass(frozen=True, slots=True, eq=False)
class ToolGroup:
    """Tools that are loaded together.

    Attributes:
        name: What the model calls the group.
        description: What its tools are good for; one line of it is shown.
        tools: The tools.

    Raises:
        InvalidInputError: When a field is malformed.
    """

    name: str
    description: str
    tools: Sequence[ContextTool | Tool | Mapping[str, Any]]

    def __post_init__(self) -> None:
        for field in (self.name, self.description):
            if not isinstance(field, str) or not field.strip():
                raise InvalidInputError(
                    f"A tool group has the name or description {shown(field)}.", remedy="Give texts."
                )
        object.__setattr__(self, "tools", tuple(map(as_context_tool, self.tools)))


class SearchInput(ToolInput):
    """What to look for."""

    query: str
    """Words of names and descriptions."""


class GroupInput(ToolInput):
    """Which group."""

    group: str
    """Its name."""


class ToolCatalogPlugin(BasePlugin):
    """The plugin ``tool_catalog``: none of its groups is loaded at first.

    Args:
        groups: The groups, in the order in which they are listed.
        estimator: Counts for inspection.

    Raises:
        InvalidInputError: When two groups have one name.
    """

    name = "tool_catalog"

    def __init__(
        self, groups: Sequence[ToolGroup] = (), *, estimator: PreparationEstimator | None = None
    ) -> None:
        self._groups = {group.name: group for group in groups}
        if len(self._groups) < len(groups):
            raise InvalidInputError("Two tool groups have the same name.", remedy="Give each its own.")
        self._loaded: set[str] = set()
        self._estimator = estimator or PreparationEstimator()

    @property
    def loaded(self) -> tuple[str, ...]:
        """The names of the groups that are loaded."""
        return tuple(name for name in self._groups if name in self._loaded)

    def load(self, group: str) -> bool:
        """Show a group's tools; False where there is no such group."""
        if group not in self._groups:
            return False
        self._loaded.add(group)
        return True

    def unload(self, group: str) -> bool:
        """Hide a group's tools; False where there is no such group, or it is not loaded."""
        loaded = group in self._loaded
        self._loaded.discard(group)
        return loaded

    def get_instructions(self) -> str | None:
        """Return how to use the catalogue, None without groups."""
        return INSTRUCTIONS if self._groups else None

    async def get_content(self) -> str | None:
        """Return a line for each group that is not loaded; None without any."""
        return self._content()

    def get_contents(self) -> list[dict[str, Any]]:
        """Return all groups for inspection."""
        return list(map(self._told, self._groups.values()))

    def get_token_size(self) -> int:
        """Count the content."""
        return self._estimator.text(self._content())

    def get_instructions_token_size(self) -> int:
        """Count the instructions."""
        return self._estimator.text(self.get_instructions())

    def get_tools(self) -> Sequence[ContextTool]:
        """Return the tools of the catalogue and those of all groups, shown or not."""
        if not self._groups:
            return ()
        search, group = SearchInput.parameters(), GroupInput.parameters()
        own = (
            ContextTool("tool_catalog_search", "Search the catalogue of tool groups.", search, self._search),
            ContextTool(
                "tool_catalog_load", "Load a tool group: its tools can be called next.", group, self._load
            ),
            ContextTool("tool_catalog_unload", "Unload a tool group.", group, self._unload),
        )
        return (*own, *[tool for name in self._groups for tool in self._tools(name)])

    def destroy(self) -> None:
        """Unload everything."""
        self._loaded.clear()

    def get_state(self) -> dict[str, Any]:
        """Return which groups are loaded."""
        return versioned("loaded", self.loaded)

    def restore_state(self, state: Any) -> None:
        """Load what was loaded; groups that there are no longer are left out.

        Raises:
            InvalidInputError: For malformed data or another version; nothing was changed then.
        """
        loaded = state_entries(state, "loaded", "a tool catalogue")
        self._loaded = {name for name in self._groups if name in loaded}

    def _tools(self, name: str) -> Sequence[ContextTool]:
        def visible() -> bool:
            return name in self._loaded

        return [as_context_tool(tool, visible=visible) for tool in self._groups[name].tools]

    def _search(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        words = SearchInput.read(arguments, tool="tool_catalog_search").query.casefold().split()
        told = list(map(self._told, self._groups.values()))
        found = [group for group in told if all(word in _searched(group) for word in words)]
        return {"groups": found, "total": len(found)}

    def _load(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        group = GroupInput.read(arguments, tool="tool_catalog_load").group
        if not self.load(group):
            return self._unknown(group)
        return {"success": True, "group": group, "tools": self._names(group)}

    def _unload(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        group = GroupInput.read(arguments, tool="tool_catalog_unload").group
        if group not in self._groups:
            return self._unknown(group)
        if not self.unload(group):
            return {"success": False, "group": group, "message": "It is not loaded."}
        return {"success": True, "group": group, "tools": self._names(group)}

    def _unknown(self, group: str) -> dict[str, Any]:
        message = f"There is no such group. There are: {', '.join(map(listed, self._groups))}."
        return {"success": False, "group": group, "message": message}

    def _names(self, group: str) -> list[str]:
        return [as_context_tool(tool).name for tool in self._groups[group].tools]

    def _told(self, group: ToolGroup) -> dict[str, Any]:
        return {
            "name": group.name,
            "description": group.description,
            "loaded": group.name in self._loaded,
            "tools": self._names(group.name),
        }

    def _content(self) -> str | None:
        waiting = [group for group in self._groups.values() if group.name not in self._loaded]
        return "\n".join(map(_line, waiting)) or None


def _line(group: ToolGroup) -> str:
    count = len(group.tools)
    many = "1 tool" if count == 1 else f"{count} tools"
    return f"- {listed(group.name)} ({many}): {shortened(group.description, LINE_LENGTH)}"


def _searched(group: Mapping[str, Any]) -> str:
    return " ".join([group["name"], group["description"], *group["tools"]]).casefold()
