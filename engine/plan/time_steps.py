"""Steps on dates and timestamps, turned around: which operands can give a result in a range.

Instants and what the session's clock shows differ by the zone's offset at that time. Around a change of the clocks a
range is widened by it, so that an hour that is shown twice is never left out.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import TYPE_CHECKING

from bergsql.catalog.metadata.exact import civil_from_days, days_from_civil
from bergsql.engine.plan.images import DAY_MICROS, End, Range, Ranges, Step
from bergsql.engine.plan.times import zone

if TYPE_CHECKING:
    from collections.abc import Callable

_HOUR = 3_600_000_000
_ANY_OFFSET = 20 * _HOUR
_MICRO = timedelta(microseconds=1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS_IN_MICROS = {
    "day": DAY_MICROS,
    "hour": _HOUR,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1000,
    "microsecond": 1,
}
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
CUT_UNITS = frozenset({*_UNITS_IN_MICROS, *_MONTHS, "week", "sunday week"})


def floor_to(unit: str, micros: int) -> int:
    """The beginning of the unit that ``micros`` (since 1970, without a zone) lies in."""
    if unit in _MONTHS:
        year, month, _ = civil_from_days(micros // DAY_MICROS)
        months = _MONTHS[unit]
        return days_from_civil(year, (month - 1) // months * months + 1, 1) * DAY_MICROS
    if unit in ("week", "sunday week"):
        day = micros // DAY_MICROS
        # 1970-01-01 was a Thursday.
        return (day - (day + (3 if unit == "week" else 4)) % 7) * DAY_MICROS
    width = _UNITS_IN_MICROS[unit]
    return micros // width * width


def next_of(unit: str, start: int) -> int:
    """The beginning of the unit behind the one that begins at ``start``."""
    if unit in _MONTHS:
        return floor_to(unit, start + (_MONTHS[unit] * 31 + 1) * DAY_MICROS)
    width = 7 * DAY_MICROS if unit in ("week", "sunday week") else _UNITS_IN_MICROS[unit]
    return start + width


def cut_to(unit: str, tick: int) -> Step:
    """Cut to a unit; ``tick``: how many of the operand's ticks are a microsecond (0: it counts days)."""

    def floor(value: int) -> int:
        if tick:
            return floor_to(unit, value // tick) * tick
        return floor_to(unit, value * DAY_MICROS) // DAY_MICROS

    def following(start: int) -> int:
        if tick:
            return next_of(unit, start // tick) * tick
        return next_of(unit, start * DAY_MICROS) // DAY_MICROS

    def back(wanted: Range) -> Ranges:
        low, high = wanted.low, wanted.high
        if low is not None:
            start = floor(low.value)
            aligned = start == low.value
            low = End(start if aligned and low.closed else following(start))
        if high is not None:
            start = floor(high.value)
            high = End(start if start == high.value and not high.closed else following(start), closed=False)
        return (Range(low, high, nan=False),)

    return Step(back)


def raised_to(unit: str, tick: int) -> Step:
    """The beginning of the next unit, unless one begins there."""

    def floor(value: int) -> int:
        if tick:
            return floor_to(unit, value // tick) * tick
        return floor_to(unit, value * DAY_MICROS) // DAY_MICROS

    def back(wanted: Range) -> Ranges:
        low = wanted.low
        if low is not None:
            low = End(floor(floor(low.value) - 1) if floor(low.value) == low.value else floor(low.value), closed=False)
        return (Range(low, wanted.high, nan=False),)

    return Step(back)


def day_of(tick: int) -> Step:
    """The day of a timestamp without a zone, of ``tick`` ticks a microsecond."""
    width = DAY_MICROS * tick

    def back(wanted: Range) -> Ranges:
        low, high = wanted.low, wanted.high
        if low is not None:
            low = End((low.value if low.closed else low.value + 1) * width)
        if high is not None:
            high = End((high.value + 1 if high.closed else high.value) * width, closed=False)
        return (Range(low, high, nan=False),)

    return Step(back)


def scaled(numerator: int, denominator: int, *, slack: int = 0) -> Step:
    """Ticks counted in another unit: a result is the operand times ``numerator / denominator``, cut either way."""

    def back(wanted: Range) -> Ranges:
        low, high = wanted.low, wanted.high
        if low is not None:
            first = low.value if low.closed else low.value + 1
            low = End(-(-first * denominator // numerator) - slack)
        if high is not None:
            last = high.value if high.closed else high.value - 1
            high = End(last * denominator // numerator + slack)
        return (Range(low, high, nan=False),)

    return Step(back)


def moved(by: int, slack: int = 0) -> Step:
    """The operand and ``by`` ticks more, give or take ``slack``."""

    def back(wanted: Range) -> Ranges:
        low, high = wanted.low, wanted.high
        if low is not None:
            low = End(low.value - by - slack, low.closed or slack > 0)
        if high is not None:
            high = End(high.value - by + slack, high.closed or slack > 0)
        return (Range(low, high, nan=False),)

    return Step(back)


_SLACK_DAYS = 4
"""A shorter month cuts at most three days off; one more does no harm."""


def moved_by_months(months: int, tick: int) -> Step:
    """The operand ``months`` later, on the last day of a month that is too short (``tick``: see :func:`cut_to`)."""
    width = DAY_MICROS * tick if tick else 1

    def earlier(value: int) -> int:
        day, rest = divmod(value, width)
        year, month, of_month = civil_from_days(day)
        count = year * 12 + month - 1 - months
        return (days_from_civil(count // 12, count % 12 + 1, 1) + of_month - 1) * width + rest

    def back(wanted: Range) -> Ranges:
        low, high = wanted.low, wanted.high
        if low is not None:
            low = End(earlier(low.value) - _SLACK_DAYS * width)
        if high is not None:
            high = End(earlier(high.value) + _SLACK_DAYS * width)
        return (Range(low, high, nan=False),)

    return Step(back)


# --- the session's clock ----------------------------------------------------------------------------------------------


def local(zone_name: str, tick: int) -> Step:
    """What the session's clock shows at an instant."""

    def back(wanted: Range) -> Ranges:
        low, high = wanted.low, wanted.high
        if low is not None:
            low = End(low.value - _offsets(low.value // tick, zone_name)[1] * tick, low.closed)
        if high is not None:
            high = End(high.value - _offsets(high.value // tick, zone_name)[0] * tick, high.closed)
        return (Range(low, high, nan=False),)

    return Step(back)


def instant(zone_name: str, tick: int) -> Step:
    """The instant at which the session's clock shows a timestamp."""

    def back(wanted: Range) -> Ranges:
        low, high = wanted.low, wanted.high
        if low is not None:
            low = End(low.value + _offsets(low.value // tick, zone_name)[0] * tick, low.closed)
        if high is not None:
            high = End(high.value + _offsets(high.value // tick, zone_name)[1] * tick, high.closed)
        return (Range(low, high, nan=False),)

    return Step(back)


@lru_cache(maxsize=512)
def _offsets(micros: int, zone_name: str) -> tuple[int, int]:
    """The least and the greatest offset from UTC (microseconds) within two days of a time."""
    where = zone(zone_name)
    if where is None:
        return -_ANY_OFFSET, _ANY_OFFSET
    if isinstance(where, timezone):
        offset = (where.utcoffset(None) or timedelta()) // _MICRO
        return offset, offset
    first, last = days_from_civil(1905, 1, 1) * DAY_MICROS, days_from_civil(2037, 1, 1) * DAY_MICROS
    if not first <= micros <= last:  # sets of rules differ in what they say of times far away
        return -_ANY_OFFSET, _ANY_OFFSET
    found = [_offset(micros + hours * _HOUR // 2, where) for hours in range(-80, 81)]
    return min(found), max(found)


def _offset(micros: int, where: tzinfo) -> int:
    at = (_EPOCH + timedelta(microseconds=micros)).astimezone(where)
    return (at.utcoffset() or timedelta()) // _MICRO


def year_start(tick: int) -> Callable[[int], int | None]:
    """The first tick of a year (``tick``: see :func:`cut_to`)."""

    def start(year: int) -> int | None:
        if not -400_000 < year < 400_000:
            return None
        return days_from_civil(year, 1, 1) * (DAY_MICROS * tick if tick else 1)

    return start
