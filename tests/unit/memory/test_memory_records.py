from __future__ import annotations

from typing import Any

import pytest

from playground.digests import text_digest
from playground.errors import InvalidInputError
from playground.memory import MemoryRecord, MemoryRevision, MemoryScope, MemorySourceRef


def revision(number: int = 1, **fields: Any) -> MemoryRevision:
    text = fields.pop("text", "Ada prefers e-mail.")
    return MemoryRevision(
        **{"revision": number, "text": text, "digest": text_digest(text), "recorded_at": number * 10, **fields}
    )


def test_a_record_round_trips_through_camel_case_json() -> None:
    made = MemoryRecord(
        id="r",
        scope=MemoryScope(user_id="ada"),
        revisions=(revision(1, sources=(MemorySourceRef(kind="tool", tool_call_id="t"),)), revision(2)),
    )
    text = made.model_dump_json(by_alias=True)
    assert '"recordedAt":10' in text
    assert MemoryRecord.parse_json(text) == made


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("digest", "sha256:" + "0" * 64),
        ("text", "   "),
        ("text", ""),
        ("revision", 0),
        ("importance", 1.01),
        ("importance", float("nan")),
        ("kind", "vague"),
        ("origin", "guessed"),
        ("writer", "a\x00"),
        ("colour", "red"),
    ],
)
def test_a_malformed_revision_is_refused(field: str, value: Any) -> None:
    fields: dict[str, Any] = {field: value}
    with pytest.raises(InvalidInputError, match="MemoryRevision is not valid"):
        revision(**fields)


def test_a_period_must_begin_before_it_ends() -> None:
    with pytest.raises(InvalidInputError, match="valid_from is not before"):
        revision(valid_from=5, valid_to=5)


@pytest.mark.parametrize("numbers", [(), (2,), (1, 3), (2, 1), (1, 1)])
def test_revisions_are_numbered_from_one_without_gaps(numbers: tuple[int, ...]) -> None:
    with pytest.raises(InvalidInputError):
        MemoryRecord(id="r", scope=MemoryScope(user_id="a"), revisions=tuple(map(revision, numbers)))


def test_a_nul_in_a_source_reference_is_refused() -> None:
    bad = revision(sources=(MemorySourceRef(kind="document", id="a\x00b"),))
    with pytest.raises(InvalidInputError, match="position 1"):
        MemoryRecord(id="r", scope=MemoryScope(user_id="a"), revisions=(bad,))


def test_the_newest_revision_known_at_a_time_is_found() -> None:
    record = MemoryRecord(id="r", scope=MemoryScope(user_id="a"), revisions=(revision(1), revision(2)))
    assert record.as_of(9) is None
    known = [record.as_of(time) for time in (10, 19, 20, None)]
    assert [one.revision for one in known if one is not None] == [1, 1, 2, 2]


def test_validity_and_expiry_are_half_open() -> None:
    made = revision(valid_from=10, valid_to=20, expires_at=30)
    assert [time for time in (9, 10, 19, 20, 30) if made.holds_at(time)] == [10, 19]
    assert [time for time in (29, 30) if revision(expires_at=30).holds_at(time)] == [29]
