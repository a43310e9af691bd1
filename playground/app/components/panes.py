"""Mounting the panes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from playground.compiler.values import text_digest
from playground.views.document_preview import DocumentPreview
from playground.views.panes import CardsView, ManifestView, Shown, missing_note
from playground.views.xml_pane import XmlView

__all__ = ["PANE_HEIGHT", "Shown", "block_cards", "document_text", "manifest_table", "rendered_xml"]

PANE_HEIGHT = 640  # px; with the sticky strip it fills a screen of 900 px
Pick = Callable[[str], None]


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
                "cards": [*map(_fields, group.cards)],
            }
            for group in view.groups
        ],
        "excluded": [_fields(row) for row in view.excluded],
        "excludedTotal": view.excluded_total,
        "excludedMore": view.excluded_more,
    }
    extra = {"beyond": None if row is None or listed else _fields(row)}
    _mount(_CARDS, content, extra, selected=selected, on_pick=on_pick, key=key, height=height)


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
    _mount(_XML, content, extra, selected=selected, on_pick=on_pick, key=key, height=height)


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
    content = {"rows": [_fields(row) for row in view.rows]}
    _mount(_MANIFEST, content, {"show": show}, selected=selected, on_pick=on_pick, key=key, height=height)


def document_text(view: DocumentPreview, *, key: str = "document_text", height: int = PANE_HEIGHT) -> None:
    """Show a document's text with the borders of its chunks."""
    content = {"title": view.title, "pieces": [_fields(piece) for piece in view.pieces], "rest": view.rest}
    _mount(_PREVIEW, content, {}, selected=None, on_pick=lambda _: None, key=key, height=height)


def _mount(
    component: ComponentRenderer,
    content: Mapping[str, Any],
    extra: Mapping[str, Any],
    *,
    selected: str | None,
    on_pick: Pick,
    key: str,
    height: int,
) -> None:
    # The pane rebuilds its nodes only when this digest changes; all else just moves the mark.
    digest = text_digest(json.dumps(content, separators=(",", ":")))
    data = {"digest": digest, "height": height, "selected": selected, **extra, **content}

    def picked() -> None:
        record = st.session_state[key].get("pick")
        if isinstance(record, str):
            on_pick(record)

    component(data=data, key=key, on_pick_change=picked)


def _fields(row: object) -> dict[str, Any]:
    """Return a slotted row as a dictionary; ``dataclasses.asdict`` copies deeply and is ten times slower."""
    return {name: getattr(row, name) for name in type(row).__slots__}  # type: ignore[attr-defined]  # slotted


def _component(name: str) -> ComponentRenderer:
    folder = files("playground.app.components")
    parts = {
        kind: [(folder / f"{part}.{kind}").read_text("utf-8") for part in ("shared", name)]
        for kind in ("js", "css")
    }
    return st.components.v2.component(
        f"context_playground_{name}", js="\n".join(parts["js"]), css="\n".join(parts["css"])
    )


_PREVIEW = _component("preview")
_CARDS = _component("cards")
_XML = _component("xml")
_MANIFEST = _component("manifest")
