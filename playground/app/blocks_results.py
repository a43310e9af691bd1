"""What came of the table of the Blocks page, in both compilers."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from playground.app.blocks_compiling import Table, needed_budget, sides
from playground.app.blocks_material import Material, marked_block
from playground.app.blocks_panels import (
    comparison_panel,
    compilers_panel,
    detail_panel,
    messages_panel,
    result_panel,
)
from playground.app.controls import Settings
from playground.app.notices import show_notice
from playground.blocks.compile import CompiledBlocks
from playground.blocks.turns import block_turn
from playground.views.blocks import overflow_notice
from playground.views.blocks_comparison import compared_blocks, shown_block
from playground.views.blocks_detail import block_detail

__all__ = ["results"]


def results(
    material: Material,
    table: Table,
    *,
    budget: int,
    pins: Sequence[str],
    counter: str,
    settings: Settings | None,
) -> None:
    """Show what both compilers make of a table; arguments as of ``sides``.

    Raises:
        PlaygroundError: When the rows cannot be compiled.
    """
    side = sides(material, table, budget=budget, pins=pins, counter=counter, settings=settings)
    picked = material.picker()
    compared = compared_blocks(side, {row["id"]: material.title(row["id"]) for row in table.rows})
    shown = shown_block(compared, marked_block(material, [one.id for one in compared]))
    with st.container(key="blocks_results"):
        left, right = st.columns(2, gap="small")
        with left:
            if isinstance(side.blocks, CompiledBlocks):
                result_panel(side.blocks, side.forced)
            elif (notice := overflow_notice(side)) is not None:
                show_notice(notice, key="blocks_overflow")
        with right:
            compilers_panel(side, compared)
    if isinstance(side.blocks, CompiledBlocks):
        messages_panel(side.blocks)
    with st.container(key="blocks_row"):
        left, right = st.columns((3, 2), gap="small")
        with left:
            comparison_panel(compared, marked=shown.id, on_pick=picked)
        with right:
            turn = block_turn(shown.id, side.counted, budget_tokens=budget, forced=side.forced)
            smallest = None
            if not shown.included:
                smallest = needed_budget(side, shown.id, table=table, budget=budget, counter=counter)
            detail_panel(block_detail(shown, side, turn=turn, smallest=smallest), shown.id, on_pick=picked)
