"""What came of loading one's own blocks, in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from playground.blocks.compile import ContextBlock
from playground.values import shown
from playground.views.blocks import LARGEST_BUDGET
from playground.views.direction import without_overrides
from playground.views.notices import Notice, NoticeAction
from playground.views.words import Sentence, plural, shortened
from playground.workspace.block_files import BlockFile

__all__ = [
    "BLOCK_LIMIT",
    "CONTENT_LIMIT",
    "REPORT",
    "LoadedBlocks",
    "loaded_blocks",
    "refused_blocks",
    "too_long_block",
    "too_many_blocks",
]

REPORT = "blocks_report"
"""Session state: the notice of what was loaded last."""
CONTENT_LIMIT = 200_000  # characters of a block that a page shows; longer cells freeze the browser
NAME_SHOWN = 60  # code points of an id in a notice
BLOCK_LIMIT = 5_000  # blocks that a page shows; each is a row of two tables
_DISMISS = NoticeAction("Dismiss", REPORT, None, mends=False)


@dataclass(frozen=True, slots=True)
class LoadedBlocks:
    """What files gave together, and what there is to say of it."""

    blocks: tuple[ContextBlock, ...]
    budget: int | None
    """The first budget that came with them and can be used, in tokens."""
    pins: tuple[str, ...]
    notice: Notice


def loaded_blocks(files: Sequence[BlockFile]) -> LoadedBlocks:
    """Return what files gave, one after another."""
    blocks = tuple(block for file in files for block in file.blocks)
    warnings = [f"{file.name}: {warning}" for file in files for warning in file.warnings]
    budget = None
    for file in files:
        if _is_budget(file.budget_tokens):
            budget = file.budget_tokens if budget is None else budget
        elif file.budget_tokens is not None:
            warnings.append(
                f"{file.name}: the budget {shown(file.budget_tokens)} is no whole number of tokens."
            )
    pins: list[str] = []
    for file in files:
        for one in file.pinned_optional_ids:
            if isinstance(one, str):
                pins.append(one)
            else:
                warnings.append(f"{file.name}: the pinned id {shown(one)} is no text; it pins nothing.")
    said: list[tuple[str, bool]] = [
        ("The table holds ", False),
        (plural(len(blocks), "block"), True),
        (" now.", False),
    ]
    said += [(f" {without_overrides(warning)}", False) for warning in warnings]
    return LoadedBlocks(
        blocks=blocks,
        budget=budget if isinstance(budget, int) else None,
        pins=tuple(pins),
        notice=Notice("warning" if warnings else "info", "Your blocks were read", tuple(said), (_DISMISS,)),
    )


def refused_blocks(message: str) -> Notice:
    """Return the notice of what could not be read; the table stays as it was."""
    sentence: Sentence = ((without_overrides(message), False), (" The table stays as it was.", False))
    return Notice("error", "Your blocks cannot be read", sentence, (_DISMISS,))


def too_many_blocks(number: int) -> Notice:
    """Return the notice of more blocks than a page shows."""
    return refused_blocks(
        f"They are {number:,} blocks, and a page shows at most {BLOCK_LIMIT:,}. The command playground blocks "
        "takes all of them."
    )


def too_long_block(block: ContextBlock) -> Notice:
    """Return the notice of a block whose text is longer than a cell of the table can show."""
    name = shortened(block.id, NAME_SHOWN) if isinstance(block.id, str) else shown(block.id)
    return refused_blocks(
        f"The content of block {name} has {len(block.content):,} characters, and a cell of the table shows at "
        f"most {CONTENT_LIMIT:,}. The command playground blocks takes all of them."
    )


def _is_budget(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST_BUDGET
