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
from playground.blocks.table import blocks_from_table

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
    "blocks_from_package",
    "blocks_from_table",
    "compile_blocks",
    "estimate_serialized_tokens",
]
