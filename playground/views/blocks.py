"""What came of blocks: how many got in, what they take of the budget, and both by kind. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from playground.blocks.compile import BlockKind, CompiledBlocks, ContextBlock
from playground.blocks.side_by_side import SideBySide
from playground.errors import BlockBudgetError, ContextBudgetExceededError
from playground.views.notices import Notice, NoticeAction
from playground.views.palette import Slot
from playground.views.words import count, plural, sentence_case

__all__ = [
    "BUDGET",
    "KIND_SLOTS",
    "LARGEST_BUDGET",
    "PINS",
    "BlocksView",
    "KindRow",
    "Segment",
    "block_outcome",
    "blocks_view",
    "context_overflow_action",
    "forced_blocks",
    "kind_label",
    "overflow_notice",
]

LARGEST_BUDGET = 10_000_000  # tokens, as for a window
BUDGET = "blocks_budget"
"""The control of the budget, and its name in the link."""
PINS = "blocks_pins"
"""Session state: ids of the blocks that are pinned; set to ``None`` it pins none."""
KIND_SLOTS: dict[BlockKind, Slot] = {
    "constitution": "working-memory",
    "control": "working-memory",
    "goal": "working-memory",
    "workspace": "rag",
    "memory": "memory",
    "skill": "skills",
    "recent": "transcript",
    "tool-catalog": "skills",
    "evaluation": "working-memory",
}
"""Each kind has the colour of what it is in the context compiler."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of the used bar, in parts of the budget."""

    slot: Slot
    width: float
    description: str


@dataclass(frozen=True, slots=True)
class KindRow:
    """What became of one kind; tokens, and the ends of its bars in parts of the longest."""

    name: str
    slot: Slot
    included: int
    included_tokens: int
    omitted: int
    omitted_tokens: int
    included_end: float
    omitted_end: float


@dataclass(frozen=True, slots=True)
class BlocksView:
    """What the block compiler made of its blocks."""

    head: str
    """``Included 12 of 46 · 1,950 of 2,000 tokens``."""
    segments: tuple[Segment, ...]
    rows: tuple[KindRow, ...]
    """One a kind, in the order in which the kinds were first seen."""


def blocks_view(compiled: CompiledBlocks, *, forced: frozenset[str]) -> BlocksView:
    """Return what came of blocks.

    Args:
        compiled: The result.
        forced: Ids of the blocks that are required or pinned; their part of the bar has a colour of its own.
    """
    included, budget = len(compiled.included), compiled.budget_tokens
    longest = max((row.included_tokens + row.omitted_tokens for row in compiled.block_stats), default=0) or 1
    return BlocksView(
        head=(
            f"Included {count(included)} of {count(included + len(compiled.omitted))} · "
            f"{count(compiled.estimated_tokens)} of {plural(budget, 'token')}"
        ),
        segments=_segments(compiled, forced),
        rows=tuple(
            KindRow(
                name=kind_label(row.kind),
                slot=KIND_SLOTS[row.kind],
                included=row.included_count,
                included_tokens=row.included_tokens,
                omitted=row.omitted_count,
                omitted_tokens=row.omitted_tokens,
                included_end=row.included_tokens / longest,
                omitted_end=(row.included_tokens + row.omitted_tokens) / longest,
            )
            for row in compiled.block_stats
        ),
    )


def block_outcome(block: ContextBlock, *, included: bool, pinned: bool) -> str:
    """Return why a block is in or out, in the words of manifests; ``pinned`` is the block compiler's alone."""
    if block.required:
        return "mandatory"
    if pinned:
        return "pinned"
    return "ranked" if included else "budget"


def kind_label(kind: BlockKind) -> str:
    """Write a kind as a name: ``Tool catalog``."""
    return sentence_case(kind.replace("-", " "))


def forced_blocks(side: SideBySide) -> str:
    """Return what the blocks are called that must be in."""
    required = any(one.required for one in side.counted)
    pinned = any(one.id in side.forced and not one.required for one in side.counted)
    if required and pinned:
        return "Required and pinned blocks"
    return "Pinned blocks" if pinned else "Required blocks"


def context_overflow_action(side: SideBySide) -> NoticeAction | None:
    """Return the click that makes room where the context compiler alone has none; ``None`` elsewhere."""
    error = side.context
    if isinstance(side.blocks, BlockBudgetError) or not isinstance(error, ContextBudgetExceededError):
        return None
    need = error.required_tokens
    if need > LARGEST_BUDGET:
        return None
    return NoticeAction(f"Raise the budget to {count(need)} for the context compiler", BUDGET, need)


def overflow_notice(side: SideBySide) -> Notice | None:
    """Return the notice that forced blocks do not fit, with the clicks that mend it; ``None`` when they do."""
    error = side.blocks
    if not isinstance(error, BlockBudgetError):
        return None
    pinned = any(one.id in side.forced and not one.required for one in side.counted)
    need = error.required_tokens
    # A larger budget than the field takes would be set by nobody.
    actions = (
        [NoticeAction(f"Raise the budget to {count(need)}", BUDGET, need)] if need <= LARGEST_BUDGET else []
    )
    return Notice(
        "error",
        f"{forced_blocks(side)} do not fit",
        (
            ("They need ", False),
            (count(need), True),
            (" tokens, the budget is ", False),
            (count(error.budget_tokens), True),
            (". Nothing is dropped to make them fit.", False),
        ),
        (*actions, NoticeAction("Unpin all", PINS, None)) if pinned else tuple(actions),
    )


def _segments(compiled: CompiledBlocks, forced: frozenset[str]) -> tuple[Segment, ...]:
    must = sum(one.estimated_tokens for one in compiled.included if one.id in forced)
    tokens: dict[BlockKind, int] = {row.kind: 0 for row in compiled.block_stats}
    for one in compiled.included:
        if one.id not in forced:
            tokens[one.kind] += one.estimated_tokens
    parts: list[tuple[Slot, str, int]] = [("mandatory", "Required and pinned", must)]
    parts += [(KIND_SLOTS[kind], kind_label(kind), taken) for kind, taken in tokens.items()]
    return tuple(
        Segment(slot, taken / compiled.budget_tokens, f"{name}: {plural(taken, 'token')}")
        for slot, name, taken in parts
        if taken
    )
