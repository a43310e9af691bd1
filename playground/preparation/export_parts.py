"""What both exports share: the parts of items in a neutral form, and the errors for what has no equivalent.

Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.items import Json
from playground.values import shown

__all__ = [
    "PLAIN_ERROR",
    "Image",
    "Result",
    "blocks_of",
    "call_arguments",
    "check_fields",
    "compact",
    "image_of",
    "image_source",
    "no_equivalent",
    "result_of",
    "telling_item",
]

PLAIN_ERROR = "error"
"""The error of a result of which nothing but its failure is known."""

IMAGE_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})  # what Anthropic takes inline
_DATA_URL = re.compile(r"data:(?P<type>[\w.+-]+/[\w.+-]+);base64,(?P<data>.*)", re.DOTALL)
_IMAGES = ("input_image_url", "input_image", "image_url", "image")
_ADDRESS = frozenset({"url", "detail", "type", "media_type", "data"})
_PART_OF_TEXT = frozenset({"type", "text"})
_PART_OF_IMAGE = frozenset({"type", "image_url", "detail", "source"})
_TEXTS = frozenset({"text", "input_text", "output_text"})
_CUSTOM = frozenset({"custom_tool_result", "custom_tool_call_output"})
# Notes that a host makes on what it keeps; a provider never sees them.
_OWN_NOTES = frozenset({"type", "id", "persistence", "persistInHistory"})
_READ: Mapping[str, frozenset[str]] = {
    "message": frozenset({"role", "content"}),
    "input_text": frozenset({"text"}),
    "output_text": frozenset({"text"}),
    "input_image_url": frozenset({"image_url"}),
    "input_file": frozenset({"file_id"}),
    "thinking": frozenset({"thinking", "signature"}),
    "redacted_thinking": frozenset({"data"}),
    "tool_use": frozenset({"name", "arguments", "input"}),
    "custom_tool_use": frozenset({"name", "input"}),
    "tool_result": frozenset({"tool_use_id", "content", "error", "__images"}),
    "custom_tool_result": frozenset({"tool_use_id", "content", "error", "__images"}),
    "function_call_output": frozenset({"call_id", "output", "status"}),
    "custom_tool_call_output": frozenset({"call_id", "output", "status"}),
}


@dataclass(frozen=True, slots=True)
class Image:
    """An image by its address, a URL or a data URL, and how closely the model is to look at it."""

    url: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool gave back.

    Attributes:
        call_id: The call that it answers.
        custom: Whether that is a custom call.
        content: A text, or texts and images.
        error: What went wrong; empty where nothing did.
    """

    call_id: str
    custom: bool
    content: str | list[str | Image]
    error: str

    @property
    def told(self) -> str:
        """What is to be said of the error beside the content: nothing where a flag says it all."""
        return "" if self.error == PLAIN_ERROR and self.content else self.error


def blocks_of(item: Mapping[str, Any]) -> list[Json]:
    """Return the blocks of a message that hold anything; fields of its own that have no equivalent raise."""
    check_fields(item)
    content = item.get("content")
    blocks = [{"type": "input_text", "text": content}] if isinstance(content, str) else content or ()
    for block in blocks:
        check_fields(block)
    return [{**block} for block in blocks]


def check_fields(data: Mapping[str, Any]) -> None:
    """Refuse a field that neither shape has: what a block says there must not be lost in silence.

    Raises:
        InvalidInputError: When a block of a known kind has one that says something.
    """
    known = _READ.get(str(data.get("type")))
    if known is None:
        return
    _check_known(data, known | _OWN_NOTES, f"a {data['type']}")


def _check_known(data: Mapping[str, Any], known: Collection[str], what: str) -> None:
    for name, value in data.items():
        if name not in known and value is not None and value is not False:
            raise no_equivalent(f"the field {shown(name)} of {what}")


def result_of(data: Mapping[str, Any]) -> Result:
    """Return the result that a block or a native output holds."""
    kind = data["type"]
    native = kind.endswith("_output")
    content = _result_content(data.get("output" if native else "content"))
    given = data.get("__images") or ()
    if not isinstance(given, list | tuple):
        raise InvalidInputError(f"The images of a result are {shown(given)}.", remedy="Give a list.")
    images = [_attached(image) for image in given]
    if images:
        texts: list[str | Image] = [content] if isinstance(content, str) and content else []
        content = [*(content if isinstance(content, list) else texts), *images]
    error = data.get("error")
    nothing = error is None or error is False or error == ""  # 0 is an error: a code
    said = "" if nothing else error if isinstance(error, str) else compact(error)
    return Result(data["call_id" if native else "tool_use_id"], kind in _CUSTOM, content, said)


