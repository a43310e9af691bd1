"""Blocks that their caller ranks, as the messages that fit a budget.

Pure. It retrieves nothing, calls no model and truncates nothing: a block is in or out as a whole. Forced blocks
go in first, then the others by priority; one that does not fit is skipped. Equal blocks and equal counts give
an equal result, down to the bytes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import compress
from numbers import Real
from operator import not_
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, get_args

from playground.errors import BlockBudgetError, InvalidInputError
from playground.messages import Message, Role, TextPart, message_to_json
from playground.tokens import TokenEstimator
from playground.values import LARGEST_WHOLE_NUMBER, as_float, canonical_json, shown, whole_number

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "BLOCK_KINDS",
    "BLOCK_ROLES",
    "BlockBudgetError",
    "BlockKind",
    "BlockStats",
    "CompiledBlocks",
    "ContextBlock",
    "CountedBlock",
    "Estimator",
    "TextEstimator",
    "approximate_token_estimator",
    "checked_pins",
    "compile_blocks",
    "count_blocks",
    "estimate_serialized_tokens",
    "select_blocks",
    "walk_order",
]

BlockKind = Literal[
    "constitution", "control", "goal", "workspace", "memory", "skill", "recent", "tool-catalog", "evaluation"
]
BLOCK_KINDS: tuple[BlockKind, ...] = get_args(BlockKind)
"""Every kind there is; another one is refused."""
BLOCK_ROLES: tuple[Role, ...] = get_args(Role)

CHARACTERS_PER_TOKEN = 4  # ASCII characters a token, of the approximate estimator
TOKENS_PER_CHARACTER = 2  # tokens of a character outside ASCII


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """One piece of context that a caller offers; checked when it is compiled, not when it is made.

    Attributes:
        id: Non-empty, and unique among the blocks of one call.
        kind: What it is, one of ``BLOCK_KINDS``.
        source: Where it comes from, for people.
        role: Role of the message that it becomes.
        content: Any Unicode text; it is never cut.
        priority: Finite number; the higher goes in first.
        required: Whether it must be in, whatever its priority.
        retention_reason: Why it is worth its tokens, for people.
    """

    id: str
    kind: BlockKind
    source: str
    role: Role
    content: str
    priority: float
    required: bool = False
    retention_reason: str = ""


class CountedBlock(NamedTuple):
    """A block and what its content costs, in tokens; the block's fields can be read here too."""

    block: ContextBlock
    estimated_tokens: int

    @property
    def id(self) -> str:
        """The block's id."""
        return self.block.id

    @property
    def kind(self) -> BlockKind:
        """The block's kind."""
        return self.block.kind

    @property
    def source(self) -> str:
        """Where the block comes from."""
        return self.block.source

    @property
    def role(self) -> Role:
        """The role of the block's message."""
        return self.block.role

    @property
    def content(self) -> str:
        """The block's text."""
        return self.block.content

    @property
    def priority(self) -> float:
        """The block's priority."""
        return self.block.priority

    @property
    def required(self) -> bool:
        """Whether the block must be in."""
        return self.block.required

    @property
    def retention_reason(self) -> str:
        """Why the block is worth its tokens."""
        return self.block.retention_reason


class BlockStats(NamedTuple):
    """What became of the blocks of one kind: how many, and their estimated tokens."""

    kind: BlockKind
    included_count: int
    included_tokens: int
    omitted_count: int
    omitted_tokens: int


