"""The panes that show one compile, and a document's text."""

from __future__ import annotations

from playground.app.components.mounting import PANE_HEIGHT, Pick, mount_pane, pane_component, row_fields
from playground.views.document_preview import DocumentPreview
from playground.views.panes import CardsView, ManifestView, Shown, missing_note
from playground.views.xml_pane import XmlView

__all__ = ["PANE_HEIGHT", "Shown", "block_cards", "document_text", "manifest_table", "rendered_xml"]


def block_cards(
    view: CardsView,
    *,
    manifest: ManifestView,
    selected: str | None,
    on_pick: Pick,
    key: str = "block_cards",
    height: int = PANE_HEIGHT,
) -> None:
    """Show the selected records as cards.

    Args:
        view: What to show.
        manifest: Finds a selected record that the cut list of excluded ones does not hold.
        selected: Key of the record to mark and scroll to.
        on_pick: Called with a record's key before the script reruns; the same key may come again.
        key: Widget key.
        height: Height of the pane, in px.
    """
    row = manifest.row(selected)
    listed = row is None or row.selected or any(other.key == row.key for other in view.excluded)
    content = {
        "groups": [
            {
                "name": group.name,
                "slot": group.slot,
                "total": group.total,
                "cards": [*map(row_fields, group.cards)],
            }
            for group in view.groups
        ],
        "excluded": [row_fields(row) for row in view.excluded],
        "excludedTotal": view.excluded_total,
        "excludedMore": view.excluded_more,
    }
    extra = {"beyond": None if row is None or listed else row_fields(row)}
    mount_pane(_CARDS, content, extra, selected=selected, on_pick=on_pick, key=key, height=height)


def rendered_xml(
    view: XmlView,
    *,
    manifest: ManifestView,
    selected: str | None,
    on_pick: Pick,
    key: str = "rendered_xml",
    height: int = PANE_HEIGHT,
) -> None:
    """Show the text of all blocks, one stretch a record; arguments as in ``block_cards``."""
    content = {
        "records": [
            {"key": record.key, "slot": record.slot, "half": record.half, "pieces": record.pieces}
            for record in view.records
        ]
    }
    extra = {"note": missing_note(manifest, selected)}
    mount_pane(_XML, content, extra, selected=selected, on_pick=on_pick, key=key, height=height)


def manifest_table(
    view: ManifestView,
    *,
    selected: str | None,
    on_pick: Pick,
    show: Shown = "all",
    key: str = "manifest_table",
    height: int = PANE_HEIGHT,
) -> None:
    """Show the manifest's entries, all or some of them; other arguments as in ``block_cards``."""
    content = {"rows": [row_fields(row) for row in view.rows]}
    mount_pane(_MANIFEST, content, {"show": show}, selected=selected, on_pick=on_pick, key=key, height=height)


def document_text(view: DocumentPreview, *, key: str = "document_text", height: int = PANE_HEIGHT) -> None:
    """Show a document's text with the borders of its chunks."""
    content = {"title": view.title, "pieces": [row_fields(piece) for piece in view.pieces], "rest": view.rest}
    mount_pane(_PREVIEW, content, {}, selected=None, on_pick=lambda _: None, key=key, height=height)


_PREVIEW = pane_component("preview")
_CARDS = pane_component("cards")
_XML = pane_component("xml")
_MANIFEST = pane_component("manifest")
