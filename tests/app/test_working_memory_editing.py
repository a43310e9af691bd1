"""What is half-written on the Working memory page, what is said while it is, and what follows the memory."""

from __future__ import annotations

import json

import pytest
from streamlit.testing.v1 import AppTest

from playground.app.memory_panels import ITEMS_HEIGHT, ROW
from tests.app.driver import ROOT, body, go_to, press
from tests.app.memory_page import PAGE, act_as, call, choose, items, notice, opened, pane, snapshot_of, write


@pytest.fixture
def demo() -> AppTest:
    return opened(project="deploy-demo")


def box(app: AppTest, start: str) -> str:
    """What stands in the text box whose key starts like this."""
    boxes = (*app.text_area, *app.text_input)
    return next(str(found.value) for found in boxes if str(found.key).startswith(start))


def type_into(app: AppTest, start: str, text: str) -> None:
    boxes = (*app.text_area, *app.text_input)
    next(found for found in boxes if str(found.key).startswith(start)).input(text).run()


def patch(app: AppTest, *operations: dict[str, str]) -> dict[str, object]:
    """A patch of the host for what the page shows."""
    revision = int(body(app).split("</b><span>revision ")[1].split(" ")[0])
    head = {"operationId": f"test-{revision}", "expectedRevision": revision, "writer": "host"}
    return {**head, "operations": list(operations)}


def test_the_caption_names_the_role_of_the_link_at_once() -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params.update({"search": "lexical", "project": "deploy-demo", "role": "model"})
    go_to(app, PAGE)
    assert app.segmented_control(key="role").value == "model"
    assert "Acting as the model" in body(app)
    assert "Acting as the host" not in body(app)


# What is half-written


def test_only_the_form_that_was_sent_is_emptied(demo: AppTest) -> None:
    type_into(demo, "add_text_", "Half a decision")
    type_into(demo, "add_rationale_", "half a reason")
    call(demo, "add", {"items": [{"kind": "observation", "text": "Seen by a tool."}]})
    write(demo, "Constraint", "A rule.")
    assert snapshot_of(demo).revision == 2
    assert box(demo, "add_text_") == ""
    choose(demo, "Decision")
    assert (box(demo, "add_text_"), box(demo, "add_rationale_")) == ("Half a decision", "half a reason")
    press(demo, "Add decision")
    assert items(demo, "Decisions")[0]["text"] == "Half a decision"
    assert (box(demo, "add_text_"), box(demo, "add_rationale_")) == ("", "")


def test_the_box_of_an_answer_is_the_same_after_a_patch_of_something_else(demo: AppTest) -> None:
    def answers() -> list[str]:
        return [str(found.key) for found in demo.text_input if str(found.key).startswith("item_answer_")]

    write(demo, "Question", "Why?")
    before = answers()
    call(demo, "patch", patch(demo, {"op": "set-goal", "text": "Another goal."}))
    assert notice(demo).startswith("Applied: revision 2")
    assert answers() == before  # so that the browser keeps what stands in it
    press(demo, "Drop")
    assert answers() != before


def test_what_was_typed_waits_behind_other_kinds_and_pages(demo: AppTest) -> None:
    choose(demo, "Question")
    type_into(demo, "add_text_", "Half a question")
    choose(demo, "Goal")
    type_into(demo, "add_text_", "Half a goal")
    go_to(demo, "data")
    go_to(demo, PAGE)
    assert box(demo, "add_text_") == "Half a goal"
    choose(demo, "Question")
    assert box(demo, "add_text_") == "Half a question"


def test_the_box_of_the_goal_follows_the_goal_until_somebody_writes_in_it(demo: AppTest) -> None:
    choose(demo, "Goal")
    call(demo, "patch", patch(demo, {"op": "set-goal", "text": "Another goal."}))
    assert box(demo, "add_text_") == "Another goal."
    type_into(demo, "add_text_", "My own.")
    call(demo, "patch", patch(demo, {"op": "set-goal", "text": "A third."}))
    assert box(demo, "add_text_") == "My own."


