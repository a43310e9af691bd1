"""The editor of the Blocks page: every edit, added and removed row lives on until Reset.

What the editor returns is never written back to its input while it is on the page; that would lose the next
edit. Its own state goes when another page is opened: then what it held is its input when it comes back.
"""

from __future__ import annotations

import streamlit as st

from playground.app import markup
from playground.app.blocks_material import Draft, Material, Rows
from playground.blocks.compile import BLOCK_KINDS, BLOCK_ROLES
from playground.views.blocks_table import rows_of_frame, table_frame
from playground.views.words import plural

__all__ = ["table_panel"]

RESET = "blocks_reset_wanted"
"""Session state: the material whose table somebody wants back as it was."""

ROW = 28  # px
COLUMNS = ("id", "kind", "priority", "required", "content", "role", "source", "retention_reason")


def table_panel(material: Material) -> Rows:
    """Show the table and return its rows as they are now."""
    if st.session_state.pop(RESET, None) == material.name:
        _reset(material)
    draft = material.draft
    with st.container(key="panel_blocks_table"):
        with st.container(key="blocks_table_head", horizontal=True, vertical_alignment="center"):
            heading = st.empty()
            button = st.empty()
        rows = _edited(material.name, draft)
        draft["rows"] = rows
        changed = rows != material.rows
        with heading:
            markup.head("Blocks", plural(len(rows), "block") + (", edited" if changed else ""))
        with button:
            st.button(
                "Reset", key="blocks_reset", disabled=not changed, on_click=_ask_to_reset, args=(material.name,)
            )
    return rows


def _edited(name: str, draft: Draft) -> Rows:
    key = _key(name, draft)
    if key not in st.session_state and draft["rows"] != draft["given"]:
        draft["given"] = draft["rows"]
        draft["mounted"] += 1
        key = _key(name, draft)
    frame = st.data_editor(
        table_frame(draft["given"]),
        key=key,
        num_rows="dynamic",
        hide_index=True,
        row_height=ROW,
        column_order=COLUMNS,
        column_config={
            "id": st.column_config.TextColumn("Id", width=150),
            "kind": st.column_config.SelectboxColumn(
                "Kind", options=list(BLOCK_KINDS), default="memory", width=110
            ),
            "priority": st.column_config.NumberColumn("Priority", default=0.0, width=80, step=None),
            "required": st.column_config.CheckboxColumn("Required", default=False, width=88),
            "content": st.column_config.TextColumn("Content", default="", width=290),
            "role": st.column_config.SelectboxColumn(
                "Role", options=list(BLOCK_ROLES), default="user", width=84
            ),
            "source": st.column_config.TextColumn("Source", default="own", width=110),
            "retention_reason": st.column_config.TextColumn("Retention reason", default="", width=150),
        },
        alt="Blocks to edit, one a row",
    )
    changes = st.session_state[key]
    return rows_of_frame(frame) if any(changes.values()) else draft["given"]


def _key(name: str, draft: Draft) -> str:
    return f"blocks_table_{name}_{draft['mounted']}"


def _ask_to_reset(name: str) -> None:
    # The table itself is not held here: a callback is remembered while other pages are shown.
    st.session_state[RESET] = name


def _reset(material: Material) -> None:
    material.draft.update(
        given=material.rows, rows=material.rows, good=None, mounted=material.draft["mounted"] + 1
    )
