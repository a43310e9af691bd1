"""Items of a conversation: read once, counted once, never handed out.

Pure. An item is plain JSON data as the wire has it: a message with content blocks, a native output of a tool,
or something opaque that only travels. What was read is a copy that nobody else holds, and it never changes:
whoever wants to see one gets another copy. Two items are the same only if they are the same object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from playground.errors import InvalidInputError
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.item_counting import NATIVE_OUTPUTS, item_tokens
from playground.values import shown

__all__ = ["Call", "Item", "Json", "Namespace", "Result", "detached", "read_item", "text_block", "text_message"]

DEEPEST = 200  # levels of nesting that are copied; Python itself stumbles at about a thousand
PERSISTENCE_VERSION = 1  # of the metadata on a result whose evidence is not stored yet

Json = dict[str, Any]
Namespace = Literal["function", "custom"]

_CALLS: dict[str, Namespace] = {"tool_use": "function", "custom_tool_use": "custom"}
_RESULTS: dict[str, Namespace] = {"tool_result": "function", "custom_tool_result": "custom"}
_OUTPUTS: dict[str, Namespace] = {"function_call_output": "function", "custom_tool_call_output": "custom"}
_ROLES = frozenset({"user", "assistant", "developer"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool in a message: its block's place, and whether the provider may answer it much later."""

    namespace: Namespace
    id: str
    name: str
    block: int
    is_async: bool


@dataclass(frozen=True, slots=True)
class Result:
    """A final result of a call: its block's place in a message, None where a native item is the result."""

    namespace: Namespace
    id: str
    block: int | None


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Item:
    """One item of a conversation, with what was found in it when it was read.

    Attributes:
        data: The item itself; private to this package, see ``out``.
        tokens: What it counts whole, in tokens.
        block_tokens: What each block of a message counts; a message's tokens are their sum and 4.
        calls: Calls in a message's blocks, in order.
        results: Final results in it, in order.
        opaque: Whether it is neither a message nor a native output: it only travels.
        evidence: Whether something in it says that its evidence is not stored yet.
    """

    data: Json
    tokens: int
    block_tokens: tuple[int, ...]
    calls: tuple[Call, ...]
    results: tuple[Result, ...]
    opaque: bool
    evidence: bool

    @property
    def is_message(self) -> bool:
        """Whether it has content blocks."""
        return self.role is not None

    @property
    def role(self) -> str | None:
        """The role of a message."""
        return self.data["role"] if self.data["type"] == "message" else None

    @property
    def id(self) -> str | None:
        """The id, if it has one."""
        found = self.data.get("id")
        return found if isinstance(found, str) else None

    def out(self) -> Json:
        """Return a copy that may be changed freely."""
        copy: Json = detached(self.data)
        return copy


def detached(value: Any) -> Any:
    """Return a copy of JSON-like data: objects and lists anew, everything else as it is. O(its size).

    Raises:
        InvalidInputError: When it is nested more than 200 levels deep, or in itself.
    """
    return _detached(value, DEEPEST)


def read_item(data: Mapping[str, Any], estimator: PreparationEstimator) -> Item:
    """Copy, check and count an item. A message's content may be a string, which becomes one text block.

    Fields that are not known are kept. O(its size).

    Raises:
        InvalidInputError: For what is no item: names the field that is missing or wrong.
    """
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"An item is a {type(data).__name__}.", remedy="Pass an object with a type.")
    item: Json = detached(data)
    if item.get("type") is None and "role" in item and "content" in item:
        item = {"type": "message", **{name: value for name, value in item.items() if name != "type"}}
    kind = item.get("type")
    if not isinstance(kind, str) or not kind:
        raise InvalidInputError(f"An item has the type {shown(kind)}.", remedy="Give it a type.")
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    if kind == "message":
        _check_message(item)
        calls, results = _protocol(item["content"])
    elif kind in _OUTPUTS:
        results = (Result(_OUTPUTS[kind], _id(item, "call_id", kind), None),)
    tokens, blocks = item_tokens(item, estimator)
    opaque = kind != "message" and kind not in NATIVE_OUTPUTS
    return Item(item, tokens, blocks, calls, results, opaque, _has_evidence(item))


def text_block(role: str, text: str) -> Json:
    """Return the block that holds a text in a message of a role."""
    return {"type": "output_text" if role == "assistant" else "input_text", "text": text}


def text_message(role: str, text: str, message_id: str) -> Json:
    """Return the data of a message that holds one text."""
    return {"type": "message", "id": message_id, "role": role, "content": [text_block(role, text)]}


def _detached(value: Any, levels: int) -> Any:
    kind = type(value)
    if kind is str or kind is int:  # most of all data
        return value
    if kind is dict or isinstance(value, Mapping):
        if not levels:
            raise InvalidInputError("Data is nested too deeply.", remedy=f"Use at most {DEEPEST} levels.")
        return {name: _detached(item, levels - 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        if not levels:
            raise InvalidInputError("Data is nested too deeply.", remedy=f"Use at most {DEEPEST} levels.")
        return [_detached(item, levels - 1) for item in value]
    return value


def _check_message(item: Json) -> None:
    role, content = item.get("role"), item.get("content")
    if not isinstance(role, str) or role not in _ROLES:
        raise InvalidInputError(
            f"A message has the role {shown(role)}.", remedy=f"Use one of {sorted(_ROLES)}."
        )
    if isinstance(content, str):
        item["content"] = [text_block(role, content)]
    elif not isinstance(content, list):
        raise InvalidInputError(
            f"A message's content is a {type(content).__name__}.", remedy="Give a text or a list of blocks."
        )


def _protocol(blocks: list[Any]) -> tuple[tuple[Call, ...], tuple[Result, ...]]:
    """Check the blocks of a message and return its calls and results."""
    calls: list[Call] = []
    results: list[Result] = []
    for place, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str):
            raise InvalidInputError(
                f"Block {place} of a message has no type.", remedy="Pass objects with a type."
            )
        if kind in _CALLS:
            name = block.get("name")
            if not isinstance(name, str):
                raise InvalidInputError(f"A {kind} block has the name {shown(name)}.", remedy="Name the tool.")
            call_id = _id(block, "id", kind)
            calls.append(Call(_CALLS[kind], call_id, name, place, block.get("async") is True))
        elif kind in _RESULTS:
            results.append(Result(_RESULTS[kind], _id(block, "tool_use_id", kind), place))
        elif kind in {"input_text", "output_text"} and not isinstance(block.get("text"), str):
            raise InvalidInputError(f"A {kind} block has no text.", remedy="Give it a text.")
    return tuple(calls), tuple(results)


def _id(data: Mapping[str, Any], field: str, kind: str) -> str:
    found = data.get(field)
    if not isinstance(found, str) or not found:
        raise InvalidInputError(
            f"The {field} of a {kind} is {shown(found)}.", remedy="Give the id that call and result share."
        )
    return found


def _has_evidence(item: Mapping[str, Any]) -> bool:
    if _unacknowledged(item.get("persistence")):
        return True
    blocks = item["content"] if item["type"] == "message" else ()
    return any(_unacknowledged(block.get("persistence")) for block in blocks)


def _unacknowledged(persistence: Any) -> bool:
    """Whether metadata forbids to lose what carries it; so does any that this version does not know."""
    if persistence is None:
        return False
    if not isinstance(persistence, Mapping):
        return True
    version = persistence.get("version")
    known = type(version) is int and version == PERSISTENCE_VERSION
    return not (known and persistence.get("status") == "acknowledged")
