"""Whole-number arithmetic: exact of decimals and calendar days, for any precision and any year; Java's of ints."""

from __future__ import annotations

from decimal import Decimal

_DAYS_TO_EPOCH = 719_468  # from 0000-03-01 to 1970-01-01
MICROS_AN_HOUR = 3_600_000_000
MICROS_A_DAY = 24 * MICROS_AN_HOUR


def unscaled_decimal(value: Decimal, scale: int | None = None) -> int:
    """The digits of ``value`` at ``scale`` (its own if None) as a whole number.

    Raises ValueError for NaN, infinities, and digits that the scale would lose.
    """
    sign, digits, exponent = value.as_tuple()
    if not isinstance(exponent, int):
        raise ValueError(f"{value} is not a number")
    shift: int = exponent + (scale if scale is not None else -exponent)
    magnitude: int = int("".join(map(str, digits)) or "0")
    if shift >= 0:
        magnitude *= 10**shift
    else:
        magnitude, rest = divmod(magnitude, 10**-shift)
        if rest:
            raise ValueError(f"{value} has more than {scale} digits after the point")
    return -magnitude if sign else magnitude


def decimal_of(unscaled: int, scale: int) -> Decimal:
    """The decimal with these digits and scale, exact whatever the context's precision."""
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))


def minimal_bytes(number: int) -> bytes:
    """The shortest big-endian two's complement of ``number``."""
    return number.to_bytes(((number if number >= 0 else ~number).bit_length() // 8) + 1, "big", signed=True)


def wrapped(number: int, bits: int) -> int:
    """The number as two's complement of so many bits: what Java's arithmetic makes of an overflow."""
    half = 1 << (bits - 1)
    return (number + half) % (1 << bits) - half


def java_remainder(number: int, by: int) -> int:
    """Java's ``%``, which has the sign of ``number``; ``by`` is positive."""
    return number % by if number >= 0 else -(-number % by)


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of a day counted from 1970-01-01, in the proleptic Gregorian calendar."""
    # Counted in eras of 400 years that begin on 1 March, so that the leap day is the last of its year.
    era, day_of_era = divmod(days + _DAYS_TO_EPOCH, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    return era * 400 + year_of_era + (1 if month <= 2 else 0), month, day


def days_from_civil(year: int, month: int, day: int) -> int:
    """The days from 1970-01-01 to a day of the proleptic Gregorian calendar."""
    shifted_year = year - (1 if month <= 2 else 0)
    era, year_of_era = divmod(shifted_year, 400)
    day_of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - _DAYS_TO_EPOCH
