"""Steps on numbers and text, turned around: which operands can give a result in a range."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from bergsql.engine.plan.fold import EXACT
from bergsql.engine.plan.images import End, Range, Ranges, Step

if TYPE_CHECKING:
    from collections.abc import Callable

_ULPS = 2.0**-50
_SINGLE_ULPS = 2.0**-21


def same(*, total: bool = True) -> Step:
    """The operand itself, or NULL where not ``total``."""
    return Step(lambda r: (r,), total)


def whole_ends(wanted: Range) -> tuple[int | None, int | None]:
    """The least and the greatest whole number of a range."""
    low = high = None
    if wanted.low is not None and math.isfinite(wanted.low.value):
        low = math.ceil(wanted.low.value)
        low += 1 if low == wanted.low.value and not wanted.low.closed else 0
    elif wanted.low is not None and wanted.low.value > 0:
        low = 1 << 128
    if wanted.high is not None and math.isfinite(wanted.high.value):
        high = math.floor(wanted.high.value)
        high -= 1 if high == wanted.high.value and not wanted.high.closed else 0
    elif wanted.high is not None and wanted.high.value < 0:
        high = -(1 << 128)
    return low, high


def _closed(low: int | None, high: int | None, *, nan: bool = False) -> Ranges:
    if low is not None and high is not None and low > high and not nan:
        return ()
    return (Range(None if low is None else End(low), None if high is None else End(high), nan),)


def affine(sign: int, offset: int, bits: int) -> Step:
    """``sign * x + offset`` of whole numbers, wrapped to ``bits``."""

    def back(wanted: Range) -> Ranges:
        low, high = whole_ends(wanted)
        least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        low, high = max(least, least if low is None else low), min(most, most if high is None else high)
        if low > high:
            return ()
        first, last = (low - offset, high - offset) if sign > 0 else (offset - high, offset - low)
        found: Ranges = ()
        for turn in (-1, 0, 1):
            a, b = max(first + (turn << bits), least), min(last + (turn << bits), most)
            if a <= b:
                found += _closed(None if a == least else a, None if b == most else b)
        return found

    return Step(back)


def divided(by: int) -> Step:
    """``x / by`` of whole numbers, cut towards zero; ``by`` is positive."""

    def back(wanted: Range) -> Ranges:
        low, high = whole_ends(wanted)
        if low is not None:
            low = low * by - (by - 1 if low <= 0 else 0)
        if high is not None:
            high = high * by + (by - 1 if high >= 0 else 0)
        return _closed(low, high)

    return Step(back)


def negated() -> Step:
    """``-x`` of a number that does not overflow. NaN stays NaN, and above all."""

    def back(wanted: Range) -> Ranges:
        low, high = wanted.low, wanted.high
        return (Range(_negative(high), _negative(low), wanted.nan),)

    return Step(back)


def _negative(end: End | None) -> End | None:
    if end is None:
        return None
    value = end.value
    return End(EXACT.minus(value) if isinstance(value, Decimal) else -value, end.closed)


def added(offset: int | float | Decimal, *, single: bool = False) -> Step:
    """``x + offset`` of doubles (``single``: of floats), rounded."""
    number = float(offset)

    def moved(end: End | None, sign: int) -> End | None:
        if end is None or not math.isfinite(number):
            return None
        value = float(end.value)
        if not math.isfinite(value):
            return None
        margin = (abs(value) + abs(number)) * (_SINGLE_ULPS if single else _ULPS)
        return End(value - number + sign * margin)

    def back(wanted: Range) -> Ranges:
        return (Range(moved(wanted.low, -1), moved(wanted.high, 1), nan=True),)

    return Step(back)


def added_exactly(sign: int, offset: Decimal, scale: int) -> Step:
    """``sign * x + offset`` of decimals, rounded to ``scale``, or NULL where it does not fit."""
    unit = Decimal((0, (1,), -scale))

    def back(wanted: Range) -> Ranges:
        low, high = _decimal_end(wanted.low), _decimal_end(wanted.high)
        if low is not None:
            low = End(EXACT.subtract(EXACT.subtract(low.value, unit), offset))
        if high is not None:
            high = End(EXACT.subtract(EXACT.add(high.value, unit), offset))
        moved = Range(low, high, nan=False)
        return (moved,) if sign > 0 else (Range(_negative(high), _negative(low), nan=False),)

    return Step(back, total=False)


def _decimal_end(end: End | None) -> End | None:
    if end is None or isinstance(end.value, Decimal):
        return end
    if isinstance(end.value, float) and not math.isfinite(end.value):
        return None
    return End(Decimal(end.value), end.closed)


def near(margin: Decimal | int = 0, *, relative: float = 0.0, total: bool = True) -> Step:
    """A rounding by at most ``margin``, or by ``relative`` of the value."""

    def out(end: End | None, sign: int) -> End | None:
        if end is None:
            return None
        value: Any = end.value
        if isinstance(value, float) and not math.isfinite(value):
            return None  # what is too large became infinite
        if margin:
            value = Decimal(value)
            value = EXACT.add(value, sign * Decimal(margin))
        if relative:
            as_float = float(value)
            value = as_float + sign * abs(as_float) * relative
        return End(value, end.closed or bool(margin or relative))

    def back(wanted: Range) -> Ranges:
        return (Range(out(wanted.low, -1), out(wanted.high, 1), wanted.nan),)

    return Step(back, total)


def cut(bits: int | None, *, total: bool = True, nan_is_zero: bool = False) -> Step:
    """A fraction cut off towards zero; with ``bits`` what is too large becomes the largest, as in Java."""

    def back(wanted: Range) -> Ranges:
        low, high = whole_ends(wanted)
        if bits is not None:
            least, most = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
            if (low is not None and low > most) or (high is not None and high < least):
                return ()
            low = None if low is not None and low <= least else low
            high = None if high is not None and high >= most else high
        nan = nan_is_zero and (low is None or low <= 0) and (high is None or high >= 0)
        if low is not None and high is not None and low > high:
            return ()
        first = None if low is None else End(low - 1, closed=False) if low <= 0 else End(low)
        last = None if high is None else End(high + 1, closed=False) if high >= 0 else End(high)
        return (Range(first, last, nan),)

    return Step(back, total)


def floored(*, up: bool, whole: bool) -> Step:
    """FLOOR, or CEIL if ``up``, of a number with a fraction; ``whole``: the result is a BIGINT, which saturates."""

    def back(wanted: Range) -> Ranges:
        low, high = whole_ends(wanted)
        if low is not None and (abs(low) >= 1 << 62):
            low = None
        if high is not None and (abs(high) >= 1 << 62):
            high = None
        nan = wanted.nan or whole
        if low is not None and high is not None and low > high and not nan:
            return ()
        if up:
            first = None if low is None else End(low - 1, closed=False)
            last = None if high is None else End(high)
        else:
            first = None if low is None else End(low)
            last = None if high is None else End(high + 1, closed=False)
        return (Range(first, last, nan),)

    return Step(back)


def indexed(start: Callable[[int], int | None]) -> Step:
    """A whole number that counts spans: ``start(n)`` is the first operand of span ``n`` (None: beyond all)."""

    def back(wanted: Range) -> Ranges:
        low, high = whole_ends(wanted)
        if low is not None and high is not None and low > high:
            return ()
        first = None if low is None else start(low)
        after = None if high is None else start(high + 1)
        return (Range(None if first is None else End(first), None if after is None else End(after, False), False),)

    return Step(back)


def beginning(length: int) -> Step:
    """The first ``length`` characters, or bytes."""

    def back(wanted: Range) -> Ranges:
        from bergsql.engine.table.successor import successor

        high = wanted.high
        if high is not None and len(high.value) >= length:
            kept = high.value[:length]
            if len(high.value) == length and not high.closed:
                return (Range(wanted.low, End(kept, closed=False), nan=False),)
            after = successor(kept)
            high = None if after is None else End(after, closed=False)
        return (Range(wanted.low, high, nan=False),)

    return Step(back)
