"""Dates, times and time zones as text, read while planning.

The forms are Spark's wide ones (``2024``, ``2024-1``, ``2024-01-02T03:04``, a zone behind). Text that is none of them
has no value: NULL in Spark, an error in Flink.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache

_DATE = r"(?a)\s*([+-]?\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?\s*"
_STAMP = (
    r"(?a)\s*(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](?:(\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?)?\s*(\S.*?)?)?)?)?\s*"
)
_TIME = r"(?a)\s*(\d{1,2})(?::(\d{1,2}))?(?::(\d{1,2})(?:\.(\d+))?)?\s*"
_OFFSET = r"(?a)(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?"


@lru_cache(maxsize=64)
def zone(name: str) -> tzinfo | None:
    """The time zone of that name (``Asia/Shanghai``, ``+08:00``, ``GMT+8``); None when there is none."""
    if name.upper() in ("Z", "UTC", "GMT", "ETC/UTC", "UT"):
        return UTC
    found = re.fullmatch(_OFFSET, name.upper(), re.DOTALL)
    if found:
        sign, hours, minutes, seconds = found.groups()
        delta = timedelta(hours=int(hours), minutes=int(minutes or 0), seconds=int(seconds or 0))
        return timezone(delta if sign == "+" else -delta) if delta <= timedelta(hours=18) else None
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


def parse_date(text: str) -> date | None:
    found = re.fullmatch(_DATE, text, re.DOTALL)
    if not found:
        return None
    year, month, day = found.groups()
    try:
        return date(int(year), int(month or 1), int(day or 1))
    except ValueError:
        return None


def parse_time(text: str) -> tuple[time, int] | None:
    """The time of day, and its nanoseconds."""
    found = re.fullmatch(_TIME, text, re.DOTALL)
    if not found:
        return None
    hours, minutes, seconds, fraction = found.groups()
    nanos = int((fraction or "").ljust(9, "0")[:9])
    try:
        return time(int(hours), int(minutes or 0), int(seconds or 0), nanos // 1000), nanos
    except ValueError:
        return None


def parse_timestamp(text: str) -> tuple[datetime, int, tzinfo | None] | None:
    """The date and time as written, nanoseconds of the second, and the zone written behind, if any."""
    found = re.fullmatch(_STAMP, text, re.DOTALL)
    if not found:
        return None
    year, month, day, hour, minute, second, fraction, behind = found.groups()
    nanos = int((fraction or "").ljust(9, "0")[:9])
    where = zone(behind) if behind else None
    if behind and where is None:
        return None
    try:
        stamp = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0), nanos // 1000
        )
    except ValueError:
        return None
    return stamp, nanos, where


def to_utc(stamp: datetime, where: tzinfo) -> datetime | None:
    """The instant (naive, in UTC) that a wall clock in ``where`` showing ``stamp`` means."""
    try:
        return stamp.replace(tzinfo=where).astimezone(UTC).replace(tzinfo=None)
    except (OverflowError, ValueError):
        return None


def from_utc(stamp: datetime, where: tzinfo) -> datetime | None:
    """What a wall clock in ``where`` shows at the instant ``stamp`` (naive, in UTC)."""
    try:
        return stamp.replace(tzinfo=UTC).astimezone(where).replace(tzinfo=None)
    except (OverflowError, ValueError):
        return None
