"""Tools that a model may call: what it is shown of one, what a call hands over, and how its input is read.

Whoever runs the model runs its tools; there is no loop here. What a model sends is untrusted.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import ErrorDetails, core_schema

from playground.cancel import CancelToken
from playground.concurrency import run_sync
from playground.errors import InvalidInputError, ToolExecutionError
from playground.messages import Message, as_messages
from playground.values import of_type, shown, whole_number

__all__ = ["TOOL_NAME", "Tool", "ToolContext", "ToolInput", "checked_path"]

TOOL_NAME = re.compile("[a-zA-Z0-9_-]{1,64}")  # what both Anthropic's and OpenAI's APIs take, matched whole
PROBLEMS = 3  # named in one message; a model mends a few at a time
_FIELD = re.compile("[a-z_]{1,40}")


@dataclass(frozen=True, slots=True)
class ToolContext:
    """One call of a tool by a model.

    Attributes:
        tool_call_id: The id that the model's call has; not empty.
        model_step: The model step that called, from 0; with the id it names the call for good.
        messages: The history that the model saw; empty where the host does not say, and then calls that are
            cited as evidence are taken on trust.
        signal: Set when the call is to stop.
        agent_path: Which agent calls: empty for the first, longer for its sub-agents.
        execution: Whatever the run hands to its tools.

    Raises:
        InvalidInputError: When a field is malformed.
    """

    tool_call_id: str
    model_step: int
    messages: tuple[Message, ...] = ()
    signal: CancelToken | None = None
    agent_path: tuple[str, ...] = ()
    execution: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.tool_call_id, str) or not self.tool_call_id:
            raise InvalidInputError(
                f"The id of a tool call is {shown(self.tool_call_id)}.",
                remedy="Give every call an id of its own.",
            )
        object.__setattr__(self, "model_step", whole_number(self.model_step, "The model step"))
        object.__setattr__(self, "messages", as_messages(self.messages))
        object.__setattr__(self, "agent_path", checked_path(self.agent_path))
        if self.signal is not None:
            of_type(self.signal, CancelToken, "The signal")

    def raise_if_cancelled(self) -> None:
        """Raise ``CallCancelledError`` once the signal is set."""
        if self.signal is not None:
            self.signal.raise_if_cancelled()


Execute = Callable[[Any, ToolContext], Awaitable[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """Something that a model may call.

    Attributes:
        name: 1 to 64 of the characters ``a-z A-Z 0-9 _ -``.
        description: What it does and when to use it, for the model.
        parameters: JSON schema of its input, an object.
        execute: ``await execute(input, context)`` carries a call out and returns JSON-ready data. It raises
            ``ToolExecutionError`` for what the model may read; that is a tool result that failed.
        replay: ``idempotent`` when a call that comes again, with the same step and id, changes nothing more.

    Raises:
        InvalidInputError: When a field is malformed.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    execute: Execute
    replay: Literal["idempotent"] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not TOOL_NAME.fullmatch(self.name):
            raise InvalidInputError(
                f"A tool has the name {shown(self.name)}.",
                remedy="Use 1 to 64 letters, digits, underscores and hyphens.",
            )
        if not isinstance(self.description, str) or not self.description:
            raise InvalidInputError(f"The tool {self.name} has no description.", remedy="Say what it does.")
        if not isinstance(self.parameters, Mapping) or self.parameters.get("type") != "object":
            raise InvalidInputError(
                f"The parameters of the tool {self.name} are not the schema of an object.",
                remedy='Give a JSON schema with "type": "object".',
            )
        if not callable(self.execute):
            raise InvalidInputError(f"The tool {self.name} cannot be called.", remedy="Give an async function.")
        if self.replay not in {None, "idempotent"}:
            raise InvalidInputError(
                f"The tool {self.name} has the replay {shown(self.replay)}.",
                remedy="Leave it out, or say idempotent.",
            )

    def execute_sync(self, data: Any, context: ToolContext) -> Mapping[str, Any]:
        """Carry a call out from synchronous code; see ``execute``.

        Raises:
            InvalidInputError: When ``context`` is no ``ToolContext``.
        """
        if not isinstance(context, ToolContext):
            raise InvalidInputError(
                f"The context of a tool call is {shown(context)}.", remedy="Pass a ToolContext."
            )
        return run_sync(self._executed(data, context))

    async def _executed(self, data: Any, context: ToolContext) -> Mapping[str, Any]:
        return await self.execute(data, context)

    def schema(self) -> dict[str, Any]:
        """Return name, description and parameters, as the exports and ``TokenEstimator.overhead`` take them."""
        parameters = copy.deepcopy(dict(self.parameters))
        return {"name": self.name, "description": self.description, "parameters": parameters}


