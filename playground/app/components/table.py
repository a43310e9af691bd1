"""Mounting a table of records: rows to mark by mouse and keys, columns to sort by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from playground.app.components.mounting import PANE_HEIGHT, Pick, mount_pane, pane_component
from playground.views.palette import Slot
from playground.views.words import count, score

__all__ = ["record_table"]

ROW = 28  # px, as in the pane's CSS; the head has the same height
EDGES = 2  # px
CELL_LENGTH = 300  # code points; a cell is one line, and the whole text is shown elsewhere


def record_table(
    frame: pd.DataFrame,
    *,
    keys: Sequence[str],
    widths: Mapping[str, int],
    grows: str,
    label: str,
    selected: str | None,
    on_pick: Pick,
    key: str,
    slots: Sequence[Slot] = (),
    halves: Sequence[bool] = (),
    chip: str = "",
    height: int = PANE_HEIGHT,
) -> None:
    """Show a frame, one line a row; few rows make the pane lower.

    A data frame of Streamlit would open a viewer over itself when a marked cell is clicked again, and the keys
    would be the viewer's from then on.

    Args:
        frame: Texts and numbers; a number that is missing is an empty cell.
        keys: One a row.
        widths: Least width of each column, in px; columns without one are left out.
        grows: Column that takes the room that is left.
        label: What the table holds, for screen readers.
        selected: Key of the row to mark and scroll to.
        on_pick: Called with a row's key before the script reruns; it may be the marked one's.
        key: Widget key.
        slots: The colour of each row's bar, if it has one; grey rows were left out.
        halves: Whether each row's bar stands at half tone; none does unless given.
        chip: Column whose words stand in a frame of their own.
        height: Height of the pane at most, in px.
    """
    names = [name for name in frame.columns if name in widths]
    columns = [
        {
            "name": name,
            "width": widths[name],
            "grows": name == grows,
            "numeric": pd.api.types.is_numeric_dtype(frame[name]),
            "chip": name == chip,
        }
        for name in names
    ]
    rows = [
        _row(values, key=row_key, slot=slots[at] if slots else "", half=bool(halves) and halves[at])
        for at, (row_key, *values) in enumerate(zip(keys, *(frame[name] for name in names), strict=True))
    ]
    content = {"columns": columns, "rows": rows, "label": label}
    low = ROW * (len(rows) + 1) + EDGES
    mount_pane(
        _TABLE, content, {}, selected=selected, on_pick=on_pick, key=key, height=min(height, max(low, 2 * ROW))
    )


def _row(values: Sequence[Any], *, key: str, slot: Slot | str, half: bool) -> dict[str, Any]:
    return {
        "key": key,
        "slot": slot,
        "half": half,
        "cells": [_cell(value) for value in values],
        # What numbers are sorted by; texts are by what their cells say.
        "values": [_number(value) for value in values],
    }


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value if len(value) <= CELL_LENGTH else f"{value[: CELL_LENGTH - 1]}…"
    if pd.isna(value):
        return ""
    return score(value) if isinstance(value, float) else count(int(value))


def _number(value: Any) -> float | None:
    return None if isinstance(value, str) or pd.isna(value) else float(value)


_TABLE = pane_component("table")
