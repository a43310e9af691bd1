"""Blocks: the block compiler on a table of blocks, and what the context compiler keeps of the same."""

import streamlit as st

from playground.app import markup
from playground.app.blocks_compiling import all_tokens, counter_name, table_of
from playground.app.blocks_controls import (
    MATERIALS,
    budget_control,
    counted_control,
    material_control,
    pins_control,
    settle,
)
from playground.app.blocks_loading import loading_panel
from playground.app.blocks_material import Material, chosen_material
from playground.app.blocks_panels import no_compile_panel
from playground.app.blocks_results import results
from playground.app.blocks_table import table_panel
from playground.app.notices import show_notice
from playground.app.question import question_row
from playground.app.shell import current
from playground.app.style import add_rules
from playground.errors import PlaygroundError
from playground.views.blocks_table import pin_labels, table_fault
from playground.views.notices import error_notice

add_rules("blocks")
now = current()
above = st.container()
with st.container(key="panel_blocks_controls"):
    first, second, third, fourth = st.columns((3, 6, 3, 5), gap="small")
with first:
    name = material_control()
with third:
    counter = counter_name(counted_control())
settle(name)
if name == MATERIALS[0]:
    with above:
        question_row(now.compiled, page="blocks")
if name == "own":
    loading_panel()


def page(material: Material) -> None:
    """Show the table, the controls that depend on it, and what came of both."""
    rows = table_panel(material)
    fault = table_fault(rows, below=bool(material.draft["good"]))
    if fault is None:
        material.draft["good"] = rows
    else:
        show_notice(fault, key="blocks_fault")
    good = material.draft["good"]
    table = table_of(good) if good else None
    with second:
        budget = budget_control(material.budget, all_tokens(table, counter) if table else 1)
    with fourth:
        pins = pins_control(pin_labels([row["id"] for row in good or () if not row["required"]]))
    if table is not None:
        results(material, table, budget=budget, pins=pins, counter=counter, settings=now.settings)
    elif fault is None:
        markup.caption("No result yet: add a row to the table.")


try:
    found = chosen_material(name, now)
    if found is None:
        no_compile_panel("No compile to take blocks from", "The notice above says why. The example needs none.")
    elif name == MATERIALS[0] and not found.rows:
        no_compile_panel("Nothing was offered", "This question's compile has no records. The example has some.")
    else:
        page(found)
except PlaygroundError as error:
    show_notice(error_notice(error), key="blocks_error")
