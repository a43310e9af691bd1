"""One memory in full, for people."""

from __future__ import annotations

from typing import Any

import pytest

from playground.digests import text_digest
from playground.memory import MemoryRecord, MemoryRevision
from playground.scope import MemoryScope, MemorySourceRef
from playground.views.memory_record import REVISIONS_SHOWN, TEXT_SHOWN, MemoryView, memory_view
from playground.views.word_changes import WordPiece

NOW = 1_800_000_000_000  # 2027-01-15 08:00:00 UTC
DAY = 86_400_000


def _revision(number: int = 1, text: str = "Ship on Friday.", **fields: Any) -> MemoryRevision:
    told = {"recorded_at": NOW - DAY + number, **fields}
    return MemoryRevision(revision=number, text=text, digest=text_digest(text), **told)


def _view(*revisions: MemoryRevision, record_id: str = "m1") -> MemoryView:
    scope = MemoryScope(user_id="ada", agent_id="a1")
    return memory_view(MemoryRecord(id=record_id, scope=scope, revisions=revisions), now=NOW)


def test_every_field_is_told_in_words() -> None:
    view = _view(
        _revision(
            kind="episodic",
            origin="observed",
            importance=0.5,
            valid_from=NOW - DAY,
            valid_to=NOW + DAY,
            expires_at=NOW + 2 * DAY,
            sources=(MemorySourceRef(kind="user", id="u7"), MemorySourceRef(kind="host")),
        )
    )
    assert dict(view.facts) == {
        "Kind": "episodic",
        "Origin": "observed",
        "Importance": "0.50",
        "Recorded": "2027-01-14 08:00:00 UTC",
        "Valid": "from 2027-01-14 08:00:00 UTC until 2027-01-16 08:00:00 UTC",
        "Expires": "2027-01-17 08:00:00 UTC",
        "Written by": "host",
        "Sources": "user u7 and host",
        "Whose": "user ada and agent a1",
    }
    assert view.total == "1 revision"


def test_what_was_never_said_is_told_as_such() -> None:
    facts = dict(_view(_revision()).facts)
    assert (facts["Importance"], facts["Valid"], facts["Expires"], facts["Sources"]) == (
        "–",
        "always",
        "never",
        "–",
    )


def test_the_history_is_newest_first_with_what_each_revision_changed() -> None:
    view = _view(
        _revision(), _revision(2, "Ship on Monday.", kind="procedural", importance=1.0, writer="model")
    )
    newest, oldest = view.rows
    assert (newest.revision, newest.writer) == ("Revision 2", "model")
    assert newest.fields == ("kind: semantic → procedural", "importance: – → 1.00")
    assert WordPiece("removed", "Friday.") in newest.words
    assert WordPiece("added", "Monday.") in newest.words
    assert oldest.words == (WordPiece("same", "Ship on Friday."),)
    assert oldest.fields == ()
    assert view.total == "2 revisions"


def test_a_long_history_is_cut_and_the_rest_is_counted() -> None:
    view = _view(*(_revision(number, f"Text {number}.") for number in range(1, REVISIONS_SHOWN + 3)))
    assert len(view.rows) == REVISIONS_SHOWN
    assert view.rows[0].revision == f"Revision {REVISIONS_SHOWN + 2}"
    assert view.earlier == "2 earlier revisions not shown."


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, ""),
        ({"expires_at": NOW + 1}, ""),
        ({"valid_from": NOW, "valid_to": NOW + 1}, ""),
        ({"expires_at": NOW}, "It has expired: no recall finds it."),
        ({"valid_from": NOW + 1}, "It is not valid yet: no recall finds it until then."),
        ({"valid_to": NOW}, "It is not valid any more: no recall finds it."),
    ],
)
def test_what_recall_passes_over_says_why(fields: dict[str, Any], words: str) -> None:
    view = _view(_revision(**fields))
    assert view.state == words
    assert bool(view.state) is not _revision(**fields).holds_at(NOW)


def test_names_from_a_file_cannot_turn_the_words_around_them() -> None:
    view = _view(_revision(writer="a\u202eb"), record_id="x\u202ey")
    assert "\u202e" not in view.id + dict(view.facts)["Written by"]
    assert "\u202e" not in view.rows[0].writer


def test_a_very_long_text_is_cut_and_says_so() -> None:
    view = _view(_revision(text="x" * (TEXT_SHOWN + 5)))
    assert view.text == "x" * TEXT_SHOWN + "…\n(5 more characters)"
    assert _view(_revision()).text == "Ship on Friday."


def test_a_time_beyond_the_calendar_stays_a_number() -> None:
    assert dict(_view(_revision(expires_at=10**17)).facts)["Expires"] == "100,000,000,000,000,000 ms"
