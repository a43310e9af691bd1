"""What each of the two compilers keeps of the same blocks: totals, and one row a block. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import pandas as pd

from playground.blocks.compile import CompiledBlocks, CountedBlock
from playground.blocks.side_by_side import SideBySide
from playground.compiler.manifest import ManifestEntry
from playground.compiler.values import ContextPackage
from playground.errors import BlockBudgetError, ContextBudgetExceededError
from playground.views.blocks import KIND_SLOTS, block_outcome, kind_label
from playground.views.palette import Slot
from playground.views.words import Sentence, count, marked, plural

__all__ = [
    "SHOWN",
    "ComparedBlock",
    "ComparisonTable",
    "CompilerTotals",
    "ShownBlocks",
    "compared_blocks",
    "comparison_sentence",
    "comparison_table",
    "compiler_totals",
    "shown_block",
]

ShownBlocks = Literal["All", "Differ", "In both", "In neither"]
SHOWN: tuple[ShownBlocks, ...] = get_args(ShownBlocks)
_NOT_MADE = "–"


@dataclass(frozen=True, slots=True)
class ComparedBlock:
    """One block and what became of it in either compiler."""

    block: CountedBlock
    title: str
    slot: Slot
    outcome: str
    """In the block compiler: mandatory, pinned, ranked or budget; a dash where nothing was ranked."""
    included: bool
    tagged: int | None
    """What it costs the context compiler, tags and all, in tokens."""
    reason: str
    """In the context compiler: a reason of its manifest."""
    selected: bool

    @property
    def id(self) -> str:
        """The block's id."""
        return self.block.id


@dataclass(frozen=True, slots=True)
class CompilerTotals:
    """What one compiler kept: ``64 in`` / ``82 out``, and its tokens as a sentence."""

    name: str
    value: str
    rest: str
    note: Sentence


@dataclass(frozen=True, slots=True)
class ComparisonTable:
    """The blocks that a filter lets through."""

    frame: pd.DataFrame
    ids: tuple[str, ...]
    slots: tuple[Slot, ...]
    total: str
    """``12 of 46 blocks``."""


def compared_blocks(side: SideBySide, titles: Mapping[str, str]) -> tuple[ComparedBlock, ...]:
    """Return every block with both outcomes, in input order.

    Args:
        side: The two results.
        titles: What people call a block, by id.
    """
    included = {one.id for one in side.blocks.included} if isinstance(side.blocks, CompiledBlocks) else set()
    entries = _entries(side)
    return tuple(_compared(one, side, one.id in included, entries.get(one.id), titles) for one in side.counted)


def compiler_totals(side: SideBySide, blocks: Sequence[ComparedBlock]) -> tuple[CompilerTotals, CompilerTotals]:
    """Return the totals of the block compiler and of the context compiler."""
    return _block_totals(side.blocks), _context_totals(side.context, blocks)


def comparison_sentence(side: SideBySide, blocks: Sequence[ComparedBlock]) -> Sentence:
    """Return how many blocks both keep, one alone, and neither; empty where one of them made nothing."""
    if not isinstance(side.blocks, CompiledBlocks) or not isinstance(side.context, ContextPackage):
        return ()
    times = Counter((one.included, one.selected) for one in blocks)
    return marked(
        f"Both keep **{plural(times[True, True], 'block')}**, neither keeps **{count(times[False, False])}**. "
        f"The block compiler alone keeps **{count(times[True, False])}**, "
        f"the context compiler alone **{count(times[False, True])}**."
    )


