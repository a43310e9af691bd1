"""What came of a patch, in words."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from playground.views.notices import Notice
from playground.views.working_memory_outcome import REASON_WORDS, nothing_entered, outcome_notice
from playground.working_memory import RejectedPatch, apply_working_memory_patch
from playground.working_memory.outcome import RejectionReason
from tests.unit.views.memories import NOON, filled, started, wanted


def notice(*operations: dict[str, Any], writer: str = "host") -> Notice:
    snapshot = filled()
    patch = wanted(snapshot, *operations, writer=writer)
    return outcome_notice(apply_working_memory_patch(snapshot, patch, now=NOON), patch)


def said(found: Notice) -> str:
    return "".join(text for text, _ in found.sentence)


def test_an_applied_patch_names_its_revision_and_the_new_ids() -> None:
    found = notice({"op": "add-question", "text": "Why?"}, {"op": "add-question", "text": "When?"})
    assert (found.level, found.title) == ("info", "Applied: revision 3")
    assert said(found) == "add-question by the host made revision 3 and questions-3-0 and questions-3-1."


def test_an_applied_patch_without_new_items_names_its_revision() -> None:
    assert said(notice({"op": "set-goal", "text": None})) == "set-goal by the host made revision 3."


def test_a_refused_patch_names_its_reason_and_says_that_nothing_changed() -> None:
    found = notice({"op": "set-goal", "text": "Mine."}, writer="model")
    assert (found.level, found.title) == ("warning", "Refused: forbidden, this writer may not do it")
    assert said(found).startswith("set-goal is for the host alone.")
    assert said(found).endswith("Nothing was changed.")


def test_a_refused_patch_of_several_operations_names_the_one_that_failed() -> None:
    found = notice({"op": "add-question", "text": "Why?"}, {"op": "remove-item", "id": "nobody"})
    assert said(found).startswith("Operation 2 of 2: ")
    assert found.title.startswith("Refused: not-found")


def test_a_repeated_patch_names_the_revision_it_made() -> None:
    snapshot = started()
    patch = wanted(snapshot, {"op": "set-goal", "text": "Stop."})
    once = apply_working_memory_patch(snapshot, patch, now=NOON)
    again = outcome_notice(apply_working_memory_patch(once.snapshot, patch, now=NOON), patch)
    assert again.title == "Applied before: duplicate"
    assert "made revision 1 already" in said(again)


@pytest.mark.parametrize("reason", get_args(RejectionReason))
def test_every_reason_has_words(reason: RejectionReason) -> None:
    snapshot = started()
    outcome = RejectedPatch(snapshot, reason, "Because.")
    assert (
        REASON_WORDS[reason]
        in outcome_notice(outcome, wanted(snapshot, {"op": "set-goal", "text": None})).title
    )


def test_a_form_without_text_says_what_to_write() -> None:
    assert said(nothing_entered("decision")) == "Write the text of the decision first."


def test_half_a_character_of_an_id_is_replaced_in_every_answer() -> None:
    for writer in ("host", "model"):
        refused = notice({"op": "remove-item", "id": "none \ud83d"}, writer=writer)
        assert "\ud83d" not in said(refused)
    snapshot = started()
    patch = wanted(snapshot, {"op": "add-question", "text": "Why?"})
    outcome = apply_working_memory_patch(snapshot, patch, now=NOON, generate_id=lambda *_: "id \ud83d")
    assert said(outcome_notice(outcome, patch)).endswith("revision 1 and id \ufffd.")
    rejected = RejectedPatch(snapshot, reason="not-found", operation=0, message="There is no \ud83d.")
    assert "There is no \ufffd." in said(outcome_notice(rejected, patch))
