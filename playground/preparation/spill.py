"""Results that are to move into a store: what is kept of each, under which key, and how the index names it.

Pure. A whole inventory is made before anything is written or removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.item_counting import NATIVE_OUTPUTS
from playground.preparation.items import Item, Json, Namespace
from playground.preparation.listing import shortened
from playground.preparation.memory_entries import DESCRIPTION_LENGTH, byte_size, value_json
from playground.preparation.plain_json import plain_json
from playground.preparation.protocol import Group

__all__ = ["TIER", "Found", "Spilled", "allocate", "describe_call", "inventory", "result_value", "spill_key"]

TIER = "raw"
UNKNOWN = "unknown"  # tool of a result without a call
TOOL_LENGTH = 64  # code points of a tool's name in a key: what providers allow
ID_LENGTH = 8  # last code points of a call's id in a key

_UNSAFE = re.compile(r"[^A-Za-z0-9_]")
Describe = Callable[[str, Any], str | None]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """One result of a group.

    Attributes:
        group: The group.
        namespace: The namespace of its id.
        call_id: The id that it shares with its call.
        tool: The tool's name; ``unknown`` where the call is not there.
        arguments: The call's arguments, as they stand in it.
        value: What is to be kept.
        json: The value as compact JSON; None where it has no such form.
        size_bytes: Bytes of ``json`` in UTF-8.
    """

    group: Group
    namespace: Namespace
    call_id: str
    tool: str
    arguments: Any
    value: Any
    json: str | None
    size_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Spilled:
    """A result with its place in the store.

    Attributes:
        found: The result.
        key: Its full key, tier included.
        description: Its line in the index, at most 150 code points.
    """

    found: Found
    key: str
    description: str


def inventory(group: Group, items: Sequence[Item]) -> tuple[Found, ...]:
    """Return every result of a group, in order: of messages and native, small ones too.

    Args:
        group: The group.
        items: History and current input.
    """
    calls = {(call.namespace, call.id): (place, call) for place, call in group.calls}
    found: list[Found] = []
    for place, result in group.results:
        holder = items[place].data
        source: Json = holder if result.block is None else holder["content"][result.block]
        value = result_value(source)
        try:
            # What JSON would change, a key that is no text for one, could not be read back as it was.
            text = value_json(plain_json(value, "The result"))
        except InvalidInputError:
            text = None
        called = calls.get((result.namespace, result.id))
        found.append(
            Found(
                group=group,
                namespace=result.namespace,
                call_id=result.id,
                tool=(called[1].name if called else "") or UNKNOWN,
                arguments=_arguments(items[called[0]].data["content"][called[1].block]) if called else None,
                value=value,
                json=text,
                size_bytes=byte_size(text) if text is not None else 0,
            )
        )
    return tuple(found)


def result_value(source: Mapping[str, Any]) -> Any:
    """Return what is kept of a result.

    A message's result is its content as it stands, or an object of content, images and error where it has any
    of these two; a native output is its output.
    """
    if source.get("type") in NATIVE_OUTPUTS:
        return source.get("output")
    extra = {
        name: source[name]
        for name, there in (
            ("__images", bool(source.get("__images"))),
            ("error", source.get("error") is not None),
        )
        if there
    }
    content = source.get("content")
    if not extra:
        return content
    return {"content": content, **extra} if "content" in source else extra


def spill_key(tool: str, call_id: str) -> str:
    """Return the full key of a result, before collisions: ``raw.tool_result.<tool>.<last 8 of the id>``."""
    return f"{TIER}.tool_result.{_safe(tool[:TOOL_LENGTH] or UNKNOWN)}.{_safe(call_id[-ID_LENGTH:])}"


def allocate(found: Iterable[Found], taken: Collection[str], describe: Describe) -> tuple[Spilled, ...]:
    """Give each result a key that nobody has, and a description.

    Args:
        found: Results in order; the first of two with one key keeps it plain.
        taken: The store's keys.
        describe: Returns what a tool says of a call, or None.
    """
    used = set(taken)
    spilled: list[Spilled] = []
    for result in found:
        key = plain = spill_key(result.tool, result.call_id)
        number = 0
        while key in used:
            number += 1
            key = f"{plain}.{result.namespace}.{number}"
        used.add(key)
        spilled.append(Spilled(result, key, describe_call(result.tool, result.arguments, describe)))
    return tuple(spilled)


def describe_call(tool: str, arguments: Any, describe: Describe) -> str:
    """Return a line for the index of a store, at most 150 code points.

    What the tool says of the call, else the call with its arguments, of which lists and objects are only named.
    """
    said = describe(tool, arguments)
    if said is not None:
        return shortened(f"{tool}: {said}", DESCRIPTION_LENGTH)
    named = _read(arguments)
    if not named:
        return shortened(f"Result of {tool}()", DESCRIPTION_LENGTH)
    return shortened(f"{tool}({_listed_arguments(named)})", DESCRIPTION_LENGTH)


def _arguments(block: Mapping[str, Any]) -> Any:
    if block.get("type") == "custom_tool_use":
        return block.get("input")
    arguments = block.get("arguments")
    return block.get("input") if arguments is None else arguments


def _read(arguments: Any) -> Mapping[str, Any]:
    """Return arguments by name; a text that is no object, as custom tools take it, is the input."""
    if isinstance(arguments, str):
        try:
            read = json.loads(arguments)
        except (ValueError, RecursionError):
            read = None
        if not isinstance(read, dict):
            return {"input": arguments} if arguments.strip() else {}
        arguments = read
    return arguments if isinstance(arguments, Mapping) else {}


def _listed_arguments(arguments: Mapping[str, Any]) -> str:
    """Return arguments as far as a description can show them."""
    shown: list[str] = []
    length = 0
    for name, value in arguments.items():
        if length > DESCRIPTION_LENGTH:
            break
        shown.append(f"{str(name)[:DESCRIPTION_LENGTH]}={_shown(value)}")
        length += len(shown[-1])
    return ", ".join(shown)


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value[: DESCRIPTION_LENGTH + 1], ensure_ascii=False)
    if isinstance(value, list | tuple):
        return "[1 item]" if len(value) == 1 else f"[{len(value)} items]"
    if isinstance(value, Mapping):
        return "{...}"
    return json.dumps(value) if value is None or isinstance(value, bool | int | float) else "..."


def _safe(text: str) -> str:
    return _UNSAFE.sub("_", text)
