"""Dates and times as both engines write them."""

from __future__ import annotations

from datetime import datetime, time


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
