"""FLOAT and DOUBLE as Java writes them: the shortest digits that give the number back, ``1.0E10`` when far from one."""

from __future__ import annotations

import math
import struct

_float = struct.Struct("<f")
_FLOAT_NORMAL = 2.0**-126
_FLOAT_DIGITS = 9
"""Significant digits that always give a float back."""


def double_text(value: float) -> str:
    """As Java's Double.toString.

    >>> double_text(1e10), double_text(0.1), double_text(100.0), double_text(1e-5), double_text(5e-324)
    ('1.0E10', '0.1', '100.0', '1.0E-5', '4.9E-324')
    """
    if 1e-3 <= abs(value) < 1e7:
        return repr(value)  # Python and Java agree there
    return _unusual(value) or _java(repr(value), value)


def float_text(value: float) -> str:
    """As Java's Float.toString; ``value`` is a float widened to a double.

    >>> float_text(0.10000000149011612), float_text(3.4028234663852886e38), float_text(16777216.0)
    ('0.1', '3.4028235E38', '1.6777216E7')
    """
    unusual = _unusual(value)
    if unusual:
        return unusual
    # Fewer than six digits need no try: %g drops the zeros they would end in. Below the normal range digits are fewer.
    for digits in range(6 if abs(value) >= _FLOAT_NORMAL else 2, _FLOAT_DIGITS + 1):
        text = f"{value:.{digits}g}"
        if _same_float(text, value):
            break
    short = float(text)
    return repr(short) if 1e-3 <= abs(short) < 1e7 else _java(text, value)


def _same_float(text: str, value: float) -> bool:
    try:
        (back,) = _float.unpack(_float.pack(float(text)))
    except OverflowError:  # rounded up beyond the largest float
        return False
    return bool(back == value)


def _unusual(value: float) -> str | None:
    if value == 0:
        return repr(value)
    if math.isfinite(value):
        return None
    return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"


def _java(text: str, value: float) -> str:
    """Python's ``text`` of a number below 10^-3 or from 10^7 on, in Java's scientific form."""
    mantissa, _, exponent = text.partition("e")
    sign = "-" if mantissa.startswith("-") else ""
    whole, _, fraction = mantissa.removeprefix("-").partition(".")
    fraction = fraction.rstrip("0")
    digits = (whole + fraction).lstrip("0")
    leading = len(whole) - 1 if whole != "0" else len(digits) - len(fraction) - 1
    power = int(exponent or 0) + leading
    digits = digits.rstrip("0")
    if len(digits) == 1:
        # Java gives at least two digits, and of all numbers of two digits the nearest: 4.9E-324, not 5.0E-324.
        digits = f"{abs(value):.1e}".partition("e")[0].replace(".", "")
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{power}"
