"""The last check of a request, right before it is sent: counted as it stands, split as it was prepared.

Pure: the request is read, not changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.budget import BudgetBreakdown, PreparationBudget, make_budget, overflow
from playground.preparation.composition import Developer
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.item_counting import (
    checked_definitions,
    native_tools_tokens,
    response_format_tokens,
    tools_tokens,
)
from playground.preparation.items import Item, read_item, text_message
from playground.preparation.protocol import protocol_map
from playground.preparation.pruning import request_tokens
from playground.values import shown

__all__ = ["PreparedParts", "check_fit", "field_of", "request_budget"]


@dataclass(frozen=True, slots=True)
class PreparedParts:
    """What the prepared request tells of how to split the one that is sent.

    Attributes:
        developer: Its developer message; one of the same text keeps its parts.
        input_items: How many of its last items were current input.
    """

    developer: Developer | None = None
    input_items: int = 0


def request_budget(
    request: Any,
    *,
    prepared: PreparedParts,
    window: int,
    reserve: int,
    estimator: PreparationEstimator,
) -> PreparationBudget:
    """Count a request: input, instructions, tools, native tools and response format.

    A developer message at its beginning counts as system, as many of the last items as the prepared request had
    of them as current input, the rest as conversation; a text instead of items is current input. Calls without
    result and results without call do not count.

    Args:
        request: A mapping, or an object with those attributes.
        prepared: The request that was prepared.
        window: The window that counts, in tokens.
        reserve: What is kept free for the answer, in tokens.
        estimator: Counts.

    Raises:
        InvalidInputError: When a field is malformed.
        InvalidToolProtocolError: When an id of a call or of a result occurs twice.
    """
    given = field_of(request, "input")
    items = _items(given, estimator)
    leading = bool(items) and items[0].role == "developer"
    breakdown, system_tokens = BudgetBreakdown(), 0
    if leading:
        system_tokens = sum(items[0].block_tokens)
        if prepared.developer is not None and _text(items[0]) == prepared.developer.text:
            breakdown, system_tokens = prepared.developer.breakdown, prepared.developer.tokens
    kept = _kept_tokens(items)[leading:]
    last = 1 if isinstance(given, str) else prepared.input_items
    first_input = max(0, len(kept) - last)
    counted = {
        "conversation": sum(kept[:first_input]),
        "current_input": sum(kept[first_input:]),
        "instructions": estimator.text(_instructions(request)),
        "tools": tools_tokens(_definitions(request, "tools"), estimator),
        "native_tools": native_tools_tokens(_definitions(request, "native_tools"), estimator),
        "response_format": response_format_tokens(field_of(request, "response_format"), estimator),
    }
    return make_budget(
        max_tokens=window,
        response_reserve=reserve,
        system_tokens=system_tokens,
        breakdown=breakdown.model_copy(update=counted),
    )


def check_fit(budget: PreparationBudget) -> None:
    """Raise for a request that does not fit.

    Raises:
        ContextOverflowError: When it is over the limit.
    """
    if budget.total_used > budget.limit:
        raise overflow(budget, "the request grew beyond the window after it was prepared")


def field_of(request: Any, name: str) -> Any:
    """Return a field of a request, None where it is absent."""
    return request.get(name) if isinstance(request, Mapping) else getattr(request, name, None)


def _items(given: Any, estimator: PreparationEstimator) -> tuple[Item, ...]:
    if given is None:
        return ()
    if isinstance(given, str):
        given = [text_message("user", given, "")]
    if not isinstance(given, list | tuple):
        raise InvalidInputError(
            f"The input of the request is a {type(given).__name__}.", remedy="Give a text or a list of items."
        )
    return tuple([read_item(item, estimator) for item in given])


def _kept_tokens(items: tuple[Item, ...]) -> list[int]:
    """Count what a request keeps of each item, in tokens; messages of which nothing is left are not listed."""
    dropped: dict[int, set[int]] = {}
    for position, block in protocol_map(items, ()).dropped:
        dropped.setdefault(position, set()).add(block)
    counts = [request_tokens(item, dropped.get(position, ())) for position, item in enumerate(items)]
    return [tokens for position, tokens in enumerate(counts) if tokens or position not in dropped]


def _text(item: Item) -> str | None:
    blocks = item.data["content"]
    return blocks[0].get("text") if len(blocks) == 1 else None


def _instructions(request: Any) -> str | None:
    instructions = field_of(request, "instructions")
    if instructions is not None and not isinstance(instructions, str):
        raise InvalidInputError(f"The instructions are {shown(instructions)}.", remedy="Give a text.")
    return instructions


def _definitions(request: Any, name: str) -> tuple[Mapping[str, Any], ...]:
    return checked_definitions(field_of(request, name), f"The {name} of the request")
