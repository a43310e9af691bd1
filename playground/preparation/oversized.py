"""Results of tools that are too large to be sent: the current input is cut, and every cut is told.

Pure. A cut depends on the items as they came in and on the allowance alone, so that it can be done again from
the originals. Only the text of results is cut: never an image, an error, a call, another block, or what carries
evidence that is not stored yet.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.preparation.compaction_log import NAME_LENGTH
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.item_counting import MESSAGE_TOKENS
from playground.preparation.items import Item, Json, Namespace, read_item
from playground.preparation.listing import shortened
from playground.preparation.protocol import ProtocolMap
from playground.preparation.pruning import Place, pruned_tokens
from playground.preparation.result_cutting import (
    Replacement,
    ResultText,
    replace_texts,
    result_texts,
    sets_error,
)
from playground.preparation.results import OversizedInput

__all__ = ["Cut", "cut_results", "fixed_tokens", "tool_names", "untouchable"]

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
    texts = result_texts(originals, estimator, whole, dropped)
    replacements = replace_texts(texts, allowance, estimator)
    changes: dict[int, list[tuple[ResultText, Replacement]]] = {}
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
    texts = sum([text.tokens for text in result_texts(items, estimator, whole, dropped)])
    return max(0, pruned_tokens(items, dropped) - texts - MESSAGE_TOKENS)


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


def _replaced(
    item: Item, changes: Iterable[tuple[ResultText, Replacement]], estimator: PreparationEstimator
) -> Item:
    data: Json = item.out()
    for text, new in changes:
        if text.block is None:
            data["output"] = new.text
            continue
        block: dict[str, Any] = data["content"][text.block]
        block["content"] = new.text
        if new.error is not None and sets_error(text):
            block["error"] = new.error
    return read_item(data, estimator)


def _line(text: ResultText, new: Replacement, names: ToolNames) -> str:
    name = shortened(names.get(text.key, "unknown"), NAME_LENGTH)
    whose = f"{new.what} result of {name} ({shortened(text.key[1], NAME_LENGTH)})"
    return f"{whose}: {len(text.text):,} to {len(new.text):,} characters"
