"""What comes from outside, as blocks: a user's content, a model's answer, the results of tools.

Pure. What is malformed is told before anything changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.items import Json, detached, text_block
from playground.tokens import compact_json
from playground.values import shown

__all__ = ["Answer", "Content", "listed", "result_block", "user_blocks"]

Content = str | Sequence[Mapping[str, Any]]
"""What a message is made of: a text, or blocks."""

_TEXTS = frozenset({"output_text", "input_text", "text"})
_NOT_STORED = frozenset({"reasoning", "compaction"})  # the provider's, in an answer; hosts add what they keep
_BLOCKS = _TEXTS | {"tool_use", "custom_tool_use", "thinking"}  # may stand in an answer without a message
_HOSTS_OWN = frozenset({"name", "tool_name", "tool_args", "state"})  # of a tool's result; no provider has them


class Answer:
    """What a model's output comes to.

    Texts, calls and thinking that is to be kept become the blocks of one message. ``reasoning`` and
    ``compaction`` items are left out; items of any other kind stand beside the message.

    Args:
        output: The answer's items: messages, or single blocks. A text is one text.

    Attributes:
        blocks: The message's blocks.
        before: Items that stand before the message.
        after: Items that stand after it.
        thinking: What was thought last, also where it is not to be kept; None where nothing was.

    Raises:
        InvalidInputError: When the output is malformed.
    """

    def __init__(self, output: Content) -> None:
        self.blocks: list[Json] = []
        self.before: list[Json] = []
        self.after: list[Json] = []
        self.thinking: str | None = None
        if isinstance(output, str):
            self._add_block(text_block("assistant", output))
            return
        for item in listed(output, "An answer"):
            _check_object(item, "An item of an answer")
            kind = item.get("type")
            if kind == "message" or (kind is None and "content" in item):
                self._add_message(item.get("content"))
            elif isinstance(kind, str) and kind in _BLOCKS:
                self._add_block(dict(item))
            elif not (isinstance(kind, str) and kind in _NOT_STORED):
                (self.after if self.blocks else self.before).append(dict(item))

    def _add_message(self, content: Any) -> None:
        if isinstance(content, str):
            content = [text_block("assistant", content)]
        for block in listed(() if content is None else content, "The content of an answer"):
            _check_object(block, "A block of an answer")
            self._add_block(dict(block))

    def _add_block(self, block: Json) -> None:
        kind = block.get("type")
        if kind == "thinking":
            thinking = block.get("thinking")
            self.thinking = thinking if isinstance(thinking, str) else ""
            if block.get("persistInHistory") is not True:
                return
        text = isinstance(kind, str) and kind in _TEXTS
        self.blocks.append({**block, "type": "output_text"} if text else block)


def user_blocks(content: Content) -> list[Json]:
    """Return the blocks of a user's message.

    Raises:
        InvalidInputError: When the content is neither a text nor a list of objects.
    """
    if isinstance(content, str):
        return [text_block("user", content)]
    blocks = listed(content, "A user's content")
    for block in blocks:
        _check_object(block, "A block of a user's content")
    return [dict(block) for block in blocks]


def result_block(result: Any) -> Json:
    """Return the block of a tool's result.

    A text is stored as it is, other content as JSON; what JSON cannot write stays as it is. Images in the
    content's ``__images`` ride on the block, and its ``base64`` goes.

    Raises:
        InvalidInputError: When it is no object, or an item of another kind.
    """
    _check_object(result, "A result")
    kind = result.get("type", "tool_result")
    if not isinstance(kind, str) or kind not in {"tool_result", "custom_tool_result"}:
        raise InvalidInputError(
            f"A result has the type {shown(kind)}.", remedy="Add other items with add_input_items."
        )
    block: Json = {"type": kind, **{name: value for name, value in result.items() if name not in _HOSTS_OWN}}
    if block.get("error") is None:
        block.pop("error", None)
    content = block.pop("content", None)
    images = content.get("__images") if isinstance(content, Mapping) else None
    if isinstance(images, list | tuple) and images:
        block["__images"] = list(images)
        content = {name: value for name, value in content.items() if name not in {"__images", "base64"}}
    # A failure without content says it in its error alone.
    block["content"] = "" if content is None and "error" in block else _as_text(content)
    return block


def listed(values: Any, subject: str) -> list[Any]:
    """Return what was passed as a list.

    Raises:
        InvalidInputError: For a text, an object, and what is no list of anything; names the subject.
    """
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidInputError(f"{subject} is a {type(values).__name__}.", remedy="Pass a list.")
    return list(values)


def _as_text(content: Any) -> Any:
    return content if isinstance(content, str) else compact_json(content) or detached(content)


def _check_object(value: Any, subject: str) -> None:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{subject} is a {type(value).__name__}.", remedy="Pass an object.")
