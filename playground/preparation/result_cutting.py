"""What takes the place of the texts of results that have no room.

Pure. Characters are counted first, as the source system does; tokens where that would exceed the allowance, or
where a tokenizer counts.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from playground.borders import cluster_border
from playground.preparation.estimation import CHARACTERS_PER_TOKEN, PreparationEstimator
from playground.preparation.item_counting import MESSAGE_TOKENS
from playground.preparation.items import Item, Namespace
from playground.preparation.pruning import Place

__all__ = [
    "BINARY",
    "BINARY_ERROR",
    "SKIPPED",
    "SKIPPED_ERROR",
    "Replacement",
    "ResultText",
    "looks_binary",
    "replace_texts",
    "result_texts",
    "sets_error",
]

MARGIN = 200  # characters that are never given to a text: rounding, framing, the marker
MARKER_MARGIN = 150  # characters that a marker may take
NOTICE_MARGIN = 100  # characters that a notice with its error may take
SMALLEST_BINARY = 100  # characters; anything shorter is text
LONG_BINARY = 1000  # characters; above it the share decides
BINARY_SHARE = 0.95  # of the characters are base64's, of long binary content

SKIPPED, SKIPPED_ERROR = "[Left out: no room.]", "left out: no room"
BINARY, BINARY_ERROR = "[Binary content left out.]", "binary too large"

_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")


@dataclass(frozen=True, slots=True)
class ResultText:
    """The text of one result: where it is, and what goes with it. ``block`` is None for a native output."""

    position: int
    block: int | None
    key: tuple[Namespace, str]
    text: str
    has_images: bool
    has_error: bool
    tokens: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """What takes a text's place; ``what`` is empty where it stays."""

    text: str
    what: str = ""
    error: str | None = None


def result_texts(
    items: Sequence[Item],
    estimator: PreparationEstimator,
    whole: Collection[int],
    dropped: Collection[Place],
) -> list[ResultText]:
    """Return the texts of all results that may be cut, in order; see ``oversized.cut_results``."""
    found: list[ResultText] = []
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
            found.append(ResultText(position, result.block, key, text, has_images, has_error, tokens))
    return found


def replace_texts(
    texts: Sequence[ResultText], allowance: int, estimator: PreparationEstimator
) -> list[Replacement]:
    """Return what takes the place of each text, in order; see ``oversized.cut_results``.

    Args:
        texts: The texts.
        allowance: Tokens for all of them and the framing of one message.
        estimator: Counts.
    """
    room = max(0, allowance) - MESSAGE_TOKENS
    if estimator.kind == "heuristic":
        most = math.floor(max(0, allowance) * CHARACTERS_PER_TOKEN)
        replacements = _by_characters(texts, most, estimator)
        if sum(_cost(text, new, estimator) for text, new in zip(texts, replacements, strict=True)) <= room:
            return replacements
    return _by_tokens(texts, room, estimator)


def looks_binary(text: str) -> bool:
    """Whether a text of 100 characters or more is base64 rather than words.

    Its first 100 characters are all base64's, or it has more than 1,000 of which over 95 % are. O(n).
    """
    if len(text) < SMALLEST_BINARY:
        return False
    if _BASE64.issuperset(text[:SMALLEST_BINARY]):
        return True
    return len(text) > LONG_BINARY and sum(map(_BASE64.__contains__, text)) > BINARY_SHARE * len(text)


def sets_error(text: ResultText) -> bool:
    """Whether what takes a text's place brings its own error: a native output has no room for one."""
    return text.block is not None and not text.has_error


_SKIP = Replacement(SKIPPED, "left out", SKIPPED_ERROR)
_NO_BINARY = Replacement(BINARY, "left out binary", BINARY_ERROR)


def _by_characters(
    texts: Iterable[ResultText], most: int, estimator: PreparationEstimator
) -> list[Replacement]:
    """Cut as the source system does: in characters, first come first served."""
    used, replacements = 0, []
    for text in texts:
        room = most - used - MARGIN
        if _is_binary(text):
            replacements.append(_NO_BINARY)
            used += NOTICE_MARGIN
        elif len(text.text) <= room or text.tokens <= _cost(text, _SKIP, estimator):
            replacements.append(Replacement(text.text))
            used += len(text.text)
        elif room > 0:
            replacements.append(_shortened(text.text, room))
            used += room + MARKER_MARGIN
        else:
            replacements.append(_SKIP)
            used += NOTICE_MARGIN
    return replacements


def _by_tokens(texts: Sequence[ResultText], room: int, estimator: PreparationEstimator) -> list[Replacement]:
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


def _within(text: ResultText, tokens: int, estimator: PreparationEstimator) -> Replacement:
    if text.tokens <= max(tokens, _cost(text, _SKIP, estimator)):
        return Replacement(text.text)
    marker = estimator.text(_marker(len(text.text), len(text.text)))
    kept = estimator.longest(text.text, tokens - marker)
    while kept > 0:
        new = _shortened(text.text, kept)
        if estimator.text(new.text) <= tokens:
            return new
        kept = min(kept - 1, kept * 9 // 10)  # a tokenizer's counts do not add up exactly
    return _SKIP


def _shortened(text: str, length: int) -> Replacement:
    kept = cluster_border(text, length, 0)
    cut = text[:kept] + _marker(kept, len(text))
    return Replacement(cut, "truncated") if len(cut) < len(text) else Replacement(text)  # never for nothing


def _marker(shown: int, original: int) -> str:
    return f"\n\n[Cut to fit: {shown / 1024:.1f} KB of {original / 1024:.1f} KB are shown.]"


def _is_binary(text: ResultText) -> bool:
    return not text.has_images and looks_binary(text.text)


def _cost(text: ResultText, new: Replacement, estimator: PreparationEstimator) -> int:
    """Count what takes a text's place, with the error that comes with it."""
    if not new.what:
        return estimator.text(new.text)
    return estimator.text(new.text) + (estimator.text(new.error) if sets_error(text) else 0)
