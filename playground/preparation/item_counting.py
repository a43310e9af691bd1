"""What the blocks, items and definitions of a request count, in tokens.

Pure. Everything that is known to travel is counted, however uncertain its exact tokens are; image data never
counts as text. Ids and roles are covered by the four tokens of their message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.estimation import PreparationEstimator
from playground.values import shown

__all__ = [
    "MESSAGE_TOKENS",
    "NATIVE_OUTPUTS",
    "block_tokens",
    "checked_definitions",
    "definition_parts",
    "definition_tokens",
    "item_tokens",
    "native_tools_tokens",
    "response_format_tokens",
    "tools_tokens",
]

MESSAGE_TOKENS = 4  # tokens of framing around a message or a native output
OPAQUE_TOKENS = 50  # tokens, at least, of an item whose kind is not known
DEFINITION_TOKENS = 10  # tokens of framing around one tool definition
TOOL_LIST_TOKENS = 20  # tokens of framing around the list of function tools

NATIVE_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_TEXTS = frozenset({"input_text", "output_text", "text"})
_IMAGES = frozenset({"input_image_url", "input_image", "image_url", "image"})
# Fields of blocks and native items that are counted by themselves, covered by the framing, or kept for the host
# alone. Any other travels too, and counts as what it is.
_HEAD = frozenset({"type", "id", "role", "persistence", "persistInHistory", "async", "status"})
_TEXT = _HEAD | {"text"}
_CALL = _HEAD | {"name", "arguments", "input", "thoughtSignature"}
_RESULT = _HEAD | {"tool_use_id", "content", "error", "__images"}
_IMAGE = _HEAD | {"image_url", "detail", "source"}
_COUNTED: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(NATIVE_OUTPUTS, _HEAD | {"call_id", "output"}),
    "compaction": _HEAD | {"encrypted_content"},
    "reasoning": _HEAD | {"effort", "summary", "encrypted_content"},
    **dict.fromkeys(_TEXTS, _TEXT),
    **dict.fromkeys(("tool_use", "custom_tool_use"), _CALL),
    **dict.fromkeys(("tool_result", "custom_tool_result"), _RESULT),
    "thinking": _HEAD | {"thinking", "signature"},
    **dict.fromkeys(_IMAGES, _IMAGE),
}
_DEFINITION = frozenset({"type", "name", "description", "parameters", "input_schema"})
_WRAPPERS = ("function", "custom")


def item_tokens(data: Mapping[str, Any], estimator: PreparationEstimator) -> tuple[int, tuple[int, ...]]:
    """Count an item. O(its characters).

    Returns:
        The tokens of the item, and of each block where it is a message; a message's are its blocks' sum and 4.
    """
    kind = data.get("type")
    if kind == "message":
        blocks = tuple([block_tokens(block, estimator) for block in data["content"]])
        return MESSAGE_TOKENS + sum(blocks), blocks
    if kind in NATIVE_OUTPUTS:
        output = data.get("output")
        parts = (
            _parts_tokens(output, estimator) if isinstance(output, list | tuple) else _amount(output, estimator)
        )
        return MESSAGE_TOKENS + parts + _further_tokens(data, estimator), ()
    if kind == "compaction":
        sealed = _amount(data.get("encrypted_content"), estimator)
        return MESSAGE_TOKENS + sealed + _further_tokens(data, estimator), ()
    if kind == "reasoning":
        told = _amounts(data, ("summary", "encrypted_content"), estimator)
        return MESSAGE_TOKENS + told + _further_tokens(data, estimator), ()
    return max(OPAQUE_TOKENS, estimator.data(data)), ()


def block_tokens(block: Mapping[str, Any], estimator: PreparationEstimator) -> int:
    """Count one content block, without its message's framing."""
    return _known_tokens(block, estimator) + _further_tokens(block, estimator)


def _known_tokens(block: Mapping[str, Any], estimator: PreparationEstimator) -> int:
    match block.get("type"):
        case "input_text" | "output_text":
            return _amount(block.get("text"), estimator)
        case "tool_use":
            arguments = block.get("arguments")
            if arguments is None:
                arguments = block.get("input") or {}
            return estimator.data(arguments) + _amounts(block, ("name", "thoughtSignature"), estimator)
        case "custom_tool_use":
            return _amounts(block, ("name", "input", "thoughtSignature"), estimator)
        case "tool_result" | "custom_tool_result":
            content = _result_tokens(block.get("content"), estimator)
            attached = _attached_tokens(block.get("__images"), estimator)
            return content + _amount(block.get("error"), estimator) + attached
        case "thinking":
            return _amounts(block, ("thinking", "signature"), estimator)
        case "input_file" if block.get("file_id") is not None and block.keys() <= {"type", "file_id"}:
            return estimator.data(block["file_id"])
        case kind if isinstance(kind, str) and kind in _IMAGES:
            return _image_tokens(block, estimator)
    return estimator.data(block)


