"""Demand, granted, used and moved, by kind."""

from __future__ import annotations

import pytest

from playground.compiler.manifest import EntryKind
from playground.views.record_key import record_key
from playground.views.sources import SourceRow, SourcesView, sources_view
from playground.views.words import KIND_ORDER
from tests.unit.views.manifests import entry, manifest


def title(source: str, record_id: str) -> str:
    return f"{source} {record_id}"


def row(view: SourcesView, kind: EntryKind) -> SourceRow:
    return next(row for row in view.rows if row.kind == kind)


@pytest.fixture
def view() -> SourcesView:
    return sources_view(manifest(), title=title)


def test_every_kind_has_a_row_even_without_records() -> None:
    view = sources_view(manifest(entry("rag", "1", 10, "ranked")), title=title)
    assert [row.kind for row in view.rows] == list(KIND_ORDER)
    assert row(view, "skills").used == 0


def test_used_counts_selected_records_and_demand_also_those_the_budget_left_out(view: SourcesView) -> None:
    documents = row(view, "rag")
    assert (documents.used, documents.granted, documents.demand) == (510, 280, 910)


def test_duplicates_and_records_over_the_limit_are_no_demand(view: SourcesView) -> None:
    assert row(view, "skills").demand == 110


@pytest.mark.parametrize(
    ("kind", "moved"),
    [("rag", "+310 in"), ("memory", "−120 out"), ("transcript", "−50 out"), ("working-memory", "–")],
)
def test_moved_says_what_reallocation_brought_or_what_a_share_left(
    view: SourcesView, kind: EntryKind, moved: str
) -> None:
    assert row(view, kind).moved == moved


def test_mandatory_records_are_not_paid_by_the_share(view: SourcesView) -> None:
    assert row(view, "skills").moved == "−120 out"


def test_each_selected_record_is_a_segment_with_its_key_and_they_join_up(view: SourcesView) -> None:
    segments = row(view, "rag").segments
    assert [segment.key for segment in segments] == [record_key("rag", "1"), record_key("rag", "2")]
    assert segments[0].end == segments[1].start
    assert segments[-1].end == row(view, "rag").used_end
    assert [segment.reallocated for segment in segments] == [False, True]


def test_reallocated_records_stand_behind_ranked_ones_whatever_their_score() -> None:
    data = manifest(
        entry("rag", "1", 300, "reallocated", score=0.9),
        entry("rag", "2", 200, "ranked", score=0.8),
        entry("rag", "3", 50, "mandatory", score=0.1),
    )
    segments = row(sources_view(data, title=title), "rag").segments
    assert [segment.reason for segment in segments] == ["mandatory", "ranked", "reallocated"]
    assert [segment.slot for segment in segments] == ["mandatory", "rag", "rag"]


def test_only_a_demand_beyond_the_scale_is_cut_and_its_number_stays_exact(view: SourcesView) -> None:
    assert [row.kind for row in view.rows if row.cut] == ["rag"]
    assert row(view, "rag").demand_end == 1.0
    assert all(segment.end <= 1 for item in view.rows for segment in item.segments)


def test_a_failed_source_makes_the_view_partial() -> None:
    assert sources_view(manifest(), title=title).status == "ok"
    assert sources_view(manifest(failed=("memory",)), title=title).status == "partial"


def test_an_empty_compile_still_has_a_scale() -> None:
    shares = {"memory": 0, "rag": 0, "transcript": 0, "skills": 0}
    data = manifest(
        entry("rag", "1", 10, "budget"), context_tokens=0, working_memory_tokens=0, shares=shares, rest_tokens=0
    )
    view = sources_view(data, title=title)
    assert [item.granted_at for item in view.rows] == [None] * 5
    assert row(view, "rag").demand_end == 1.0


def test_the_text_of_blocks_is_named_so_that_the_column_adds_up_to_what_the_strip_says(
    view: SourcesView,
) -> None:
    used = sum(item.used for item in view.rows)
    assert used < 960
    assert view.rest == f"Plus {960 - used} tokens of block text, together 960"
    assert sources_view(manifest(selected_tokens=used), title=title).rest == ""
