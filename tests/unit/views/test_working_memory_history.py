"""The history in words: what each revision changed, field by field."""

from __future__ import annotations

from playground.views.working_memory_history import (
    CHANGES_SHOWN,
    TEXT_SHOWN,
    FieldChange,
    HistoryView,
    history_view,
)
from playground.working_memory.difference import WorkingMemoryRevision
from tests.unit.views.memories import filled, patched, started


def view_of(*revisions: WorkingMemoryRevision) -> HistoryView:
    return history_view(revisions, revision=revisions[-1].revision if revisions else 0)


def test_the_newest_revision_comes_first_with_who_when_and_what() -> None:
    first, one = patched(started(), {"op": "add-question", "text": "Why?"}, writer="model")
    _, two = patched(first, {"op": "set-goal", "text": "Stop."})
    view = view_of(one, two)
    assert [row.revision for row in view.rows] == ["Revision 2", "Revision 1"]
    assert (view.rows[1].writer, view.rows[1].operations) == ("model", "add-question")
    assert view.rows[0].when == "2026-11-30 12:00:01 UTC"
    assert (view.total, view.earlier) == ("2 revisions", "")


def test_a_changed_item_shows_only_the_fields_that_differ_before_and_after() -> None:
    snapshot = filled()
    _, revision = patched(snapshot, {"op": "set-decision-status", "id": "decisions-1-0", "status": "reverted"})
    (change,) = view_of(revision).rows[0].changes
    assert (change.kind, change.name) == ("changed", "decision decisions-1-0")
    assert change.fields == (FieldChange("status", "accepted", "reverted"),)


def test_the_hosts_word_on_a_models_item_is_a_field_too() -> None:
    snapshot, _ = patched(started(), {"op": "add-decision", "text": "Wait."}, writer="model")
    _, revision = patched(snapshot, {"op": "set-decision-status", "id": "decisions-1-0", "status": "accepted"})
    (change,) = view_of(revision).rows[0].changes
    assert FieldChange("decided by", "", "host") in change.fields


def test_a_new_item_shows_what_it_says_and_a_removed_one_what_it_said() -> None:
    snapshot, added = patched(started(), {"op": "record-attempt", "text": "Tried.", "outcome": "in_progress"})
    _, removed = patched(snapshot, {"op": "remove-item", "id": "attempts-1-0"})
    view = view_of(added, removed)
    assert view.rows[1].changes[0].fields == (
        FieldChange("text", "", "Tried."),
        FieldChange("outcome", "", "in progress"),
    )
    assert view.rows[0].changes[0].kind == "removed"
    assert view.rows[0].changes[0].fields[0] == FieldChange("text", "Tried.", "")


def test_another_order_and_another_active_task_are_told_by_ids() -> None:
    listed = [{"id": "b", "title": "Second"}, {"id": "a", "title": "First"}]
    snapshot, moved = patched(started(), {"op": "set-tasks", "list": listed})
    _, active = patched(snapshot, {"op": "set-active-task", "id": "a"})
    view = view_of(moved, active)
    assert view.rows[1].changes[0].name == "order of the tasks"
    assert view.rows[1].changes[0].fields == (FieldChange("", "a, b", "b, a"),)
    assert view.rows[0].changes[0].fields == (FieldChange("", "b", "a"),)


def test_an_item_that_was_set_to_what_it_was_says_so() -> None:
    _, revision = patched(started(), {"op": "set-goal", "text": "Ship."})
    (change,) = view_of(revision).rows[0].changes
    assert change.fields == (FieldChange("set again", "", "as it was"),)


def test_a_patch_without_effect_has_no_changes() -> None:
    _, revision = patched(started(), {"op": "set-active-task", "id": "b"})
    assert view_of(revision).rows[0].changes == ()


def test_long_texts_and_long_lists_are_cut() -> None:
    listed = [f"Task {number}" for number in range(CHANGES_SHOWN + 4)]
    _, tasks = patched(started(), {"op": "set-tasks", "list": listed})
    row = view_of(tasks).rows[0]
    assert len(row.changes) == CHANGES_SHOWN
    assert row.more == f"{len(tasks.changes) - CHANGES_SHOWN} more"
    _, long = patched(started(), {"op": "set-goal", "text": "word " * 200})
    shown = view_of(long).rows[0].changes[0].fields[0].after
    assert len(shown) <= TEXT_SHOWN + 1
    assert shown.endswith("word…")


def test_revisions_before_the_history_are_named() -> None:
    assert history_view((), revision=4).earlier.startswith("Revisions 1 to 4 came before")
    assert history_view((), revision=1).earlier.startswith("Revision 1 came before")
    assert history_view((), revision=0).earlier == "Nothing was changed yet: this is revision 0."


def test_text_from_right_to_left_is_isolated_and_marks_of_direction_are_replaced() -> None:
    _, revision = patched(started(), {"op": "add-observation", "text": "שלום \u202ecod.exe"})
    shown = view_of(revision).rows[0].changes[0].fields[0].after
    assert "\u202e" not in shown
    assert shown.startswith("\u2068")


def test_half_a_character_of_a_loaded_history_is_replaced_in_every_field() -> None:
    item = {"text": "half \ud83d", "status": "\ud83d", "sources": [{"kind": "tool", "id": "t\ud83d"}]}
    revision = WorkingMemoryRevision.parse(
        {
            "revision": 1,
            "writer": "host",
            "operationId": "\ud83d",
            "changedAt": 1,
            "operations": ["\ud83d"],
            "changes": [
                {"list": "decisions", "id": "\ud83d", "kind": "changed", "before": item, "after": {}},
                {
                    "list": "taskOrder",
                    "kind": "changed",
                    "before": {"order": ["\ud83d"]},
                    "after": {"order": []},
                },
                {"list": "activeTask", "kind": "removed", "before": {"id": "\ud83d"}},
            ],
        }
    )
    shown = str(view_of(revision)).encode("utf-8").decode()
    assert "\\ud83d" not in shown
    assert shown.count("\ufffd") == 7