def comparison_table(blocks: Sequence[ComparedBlock], shown: ShownBlocks = "All") -> ComparisonTable:
    """Return the blocks that the filter lets through, in input order."""
    passed = [one for one in blocks if shown == "All" or _kept(one) == shown]
    priorities: list[float] = [one.block.priority for one in passed]
    whole = all(float(priority).is_integer() and abs(priority) < 2**53 for priority in priorities)
    frame = pd.DataFrame(
        {
            "Block": [one.title for one in passed],
            "Kind": [kind_label(one.block.kind) for one in passed],
            "Priority": pd.Series(priorities, dtype="float64").astype("int64" if whole else "float64"),
            "Tokens": pd.Series([one.block.estimated_tokens for one in passed], dtype="Int64"),
            "Tagged": pd.Series([one.tagged for one in passed], dtype="Int64"),
            "Block compiler": [one.outcome for one in passed],
            "Context compiler": [one.reason for one in passed],
        }
    )
    total = plural(len(blocks), "block")
    return ComparisonTable(
        frame=frame,
        ids=tuple(one.id for one in passed),
        slots=tuple(one.slot for one in passed),
        total=total if len(passed) == len(blocks) else f"{len(passed):,} of {total}",
    )


def shown_block(blocks: Sequence[ComparedBlock], marked: str | None) -> ComparedBlock:
    """Return the marked block, else the first that was left out, else the first; there must be one."""
    found = next((one for one in blocks if one.id == marked), None)
    return found or next((one for one in blocks if not one.included), blocks[0])


def _kept(one: ComparedBlock) -> ShownBlocks:
    if one.included != one.selected:
        return "Differ"
    return "In both" if one.included else "In neither"


def _entries(side: SideBySide) -> dict[str, ManifestEntry]:
    """Return the manifest's entry of each block."""
    if not isinstance(side.context, ContextPackage):
        return {}
    ids = side.material.ids
    return {
        ids[pair]: entry
        for entry in side.context.manifest.entries
        if (pair := (entry.source, entry.record_id)) in ids
    }


def _compared(
    one: CountedBlock,
    side: SideBySide,
    included: bool,
    entry: ManifestEntry | None,
    titles: Mapping[str, str],
) -> ComparedBlock:
    forced = one.id in side.forced
    # Where forced blocks do not fit, nothing else has an outcome, and these are the ones.
    known = forced or isinstance(side.blocks, CompiledBlocks)
    outcome = block_outcome(one.block, included=included, pinned=forced) if known else _NOT_MADE
    return ComparedBlock(
        block=one,
        title=titles[one.id],
        slot="excluded" if not included else "mandatory" if forced else KIND_SLOTS[one.kind],
        outcome=outcome,
        included=included,
        tagged=entry.tokens if entry else None,
        reason=entry.reason if entry else _NOT_MADE,
        selected=entry is not None and entry.selected,
    )


def _block_totals(made: CompiledBlocks | BlockBudgetError) -> CompilerTotals:
    name = "Block compiler"
    if isinstance(made, BlockBudgetError):
        return _overflow(name, made.required_tokens, made.budget_tokens)
    tokens = ((count(made.estimated_tokens), True), (f" of {plural(made.budget_tokens, 'token')}", False))
    return CompilerTotals(name, f"{count(len(made.included))} in", f" / {count(len(made.omitted))} out", tokens)


def _context_totals(
    made: ContextPackage | ContextBudgetExceededError, blocks: Sequence[ComparedBlock]
) -> CompilerTotals:
    name = "Context compiler"
    if isinstance(made, ContextBudgetExceededError):
        return _overflow(name, made.required_tokens, made.available_tokens)
    kept = [one for one in blocks if one.selected]
    used, budget = made.manifest.budget.selected_tokens, made.manifest.budget.context_tokens
    tags = used - sum(one.block.estimated_tokens for one in kept)
    said = f" of {plural(budget, 'token')}" + (f", {count(tags)} of them tags" if tags > 0 else "")
    return CompilerTotals(
        name,
        f"{count(len(kept))} in",
        f" / {count(len(blocks) - len(kept))} out",
        ((count(used), True), (said, False)),
    )


def _overflow(name: str, need: int, budget: int) -> CompilerTotals:
    note = (
        ("what must be in needs ", False),
        (count(need), True),
        (", the budget is ", False),
        (count(budget), True),
    )
    return CompilerTotals(name, "does not fit", "", note)