def definition_tokens(tool: Mapping[str, Any], estimator: PreparationEstimator) -> int:
    """Count one tool: name, description, parameters as compact JSON, whatever else it says, and 10."""
    name, description, parameters = definition_parts(tool)
    texts = _amount(name, estimator) + _amount(description, estimator)
    wrapper = next((name for name in _WRAPPERS if isinstance(tool.get(name), Mapping)), None)
    source = tool if wrapper is None else tool[wrapper]
    further = {field: source[field] for field in source if field not in _DEFINITION}
    if wrapper is not None:
        further |= {field: tool[field] for field in tool if field not in {"type", wrapper}}
    more = estimator.data(further) if further else 0
    return texts + estimator.data(parameters) + more + DEFINITION_TOKENS


def definition_parts(tool: Mapping[str, Any]) -> tuple[Any, Any, Any]:
    """Return name, description and parameters of a definition, flat or under ``function`` or ``custom``."""
    source = next((tool[name] for name in _WRAPPERS if isinstance(tool.get(name), Mapping)), tool)
    parameters = source.get("parameters")
    if parameters is None:
        parameters = source.get("input_schema")
    return source.get("name"), source.get("description"), {} if parameters is None else parameters


def checked_definitions(found: Any, what: str) -> tuple[Mapping[str, Any], ...]:
    """Return definitions of tools; none for None.

    Args:
        found: What a host gives for them.
        what: What they are, for a message.

    Raises:
        InvalidInputError: When they are no list of objects.
    """
    if found is None:
        return ()
    if not isinstance(found, list | tuple) or not all(isinstance(tool, Mapping) for tool in found):
        raise InvalidInputError(f"{what} are {shown(found)}.", remedy="Give a list of objects.")
    return tuple(found)


def tools_tokens(definitions: Iterable[Mapping[str, Any]], estimator: PreparationEstimator) -> int:
    """Count all function tools: 0 for none, else each and 20 for the list."""
    counts = [definition_tokens(tool, estimator) for tool in definitions]
    return sum(counts) + TOOL_LIST_TOKENS if counts else 0


def native_tools_tokens(definitions: Iterable[Mapping[str, Any]], estimator: PreparationEstimator) -> int:
    """Count the definitions of tools that the provider runs: each as compact JSON, and 10."""
    return sum(estimator.data(definition) + DEFINITION_TOKENS for definition in definitions)


def response_format_tokens(response_format: Any, estimator: PreparationEstimator) -> int:
    """Count a response format as compact JSON; 0 for none and for plain text."""
    if response_format is None or response_format == "text":
        return 0
    if isinstance(response_format, Mapping) and response_format.get("type") == "text":
        return 0
    return estimator.data(response_format)


def _amount(value: Any, estimator: PreparationEstimator) -> int:
    return 0 if value is None else estimator.data(value)


def _amounts(data: Mapping[str, Any], fields: Iterable[str], estimator: PreparationEstimator) -> int:
    return sum([_amount(data.get(field), estimator) for field in fields])


def _further_tokens(data: Mapping[str, Any], estimator: PreparationEstimator) -> int:
    """Count the fields of a known kind that nothing else counts; what is None or False says nothing."""
    kind = data.get("type")
    known = _COUNTED.get(kind) if isinstance(kind, str) else None
    if known is None or data.keys() <= known:
        return 0
    further = {
        name: value
        for name, value in data.items()
        if name not in known and value is not None and value is not False
    }
    return estimator.data(further) if further else 0


def _attached_tokens(images: Any, estimator: PreparationEstimator) -> int:
    return len(images) * estimator.image() if isinstance(images, list | tuple) else _amount(images, estimator)


def _image_tokens(image: Mapping[str, Any], estimator: PreparationEstimator) -> int:
    url = image.get("image_url")
    detail = url.get("detail") if isinstance(url, Mapping) else None
    return estimator.image(detail=image.get("detail") if detail is None else detail)


def _is_image(part: Any) -> bool:
    kind = part.get("type") if isinstance(part, Mapping) else None
    return isinstance(kind, str) and kind in _IMAGES


def _is_text(part: Any) -> bool:
    kind = part.get("type") if isinstance(part, Mapping) else None
    return isinstance(kind, str) and kind in _TEXTS and isinstance(part.get("text"), str)


def _result_tokens(content: Any, estimator: PreparationEstimator) -> int:
    """Count what a message's result holds; images among the parts of a list count as images."""
    if not isinstance(content, list | tuple) or not any(map(_is_image, content)):
        return _amount(content, estimator)
    images = [part for part in content if _is_image(part)]
    rest = [part for part in content if not _is_image(part)]
    return sum(_image_tokens(image, estimator) for image in images) + (estimator.data(rest) if rest else 0)


def _parts_tokens(parts: Iterable[Any], estimator: PreparationEstimator) -> int:
    total = 0
    for part in parts:
        if _is_image(part):
            total += _image_tokens(part, estimator)
        elif _is_text(part):
            total += estimator.text(part["text"]) + _further_tokens(part, estimator)
        else:
            total += estimator.data(part)
    return total
