"""The date line: time zones and granularity (3.2.5)."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from playground.errors import InvalidInputError
from playground.preparation.zones import date_line

WINTER = 1_767_268_800_000  # ms: 2026-01-01 12:00 UTC
MINUTE = 60_000  # ms


@pytest.fixture
def host_in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_a_configured_zone_is_used() -> None:
    assert date_line(WINTER, "Europe/Berlin") == "Current date and time: 2026-01-01 13:00 UTC+01:00"
    assert date_line(WINTER + 30 * MINUTE, "America/St_Johns").endswith("2026-01-01 09:00 UTC-03:30")


@pytest.mark.usefixtures("host_in_tokyo")
@pytest.mark.parametrize(
    "zone", [None, "", "Nowhere/Atlantis", "../../etc/passwd", "/etc/passwd", "Europe", "\ud800", 5]
)
def test_an_invalid_zone_gives_way_to_the_hosts(zone: str) -> None:
    assert date_line(WINTER, zone).endswith("2026-01-01 21:00 UTC+09:00")


def test_a_coarser_line_changes_less_often() -> None:
    """25a: a line of minutes breaks a cached prefix at every call."""
    later = WINTER + 59 * MINUTE
    assert date_line(WINTER, "UTC") != date_line(later, "UTC")
    assert date_line(WINTER, "UTC", "hour") == date_line(later, "UTC", "hour")
    assert date_line(later, "UTC", "hour") == "Current date and time: 2026-01-01 12:00 UTC+00:00"
    assert date_line(WINTER, "UTC", "day") == date_line(WINTER + 11 * 60 * MINUTE, "UTC", "day")
    assert date_line(WINTER, "UTC", "day") == "Current date: 2026-01-01"


def test_a_time_beyond_all_calendars_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="clock"):
        date_line(2**53, "UTC")
