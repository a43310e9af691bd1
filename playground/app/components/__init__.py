"""The panes as Streamlit components: what a compile selected, tables, working memory and a document's text.

JavaScript and CSS stand beside this file and are sent inline, so that a checkout and an installed package work
alike. Data goes in as JSON and becomes text and attributes, never markup; a click or an arrow key comes back as
the key of what it marks.
"""

from playground.app.components.memory import fill_order, memory_items
from playground.app.components.mounting import PANE_HEIGHT
from playground.app.components.panes import Shown, block_cards, document_text, manifest_table, rendered_xml
from playground.app.components.table import record_table

__all__ = [
    "PANE_HEIGHT",
    "Shown",
    "block_cards",
    "document_text",
    "fill_order",
    "manifest_table",
    "memory_items",
    "record_table",
    "rendered_xml",
]
