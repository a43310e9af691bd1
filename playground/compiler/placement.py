"""Placement: where a package's blocks go, and which blocks of earlier packages still stand in a history.

Pure. A block is recognised by the digest of its message's text; string content equals one text part, so that
a history may be stored as JSON and read back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from playground.compiler.rendering import CONTEXT_TAG
from playground.compiler.values import ContextPackage, PlacedEntry, text_digest
from playground.messages import Message, TextPart, as_messages

__all__ = [
    "block_text",
    "history_messages",
    "is_compiler_block",
    "placed_entries",
    "request_messages",
    "standing_placements",
    "without_blocks",
]

_APPEND_OPENING = f'<{CONTEXT_TAG} pass="'
_BLOCK = re.compile(
    rf'<{CONTEXT_TAG} pass="\d+" step="\d+">\n.*</{CONTEXT_TAG}>'
    r'|<deuz_working_memory revision="\d+">\n.*</deuz_working_memory>',
    re.DOTALL,
)


def request_messages(
    messages: Sequence[Message | Mapping[str, Any]], package: ContextPackage
) -> tuple[Message, ...]:
    """Return what to send: ``messages``, then the retrieval block, then working memory as the last message.

    Args:
        messages: The history that the package was compiled for.
        package: What ``before_model_call`` or ``compile_context`` gave for it.

    Returns:
        New values; neither argument is changed. The system messages and everything before stay as they are.
    """
    blocks = (message for block in package.blocks for message in block.messages)
    return (*as_messages(messages), *blocks)


def history_messages(
    messages: Sequence[Message | Mapping[str, Any]], package: ContextPackage
) -> tuple[Message, ...]:
    """Return the history after the model call succeeded; the model's answer comes next.

    The retrieval block has joined it. Working memory is gone, except on a model that binds its thinking to the
    bytes before it (``manifest.placement.tail_kept``): there this step's copy stays, right after the block.

    Args:
        messages: The history that the package was compiled for.
        package: What ``before_model_call`` or ``compile_context`` gave for it.
    """
    kept = {"append", "ephemeral-tail"} if package.manifest.placement.tail_kept else {"append"}
    blocks = (block for block in package.blocks if block.placement in kept)
    return (*as_messages(messages), *(message for block in blocks for message in block.messages))


def without_blocks(messages: Sequence[Message | Mapping[str, Any]]) -> tuple[Message, ...]:
    """Return the messages that no compiler wrote: what a summary of the history may be made of.

    A record that a summary repeats would come back as somebody's words, without its origin, and a summary of
    working memory would compete with its current state.
    """
    return tuple(message for message in as_messages(messages) if not is_compiler_block(message))


def standing_placements(
    placed: Sequence[PlacedEntry], messages: Sequence[Message | Mapping[str, Any]]
) -> tuple[PlacedEntry, ...]:
    """Return the entries whose block is still among the messages, in their order. O(messages)."""
    if not placed:
        return ()
    texts = [block_text(message) for message in as_messages(messages) if message.role == "user"]
    digests = {text_digest(text) for text in texts if text is not None and text.startswith(_APPEND_OPENING)}
    return tuple(entry for entry in placed if entry.block_digest in digests)


def placed_entries(package: ContextPackage) -> tuple[PlacedEntry, ...]:
    """Return what a package's append block puts into the history; nothing when it has none."""
    block = next((block for block in package.blocks if block.placement == "append"), None)
    if block is None:
        return ()
    manifest = package.manifest
    digest = text_digest(block.text)
    return tuple(
        PlacedEntry(
            source=entry.source,
            kind=entry.kind,
            record_id=entry.record_id,
            revision=entry.revision,
            digest=entry.digest,
            tokens=entry.tokens,
            mandatory=entry.reason == "mandatory",
            step=manifest.step,
            retrieval_pass=manifest.retrieval_pass,
            block_digest=digest,
        )
        for entry in manifest.entries
        if entry.selected and entry.kind != "working-memory"
    )


def block_text(message: Message) -> str | None:
    """Return a user message's text when it is one text and nothing else, as every block is."""
    if message.role != "user":
        return None
    if isinstance(message.content, str):
        return message.content
    if len(message.content) == 1 and isinstance(message.content[0], TextPart):
        return message.content[0].text
    return None


def is_compiler_block(message: Message) -> bool:
    """Whether a message is a compiler's block: a whole opening tag begins it and its closing tag ends it."""
    text = block_text(message)
    return text is not None and _BLOCK.fullmatch(text) is not None
