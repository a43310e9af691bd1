"""A whole history that a strategy proposes in place of the present one: read, matched and checked.

Pure. What comes out as it went in stays the item that it was.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playground.errors import InvalidInputError
from playground.preparation.estimation import PreparationEstimator
from playground.preparation.items import Item, Json, read_item
from playground.preparation.protocol import ProtocolMap, protocol_map
from playground.preparation.pruning import pruned_tokens
from playground.values import shown

__all__ = ["Proposal", "read_proposal"]


@dataclass(frozen=True, slots=True)
class Proposal:
    """A history that may take the place of another.

    Attributes:
        items: Its items.
        kept: Positions in the present history of the items that stay.
        tokens: What a request holds of it, in tokens.
    """

    items: tuple[Item, ...]
    kept: frozenset[int]
    tokens: int


def read_proposal(
    proposal: Iterable[Mapping[str, Any]],
    history: Sequence[Item],
    current_input: Sequence[Item],
    protocol: ProtocolMap,
    estimator: PreparationEstimator,
) -> Proposal:
    """Read a proposal and check that it may be applied.

    Args:
        proposal: Items as plain data.
        history: The present history.
        current_input: Stays behind it.
        protocol: The groups of both.
        estimator: Counts what is new.

    Raises:
        InvalidInputError: When it is malformed, lacks an item of a protected group or has it in another order,
            or parts a call from its result.
        InvalidToolProtocolError: When it holds two calls, or two results, of one id.
    """
    items, kept = _matched(proposal, history, estimator)
    for group in protocol.groups:
        missing = [place for place in group.members if place < len(history) and place not in kept]
        if group.protection is not None and missing:
            raise InvalidInputError(
                f"The proposal lacks item {missing[0]}, which is protected: {group.protection}.",
                remedy="Keep every item of a protected group as it is.",
            )
    after = protocol_map(items, current_input)
    alone = {(history[place], block) for place, block in protocol.dropped if place < len(history)}
    if any(place < len(items) and (items[place], block) not in alone for place, block in after.dropped):
        raise InvalidInputError(
            "The proposal parts a call from its result.", remedy="Keep both, or neither of them."
        )
    return Proposal(items, kept, pruned_tokens(items, after.dropped))


def _matched(
    proposal: Iterable[Mapping[str, Any]], history: Sequence[Item], estimator: PreparationEstimator
) -> tuple[tuple[Item, ...], frozenset[int]]:
    """Read a proposal; return its items, and the positions of those that are in the history already."""
    if isinstance(proposal, str | bytes | Mapping) or not isinstance(proposal, Iterable):
        raise InvalidInputError(f"The proposal is {shown(proposal)}.", remedy="Pass a list of items.")
    places_of: dict[str, list[int]] = {}
    for place, item in enumerate(history):
        places_of.setdefault(_trace(item.data), []).append(place)
    items: list[Item] = []
    kept: list[int] = []
    for data in proposal:
        item = read_item(data, estimator)
        after = kept[-1] if kept else -1
        candidates = (place for place in places_of.get(_trace(item.data), ()) if place > after)
        found = next((place for place in candidates if history[place].data == item.data), None)
        if found is not None:
            kept.append(found)
            item = history[found]
        items.append(item)
    return tuple(items), frozenset(kept)


def _trace(data: Json) -> str:
    """Return what finds an item among others quickly; equal data has an equal one."""
    content = data.get("content")
    first = content[0] if isinstance(content, list) and content else None
    text = first.get("text") if isinstance(first, dict) else None
    return f"{data.get('type')} {data.get('id')} {data.get('call_id')} {text if isinstance(text, str) else ''}"