@dataclass(frozen=True, slots=True)
class CompiledBlocks:
    """What got in and what stayed out, each in input order.

    Attributes:
        included: Blocks whose messages are sent.
        omitted: Blocks that did not fit.
        block_stats: One row a kind, in the order in which the kinds were first seen.
        estimated_tokens: Tokens of the included blocks, at most ``budget_tokens``.
        budget_tokens: The budget that was compiled under.
    """

    included: tuple[CountedBlock, ...]
    omitted: tuple[CountedBlock, ...]
    block_stats: tuple[BlockStats, ...]
    estimated_tokens: int
    budget_tokens: int

    @property
    def messages(self) -> tuple[Message, ...]:
        """One message an included block: its role and one text part. Made anew each time, O(included)."""
        return tuple(Message(block.role, (TextPart(block.content),)) for block in self.included)

    def to_json(self) -> str:
        """Return canonical JSON in camelCase: declared key order, no spaces; encodes to UTF-8."""
        return canonical_json(
            {
                "messages": list(map(message_to_json, self.messages)),
                "included": list(map(_block_json, self.included)),
                "omitted": list(map(_block_json, self.omitted)),
                "blockStats": [dict(zip(_STATS_KEYS, stats, strict=True)) for stats in self.block_stats],
                "estimatedTokens": self.estimated_tokens,
                "budgetTokens": self.budget_tokens,
            }
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row a block, the included ones first; columns as a block's fields, cost, outcome."""
        import pandas as pd  # noqa: PLC0415  # the package must import without pandas

        rows = [
            (*(getattr(block, name) for name in _FIELDS), tokens, included)
            for blocks, included in ((self.included, True), (self.omitted, False))
            for block, tokens in blocks
        ]
        return pd.DataFrame(rows, columns=[*_FIELDS, "estimated_tokens", "included"])

    def _repr_html_(self) -> str:
        # Kinds are ours, and all the rest are numbers: there is nothing to escape.
        heads = "".join(f"<th>{name}</th>" for name in ("kind", "included", "tokens", "omitted", "tokens"))
        rows = "".join(
            f"<tr><td>{kind}</td>"
            + "".join(f"<td style='text-align:right'>{number:,}</td>" for number in numbers)
            + "</tr>"
            for kind, *numbers in self.block_stats
        )
        blocks = f"{len(self.included):,} of {len(self.included) + len(self.omitted):,} blocks"
        tokens = f"{self.estimated_tokens:,} of {self.budget_tokens:,} tokens"
        return (
            f"<p><b>{blocks}, {tokens}</b></p>"
            f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        )


class TextEstimator(Protocol):
    """Counts the tokens of plain text."""

    def estimate(self, text: str) -> int:
        """Return the tokens of ``text``: a whole number above zero, always the same for the same text."""


class _ApproximateTokenEstimator:
    __slots__ = ()

    def estimate(self, text: str) -> int:
        """Return the tokens of ``text``, at least 1. O(characters)."""
        if text.isascii():
            return -(-len(text) // CHARACTERS_PER_TOKEN) or 1
        ascii_characters = len(text.encode("ascii", "ignore"))
        other_characters = len(text) - ascii_characters
        return -(-ascii_characters // CHARACTERS_PER_TOKEN) + TOKENS_PER_CHARACTER * other_characters

    __call__ = estimate


approximate_token_estimator = _ApproximateTokenEstimator()
"""Counts four ASCII characters as one token and every other code point as two; at least one token a text.

It has ``estimate(text)``, and can be called itself.
"""

Estimator = TextEstimator | TokenEstimator | Callable[[str], int]
"""Anything with ``estimate(text)``, or a function of a text; a ``TokenEstimator`` counts by ``for_text()``."""


def compile_blocks(
    blocks: Iterable[ContextBlock],
    *,
    budget_tokens: int,
    estimator: Estimator | None = None,
    pinned_optional_ids: Iterable[str] = (),
) -> CompiledBlocks:
    """Select blocks under a budget: forced ones, then by descending priority, ties by position. O(n log n).

    Args:
        blocks: In the order in which they are to be sent; never changed.
        budget_tokens: What the included blocks may cost together, in tokens, above zero.
        estimator: Counts a block's content; ``approximate_token_estimator`` by default.
        pinned_optional_ids: Ids of blocks that are forced in as if they were required; ids of none are ignored.

    Returns:
        Included and omitted blocks. All required and all pinned ones are included, and what is included costs
        at most ``budget_tokens``.

    Raises:
        InvalidInputError: For a malformed budget, pinned id, block or token count, and for an id that stands
            twice; names the block. What the estimator raises itself comes through.
        BlockBudgetError: When the forced blocks alone cost more than the budget.
    """
    budget = whole_number(budget_tokens, "budget_tokens", least=1)
    pinned = checked_pins(pinned_optional_ids)
    return select_blocks(count_blocks(blocks, estimator), budget_tokens=budget, pinned=pinned)


def count_blocks(
    blocks: Iterable[ContextBlock], estimator: Estimator | None = None
) -> tuple[CountedBlock, ...]:
    """Check and count blocks, in input order; the first part of ``compile_blocks``. O(characters).

    Args:
        blocks: In the order in which they are to be sent.
        estimator: Counts a block's content; ``approximate_token_estimator`` by default.

    Raises:
        InvalidInputError: For the first faulty block by its first fault.
    """
    listed = _listed(blocks)
    return tuple(map(CountedBlock, listed, _counted(listed, _text_count(estimator))))


def checked_pins(ids: Iterable[str]) -> frozenset[str]:
    """Return pinned ids as a set.

    Raises:
        InvalidInputError: For what is no list of strings.
    """
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise InvalidInputError(
            f"The pinned ids are a {type(ids).__name__}.", remedy="Pass a list of block ids."
        )
    listed = [*ids]
    for block_id in listed:
        if not isinstance(block_id, str):
            raise InvalidInputError(f"A pinned id is {shown(block_id)}.", remedy="Pass block ids, strings.")
    return frozenset(listed)


def select_blocks(
    counted: Sequence[CountedBlock], *, budget_tokens: int, pinned: Collection[str] = ()
) -> CompiledBlocks:
    """Select among blocks that were counted; the second part of ``compile_blocks``. O(n log n).

    Args:
        counted: What ``count_blocks`` gave.
        budget_tokens: In tokens, above zero.
        pinned: Ids of blocks that are forced in as if they were required.

    Raises:
        BlockBudgetError: When the forced blocks alone cost more than the budget.
    """
    tokens = [block.estimated_tokens for block in counted]
    walk = walk_order(counted, pinned)
    required_tokens = sum(tokens) - sum(map(tokens.__getitem__, walk))
    if required_tokens > budget_tokens:
        raise BlockBudgetError(required_tokens=required_tokens, budget_tokens=budget_tokens)
    remaining = budget_tokens - required_tokens
    chosen = [True] * len(counted)
    for place in walk:
        if tokens[place] <= remaining:
            remaining -= tokens[place]
        else:
            chosen[place] = False
    return CompiledBlocks(
        included=tuple(compress(counted, chosen)),
        omitted=tuple(compress(counted, map(not_, chosen))),
        block_stats=_stats(counted, chosen),
        estimated_tokens=budget_tokens - remaining,
        budget_tokens=budget_tokens,
    )


def walk_order(counted: Sequence[CountedBlock], forced: Collection[str] = ()) -> list[int]:
    """Return the places of the optional blocks in the order in which they are considered. O(n log n).

    Args:
        counted: All blocks, in input order.
        forced: Ids of blocks that are in anyway; required ones need not be among them.
    """
    blocks = [one.block for one in counted]
    optional = [place for place, block in enumerate(blocks) if not (block.required or block.id in forced)]
    priorities = [block.priority for block in blocks]
    # A reversed sort is stable too: equal priorities stay in input order.
    return sorted(optional, key=priorities.__getitem__, reverse=True)


def estimate_serialized_tokens(value: Any, estimator: Estimator | None = None, framing_tokens: int = 0) -> int:
    """Return what data costs when it is sent as compact JSON, in tokens.

    Args:
        value: Plain JSON data, the schema of a tool for example.
        estimator: Counts the JSON; ``approximate_token_estimator`` by default.
        framing_tokens: Added to the count; a whole number of 0 or more.

    Raises:
        InvalidInputError: When the value has no JSON form, or a number is malformed.
    """
    framing = whole_number(framing_tokens, "framing_tokens")
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"The value has no JSON form: {error}.", remedy="Pass plain JSON data."
        ) from None
    return whole_number(_text_count(estimator)(text), "The token count of the value", least=1) + framing


_KEYS = {"retention_reason": "retentionReason"}
_SAID = {"required": "required flag", "retention_reason": "retention reason"}
_STATS_KEYS = ("kind", "includedCount", "includedTokens", "omittedCount", "omittedTokens")
_FIELDS = tuple(field.name for field in fields(ContextBlock))


def _listed(blocks: Iterable[ContextBlock]) -> list[ContextBlock]:
    if isinstance(blocks, str | bytes | Mapping) or not isinstance(blocks, Iterable):
        raise InvalidInputError(f"The blocks are a {type(blocks).__name__}.", remedy="Pass a list of blocks.")
    return [*blocks]


def _text_count(estimator: Estimator | None) -> Callable[[str], object]:
    if estimator is None:
        return approximate_token_estimator.estimate
    if isinstance(estimator, TokenEstimator):
        return estimator.for_text().estimate
    found: object = getattr(estimator, "estimate", estimator)
    if callable(found):
        return found
    raise InvalidInputError(
        f"The estimator is a {type(estimator).__name__}.",
        remedy="Pass an object with estimate(text), or a function of a text.",
    )


def _counted(blocks: Sequence[ContextBlock], count: Callable[[str], object]) -> list[int]:
    """Check and count block by block, so that the first faulty block is told by its first fault."""
    seen: set[str] = set()
    counted = []
    for number, block in enumerate(blocks, start=1):
        if not isinstance(block, ContextBlock):
            raise InvalidInputError(
                f"Block {number:,} is a {type(block).__name__}.",
                remedy="Pass ContextBlock values; blocks_from_table makes them of rows.",
            )
        _check(block, number, seen)
        seen.add(block.id)
        tokens = count(block.content)
        if type(tokens) is not int or not 0 < tokens <= LARGEST_WHOLE_NUMBER:
            tokens = whole_number(tokens, f"The token count of block {shown(block.id)}", least=1)
        counted.append(tokens)
    return counted


def _check(block: ContextBlock, number: int, seen: set[str]) -> None:
    if not isinstance(block.id, str) or not block.id:
        raise InvalidInputError(
            f"Block {number:,} has the id {shown(block.id)}.", remedy="Give a non-empty string."
        )
    if block.id in seen:
        raise InvalidInputError(
            f"Block {number:,} has the duplicate id {shown(block.id)}.",
            remedy="Give every block an id of its own.",
        )
    if not isinstance(block.kind, str) or block.kind not in BLOCK_KINDS:
        raise _fault(block, "kind", f"Use one of {', '.join(BLOCK_KINDS)}.")
    if not isinstance(block.role, str) or block.role not in BLOCK_ROLES:
        raise _fault(block, "role", f"Use one of {', '.join(BLOCK_ROLES)}.")
    if not isinstance(block.content, str):
        raise _fault(block, "content", "Give a string.")
    if type(block.priority) is not float or not math.isfinite(block.priority):
        _check_priority(block)
    if type(block.required) is not bool:
        raise _fault(block, "required", "Give True or False.")
    for name in ("source", "retention_reason"):
        if not isinstance(getattr(block, name), str):
            raise _fault(block, name, "Give a string.")


def _check_priority(block: ContextBlock) -> None:
    priority: object = block.priority
    if isinstance(priority, bool) or not isinstance(priority, Real) or not math.isfinite(as_float(priority)):
        raise _fault(block, "priority", "Give a finite number.")


def _fault(block: ContextBlock, name: str, remedy: str) -> InvalidInputError:
    what, value = _SAID.get(name, name), getattr(block, name)
    return InvalidInputError(f"The {what} of block {shown(block.id)} is {shown(value)}.", remedy=remedy)


def _stats(blocks: Sequence[CountedBlock], chosen: Sequence[bool]) -> tuple[BlockStats, ...]:
    sums: dict[BlockKind, list[int]] = {}
    for (block, tokens), included in zip(blocks, chosen, strict=True):
        numbers = sums.setdefault(block.kind, [0, 0, 0, 0])
        place = 0 if included else 2
        numbers[place] += 1
        numbers[place + 1] += tokens
    return tuple(BlockStats(kind, *numbers) for kind, numbers in sums.items())


def _block_json(counted: CountedBlock) -> dict[str, Any]:
    block, tokens = counted
    data = {_KEYS.get(name, name): getattr(block, name) for name in _FIELDS}
    if type(block.priority) is not int:
        data["priority"] = float(block.priority)  # numbers of other packages have no JSON form
    return {**data, "estimatedTokens": tokens}
