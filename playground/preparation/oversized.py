"""Results of tools that are too large to be sent: the current input is cut, and every cut is told.

Pure. A cut depends on the items as they came in and on the allowance alone, so that it can be done again from
the originals. Only the text of results is cut: never an image, an error, a call, another block, or what carries
evidence that is not stored yet.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.borders import cluster_border
from playground.preparation.estimation import CHARACTERS_PER_TOKEN, PreparationEstimator
from playground.preparation.item_counting import MESSAGE_TOKENS
from playground.preparation.items import Item, Json, Namespace, read_item
from playground.preparation.listing import shortened
from playground.preparation.protocol import ProtocolMap
from playground.preparation.pruning import Place, pruned_tokens
from playground.preparation.results import OversizedInput

__all__ = ["Cut", "cut_results", "fixed_tokens", "looks_binary", "tool_names", "untouchable"]

MARGIN = 200  # characters that are never given to a text: rounding, framing, the marker
MARKER_MARGIN = 150  # characters that a marker may take
NOTICE_MARGIN = 100  # characters that a notice with its error may take
SMALLEST_BINARY = 100  # characters; anything shorter is text
LONG_BINARY = 1000  # characters; above it the share decides
BINARY_SHARE = 0.95  # of the characters are base64's, of long binary content
NAME_LENGTH = 64  # code points of a name or an id in the log

SKIPPED, SKIPPED_ERROR = "[Left out: no room.]", "left out: no room"
BINARY, BINARY_ERROR = "[Binary content left out.]", "binary too large"

_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")
ToolNames = Mapping[tuple[Namespace, str], str]


@dataclass(frozen=True, slots=True)
class Cut:
    """What a cut left.

    Attributes:
        items: The input as it is now; what was not cut is the same object.
        result: What is told of it.
        log: One line for each result that was cut or left out.
    """

    items: tuple[Item, ...]
    result: OversizedInput
    log: tuple[str, ...]


def cut_results(
    originals: Sequence[Item],
    allowance: int,
    estimator: PreparationEstimator,
    *,
    whole: Collection[int] = (),
    dropped: Collection[Place] = (),
    names: ToolNames | None = None,
) -> Cut:
    """Cut the texts of results so that they stay within an allowance.

    Binary content is left out; a text that has no room is shortened to what there is, with a marker that states
    both sizes; one that has no room at all gives way to a notice. Characters are counted as the source system
    does; where that would exceed the allowance, or a tokenizer counts, tokens are. A text shorter than a notice
    stays.

    Args:
        originals: The input's items as they came in.
        allowance: Tokens for all these texts and the framing of one message, see ``fixed_tokens``.
        estimator: Counts.
        whole: Positions in ``originals`` of items that must stay as they are, see ``untouchable``.
        dropped: Places in ``originals`` that no request holds: they stay, and take nothing.
        names: Names of the tools by call, for the log.

    Returns:
        The cut. It is never over the allowance unless the notices alone are.
    """
    texts = _texts(originals, estimator, whole, dropped)
    room = max(0, allowance) - MESSAGE_TOKENS
    replacements = None
    if estimator.kind == "heuristic":
        replacements = _by_characters(texts, math.floor(max(0, allowance) * CHARACTERS_PER_TOKEN), estimator)
        if sum(_cost(text, new, estimator) for text, new in zip(texts, replacements, strict=True)) > room:
            replacements = None
    if replacements is None:
        replacements = _by_tokens(texts, room, estimator)
    changes: dict[int, list[tuple[_Text, _Replacement]]] = {}
    for text, new in zip(texts, replacements, strict=True):
        if new.what:
            changes.setdefault(text.position, []).append((text, new))
    items = tuple(
        [
            _replaced(item, changes[place], estimator) if place in changes else item
            for place, item in enumerate(originals)
        ]
    )
    log = tuple([_line(text, new, names or {}) for place in changes for text, new in changes[place]])
    result = OversizedInput(
        accepted=True,
        content=tuple([item.out() for item in items]),
        warning=f"The current input was cut to fit: {'; '.join(log)}." if log else None,
        original_size=pruned_tokens(originals, dropped),
        final_size=pruned_tokens(items, dropped),
    )
    return Cut(items, result, log)


def fixed_tokens(
    items: Sequence[Item],
    estimator: PreparationEstimator,
    *,
    whole: Collection[int] = (),
    dropped: Collection[Place] = (),
) -> int:
    """Count what a cut leaves alone, in tokens: what an allowance must not promise.

    Other blocks, images, errors, results that are no text, and the framing of each item after the first. See
    ``cut_results`` for the arguments.
    """
    texts = sum([text.tokens for text in _texts(items, estimator, whole, dropped)])
    return max(0, pruned_tokens(items, dropped) - texts - MESSAGE_TOKENS)


def looks_binary(text: str) -> bool:
    """Whether a text of 100 characters or more is base64 rather than words.

    Its first 100 characters are all base64's, or it has more than 1,000 of which over 95 % are. O(n).
    """
    if len(text) < SMALLEST_BINARY:
        return False
    if _BASE64.issuperset(text[:SMALLEST_BINARY]):
        return True
    return len(text) > LONG_BINARY and sum(map(_BASE64.__contains__, text)) > BINARY_SHARE * len(text)


def tool_names(protocol: ProtocolMap) -> dict[tuple[Namespace, str], str]:
    """Return the names of the tools by namespace and id of their calls."""
    return {(call.namespace, call.id): call.name for group in protocol.groups for _, call in group.calls}


def untouchable(protocol: ProtocolMap, items: Sequence[Item]) -> frozenset[int]:
    """Return the positions in the current input whose group holds evidence that is not stored yet.

    Args:
        protocol: The groups of history and current input.
        items: Both, in order.
    """
    start = protocol.history_length
    return frozenset(
        position - start
        for group in protocol.groups
        if any(items[member].evidence for member in group.members)
        for position in group.members
        if position >= start
    )


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of one result: where it is, and what goes with it. ``block`` is None for a native output."""

    position: int
    block: int | None
    key: tuple[Namespace, str]
    text: str
    has_images: bool
    has_error: bool
    tokens: int


