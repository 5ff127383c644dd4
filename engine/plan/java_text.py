"""Values as Java writes them: what both engines print, and cast to text."""

from __future__ import annotations

import math
from datetime import datetime, time
from decimal import Decimal


def java_double(value: float) -> str:
    """``Double.toString``: ``1.0``, ``1.0E10``, ``NaN``.

    >>> [java_double(v) for v in (0.001, 1e-4, 9999999.0, 1e7, 123456789.123)]
    ['0.001', '1.0E-4', '9999999.0', '1.0E7', '1.23456789123E8']
    """
    return _java_float(value, repr(value))


def java_float(value: float) -> str:
    """``Float.toString`` of a 32-bit float: the shortest digits that read back as it."""
    if math.isnan(value) or math.isinf(value) or value == 0:
        return _java_float(value, repr(value))
    from struct import pack, unpack

    for digits in range(1, 10):
        shown = f"{value:.{digits}g}"
        if unpack("f", pack("f", float(shown)))[0] == unpack("f", pack("f", value))[0]:
            return _java_float(value, repr(float(shown)))
    return _java_float(value, repr(value))


def _java_float(value: float, shortest: str) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(shortest).as_tuple()
    assert isinstance(exponent, int)
    text = "".join(map(str, digits)).rstrip("0") or "0"
    point = len(digits) + exponent  # value = 0.text * 10^point
    minus = "-" if sign else ""
    if value == 0:
        return minus + "0.0"
    if -2 <= point <= 7:
        if point <= 0:
            return f"{minus}0.{'0' * -point}{text}"
        return f"{minus}{text[:point].ljust(point, '0')}.{text[point:] or '0'}"
    return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"


def java_decimal(value: Decimal) -> str:
    """``BigDecimal.toPlainString``."""
    return f"{value:f}"


def timestamp_text(value: datetime, digits: int | None) -> str:
    """``2024-01-01 00:00:00.5``: with ``digits`` fraction digits, or (None) as many as are not zero."""
    text = f"{value.year:04}-{value.month:02}-{value.day:02} {value.hour:02}:{value.minute:02}:{value.second:02}"
    return text + _fraction(value.microsecond, digits)


def time_text(value: time, digits: int | None) -> str:
    return f"{value.hour:02}:{value.minute:02}:{value.second:02}" + _fraction(value.microsecond, digits)


def _fraction(micros: int, digits: int | None) -> str:
    text = f"{micros:06}"
    text = text.rstrip("0") if digits is None else text[:digits].ljust(digits, "0")
    return f".{text}" if text else ""