def call_arguments(block: Mapping[str, Any]) -> Any:
    """Return the arguments of a call, a text or plain data; the older ``input`` only where there are no others.

    Raises:
        InvalidInputError: When it has both and they differ.
    """
    arguments, older = block.get("arguments"), block.get("input")
    if arguments is None or older is None:
        return older if arguments is None else arguments
    try:
        read = json.loads(arguments or "{}") if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        read = None
    if read != older:
        raise no_equivalent(f"the call {shown(block.get('id'))} with two different arguments")
    return arguments


def image_of(part: Mapping[str, Any]) -> Image | None:
    """Return the image that a block or a part of a result shows; None for what is no image.

    Raises:
        InvalidInputError: When the image says something that neither shape has a place for.
    """
    address = part.get("image_url", part.get("source"))
    if part.get("type") in _IMAGES and isinstance(address, Mapping):
        _check_known(address, _ADDRESS, "an image")
    match part:
        case {
            "type": "input_image_url" | "input_image" | "image_url",
            "image_url": {"url": str(url)} as address,
        }:
            return Image(url, address.get("detail"))
        case {"type": "input_image_url" | "input_image" | "image_url", "image_url": str(url)}:
            return Image(url, part.get("detail"))
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return Image(url)
        case {"type": "image", "source": {"type": "base64", "media_type": str(kind), "data": str(data)}}:
            return Image(f"data:{kind};base64,{data}")
    return None


def image_source(image: Image) -> Json:
    """Return the source of an image as Anthropic writes it.

    Raises:
        InvalidInputError: When it is neither at a URL nor inline in one of the four kinds of images.
    """
    found = _DATA_URL.fullmatch(image.url)
    if found is not None and found["type"] in IMAGE_TYPES:
        return {"type": "base64", "media_type": found["type"], "data": found["data"]}
    if image.url.startswith(("http://", "https://")):
        return {"type": "url", "url": image.url}
    raise no_equivalent("an image that is neither at a URL nor inline as JPEG, PNG, GIF or WebP")


def compact(value: Any) -> str:
    """Return a value as compact JSON.

    Raises:
        InvalidInputError: When it has no JSON form.
    """
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(f"it has no JSON form: {error}", remedy="Hold plain JSON data.") from None


def no_equivalent(what: str) -> InvalidInputError:
    """Return the error for what a shape cannot say; ``telling_item`` says the rest."""
    return InvalidInputError(f"{what} has no equivalent there", remedy="Leave it out before exporting.")


@contextmanager
def telling_item(position: int, shape: str) -> Iterator[None]:
    """Say item and shape in an error that knows neither."""
    try:
        yield
    except KeyError as error:
        problem, remedy = f"it lacks the field {error}", "Give it."
    except InvalidInputError as error:
        problem, remedy = error.problem.rstrip("."), error.remedy
    else:
        return
    said = f"{problem[:1].lower()}{problem[1:]}"
    message = f"Item {position} cannot be exported to {shape}: {said}."
    raise InvalidInputError(message, remedy=remedy, position=position) from None


def _result_content(content: Any) -> str | list[str | Image]:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list | tuple) and content:
        parts = [_result_part(part) for part in content]
        if None not in parts:
            return [part for part in parts if part is not None]
    return compact(content)


def _result_part(part: Any) -> str | Image | None:
    if not isinstance(part, Mapping):
        return None
    kind = part.get("type")
    if isinstance(kind, str) and kind in _TEXTS and isinstance(part.get("text"), str):
        _check_known(part, _PART_OF_TEXT, "a part of a result")
        return str(part["text"])
    image = image_of(part)
    if image is not None:
        _check_known(part, _PART_OF_IMAGE, "a part of a result")
    return image


def _attached(image: Any) -> Image:
    match image:
        case {"base64": str(data), "mediaType": str(kind)}:
            return Image(f"data:{kind};base64,{data}")
    raise no_equivalent("an attached image without base64 and mediaType")
