"""Placement: where a package's blocks go, and which blocks of earlier packages still stand in a history.

Pure. A block is recognised by the digest of its message's text; string content equals one text part, so that
a history may be stored as JSON and read back.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Mapping, Sequence
from typing import Any, overload

from playground.compiler.manifest import ContextManifest, ManifestEntry
from playground.compiler.rendering import CONTEXT_TAG
from playground.compiler.values import ContextPackage, PlacedEntry, TextKey
from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.escaping import escape_attribute
from playground.messages import Message, TextPart, as_message, as_messages, listed, message_to_json
from playground.values import of_type, shown

__all__ = [
    "block_text",
    "confirmed_entries",
    "history_messages",
    "is_compiler_block",
    "placed_entries",
    "request_messages",
    "standing_placements",
    "without_blocks",
    "without_records",
]

Record = tuple[str, str]
"""Source and record id."""

_APPEND_OPENING = f'<{CONTEXT_TAG} pass="'
# Text has no bare "<", so that nothing but a record's own tag can match.
_RECORD = re.compile(r'<record source="([^"]*)" kind="[a-z]+" id="([^"]*)"')
_BLOCK = re.compile(
    rf'<{CONTEXT_TAG} pass="\d+" step="\d+">\n.*</{CONTEXT_TAG}>'
    r'|<deuz_working_memory revision="\d+">\n.*</deuz_working_memory>',
    re.DOTALL,
)


@overload
def request_messages(messages: Sequence[Message], package: ContextPackage) -> tuple[Message, ...]: ...
@overload
def request_messages(
    messages: Sequence[Message | Mapping[str, Any]], package: ContextPackage
) -> tuple[Message | Mapping[str, Any], ...]: ...
def request_messages(
    messages: Sequence[Message | Mapping[str, Any]], package: ContextPackage
) -> tuple[Message | Mapping[str, Any], ...]:
    """Return what to send: ``messages``, then the retrieval block, then working memory as the last message.

    Args:
        messages: The history that the package was compiled for.
        package: What ``before_model_call`` or ``compile_context`` gave for it.

    Returns:
        The messages themselves, untouched whatever else they hold, and the blocks: as dictionaries where the
        last message is one, as ``Message`` values otherwise.

    Raises:
        InvalidInputError: When the messages are no list, or the package is something else.
    """
    return _with_blocks(messages, package, {"append", "ephemeral-tail"})


@overload
def history_messages(messages: Sequence[Message], package: ContextPackage) -> tuple[Message, ...]: ...
@overload
def history_messages(
    messages: Sequence[Message | Mapping[str, Any]], package: ContextPackage
) -> tuple[Message | Mapping[str, Any], ...]: ...
def history_messages(
    messages: Sequence[Message | Mapping[str, Any]], package: ContextPackage
) -> tuple[Message | Mapping[str, Any], ...]:
    """Return the history after the model call succeeded; the model's answer comes next.

    The retrieval block has joined it. Working memory is gone, except on a model that binds its thinking to the
    bytes before it (``manifest.placement.tail_kept``): there this step's copy stays, right after the block.

    Args:
        messages: The history that the package was compiled for.
        package: What ``before_model_call`` or ``compile_context`` gave for it.

    Returns:
        As ``request_messages``.

    Raises:
        InvalidInputError: As ``request_messages``.
    """
    tail_kept = of_type(package, ContextPackage, "The package").manifest.placement.tail_kept
    return _with_blocks(messages, package, {"append", "ephemeral-tail"} if tail_kept else {"append"})


@overload
def without_blocks(messages: Sequence[Message]) -> tuple[Message, ...]: ...
@overload
def without_blocks(
    messages: Sequence[Message | Mapping[str, Any]],
) -> tuple[Message | Mapping[str, Any], ...]: ...
def without_blocks(
    messages: Sequence[Message | Mapping[str, Any]],
) -> tuple[Message | Mapping[str, Any], ...]:
    """Return the messages that no compiler wrote: what a summary of the history may be made of.

    A record that a summary repeats would come back as somebody's words, without its origin, and a summary of
    working memory would compete with its current state.

    Raises:
        InvalidInputError: For malformed messages.
    """
    return tuple(message for message in listed(messages) if not is_compiler_block(as_message(message)))


@overload
def without_records(messages: Sequence[Message], records: Collection[Record]) -> tuple[Message, ...]: ...
@overload
def without_records(
    messages: Sequence[Message | Mapping[str, Any]], records: Collection[Record]
) -> tuple[Message | Mapping[str, Any], ...]: ...
def without_records(
    messages: Sequence[Message | Mapping[str, Any]], records: Collection[Record]
) -> tuple[Message | Mapping[str, Any], ...]:
    """Return the messages without the retrieval blocks that hold one of these records.

    For a history after a forget: a compiler never rewrites a block, and what else such a block held is placed
    again by the next step, which is to be called with ``redacted=True``.

    Args:
        messages: The history.
        records: Source and record id of each record that was forgotten.

    Raises:
        InvalidInputError: For malformed messages or records.
    """
    marks = {(escape_attribute(source), escape_attribute(record_id)) for source, record_id in _pairs(records)}

    def holds(message: Message) -> bool:
        return is_compiler_block(message) and not marks.isdisjoint(_RECORD.findall(block_text(message) or ""))

    return tuple(message for message in listed(messages) if not holds(as_message(message)))


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
    digest = text_digest(block.text)
    return tuple(
        _placed(package.manifest, entry, digest, mandatory=entry.reason == "mandatory")
        for entry in package.manifest.entries
        if entry.selected and entry.kind != "working-memory"
    )


def confirmed_entries(
    package: ContextPackage,
    placed: Sequence[PlacedEntry],
    standing: Sequence[PlacedEntry],
    mandatory: Container[TextKey],
) -> tuple[PlacedEntry, ...]:
    """Return what a package found in the history already, where that is news about a record.

    News is that a text which stands is the record's newest one, or that it is mandatory now, under its own id
    or under another one that brought the same text. Without it an older text would come back later, or a
    mandatory one would not.

    Args:
        package: The package.
        placed: Every placement before it, oldest first.
        standing: Those whose block is in the history.
        mandatory: Texts that a source offered as mandatory.
    """
    by_key = {entry.text_key: entry for entry in standing}
    by_digest = {entry.digest: entry for entry in standing}
    latest = {(entry.source, entry.record_id): entry for entry in placed}
    manifest, confirmed = package.manifest, []
    for entry in manifest.entries:
        if entry.reason not in {"already-placed", "duplicate"} or entry.kind == "working-memory":
            continue
        key = (entry.source, entry.record_id, entry.digest)
        there = by_key.get(key) or (by_digest.get(entry.digest) if key in mandatory else None)
        if there is None:
            continue
        known = latest.get((entry.source, entry.record_id))
        needed = key in mandatory or (known is not None and known.text_key == key and known.mandatory)
        if (
            known is not None
            and known.text_key == key
            and known.mandatory == needed
            and (known.revision or 0) >= (entry.revision or 0)
        ):
            continue
        confirmed.append(_placed(manifest, entry, there.block_digest, mandatory=needed))
    return tuple(confirmed)


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


def _with_blocks(
    messages: Sequence[Message | Mapping[str, Any]], package: ContextPackage, placements: set[str]
) -> tuple[Message | Mapping[str, Any], ...]:
    """Return the messages and those of the package's blocks, in the form of the messages that they follow."""
    before, offered = listed(messages), of_type(package, ContextPackage, "The package").blocks
    blocks = [m for block in offered if block.placement in placements for m in block.messages]
    if before and not isinstance(before[-1], Message):
        return (*before, *map(message_to_json, blocks))
    return (*before, *blocks)


def _pairs(records: Collection[Record]) -> Collection[Record]:
    pairs = isinstance(records, Collection) and all(
        isinstance(record, tuple | list) and len(record) == 2 and all(isinstance(part, str) for part in record)
        for record in records
    )
    if not pairs:
        raise InvalidInputError(
            f"The records are {shown(records)}.", remedy="Pass a list of pairs of source and record id."
        )
    return records


def _placed(
    manifest: ContextManifest, entry: ManifestEntry, block_digest: str, *, mandatory: bool
) -> PlacedEntry:
    """Return where an entry's text stands: in the block with that digest."""
    assert entry.kind != "working-memory", "working memory is never placed"
    return PlacedEntry(
        source=entry.source,
        kind=entry.kind,
        record_id=entry.record_id,
        revision=entry.revision,
        digest=entry.digest,
        tokens=entry.tokens,
        mandatory=mandatory,
        step=manifest.step,
        retrieval_pass=manifest.retrieval_pass,
        block_digest=block_digest,
    )
