"""The line that tells a model what time it is.

Not pure: knows the time zones, and the host's own where none is configured.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from playground.errors import InvalidInputError

__all__ = ["DATE_GRANULARITIES", "DateGranularity", "date_line", "local_time"]

DateGranularity = Literal["minute", "hour", "day"]
DATE_GRANULARITIES: tuple[DateGranularity, ...] = ("minute", "hour", "day")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def date_line(ms: int, zone: str | None = None, granularity: DateGranularity = "minute") -> str:
    """Return the line with date and time.

    Args:
        ms: Milliseconds since 1970.
        zone: Name of a time zone; the host's stands in for none, and for one that there is not.
        granularity: What the line tells. It changes that often, and with it whatever a provider cached of what
            comes after it.

    Raises:
        InvalidInputError: When the time is beyond the year 9999.
    """
    time = local_time(ms, zone)
    if granularity == "day":
        return f"Current date: {time:%Y-%m-%d}"
    digits = f"{time:%H}:00" if granularity == "hour" else f"{time:%H:%M}"
    offset = f"{time:%z}"
    return f"Current date and time: {time:%Y-%m-%d} {digits} UTC{offset[:3]}:{offset[3:5]}"


def local_time(ms: int, zone: str | None = None) -> datetime:
    """Return a time in a zone; see ``date_line``."""
    try:
        return (_EPOCH + timedelta(milliseconds=ms)).astimezone(_zone(zone))
    except OverflowError:
        raise InvalidInputError(
            f"No calendar has the time {ms}.", remedy="Let the clock return milliseconds."
        ) from None


def _zone(name: str | None) -> ZoneInfo | None:
    if not isinstance(name, str) or not name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown, no name of a zone, or the name of a folder of zones
        return None
