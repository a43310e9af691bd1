"""The forms of working memory: each makes an operation that a patch takes, of what was entered."""

from __future__ import annotations

from typing import get_args

import pytest

from playground.views.working_memory import ItemRow, working_memory_view
from playground.views.working_memory_forms import (
    ADDING,
    Choice,
    ItemForm,
    adding_form,
    adding_operation,
    changing_form,
    changing_operation,
)
from playground.working_memory import apply_working_memory_patch
from playground.working_memory.items import SECTIONS, Section, Writer
from tests.unit.views.memories import NOON, filled, patched, wanted

MARKS = (" (host only)", " (not its own)", " (decided by the host)")


def untouched(form: ItemForm, text: str = "Said.") -> dict[str, str]:
    """Return the answers of somebody who writes the first text and leaves the rest as it stands."""
    said = {box.name: box.text for box in form.boxes} | {form.boxes[0].name: text}
    return said | ({form.choice.name: form.choice.chosen} if form.choice else {})


def rows() -> list[ItemRow]:
    return [row for section in working_memory_view(filled()).sections for row in section.rows]


def row_of(name: Section) -> ItemRow:
    return next(row for row in rows() if row.list == name)


@pytest.mark.parametrize("role", ["host", "model"])
@pytest.mark.parametrize("section", SECTIONS)
def test_a_new_item_is_added_by_whoever_may_and_else_the_button_says_why_not(
    section: Section, role: Writer
) -> None:
    before, form = filled(), adding_form(section, role=role)
    said = untouched(form)
    assert set(said) == set(form.names)
    outcome = apply_working_memory_patch(
        before, wanted(before, adding_operation(section, said, before.tasks), writer=role), now=NOON
    )
    forbidden = outcome.status == "rejected" and outcome.reason == "forbidden"
    assert forbidden == form.button.endswith(MARKS)
    if not forbidden:
        assert outcome.status == "applied"
        assert "Said." in outcome.snapshot.to_json()
        assert "Said." not in before.to_json()


def test_what_is_said_beside_the_text_of_a_new_item_is_kept() -> None:
    said = {
        "text": "T.",
        "rationale": "R.",
        "detail": "D.",
        "notes": "N.",
        "status": "pending",
        "outcome": "failed",
    }
    decision = adding_operation("decisions", said | {"status": "reverted"}, None)
    assert decision == {"op": "add-decision", "text": "T.", "rationale": "R.", "status": "reverted"}
    attempt = adding_operation("attempts", said, None)
    assert attempt == {"op": "record-attempt", "text": "T.", "detail": "D.", "outcome": "failed"}
    tasks = adding_operation("tasks", said, None)
    assert tasks == {"op": "set-tasks", "list": [{"title": "T.", "status": "pending", "notes": "N."}]}
    blank = said | {"rationale": "", "detail": ""}
    assert "rationale" not in adding_operation("decisions", blank, None)
    assert "detail" not in adding_operation("attempts", blank, None)


def test_a_decision_starts_with_what_the_role_says_of_it() -> None:
    host, model = (adding_form("decisions", role=role).choice for role in get_args(Writer))
    assert host == Choice("status", "Status", ("accepted", "proposed", "reverted"), "accepted")
    assert model == Choice("status", "Status", ("proposed", "accepted", "reverted"), "proposed")


def test_an_operation_that_adds_is_known_by_the_list_that_it_adds_to() -> None:
    assert set(ADDING) == set(SECTIONS) - {"goal", "tasks"}
    for section, name in ADDING.items():
        before = filled()
        after, _ = patched(
            before, {"op": name, "text": "T.", **({"outcome": "failed"} if section == "attempts" else {})}
        )
        assert len(getattr(after, section)) == len(getattr(before, section)) + 1


@pytest.mark.parametrize("role", ["host", "model"])
def test_a_form_of_an_item_is_marked_exactly_where_its_patch_is_forbidden(role: Writer) -> None:
    before, tried = filled(), set()
    for row in rows():
        form = changing_form(row, role=role)
        if form is None:
            continue
        operation = changing_operation(row, untouched(form), before.tasks)
        outcome = apply_working_memory_patch(before, wanted(before, operation, writer=role), now=NOON)
        forbidden = outcome.status == "rejected" and outcome.reason == "forbidden"
        assert forbidden == form.button.endswith(MARKS), row
        assert forbidden or outcome.status == "applied"
        tried.add(row.list)
    assert tried == {"tasks", "questions", "attempts"}


def test_a_form_starts_with_what_the_item_says_and_sends_what_was_entered() -> None:
    before = filled()
    task, attempt, question = row_of("tasks"), row_of("attempts"), row_of("questions")
    form = changing_form(task, role="host")
    assert form is not None
    assert form.boxes[0].text == task.text
    assert form.choice is not None
    assert form.choice.chosen == task.status
    said = {"title": "New.", "status": "done", "notes": "N."}
    after, _ = patched(before, changing_operation(task, said, before.tasks))
    assert after.tasks is not None
    changed = next(one for one in after.tasks.list if one.id == task.id)
    assert (changed.title, changed.status, changed.notes) == ("New.", "done", "N.")
    after, _ = patched(before, changing_operation(attempt, {"detail": "", "outcome": "abandoned"}, None))
    tried, was = (next(one for one in memory.attempts if one.id == attempt.id) for memory in (after, before))
    assert (tried.outcome, tried.detail) == ("abandoned", was.detail)
    after, _ = patched(before, changing_operation(question, {"answer": "Yes."}, None))
    assert next(one for one in after.questions if one.id == question.id).answer == "Yes."


def test_only_what_says_nothing_and_is_needed_is_lacking() -> None:
    answer, attempt, task = (
        changing_form(row_of(name), role="host") for name in ("questions", "attempts", "tasks")
    )
    assert answer is not None
    assert attempt is not None
    assert task is not None
    assert answer.lacking({"answer": " \n"}) == "answer"
    assert answer.lacking({"answer": " a"}) == ""
    assert task.lacking({"title": "", "status": "done", "notes": "N."}) == "title"
    assert attempt.lacking({"detail": "", "outcome": "failed"}) == ""
    assert adding_form("goal", role="host").lacking({"text": ""}) == "goal"
