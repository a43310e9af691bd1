"""The raw request: history and compiled blocks as the JSON body that a provider takes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from playground.compiler.values import ContextPackage
from playground.exports import to_anthropic, to_openai
from playground.messages import Message
from playground.views.words import plural

__all__ = ["RequestView", "request_messages", "request_view"]

Shape = Literal["anthropic", "openai"]


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request body."""

    body: str
    """Indented JSON; holds content."""
    total: str
    """Tokens of the whole request: ``39,551 tokens``."""


def request_messages(messages: Sequence[Message], package: ContextPackage) -> tuple[Message, ...]:
    """Return the messages of the call: the history, then the blocks in their order."""
    return (*messages, *(message for block in package.blocks for message in block.messages))


def request_view(
    shape: Shape,
    messages: Sequence[Message],
    package: ContextPackage,
    *,
    model_id: str,
    max_tokens: int,
    tools: Sequence[Mapping[str, Any]] = (),
) -> RequestView:
    """Return the request in one provider's shape.

    Args:
        shape: Whose API.
        messages: The history without the compiled blocks.
        package: The compile.
        model_id: Sent as the model.
        max_tokens: Output reserve, in tokens.
        tools: Schemas that the request carries.
    """
    export = to_anthropic if shape == "anthropic" else to_openai
    body = export(request_messages(messages, package), model_id=model_id, max_tokens=max_tokens, tools=tools)
    budget = package.manifest.budget
    return RequestView(
        body=json.dumps(body, ensure_ascii=False, indent=2),
        total=plural(budget.used_tokens + budget.selected_tokens, "token"),
    )
