"""Units of time: what words name them, and how long they are."""

from __future__ import annotations

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean

MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
"""The units that are whole months."""

MICROS = {
    "WEEK": 7 * 86_400_000_000,
    "DAY": 86_400_000_000,
    "HOUR": 3_600_000_000,
    "MINUTE": 60_000_000,
    "SECOND": 1_000_000,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
"""The units that are a fixed time, in microseconds."""

UNITS = (*MONTHS, *MICROS)


def unit_name(word: str, span: Span | None = None) -> str:
    """The unit that a word names: ``days`` → ``DAY``.

    :raises BergError: INVALID when there is none.
    """
    upper = word.upper()
    singular = upper[:-1] if upper.endswith("S") else upper
    if singular not in UNITS:
        raise BergError(
            ErrorCode.INVALID,
            f"There is no time unit {upper}.",
            span=span,
            hint=did_you_mean(upper, UNITS) or f"The units are {', '.join(UNITS)}.",
        )
    return singular
