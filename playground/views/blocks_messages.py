"""The messages of compiled blocks as text for people: role, then what it says. Pure."""

from __future__ import annotations

from playground.blocks.compile import CompiledBlocks
from playground.escaping import replace_surrogates
from playground.views.words import count, shortened

__all__ = ["MESSAGES_LENGTH", "messages_text"]

MESSAGES_LENGTH = 200_000  # code points that a page shows at most; the JSON holds all


def messages_text(compiled: CompiledBlocks) -> str:
    """Return one paragraph a message, in the order in which they are sent.

    What a message says is indented, so that no line of it can pass for the head of another message.
    """
    if not compiled.included:
        return "No message: no block got in."
    parts = (
        "\n    ".join((f"{number:,} {one.role}", *one.content.splitlines()))
        for number, one in enumerate(compiled.included, start=1)
    )
    text = replace_surrogates("\n\n".join(parts))
    if len(text) <= MESSAGES_LENGTH:
        return text
    left = count(len(text) - MESSAGES_LENGTH)
    return f"{shortened(text, MESSAGES_LENGTH)}\n\n{left} more characters stand in the JSON."
