"""The tools of a context: what a request shows of them now, and how one is carried out.

A description may be a function, which is asked whenever the definitions are read; so may be whether a tool is
shown at all. The order is that of registration, so that an unchanged set gives unchanged bytes.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from playground.errors import InvalidInputError, InvalidRequestError, ToolExecutionError
from playground.preparation.items import Json, detached
from playground.tools import TOOL_NAME, Tool, ToolContext
from playground.values import shown

__all__ = ["ContextTool", "ToolManager", "as_context_tool", "tool_arguments"]

Execute = Callable[[Mapping[str, Any]], Any | Awaitable[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class ContextTool:
    """A tool whose description may change from one request to the next.

    Attributes:
        name: 1 to 64 of the characters ``a-z A-Z 0-9 _ -``.
        description: What it does, for the model; a function is asked anew for every request.
        parameters: JSON schema of its input, an object.
        execute: ``execute(arguments)`` carries a call out, synchronously or not. It raises
            ``ToolExecutionError`` for what the model may read. None where the host runs the tool itself.
        describe_call: Says in a few words what a call with these arguments is about.
        visible: Whether it is among the tools now; asked for every request.
        tool: The tool that this one stands for; it is executed in the context of a call.

    Raises:
        InvalidInputError: When a field is malformed.
    """

    name: str
    description: str | Callable[[], str]
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    execute: Execute | None = None
    describe_call: Callable[[Mapping[str, Any]], str | None] | None = None
    visible: Callable[[], bool] | None = None
    tool: Tool | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not TOOL_NAME.fullmatch(self.name):
            raise InvalidInputError(
                f"A tool has the name {shown(self.name)}.",
                remedy="Use 1 to 64 letters, digits, underscores and hyphens.",
            )
        if not isinstance(self.description, str) and not callable(self.description):
            raise InvalidInputError(
                f"The description of the tool {self.name} is {shown(self.description)}.",
                remedy="Give a text, or a function that returns one.",
            )
        if not isinstance(self.parameters, Mapping) or self.parameters.get("type") != "object":
            raise InvalidInputError(
                f"The parameters of the tool {self.name} are not the schema of an object.",
                remedy='Give a JSON schema with "type": "object".',
            )
        for what in ("execute", "describe_call", "visible"):
            given = getattr(self, what)
            if given is not None and not callable(given):
                raise InvalidInputError(
                    f"{what} of the tool {self.name} is {shown(given)}.", remedy="Give a function."
                )
        object.__setattr__(self, "parameters", detached(self.parameters))

    def definition(self) -> Json:
        """Return name, description and parameters as they are now, in an object of their own.

        Raises:
            InvalidInputError: When a function gives a description that is no text.
        """
        text = self.description if isinstance(self.description, str) else self.description()
        if not isinstance(text, str):
            raise InvalidInputError(
                f"The tool {self.name} describes itself as {shown(text)}.", remedy="Return a text."
            )
        return {"name": self.name, "description": text, "parameters": detached(self.parameters)}


class ToolManager:
    """Tools by name, in the order in which they came."""

    def __init__(self) -> None:
        self._tools: dict[str, ContextTool] = {}
        self._disabled: set[str] = set()

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tools, also of those that are not shown."""
        return tuple(self._tools)

    def register(self, tool: ContextTool | Tool | Mapping[str, Any]) -> None:
        """Add a tool; it is enabled.

        Args:
            tool: A ``ContextTool``, a ``playground.tools.Tool``, or a definition whose calls the host carries
                out: name, description and parameters, plain or inside ``{"type": "function", "function": …}``.

        Raises:
            InvalidInputError: When it is malformed.
            InvalidRequestError: When there is one of this name.
        """
        known = as_context_tool(tool)
        if known.name in self._tools:
            raise InvalidRequestError(
                f"A tool called {known.name} is already registered.", remedy="Unregister that one first."
            )
        self._tools[known.name] = known

    def unregister(self, name: str) -> bool:
        """Take a tool away; whether there was one."""
        self._disabled.discard(name)
        return self._tools.pop(name, None) is not None

    def enable(self, name: str, enabled: bool = True) -> None:
        """Show a tool to the model, or hide it.

        Raises:
            InvalidRequestError: When there is none of this name.
        """
        if name not in self._tools:
            raise InvalidRequestError(f"There is no tool called {shown(name)}.", remedy="Register it first.")
        if enabled:
            self._disabled.discard(name)
        else:
            self._disabled.add(name)

    def disable(self, name: str) -> None:
        """Hide a tool from the model; see ``enable``."""
        self.enable(name, False)

    def enabled(self, name: str) -> bool:
        """Whether a tool is shown to the model now."""
        tool = self._tools.get(name)
        return tool is not None and name not in self._disabled and (tool.visible is None or tool.visible())

    def definitions(self) -> list[Json]:
        """Return the definitions of the enabled tools, each with its description as it is now."""
        return [tool.definition() for name, tool in self._tools.items() if self.enabled(name)]

    def describe_call(self, name: str, arguments: Any) -> str | None:
        """Return what a tool says of a call, None where it says nothing or fails to."""
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None or tool.describe_call is None:
            return None
        try:
            said = tool.describe_call(tool_arguments(arguments, name))
        except Exception:  # noqa: BLE001  # a description helps to find things; a call without one is as good
            return None
        return said if isinstance(said, str) and said.strip() else None

    async def execute(self, name: str, arguments: Any = None, *, context: ToolContext | None = None) -> Any:
        """Carry a call out and return what the tool answers.

        Args:
            name: An enabled tool.
            arguments: An object, or its JSON text; nothing stands for an empty one.
            context: The call; a ``playground.tools.Tool`` needs it, to know a call that comes again.

        Raises:
            InvalidRequestError: When a ``Tool`` is called without a context.
            ToolExecutionError: ``unknown-tool``, ``disabled`` or ``malformed``, or what the tool refuses.
        """
        tool = self._tools.get(name) if isinstance(name, str) else None
        if tool is None:
            raise ToolExecutionError(
                f"There is no tool called {shown(name)}.", tool=str(shown(name)), reason="unknown-tool"
            )
        if not self.enabled(name):
            raise ToolExecutionError(f"The tool {name} cannot be called now.", tool=name, reason="disabled")
        given = tool_arguments(arguments, name)
        if tool.tool is not None:
            if context is None:
                raise InvalidRequestError(
                    f"The tool {name} was called without a context.", remedy="Pass context=ToolContext(...)."
                )
            return await tool.tool.execute(given, context)
        if tool.execute is None:
            raise InvalidRequestError(
                f"The tool {name} is a definition alone.", remedy="Carry its calls out where the model is run."
            )
        answer = tool.execute(given)
        return await answer if inspect.isawaitable(answer) else answer


