"""The parts of imported messages as content blocks.

Pure. Parts come as the shared reader of chat logs returns them when it reads exactly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.call_ids import CallIds, Place
from playground.preparation.export_parts import PLAIN_ERROR, compact
from playground.preparation.items import Json, text_block
from playground.values import shown

__all__ = ["BlockReader", "no_place"]

_CALL_FIELDS = frozenset({"type", "id", "name", "input", "arguments", "custom"})
_RESULT_FIELDS = frozenset({"type", "tool_use_id", "toolUseId", "content", "result", "is_error", "isError"})
_NO_PLACE = "Leave it out of the log, or say it in words."


class BlockReader:
    """Makes blocks of parts.

    Args:
        ids: Names calls and results.
        add_fields: Takes each part that is read field by field, and the names of those fields.
    """

    def __init__(self, ids: CallIds, add_fields: Callable[[Mapping[str, Any], frozenset[str]], object]) -> None:
        self._ids = ids
        self._add_fields = add_fields

    def block(self, part: Any, role: str, at: Place, *, numbered: bool) -> Json:
        """Return the block of a part.

        Args:
            part: As the reader returned it.
            role: Of its message.
            at: Where the message stands.
            numbered: Whether its call has no id of its own.

        Raises:
            InvalidInputError: When it is malformed, or has no place in an item.
            InvalidToolProtocolError: When its id is used already.
        """
        match part:
            case {"type": "text", "text": str(text)}:
                return text_block(role, text)
            case {"type": "tool_use", "id": str(given), "name": str(name)} if given:
                self._add_fields(part, _CALL_FIELDS)
                return self._call(part, given, name, at, numbered=numbered)
            case {"type": "tool_result"}:
                self._add_fields(part, _RESULT_FIELDS)
                return self._result(part, at)
            case {"type": "reasoning", "redacted": True, "encrypted": str(data)}:
                return {"type": "redacted_thinking", "data": data}
            case {"type": "reasoning", "text": str(text)} if part.get("encrypted") is None:
                signed = {} if part.get("signature") is None else {"signature": part["signature"]}
                return {"type": "thinking", "thinking": text, **signed, "persistInHistory": True}
            case {"type": "image", "image": str()}:
                return _image(part)
            case {"type": "document", "source": {"type": "file", "file_id": str(file_id)} as source}:
                self._add_fields(part, frozenset({"type", "source"}))
                self._add_fields(source, frozenset({"type", "file_id"}))
                return {"type": "input_file", "file_id": file_id}
            case {"type": "file", "file": {"file_id": str(file_id)} as file} if file.get("file_data") is None:
                self._add_fields(part, frozenset({"type", "file"}))
                self._add_fields(file, frozenset({"file_id"}))
                return {"type": "input_file", "file_id": file_id}
            case {"type": "text" | "tool_use"}:
                raise InvalidInputError(f"{_named(part)} lacks a field, or has one of a wrong type")
        raise no_place(part, "an item")

    def _call(self, part: Json, given: str, name: str, at: Place, *, numbered: bool) -> Json:
        if part.get("custom"):
            call_id = self._ids.call("custom", given, at)
            return {
                "type": "custom_tool_use",
                "id": call_id,
                "name": name,
                "input": _text(part["arguments"]),
            }
        call_id = self._ids.call("function", given, at, numbered=numbered)
        arguments = part["arguments"] if "arguments" in part else part.get("input")
        if "arguments" not in part or not isinstance(arguments, str):
            arguments = compact({} if arguments is None else arguments)
        return {"type": "tool_use", "id": call_id, "name": name, "arguments": arguments}

    def _result(self, part: Json, at: Place) -> Json:
        given = part.get("tool_use_id", part.get("toolUseId"))
        if not isinstance(given, str) or not given:
            raise InvalidInputError("a result names no call", remedy="Give the id of the call that it answers.")
        content = part["result"] if "result" in part else part.get("content")
        if isinstance(content, list):
            content = [self._result_part(item) for item in content]
        error = {}
        if part.get("is_error", part.get("isError")):
            failed = content if isinstance(content, str) else ""
            error = {"error": failed or PLAIN_ERROR}
            content = "" if isinstance(content, str) else content
        namespace, call_id = self._ids.result(given, at)
        kind = "tool_result" if namespace == "function" else "custom_tool_result"
        return {
            "type": kind,
            "tool_use_id": call_id,
            "content": "" if content in (None, []) else content,
            **error,
        }

    def _result_part(self, part: Any) -> Any:
        match part:
            case {"type": "text", "text": str(text)}:
                self._add_fields(part, frozenset({"type", "text"}))
                return {"type": "text", "text": text}
            case {"type": "image", "source": {"type": "base64" | "url"} as source}:
                self._add_fields(part, frozenset({"type", "source"}))
                return {"type": "image", "source": source}
        raise no_place(part, "the result of a tool")


def _image(part: Json) -> Json:
    """Return an image by its address: a URL, or the data URL that a provider's two fields say."""
    media_type, data = part.get("mediaType", part.get("media_type")), part["image"]
    if media_type is not None and not str(media_type).startswith("image/"):
        raise no_place(part, "an item")
    url = data if media_type is None else f"data:{media_type};base64,{data}"
    detail = {} if part.get("detail") is None else {"detail": part["detail"]}
    return {"type": "input_image_url", "image_url": {"url": url, **detail}}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidInputError(f"the input of a custom call is {shown(value)}", remedy="Give a text.")
    return value


def _named(part: Any) -> str:
    return f"a part {shown(part.get('type') if isinstance(part, Mapping) else part)}"


def no_place(part: Any, holder: str) -> InvalidInputError:
    """Return the error for a part that a holder cannot have."""
    return InvalidInputError(f"{_named(part)} has no place in {holder}", remedy=_NO_PLACE)
