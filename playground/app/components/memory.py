"""Mounting the panes of working memory: its items, and how they fill its size."""

from __future__ import annotations

from collections.abc import Mapping

from playground.app.components.mounting import PANE_HEIGHT, Pick, mount_pane, pane_component, row_fields
from playground.views.palette import Slot
from playground.views.working_memory import DECIDED, ItemRow, WorkingMemoryView
from playground.views.working_memory_fill import FillView

__all__ = ["fill_order", "memory_items"]


def memory_items(
    view: WorkingMemoryView,
    *,
    slots: Mapping[str, Slot],
    selected: str | None,
    on_pick: Pick,
    key: str = "memory_items",
    height: int = PANE_HEIGHT,
) -> None:
    """Show the sections of working memory.

    Args:
        view: What to show.
        slots: The colour of each item's bar, by record key; grey for items that no line shows.
        selected: Key of the record to mark and scroll to.
        on_pick: Called with a record's key before the script reruns.
        key: Widget key.
        height: Height of the pane, in px.
    """

    def row(item: ItemRow) -> dict[str, str | bool]:
        return {
            "key": item.key,
            "slot": slots.get(item.key, "excluded"),
            "badge": item.badge,
            "active": item.active,
            "text": item.line,
            "writer": item.writer,
            "decided": DECIDED if item.decided else "",
            "revision": item.revision,
            "number": item.revision.replace("revision", "rev"),
        }

    content = {
        "groups": [
            {
                "title": section.title,
                "total": section.total,
                "empty": section.empty,
                "rows": [row(item) for item in section.rows],
            }
            for section in view.sections
        ]
    }
    turn = {"turn": view.revision}  # at another one the pane looks after the focus
    mount_pane(_ITEMS, content, turn, selected=selected, on_pick=on_pick, key=key, height=height)


def fill_order(
    view: FillView, *, selected: str | None, on_pick: Pick, key: str = "fill_order", height: int = PANE_HEIGHT
) -> None:
    """Show the lines in the order of filling, with the cut line; arguments as in ``memory_items``."""
    content = {"rows": [row_fields(row) for row in view.rows], "cut": view.cut, "cutLabel": view.cut_label}
    mount_pane(_FILL, content, {}, selected=selected, on_pick=on_pick, key=key, height=height)


_ITEMS = pane_component("items")
_FILL = pane_component("fill")
