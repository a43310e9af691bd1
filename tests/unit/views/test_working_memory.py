"""Working memory as sections of rows."""

from __future__ import annotations

import json

import pytest

from playground.views.record_key import record_key
from playground.views.working_memory import ItemRow, moment, working_memory_view
from playground.working_memory import WorkingMemorySnapshot, create_working_memory
from playground.working_memory.rendering import memory_lines
from tests.unit.views.memories import filled, started


def row(item_id: str) -> ItemRow:
    sections = working_memory_view(filled()).sections
    return next(row for section in sections for row in section.rows if row.id == item_id)


def test_sections_stand_in_their_order_with_how_many_there_may_be() -> None:
    view = working_memory_view(filled())
    assert [(section.title, section.total) for section in view.sections] == [
        ("Goal", ""),
        ("Constraints", "1 of 32"),
        ("Tasks", "2 of 64"),
        ("Decisions", "1 of 64"),
        ("Questions", "1 of 32"),
        ("Attempts", "1 of 64"),
        ("Hypotheses", "1 of 32"),
        ("Observations", "1 of 128"),
    ]
    assert view.total == "revision 2 · 9 items · scope case"
    assert view.revision == 2


def test_a_row_says_status_writer_revision_time_and_sources() -> None:
    observation = row("observations-1-0")
    assert observation.facts == "written by the model · revision 1 · 2026-11-30 12:00:01 UTC · from tool t1"
    assert row("attempts-1-0").status == "in_progress"
    assert row("attempts-1-0").badge == "in progress"
    assert row("attempts-1-0").facts.startswith("in progress · written by the model")
    assert row("attempts-1-0").more == (("Detail", "Twice."),)
    assert row("decisions-1-0").more == (("Rationale", "It is quick."),)


def test_what_the_host_decided_about_a_models_item_is_said() -> None:
    decision = row("decisions-1-0")
    assert (decision.writer, decision.decided, decision.status) == ("model", True, "accepted")
    assert "written by the model, decided by the host" in decision.facts
    assert not row("questions-1-0").decided


def test_the_active_task_is_told_from_the_others() -> None:
    assert (row("b").badge, row("b").status, row("a").badge) == ("active, pending", "pending", "pending")
    assert row("b").facts.startswith("active · pending · ")


def test_keys_are_those_of_the_lines_that_a_compile_shows() -> None:
    view = working_memory_view(filled())
    shown = {record_key("working-memory", line.record_id) for line in memory_lines(filled())}
    assert {row.key for section in view.sections for row in section.rows} == shown
    assert view.row(record_key("working-memory", "goal")) == view.sections[0].rows[0]
    assert view.row(record_key("rag", "1")) is None
    assert view.row(None) is None


def test_an_empty_memory_says_in_each_section_that_there_is_nothing_yet() -> None:
    view = working_memory_view(create_working_memory(scope="s", now=0))
    assert [section.empty for section in view.sections][:2] == ["No goal yet.", "No constraint yet."]
    assert all(not section.rows for section in view.sections)


@pytest.mark.parametrize(
    ("time", "shown"), [(0, ""), (2**53, ""), (1_796_040_000_000, "2026-11-30 12:00:00 UTC")]
)
def test_a_time_that_no_calendar_has_is_left_out(time: int, shown: str) -> None:
    assert moment(time) == shown


def test_reading_a_snapshot_changes_nothing_and_needs_no_task_list() -> None:
    assert working_memory_view(started()) == working_memory_view(started())
    bare = create_working_memory(scope="s", goal="g", goal_ref="ticket-7", now=0)
    assert working_memory_view(bare).sections[0].rows[0].more == (("Reference", "ticket-7"),)


def test_a_list_shows_the_beginning_of_an_item_in_one_line() -> None:
    goal = "First line.\n\n  Second line. " + "word " * 100
    (row,) = working_memory_view(create_working_memory(scope="s", goal=goal, now=0)).sections[0].rows
    assert row.text == goal
    assert row.line.startswith("First line. Second line. word word")
    assert row.line.endswith("word…")
    assert len(row.line) <= 161


def test_names_from_elsewhere_cannot_turn_the_words_around_them() -> None:
    data = json.loads(filled().to_json())
    data["scope"] = "\u202eenoyna"
    data["observations"][0] |= {"id": "שלום\u202e", "sources": [{"kind": "tool", "toolCallId": "\u202e1t"}]}
    view = working_memory_view(WorkingMemorySnapshot.parse(data))
    row = view.sections[-1].rows[0]
    assert row.id == "שלום\u202e"
    for shown in (view.total, row.name, row.facts):
        assert "\u202e" not in shown
    assert row.name == "observation \u2068שלום\ufffd\u2069"