def as_context_tool(
    tool: ContextTool | Tool | Mapping[str, Any], *, visible: Callable[[], bool] | None = None
) -> ContextTool:
    """Return a tool as a context holds it.

    Args:
        tool: What ``ToolManager.register`` takes.
        visible: Whether it is among the tools now, beside what the tool itself says.

    Raises:
        InvalidInputError: When it is malformed.
    """
    if isinstance(tool, Tool):
        return ContextTool(tool.name, tool.description, tool.parameters, visible=visible, tool=tool)
    if isinstance(tool, Mapping):
        function = tool.get("function")
        data = function if isinstance(function, Mapping) else tool
        description, parameters = data.get("description"), data.get("parameters")
        return ContextTool(
            data.get("name"),  # type: ignore[arg-type]  # checked there
            "" if description is None else description,
            {"type": "object", "properties": {}} if parameters is None else parameters,
            visible=visible,
        )
    if not isinstance(tool, ContextTool):
        raise InvalidInputError(
            f"A tool is a {type(tool).__name__}.", remedy="Pass a ContextTool, a Tool or a definition."
        )
    own = tool.visible
    if visible is None or own is None:
        return tool if visible is None else replace(tool, visible=visible)
    return replace(tool, visible=lambda: visible() and own())


def tool_arguments(arguments: Any, tool: str) -> Mapping[str, Any]:
    """Return the arguments of a call as an object of their own.

    Raises:
        ToolExecutionError: ``malformed``, when they are neither an object nor its JSON text.
    """
    given = {} if arguments in (None, "") else arguments
    try:
        copy = detached(json.loads(given) if isinstance(given, str) else given)
    except (ValueError, RecursionError):
        copy = None
    if not isinstance(copy, dict):
        raise ToolExecutionError(
            "The input is no JSON object.", remedy="Send an object.", tool=tool, reason="malformed"
        )
    return copy
