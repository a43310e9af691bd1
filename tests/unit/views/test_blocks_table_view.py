"""The editable table of blocks: its rows, and the first thing that is wrong with them."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest

from playground.blocks import ContextBlock, compile_blocks
from playground.views.blocks_example import EXAMPLE
from playground.views.blocks_table import (
    FIELDS,
    blocks_of,
    pin_labels,
    rows_of,
    rows_of_frame,
    table_fault,
    table_frame,
)


def changed(at: int, **fields: Any) -> list[dict[str, Any]]:
    rows = [dict(row) for row in rows_of(EXAMPLE)]
    rows[at].update(fields)
    return rows


def test_blocks_go_through_the_table_and_come_back_equal() -> None:
    rows = rows_of(EXAMPLE)
    frame = table_frame(rows)
    assert list(frame.columns) == list(FIELDS)
    assert blocks_of(rows_of_frame(frame)) == EXAMPLE
    assert table_fault(rows) is None
    assert rows_of_frame(table_frame(())) == ()


def test_cells_that_were_cleared_are_missing_or_empty_texts_and_never_an_optional_block() -> None:
    frame = pd.DataFrame(
        [{**dict.fromkeys(FIELDS), "id": "a", "kind": math.nan, "priority": math.nan, "required": pd.NA}]
    )
    assert rows_of_frame(frame) == (
        {
            "id": "a", "kind": "", "source": "", "role": "", "priority": None, "required": None,
            "content": None, "retention_reason": "",
        },
    )  # fmt: skip


def test_what_a_file_got_wrong_stays_a_row_that_can_be_mended() -> None:
    wrong: Any = ContextBlock("a", 5, None, "user", "\ud800 text", "high", "yes")  # type: ignore[arg-type]
    (row,) = rows_of([wrong])
    assert (row["kind"], row["source"], row["priority"], row["required"]) == ("5", "", None, None)
    assert row["content"] == "\ufffd text"
    assert rows_of_frame(table_frame([row])) == (row,)
    huge: Any = ContextBlock("a", "memory", "", "user", "", 10**400)
    assert rows_of([huge])[0]["priority"] is None


@pytest.mark.parametrize("required", [1, 0, None, "perhaps", 1.0])
def test_a_required_flag_that_is_none_never_becomes_an_optional_block(required: Any) -> None:
    rows = rows_of([ContextBlock("a", "memory", "", "user", "text", 1.0, required)])
    for table in (rows, rows_of_frame(table_frame(rows))):
        notice = table_fault(table)
        assert notice is not None
        assert notice.title == "Block a is neither required nor optional"


@pytest.mark.parametrize("content", [None, 5, ["text"], math.nan])
def test_content_that_is_no_text_never_becomes_an_empty_one(content: Any) -> None:
    rows = rows_of([ContextBlock("a", "memory", "", "user", content, 1.0)])
    for table in (rows, rows_of_frame(table_frame(rows))):
        notice = table_fault(table)
        assert notice is not None
        assert notice.title == "Block a has no content that can be read"


@pytest.mark.parametrize(
    ("at", "fields", "title", "remedy"),
    [
        (1, {"id": ""}, "Row 2 has no id", "Give the block one, or take its row out."),
        (1, {"id": "  "}, "Row 2 has no id", "Give the block one"),
        (2, {"id": "goal"}, "Row 3 has the id of row 2: goal", "Give every block an id of its own."),
        (0, {"kind": ""}, "Block rule:refunds has no kind", "Choose one in its column: constitution, control"),
        (0, {"kind": "note"}, "Block rule:refunds has the unknown kind note", "and evaluation."),
        (3, {"role": ""}, "Block memory:calls has no role", "Choose one in its column: system, user"),
        (3, {"priority": None}, "Block memory:calls has no priority", "Give a finite number"),
    ],
)
def test_the_first_fault_names_the_block_and_what_to_do(
    at: int, fields: dict[str, Any], title: str, remedy: str
) -> None:
    notice = table_fault(changed(at, **fields))
    assert notice is not None
    assert (notice.level, notice.title) == ("warning", title)
    said = "".join(text for text, _ in notice.sentence)
    assert remedy in said
    assert said.endswith("What stands below is the last result that could be made.")


def test_a_table_without_a_fault_is_one_that_the_compiler_takes() -> None:
    for row in (changed(0), changed(1, content="", source="", retention_reason="")):
        assert table_fault(row) is None
        compile_blocks(blocks_of(row), budget_tokens=10_000)


def test_ids_in_a_notice_are_shortened_and_cannot_turn_around_what_is_read() -> None:
    notice = table_fault(changed(0, id="\u202e" + "x" * 500, kind=""))
    assert notice is not None
    assert "\u202e" not in notice.title
    assert len(notice.title) < 100


def test_two_blocks_whose_ids_look_alike_can_be_told_apart_in_the_list_of_pins() -> None:
    ids = ["wallet", "wallet\n", "card", "wallet (2)"]
    labels = pin_labels(ids)
    assert labels["wallet"] == "wallet"
    assert labels["wallet\n"] == "wallet (2)"
    assert labels["card"] == "card"
    assert len(set(labels.values())) == 4
