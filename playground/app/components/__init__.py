"""The synced panes as Streamlit components: cards, rendered XML and manifest table.

JavaScript and CSS stand beside this file and are sent inline, so that a checkout and an installed package work
alike. Data goes in as JSON and becomes text nodes only; a click or an arrow key comes back as a record key.
"""

from playground.app.components.panes import block_cards, manifest_table, rendered_xml

__all__ = ["block_cards", "manifest_table", "rendered_xml"]
