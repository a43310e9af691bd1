"""Both compilers on the table of the Blocks page, cached by what the table holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from playground.app.blocks_material import Material, Rows, rows_digest
from playground.app.caches import material_cache
from playground.app.controls import Settings
from playground.blocks.compile import count_blocks
from playground.blocks.side_by_side import (
    BudgetNeeded,
    Origin,
    SideBySide,
    approximate_estimator,
    compile_side_by_side,
    smallest_budget,
)
from playground.compiler.budget import DEFAULT_CONTEXT_BUDGET, ContextShares
from playground.models import find_model
from playground.tokenizers import load_tokenizer, tokenizer_estimator
from playground.tokens import TokenEstimator
from playground.views.blocks_table import TableRow, blocks_of

__all__ = ["Table", "all_tokens", "counter_name", "needed_budget", "sides", "table_of"]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows without a fault, and what they are told apart by."""

    rows: Rows
    digest: str


def table_of(rows: Rows) -> Table:
    """Return rows with their digest. O(characters)."""
    return Table(rows, rows_digest(rows))


def counter_name(sidebar: bool) -> str:
    """Return which estimator counts: the approximate one, or the one that the sidebar names."""
    if not sidebar:
        return "approximate"
    if st.session_state["estimator"] == "heuristic":
        return "heuristic"
    return find_model(str(st.session_state["model"])).tokenizer or "o200k_base"


def all_tokens(table: Table, counter: str) -> int:
    """Return what all blocks of a table cost together, in tokens."""
    return _total(table.digest, counter, table.rows)


def sides(
    material: Material,
    table: Table,
    *,
    budget: int,
    pins: Sequence[str],
    counter: str,
    settings: Settings | None,
) -> SideBySide:
    """Return what both compilers make of a table.

    Args:
        material: Where the table began.
        table: What it holds now.
        budget: In tokens, for either.
        pins: Ids of the blocks that are pinned.
        counter: Which estimator counts, see ``counter_name``.
        settings: The sidebar's shares and working-memory tokens hold for the context compiler.
    """
    context = settings.budget if settings else DEFAULT_CONTEXT_BUDGET
    return _sides(
        table.digest,
        material.origin_key,
        budget,
        tuple(pins),
        counter,
        repr(context.shares),
        context.working_memory_tokens,
        table.rows,
        context.shares,
        material.origin,
    )


def needed_budget(
    side: SideBySide, block_id: str, *, table: Table, budget: int, counter: str
) -> BudgetNeeded | None:
    """Return the smallest budget from the present one on that includes a block; see ``smallest_budget``."""
    return _needed(table.digest, counter, budget, tuple(sorted(side.forced)), block_id, side)


@material_cache(64)
def _sides(
    digest: str,  # noqa: ARG001  # what the rows follow from
    origin_key: str,  # noqa: ARG001  # what the origin follows from
    budget: int,
    pins: tuple[str, ...],
    counter: str,
    shares: str,  # noqa: ARG001
    working_memory_tokens: int,
    _rows: Sequence[TableRow],
    _shares: ContextShares,
    _origin: Origin | None,
) -> SideBySide:
    return compile_side_by_side(
        blocks_of(_rows),
        budget_tokens=budget,
        estimator=_estimator(counter),
        pinned_optional_ids=pins,
        shares=_shares,
        working_memory_tokens=working_memory_tokens,
        origin=_origin,
    )


@material_cache(16)
def _total(digest: str, counter: str, _rows: Sequence[TableRow]) -> int:  # noqa: ARG001
    return sum(one.estimated_tokens for one in count_blocks(blocks_of(_rows), _estimator(counter)))


@material_cache(64)
def _needed(
    digest: str,  # noqa: ARG001  # what the costs follow from
    counter: str,  # noqa: ARG001  # the same
    budget: int,
    forced: tuple[str, ...],
    block_id: str,
    _side: SideBySide,
) -> BudgetNeeded | None:
    return smallest_budget(block_id, _side.counted, above=budget, forced=forced)


@material_cache(4)
def _estimator(counter: str) -> TokenEstimator:
    """One for all, so that a moved budget counts nothing again; it remembers digests alone."""
    if counter == "approximate":
        return approximate_estimator()
    return TokenEstimator() if counter == "heuristic" else tokenizer_estimator(load_tokenizer(counter))
