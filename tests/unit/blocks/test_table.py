from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from playground import InvalidInputError
from playground.blocks import ContextBlock, blocks_from_table, compile_blocks

GOAL = ContextBlock("goal", "goal", "caller", "user", "Explain it.", 100, True, "current goal")
SEED_ROW = {
    "id": "goal",
    "kind": "goal",
    "source": "caller",
    "role": "user",
    "content": "Explain it.",
    "priority": 100,
    "required": True,
    "retentionReason": "current goal",
}


def test_a_row_in_either_spelling_is_a_block() -> None:
    ours = {**SEED_ROW, "retention_reason": SEED_ROW["retentionReason"]}
    del ours["retentionReason"]
    assert blocks_from_table([SEED_ROW, ours]) == (GOAL, GOAL)


def test_a_csv_row_of_texts_is_a_block() -> None:
    row = {**SEED_ROW, "priority": "100", "required": "TRUE "}
    assert blocks_from_table([row]) == (GOAL,)


@pytest.mark.parametrize(
    ("said", "meant"),
    [("true", True), ("Yes", True), ("1", True), ("false", False), ("no", False), ("0", False)],
)
def test_a_text_says_whether_a_block_is_required(said: str, meant: bool) -> None:
    (block,) = blocks_from_table([{**SEED_ROW, "required": said}])
    assert block.required is meant


@pytest.mark.parametrize("empty", [None, "", math.nan, np.float32("nan"), pd.NA, pd.NaT], ids=repr)
def test_an_empty_cell_takes_its_default(empty: Any) -> None:
    row = {"id": "b", "kind": "memory", "content": ""}
    rest = dict.fromkeys(["source", "role", "priority", "required", "retentionReason"], empty)
    expected = ContextBlock("b", "memory", "", "user", "", 0)
    assert blocks_from_table([row, {**row, **rest}]) == (expected, expected)


def test_a_data_frame_is_a_table() -> None:
    frame = pd.DataFrame([SEED_ROW, {"id": "b", "kind": "memory", "content": "x", "priority": 2.5}])
    goal, other = blocks_from_table(frame)
    assert goal == GOAL
    assert (other.priority, other.role, other.required, other.retention_reason) == (2.5, "user", False, "")
    assert compile_blocks((goal, other), budget_tokens=99).estimated_tokens > 0


def test_what_a_compile_printed_can_be_compiled_again() -> None:
    compiled = compile_blocks([GOAL], budget_tokens=9)
    again = blocks_from_table(json.loads(compiled.to_json())["included"])
    assert again == (GOAL,)
    assert blocks_from_table(compiled.to_frame()) == (GOAL,)


@pytest.mark.parametrize(
    ("cells", "word"),
    [
        ({"kind": ""}, "kind"),
        ({"id": None}, "id"),
        ({"priority": "high"}, "priority"),
        ({"priority": "nan"}, "priority"),
        ({"required": "maybe"}, "required"),
        ({"required": 1}, "required"),
        ({"content": 5}, "content"),
        ({"content": None}, "content"),
        ({"content": math.nan}, "content"),
    ],
)
def test_a_cell_that_says_nothing_of_the_kind_is_refused_by_the_compile(
    cells: dict[str, Any], word: str
) -> None:
    with pytest.raises(InvalidInputError, match=word):
        compile_blocks(blocks_from_table([{**SEED_ROW, **cells}]), budget_tokens=99)


@pytest.mark.parametrize("column", ["retentionReasn", "Id", 3, ("id",)], ids=repr)
def test_an_unknown_column_is_an_input_error(column: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"Row 2 has the unknown column"):
        blocks_from_table([SEED_ROW, {**SEED_ROW, column: 1}])


@pytest.mark.parametrize("table", ["rows", {"id": "goal"}, None, 5, ["goal"], [GOAL]], ids=lambda v: str(v)[:9])
def test_what_is_no_table_is_an_input_error(table: Any) -> None:
    with pytest.raises(InvalidInputError, match=r"is a \w+"):
        blocks_from_table(table)
