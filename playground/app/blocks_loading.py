"""The panel of the Blocks page that takes one's own blocks in, and what it says of them."""

from __future__ import annotations

from pathlib import PurePath

import streamlit as st

from playground.app import markup
from playground.app.blocks_controls import start
from playground.app.blocks_material import keep_own
from playground.app.notices import show_notice
from playground.errors import PlaygroundError
from playground.retrieval.documents import check_size
from playground.views.blocks_loading import (
    BLOCK_LIMIT,
    CONTENT_LIMIT,
    REPORT,
    loaded_blocks,
    refused_blocks,
    too_long_block,
    too_many_blocks,
)
from playground.views.blocks_table import rows_of
from playground.views.notices import Notice
from playground.views.words import shortened
from playground.workspace.block_files import BlockFile, blocks_from_file

__all__ = ["loading_panel"]

PASTE_LIMIT = 1_000_000  # characters
PASTED = "The pasted text"
UPLOAD_LIMIT = 10  # MB of 2**20 bytes; the whole table goes to the browser
NAME_LENGTH = 80  # code points of a file's name in a message
FILE, TEXT = "blocks_file", "blocks_text"
FORM = "blocks_form_number"
"""Session state: how many forms brought blocks."""


def loading_panel() -> None:
    """Take a file or pasted text in place of the table's blocks."""
    with st.container(key="panel_blocks_own"):
        markup.head("Your own blocks", "JSON, JSON Lines or CSV; a request may bring its budget and pins")
        # Cleared by a new form once blocks were read: what was refused stays, to be mended.
        number = st.session_state.setdefault(FORM, 0)
        with st.form(f"blocks_form_{number}", border=False):
            left, right = st.columns(2, gap="small")
            with left:
                st.file_uploader(
                    "File of blocks",
                    key=f"{FILE}_{number}",
                    max_upload_size=UPLOAD_LIMIT,
                    label_visibility="collapsed",
                )
            with right:
                st.text_area(
                    "Or paste blocks",
                    key=f"{TEXT}_{number}",
                    max_chars=PASTE_LIMIT,
                    height=68,
                    placeholder='Or paste: [{"id": "goal", "kind": "goal", "content": "…", "priority": 1}]',
                    label_visibility="collapsed",
                )
            if st.form_submit_button("Use these blocks", key="blocks_load"):
                st.session_state[REPORT] = _load(number)
                st.rerun()
    notice: Notice | None = st.session_state.get(REPORT)
    if notice is not None:
        show_notice(notice, key="blocks_report")


def _load(number: int) -> Notice:
    try:
        files = _files(number)
        if not files:
            return refused_blocks("Choose a file or paste blocks first.")
        loaded = loaded_blocks(files)
        if len(loaded.blocks) > BLOCK_LIMIT:
            return too_many_blocks(len(loaded.blocks))
        for block in loaded.blocks:
            if isinstance(block.content, str) and len(block.content) > CONTENT_LIMIT:
                return too_long_block(block)
    except PlaygroundError as error:
        return refused_blocks(str(error))
    keep_own(rows_of(loaded.blocks), loaded.budget)
    start(None, loaded.pins)
    st.session_state[FORM] = number + 1
    return loaded.notice


def _files(number: int) -> list[BlockFile]:
    files = []
    upload, pasted = st.session_state[f"{FILE}_{number}"], str(st.session_state[f"{TEXT}_{number}"])
    if upload is not None:
        name = shortened(upload.name, NAME_LENGTH)
        check_size(name, upload.size, limit=UPLOAD_LIMIT * 2**20)
        files.append(blocks_from_file(name, upload.getvalue(), ending=PurePath(upload.name).suffix))
    if pasted.strip():
        files.append(blocks_from_file(PASTED, pasted.encode("utf-8", "surrogatepass")))
    return files
