"""The block compiler, apart from the context compiler, and the adapters that bring blocks to it."""

from playground.blocks.compile import (
    BLOCK_KINDS,
    BLOCK_ROLES,
    BlockBudgetError,
    BlockKind,
    BlockStats,
    CompiledBlocks,
    ContextBlock,
    CountedBlock,
    Estimator,
    TextEstimator,
    approximate_token_estimator,
    compile_blocks,
    estimate_serialized_tokens,
)
from playground.blocks.package import blocks_from_package
from playground.blocks.side_by_side import (
    BudgetNeeded,
    Origin,
    SideBySide,
    approximate_estimator,
    compile_side_by_side,
    smallest_budget,
)
from playground.blocks.table import blocks_from_table

__all__ = [
    "BLOCK_KINDS",
    "BLOCK_ROLES",
    "BlockBudgetError",
    "BlockKind",
    "BlockStats",
    "BudgetNeeded",
    "CompiledBlocks",
    "ContextBlock",
    "CountedBlock",
    "Estimator",
    "Origin",
    "SideBySide",
    "TextEstimator",
    "approximate_estimator",
    "approximate_token_estimator",
    "blocks_from_package",
    "blocks_from_table",
    "compile_blocks",
    "compile_side_by_side",
    "estimate_serialized_tokens",
    "smallest_budget",
]
