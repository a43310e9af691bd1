"""The manifest as a table that can be filtered."""

from __future__ import annotations

import pytest

from playground.compiler.manifest import Reason
from playground.views.entries import EntriesTable, entries_table
from playground.views.panes import Shown
from playground.views.record_key import record_key
from playground.views.record_text import RecordText
from playground.views.words import entry_slot
from tests.unit.views.manifests import manifest


def table(*, shown: Shown = "all", reason: Reason | None = None, words: str = "") -> EntriesTable:
    texts = {
        ("memory", "m1"): RecordText(record_key("memory", "m1"), "Prefers \u202eemail", "asserted by host", ""),
    }
    return entries_table(manifest(), texts, shown=shown, reason=reason, words=words)


def test_every_entry_is_a_row_in_the_manifests_order() -> None:
    found, entries = table(), manifest().entries
    assert found.numbers == tuple(range(len(entries)))
    assert list(found.frame["Tokens"]) == list(entries.column("tokens"))
    assert list(found.frame["Reason"]) == list(entries.column("reason"))
    assert found.slots == tuple(map(entry_slot, entries))
    assert found.halves == tuple(entry.reason == "reallocated" for entry in entries)
    assert found.total == f"{len(entries)} entries"


@pytest.mark.parametrize("shown", ["selected", "excluded"])
def test_selected_and_excluded_entries_are_filtered(shown: Shown) -> None:
    found, entries = table(shown=shown), manifest().entries
    assert [entries[number].selected for number in found.numbers] == [shown == "selected"] * len(found.numbers)
    assert found.total == f"{len(found.numbers)} of {len(entries)} entries"


def test_a_reason_is_filtered() -> None:
    assert set(table(reason="budget").frame["Reason"]) == {"budget"}


def test_all_words_must_stand_in_title_origin_or_id() -> None:
    assert list(table(words="EMAIL host").frame["Record"]) == ["Prefers \ufffdemail"]
    assert list(table(words="email guest").frame["Record"]) == []
    assert len(table(words="m1").numbers) == 1


def test_the_part_that_tells_records_apart_stands_where_the_column_does_not_cut_it_off() -> None:
    text = RecordText(record_key("memory", "m1"), "The same title, part 2", "part 2 of x", "", "part 2")
    frame = entries_table(manifest(), {("memory", "m1"): text}).frame
    assert "Part 2: The same title" in set(frame["Record"])


def test_marks_of_direction_do_not_reach_the_table() -> None:
    assert "\u202e" not in "".join(table().frame["Record"])