class ToolInput(BaseModel):
    """Base of what a model sends to a tool; null stands for a field that is absent.

    Texts are checked strictly: no number or flag passes for one, nor a text that has no UTF-8 form.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @classmethod
    def read(cls, data: Any, *, tool: str) -> Self:
        """Check what a model sent to a tool, as data or as the JSON text in which some providers hand it over.

        Raises:
            ToolExecutionError: When it does not fit; ``malformed``. Names the first few fields and what is
                wrong with them, in a message of bounded length.
        """
        if isinstance(data, str) and data.strip():
            data = _from_json(data, tool)
        try:
            # Providers send no input at all where a tool needs none.
            return cls.model_validate({} if data in (None, "") else data)
        except ValidationError as error:
            raise ToolExecutionError(_problems(error), tool=tool, reason="malformed") from None

    @classmethod
    def parameters(cls) -> dict[str, Any]:
        """Return the JSON schema of the input, in the part of draft 2020-12 that providers take.

        Everything stands inline; there is no reference, no choice of schemas, no title and no default. A field
        that may be absent may be null.
        """
        schema = cls.model_json_schema(schema_generator=_PlainSchema)
        plain: dict[str, Any] = _inlined(schema, schema.get("$defs", {}))
        plain.pop("description", None)  # the tool has one
        return plain


def checked_path(path: Any) -> tuple[str, ...]:
    """Return an agent path as a tuple.

    Raises:
        InvalidInputError: When it is not a list of strings.
    """
    if isinstance(path, list | tuple) and all(isinstance(name, str) for name in path):
        return tuple(path)
    raise InvalidInputError(f"An agent path is {shown(path)}.", remedy="Pass the agents' names as a tuple.")


class _PlainSchema(GenerateJsonSchema):
    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        inner = self.generate_inner(schema["schema"])
        values = {"enum": [*inner["enum"], None]} if "enum" in inner else {}
        return {**inner, "type": [inner["type"], "null"], **values}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def _inlined(node: Any, definitions: Mapping[str, Any]) -> Any:
    """Return a schema without references and titles."""
    if isinstance(node, list):
        return [_inlined(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        node = {**definitions[node["$ref"].rpartition("/")[2]], **node}
    plain = {}
    for name, value in node.items():
        # A property may be called title or description; its value is a schema, not a text.
        if name in {"$ref", "$defs"} or (name == "title" and isinstance(value, str)):
            continue
        text = name == "description" and isinstance(value, str)
        plain[name] = " ".join(value.split()) if text else _inlined(value, definitions)
    return plain


def _from_json(text: str, tool: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = f"{error}" if isinstance(error, ValueError) else "it is nested too deeply"
        raise ToolExecutionError(
            f"The input is not JSON: {reason}.", remedy="Send an object.", tool=tool, reason="malformed"
        ) from None


def _problems(error: ValidationError) -> str:
    found = error.errors(include_url=False, include_input=False)
    told = [f"{_place(item['loc'])}{_said(item)}" for item in found]
    more = f"; and {len(told) - PROBLEMS} more" if len(told) > PROBLEMS else ""
    return f"The input does not fit: {'; '.join(told[:PROBLEMS])}{more}."


def _said(problem: ErrorDetails) -> str:
    # Pydantic names our classes here, which a model knows nothing of.
    return (
        "an object is needed" if problem["type"] in {"model_type", "model_attributes_type"} else problem["msg"]
    )


def _place(parts: tuple[int | str, ...]) -> str:
    names = [str(part) if isinstance(part, int) or _FIELD.fullmatch(part) else shown(part) for part in parts]
    return f"{'.'.join(names)}: " if names else ""
