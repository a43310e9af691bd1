"""A guard for calls that nobody prepared: the input of a request is trimmed to what a model takes.

Pure. Managed requests do not pass through here, and a call that does is no preparation: nothing is compacted or
recorded. Calls and results stay together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from playground.borders import cluster_border
from playground.errors import InvalidInputError
from playground.preparation.capacity import usable
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.item_counting import (
    checked_definitions,
    native_tools_tokens,
    response_format_tokens,
    tools_tokens,
)
from playground.preparation.items import Item, Json, read_item
from playground.preparation.protocol import protocol_map
from playground.values import shown

__all__ = ["DEFAULT_OUTPUT_TOKENS", "trim_direct_request"]

DEFAULT_OUTPUT_TOKENS = 4096  # tokens kept for the answer where neither request nor model says how many
_TEXTS = frozenset({"input_text", "output_text"})


def trim_direct_request(
    request: Mapping[str, Any],
    *,
    max_input_tokens: Any = None,
    max_tokens: Any = None,
    model_max_output_tokens: Any = None,
    estimator: PreparationEstimator | None = None,
    log: list[str] | None = None,
) -> Mapping[str, Any]:
    """Trim the input of a request to what its model takes less what its answer takes.

    Of a text the beginning goes. Of items the oldest between the first and the last go, whole groups, and then
    the beginning of the last item's text. Protected groups, instructions and tools stay; so the request may
    still be too large, and the provider will say so.

    Args:
        request: ``input``, ``instructions``, ``tools``, ``response_format``, ``native_tools`` and
            ``max_output_tokens`` count; the rest is passed on.
        max_input_tokens: What the model takes, as its metadata say.
        max_tokens: The same where the first says nothing usable.
        model_max_output_tokens: What the model answers at most.
        estimator: Counts; characters unless a tokenizer is given.
        log: Takes one line for each thing that was trimmed.

    Returns:
        The very same object where it fits, or where no limit is known; else another with a shorter input.

    Raises:
        InvalidInputError: When the request or its input is malformed.
        InvalidToolProtocolError: When it is too large and an id of a call or of a result occurs twice.
    """
    if not isinstance(request, Mapping):
        raise InvalidInputError(f"A request is a {type(request).__name__}.", remedy="Pass an object.")
    counter, told = estimator or PreparationEstimator(), log if log is not None else []
    limit = usable(max_input_tokens) or usable(max_tokens)
    output = (
        usable(request.get("max_output_tokens")) or usable(model_max_output_tokens) or DEFAULT_OUTPUT_TOKENS
    )
    if limit is None or limit <= output:
        return request
    given, room = request.get("input"), limit - output - _fixed(request, counter)
    if isinstance(given, str):
        if counter.text(given) <= room:
            return request
        if room <= 0:
            told.append(f"the rest of the request is {-room:,} tokens over: no shorter input helps")
            return request
        kept = _ending(given, room, counter)
        told.append(f"trimmed the input: {len(given):,} to {len(kept):,} characters")
        return {**request, "input": kept}
    if not isinstance(given, Sequence):
        raise InvalidInputError(f"The input is {shown(given)}.", remedy="Give a text or a list of items.")
    items = [read_item(data, counter) for data in given]
    if sum(item.tokens for item in items) <= room:
        return request
    trimmed = _trimmed(items, room, counter, told)
    return request if trimmed is None else {**request, "input": trimmed}


def _fixed(request: Mapping[str, Any], estimator: PreparationEstimator) -> int:
    instructions = request.get("instructions")
    return (
        (0 if instructions is None else estimator.data(instructions))
        + tools_tokens(checked_definitions(request.get("tools"), "The tools of the request"), estimator)
        + native_tools_tokens(
            checked_definitions(request.get("native_tools"), "The native tools of the request"), estimator
        )
        + response_format_tokens(request.get("response_format"), estimator)
    )


def _trimmed(
    items: Sequence[Item], room: int, estimator: PreparationEstimator, told: list[str]
) -> list[Json] | None:
    """Drop from the middle, then cut the last item's text where that helps; None where nothing can be done."""
    ends = {0, len(items) - 1}
    excess = sum(item.tokens for item in items) - room
    going: set[int] = set()
    for group in protocol_map(items, ()).groups:
        if excess > 0 and group.protection is None and ends.isdisjoint(group.members):
            going.update(group.members)
            excess -= sum(items[place].tokens for place in group.members)
    if going:
        told.append(f"dropped {len(going):,} of {len(items):,} items from the middle of the input")
    kept = [item for place, item in enumerate(items) if place not in going]
    copies = [item.out() for item in kept]
    if 0 < excess < _text_tokens(kept[-1:], estimator):
        excess = _cut_texts(copies[-1]["content"], excess, estimator, told)
    if excess > 0:
        told.append(f"the input is still {excess:,} tokens over: nothing else may be trimmed")
    return copies if going or excess <= 0 else None


def _text_tokens(items: Sequence[Item], estimator: PreparationEstimator) -> int:
    """Count the texts of messages that may be cut."""
    blocks = [block for item in items if item.role is not None for block in item.data["content"]]
    texts = [block["text"] for block in blocks if _is_text(block)]
    return sum(map(estimator.text, texts))


def _is_text(block: Json) -> bool:
    return block.get("type") in _TEXTS and isinstance(block.get("text"), str)


def _cut_texts(blocks: list[Json], excess: int, estimator: PreparationEstimator, told: list[str]) -> int:
    """Cut the beginnings of the texts of a message, the first text first; return what is still too much."""
    for block in blocks:
        if excess > 0 and _is_text(block):
            text = block["text"]
            tokens = estimator.text(text)
            kept = _ending(text, tokens - excess, estimator)
            told.append(f"trimmed the last item: {len(text):,} to {len(kept):,} characters")
            excess -= tokens - estimator.text(kept)
            block["text"] = kept
    return excess


def _ending(text: str, tokens: int, estimator: PreparationEstimator) -> str:
    """Return an end of a text that costs at most ``tokens``."""
    first = len(text) - estimator.longest(text[::-1], tokens)
    while first < len(text):
        border = _next_border(text, first)
        if estimator.text(text[border:]) <= tokens:
            return text[border:]
        first = border + max(1, (len(text) - border) // 10)  # a tokenizer's counts depend on the direction
    return ""


def _next_border(text: str, position: int) -> int:
    """Return the first place at or behind a position that is not inside a character that people see."""
    while position < len(text) and cluster_border(text, position, 0) != position:
        position += 1
    return position