def test_a_decision_starts_with_what_the_role_says_of_it(demo: AppTest) -> None:
    def offered() -> tuple[str, list[str]]:
        found = next(found for found in demo.selectbox if str(found.key).startswith("add_status_"))
        return str(found.value), list(found.options)

    assert offered() == ("accepted", ["accepted", "proposed", "reverted"])
    act_as(demo, "model")
    assert offered() == ("proposed", ["proposed", "accepted", "reverted"])


# What is said


def test_setting_the_goal_to_what_it_is_makes_no_revision(demo: AppTest) -> None:
    choose(demo, "Goal")
    press(demo, "Set the goal")
    assert notice(demo) == "Nothing was sent: The goal says this already."
    assert "material" not in demo.session_state


def test_the_page_does_not_tell_of_a_revision_that_was_undone(demo: AppTest) -> None:
    write(demo, "Question", "Why?")
    go_to(demo, "data")
    press(demo, "Undo changes")
    go_to(demo, PAGE)
    assert items(demo, "Questions") == []
    assert notice(demo) == ""


def test_an_input_that_is_no_patch_can_be_dismissed(demo: AppTest) -> None:
    call(demo, "patch", "[1]")
    assert notice(demo).startswith("Something was entered that cannot be used")
    press(demo, "Dismiss")
    assert notice(demo) == ""


def test_what_is_no_json_was_not_sent(demo: AppTest) -> None:
    call(demo, "patch", "{")
    assert "The patch was not sent" in body(demo)


# Inputs to start from


def test_an_untouched_patch_is_for_the_present_revision_and_another_stays(demo: AppTest) -> None:
    demo.segmented_control(key="tool_chosen").set_value("a patch by hand").run()
    write(demo, "Question", "Why?")
    assert json.loads(box(demo, "tool_input_patch"))["expectedRevision"] == 1
    act_as(demo, "model")
    assert json.loads(box(demo, "tool_input_patch"))["writer"] == "model"
    type_into(demo, "tool_input_patch", '{"mine": 1}')
    write(demo, "Question", "When?")
    assert box(demo, "tool_input_patch") == '{"mine": 1}'
    press(demo, "Write one for now")
    assert json.loads(box(demo, "tool_input_patch"))["expectedRevision"] == 2
    press(demo, "Apply the patch")
    assert notice(demo).startswith("Applied: revision 3")
    press(demo, "Apply the patch")  # what was sent stays as it was sent
    assert notice(demo).startswith("Applied before: duplicate")


def test_the_update_to_start_from_names_what_the_model_wrote_since(demo: AppTest) -> None:
    call(demo, "add", {"items": [{"kind": "question", "text": "Why?"}]})
    demo.segmented_control(key="tool_chosen").set_value("working_memory_update").run()
    assert "questions-1-0" in box(demo, "tool_input_update")
    press(demo, "Call working_memory_update")
    assert items(demo, "Questions")[0]["badge"] == "answered"


# The list


def test_the_active_task_says_how_it_stands() -> None:
    badges = [row["badge"] for row in items(opened(project="bank-support"), "Tasks")]
    assert badges == ["done", "active, in progress", "pending", "pending", "pending"]


def test_a_list_of_two_dozen_items_is_shown_in_full_and_a_longer_one_is_cut_through_a_row() -> None:
    app = opened(project="bank-support")
    adding = {"op": "add-observation", "text": "Seen."}
    call(app, "patch", patch(app, *[adding] * 6))
    groups, height = pane(app, "groups")["groups"], pane(app, "groups")["height"]
    assert sum(len(group["rows"]) for group in groups) == 24
    assert height == sum(32 + ROW * len(group["rows"]) for group in groups) + 10
    call(app, "patch", patch(app, *[adding] * 10))
    above = sum(32 + ROW * len(group["rows"]) for group in groups[:-1]) + 32
    cut = pane(app, "groups")["height"]
    assert ITEMS_HEIGHT - 2 * ROW < cut <= ITEMS_HEIGHT
    assert (cut - above) % ROW == ROW // 2
