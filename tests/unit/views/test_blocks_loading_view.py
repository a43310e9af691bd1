"""What is said of blocks that were loaded."""

from __future__ import annotations

import pytest

from playground.blocks import ContextBlock
from playground.views.blocks_loading import REPORT, loaded_blocks, refused_blocks
from playground.views.notices import Notice
from playground.workspace.block_files import BlockFile

BLOCK = ContextBlock("a", "memory", "", "user", "text", 1.0)


def said(notice: Notice) -> str:
    return "".join(text for text, _ in notice.sentence)


def test_files_are_joined_and_the_first_budget_holds() -> None:
    loaded = loaded_blocks(
        [
            BlockFile("one", (BLOCK,)),
            BlockFile("two", (BLOCK, BLOCK), budget_tokens=40, pinned_optional_ids=("a",)),
            BlockFile("three", (), budget_tokens=50),
        ]
    )
    assert (len(loaded.blocks), loaded.budget, loaded.pins) == (3, 40, ("a",))
    assert said(loaded.notice) == "The table holds 3 blocks now."
    assert (loaded.notice.level, loaded.notice.actions[0].control) == ("info", REPORT)


@pytest.mark.parametrize("budget", [0, -1, True, 1.5, "40", 10_000_001])
def test_a_budget_that_cannot_be_used_is_named(budget: object) -> None:
    loaded = loaded_blocks([BlockFile("mine", (BLOCK,), budget_tokens=budget)])
    assert loaded.budget is None
    assert loaded.notice.level == "warning"
    assert "mine: the budget " in said(loaded.notice)


def test_a_pinned_id_that_is_no_text_is_named_and_the_others_pin() -> None:
    loaded = loaded_blocks([BlockFile("mine", (BLOCK,), pinned_optional_ids=(5, "a", None))])
    assert loaded.pins == ("a",)
    assert loaded.notice.level == "warning"
    assert "mine: the pinned id 5 is no text; it pins nothing." in said(loaded.notice)
    assert "the pinned id None" in said(loaded.notice)


def test_warnings_of_files_are_said_and_turn_no_order_around() -> None:
    notice = loaded_blocks([BlockFile("\u202emine", (BLOCK,), warnings=("It is odd.",))]).notice
    assert said(notice) == "The table holds 1 block now. \ufffdmine: It is odd."
    assert said(refused_blocks("\ud800 bad.")) == "\ufffd bad. The table stays as it was."
