"""Mounting a pane: data in as JSON, a record key out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from playground.digests import text_digest

__all__ = ["PANE_HEIGHT", "Pick", "mount_pane", "pane_component", "row_fields"]

PANE_HEIGHT = 640  # px; with the sticky strip it fills a screen of 900 px
Pick = Callable[[str], None]


def mount_pane(
    pane: ComponentRenderer,
    content: Mapping[str, Any],
    extra: Mapping[str, Any],
    *,
    selected: str | None,
    on_pick: Pick,
    key: str,
    height: int,
) -> None:
    """Show a pane.

    Args:
        pane: What ``pane_component`` made.
        content: What it is built of; it is built anew only when this changes.
        extra: What else it gets.
        selected: Key of the record to mark and scroll to.
        on_pick: Called with a record's key before the script reruns.
        key: Widget key.
        height: Height of the pane, in px.
    """
    # The pane rebuilds its nodes only when this digest changes; all else just moves the mark.
    digest = text_digest(json.dumps(content, separators=(",", ":")))
    data = {"digest": digest, "height": height, "selected": selected, **extra, **content}

    def picked() -> None:
        record = st.session_state[key].get("pick")
        if isinstance(record, str):
            on_pick(record)

    pane(data=data, key=key, on_pick_change=picked)


def row_fields(row: object) -> dict[str, Any]:
    """Return a slotted row as a dictionary; ``dataclasses.asdict`` copies deeply and is ten times slower."""
    return {name: getattr(row, name) for name in type(row).__slots__}  # type: ignore[attr-defined]  # slotted


def pane_component(name: str) -> ComponentRenderer:
    """Return the component whose JavaScript and CSS stand beside this file under its name."""
    folder = files("playground.app.components")
    parts = {
        kind: [(folder / f"{part}.{kind}").read_text("utf-8") for part in ("shared", name)]
        for kind in ("js", "css")
    }
    return st.components.v2.component(
        f"context_playground_{name}", js="\n".join(parts["js"]), css="\n".join(parts["css"])
    )