@dataclass(frozen=True, slots=True)
class _Replacement:
    """What takes a text's place; ``what`` is empty where it stays."""

    text: str
    what: str = ""
    error: str | None = None


_SKIP = _Replacement(SKIPPED, "left out", SKIPPED_ERROR)
_NO_BINARY = _Replacement(BINARY, "left out binary", BINARY_ERROR)


def _texts(
    items: Sequence[Item],
    estimator: PreparationEstimator,
    whole: Collection[int],
    dropped: Collection[Place],
) -> list[_Text]:
    found: list[_Text] = []
    for position, item in enumerate(items):
        if item.evidence or position in whole:
            continue
        for result in item.results:
            if result.block is None:
                source, text = item.data, item.data.get("output")
            else:
                source = item.data["content"][result.block]
                text = source.get("content")
            if not isinstance(text, str) or (result.block is not None and (position, result.block) in dropped):
                continue
            has_images, has_error = bool(source.get("__images")), source.get("error") is not None
            key, tokens = (result.namespace, result.id), estimator.text(text)
            found.append(_Text(position, result.block, key, text, has_images, has_error, tokens))
    return found


def _by_characters(texts: Iterable[_Text], most: int, estimator: PreparationEstimator) -> list[_Replacement]:
    """Cut as the source system does: in characters, first come first served."""
    used, replacements = 0, []
    for text in texts:
        room = most - used - MARGIN
        if _is_binary(text):
            replacements.append(_NO_BINARY)
            used += NOTICE_MARGIN
        elif len(text.text) <= room or text.tokens <= _cost(text, _SKIP, estimator):
            replacements.append(_Replacement(text.text))
            used += len(text.text)
        elif room > 0:
            replacements.append(_shortened(text.text, room))
            used += room + MARKER_MARGIN
        else:
            replacements.append(_SKIP)
            used += NOTICE_MARGIN
    return replacements


def _by_tokens(texts: Sequence[_Text], room: int, estimator: PreparationEstimator) -> list[_Replacement]:
    """Cut to exact tokens; what comes later has at least a notice."""
    least = [
        _cost(text, _NO_BINARY, estimator)
        if _is_binary(text)
        else min(text.tokens, _cost(text, _SKIP, estimator))
        for text in texts
    ]
    later, replacements = sum(least), []
    for text, smallest in zip(texts, least, strict=True):
        later -= smallest
        new = _NO_BINARY if _is_binary(text) else _within(text, room - later, estimator)
        room -= _cost(text, new, estimator)
        replacements.append(new)
    return replacements


def _within(text: _Text, tokens: int, estimator: PreparationEstimator) -> _Replacement:
    if text.tokens <= max(tokens, _cost(text, _SKIP, estimator)):
        return _Replacement(text.text)
    marker = estimator.text(_marker(len(text.text), len(text.text)))
    kept = estimator.longest(text.text, tokens - marker)
    while kept > 0:
        new = _shortened(text.text, kept)
        if estimator.text(new.text) <= tokens:
            return new
        kept = min(kept - 1, kept * 9 // 10)  # a tokenizer's counts do not add up exactly
    return _SKIP


def _shortened(text: str, length: int) -> _Replacement:
    kept = cluster_border(text, length, 0)
    cut = text[:kept] + _marker(kept, len(text))
    return _Replacement(cut, "truncated") if len(cut) < len(text) else _Replacement(text)  # never for nothing


def _marker(shown: int, original: int) -> str:
    return f"\n\n[Cut to fit: {shown / 1024:.1f} KB of {original / 1024:.1f} KB are shown.]"


def _is_binary(text: _Text) -> bool:
    return not text.has_images and looks_binary(text.text)


def _cost(text: _Text, new: _Replacement, estimator: PreparationEstimator) -> int:
    """Count what takes a text's place, with the error that comes with it."""
    if not new.what:
        return estimator.text(new.text)
    return estimator.text(new.text) + (estimator.text(new.error) if _sets_error(text) else 0)


def _sets_error(text: _Text) -> bool:
    return text.block is not None and not text.has_error  # a native output has no place for one


def _replaced(
    item: Item, changes: Iterable[tuple[_Text, _Replacement]], estimator: PreparationEstimator
) -> Item:
    data: Json = item.out()
    for text, new in changes:
        if text.block is None:
            data["output"] = new.text
            continue
        block: dict[str, Any] = data["content"][text.block]
        block["content"] = new.text
        if new.error is not None and _sets_error(text):
            block["error"] = new.error
    return read_item(data, estimator)


def _line(text: _Text, new: _Replacement, names: ToolNames) -> str:
    name = shortened(names.get(text.key, "unknown"), NAME_LENGTH)
    whose = f"{new.what} result of {name} ({shortened(text.key[1], NAME_LENGTH)})"
    return f"{whose}: {len(text.text):,} to {len(new.text):,} characters"
