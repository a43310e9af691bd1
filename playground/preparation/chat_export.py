"""A prepared request as the body that OpenAI's Chat Completions or Anthropic's Messages take.

Pure. Nothing is left out in silence: what a shape cannot say raises an error that names the item. Only ids of
messages, and what a host notes on a block for itself, stay behind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.errors import InvalidInputError
from playground.exports import json_ready
from playground.preparation.anthropic_blocks import anthropic_blocks
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.export_parts import no_equivalent, telling_item
from playground.preparation.item_counting import checked_definitions, definition_parts
from playground.preparation.items import Json, Namespace, read_item
from playground.preparation.openai_messages import openai_messages
from playground.preparation.plain_json import plain_json
from playground.preparation.protocol import protocol_map
from playground.values import shown, whole_number

__all__ = ["export_anthropic", "export_openai"]

OPENAI = "OpenAI's Chat Completions"
ANTHROPIC = "Anthropic's Messages"

_DEFINED = frozenset({"type", "name", "description", "parameters", "input_schema"})
EMPTY: Json = {"type": "object", "properties": {}}  # the schema of a tool without parameters


def export_openai(
    items: Sequence[Mapping[str, Any]],
    *,
    model: str,
    max_tokens: int,
    tools: Sequence[Mapping[str, Any]] = (),
) -> Json:
    """Return the body of a Chat Completions request.

    Each result is a ``tool`` message of its own; a failed one begins with ``Error:``, because the wire has no
    flag for it. Arguments go out as the model wrote them. Lone surrogates become U+FFFD.

    Args:
        items: ``PreparedContext.input``, or any list of items.
        model: Sent as it is.
        max_tokens: Longest answer, in tokens, > 0.
        tools: Definitions in either spelling, flat or under ``function``.

    Raises:
        InvalidInputError: When something has no equivalent there: reasoning, opaque items, images in results,
            replay signatures, asynchronous calls, outputs of calls that are not among the items, or one id in
            both namespaces. Names the item, whose place is its ``position``.
        InvalidToolProtocolError: When an id of a call or of a result occurs twice.
    """
    _check_protocol(items)
    calls: dict[str, Namespace] = {}
    messages: list[Json] = []
    for position, item in enumerate(items):
        with telling_item(position, OPENAI):
            _check_calls(item, calls)
            messages += openai_messages(item)
    body: Json = {"model": model, "max_completion_tokens": _limit(max_tokens), "messages": messages}
    if offered := checked_definitions(tools, "The tools"):
        body["tools"] = [_openai_tool(number, tool) for number, tool in enumerate(offered)]
    return _finished(body)


def export_anthropic(
    items: Sequence[Mapping[str, Any]],
    *,
    model: str,
    max_tokens: int,
    tools: Sequence[Mapping[str, Any]] = (),
) -> Json:
    """Return the body of a Messages request.

    Developer messages are gathered in ``system``; neighbouring turns of one role are merged, results first, as
    that API demands. A failed result says so by its flag, and by the text of the error where there is one. The
    detail of an image, a mere hint, has no place there. Lone surrogates become U+FFFD.

    Args:
        items: ``PreparedContext.input``, or any list of items.
        model: Sent as it is.
        max_tokens: Longest answer, in tokens, > 0.
        tools: Definitions in either spelling, flat or under ``function``.

    Raises:
        InvalidInputError: When something has no equivalent there: custom calls, unsigned thinking, opaque
            items, replay signatures of other providers, asynchronous calls, outputs of calls that are not among
            the items, or arguments that are no JSON object. Names the item, whose place is its ``position``.
        InvalidToolProtocolError: When an id of a call or of a result occurs twice.
    """
    _check_protocol(items)
    calls: dict[str, Namespace] = {}
    system: list[Json] = []
    turns: list[Json] = []
    for position, item in enumerate(items):
        with telling_item(position, ANTHROPIC):
            _check_calls(item, calls)
            blocks = anthropic_blocks(item)
            role = item.get("role", "user")
            if role == "developer":
                system += _texts(blocks)
            elif blocks and turns and turns[-1]["role"] == role:
                turns[-1]["content"] += blocks
            elif blocks:
                turns.append({"role": role, "content": blocks})
    for turn in turns:
        # Stable: the order within results and within the rest stays.
        turn["content"].sort(key=lambda block: block["type"] != "tool_result")
    body: Json = {"model": model, "max_tokens": _limit(max_tokens)}
    body |= {"system": system} if system else {}
    body["messages"] = turns
    if offered := checked_definitions(tools, "The tools"):
        body["tools"] = [_anthropic_tool(number, tool) for number, tool in enumerate(offered)]
    return _finished(body)


def _check_protocol(items: Sequence[Mapping[str, Any]]) -> None:
    """Refuse two calls, or two results, of one id; what is malformed is told with its place later."""
    read = []
    for item in items:
        try:
            read.append(read_item(item, PreparationEstimator()))
        except InvalidInputError:
            return
    protocol_map(read, ())


def _finished(body: Json) -> Json:
    """Return a body that encodes, and that JSON changes nothing in."""
    return json_ready(plain_json(body, "The request"))


def _check_calls(item: Mapping[str, Any], calls: dict[str, Namespace]) -> None:
    """Check an item and note its calls; refuse an output whose call is elsewhere, and an id of two calls."""
    read = read_item(item, PreparationEstimator())
    for call in read.calls:
        if calls.setdefault(call.id, call.namespace) != call.namespace:
            raise no_equivalent(f"the id {shown(call.id)} of both a function call and a custom one")
    for result in read.results:
        if result.block is None and result.id not in calls:
            raise no_equivalent(f"the output of the call {shown(result.id)}, which the provider keeps,")


def _texts(blocks: Sequence[Json]) -> list[Json]:
    for block in blocks:
        if block["type"] != "text":
            raise no_equivalent(f"{block['type']} in a developer message")
    return [*blocks]


def _limit(max_tokens: int) -> int:
    return whole_number(max_tokens, "max_tokens", least=1)


def _openai_tool(number: int, tool: Mapping[str, Any]) -> Json:
    if tool.get("type") != "custom":
        return {"type": "function", "function": _definition(number, tool, "parameters", OPENAI, "strict")}
    inner = tool.get("custom")
    custom = inner if isinstance(inner, Mapping) else {name: tool[name] for name in tool if name != "type"}
    return {"type": "custom", "custom": {**custom, "name": _name(number, custom.get("name"))}}


def _anthropic_tool(number: int, tool: Mapping[str, Any]) -> Json:
    if tool.get("type") == "custom":
        raise InvalidInputError(
            f"Tool {number} is a custom tool, which {ANTHROPIC} do not have.", remedy="Leave it out."
        )
    return _definition(number, tool, "input_schema", ANTHROPIC, "cache_control")


def _definition(number: int, tool: Mapping[str, Any], parameters: str, shape: str, further: str) -> Json:
    """Return a definition as a shape spells it; a field that it has no place for is never lost in silence."""
    inner = tool.get("function")
    source = inner if isinstance(inner, Mapping) else tool
    name, description, schema = definition_parts(tool)
    extra = {field: value for field, value in source.items() if field not in _DEFINED and value is not None}
    unknown = sorted(field for field in extra if field != further)
    if tool.get("type") not in {None, "function"}:
        unknown.insert(0, "type")
    if unknown:
        raise InvalidInputError(
            f"Tool {number} has the field {shown(unknown[0])}, which {shape} do not have for a function.",
            remedy="Leave it out, and send tools that the provider runs beside these.",
        )
    said = {} if description is None else {"description": description}
    return {"name": _name(number, name), **said, parameters: schema or EMPTY, **extra}


def _name(number: int, name: object) -> str:
    if not isinstance(name, str) or not name:
        raise InvalidInputError(f"Tool {number} has the name {shown(name)}.", remedy="Name each tool.")
    return name
