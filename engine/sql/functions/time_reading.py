"""Text read after a pattern of Java's, in DuckDB's SQL: a regular expression whose groups are the fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime

from bergsql.catalog.errors import not_supported
from bergsql.engine.plan.sql_text import let
from bergsql.engine.plan.zones import instant, instant_in_any
from bergsql.engine.sql.functions.java_patterns import Dialect, Part, pattern_parts
from bergsql.engine.sql.quoting import string_literal

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
           "November", "December")  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMERIC = frozenset("yuMLdDHkKhmsS")
_RANGES = {
    "H1": r"[01]?\d|2[0-3]", "H2": r"[01]\d|2[0-3]", "k1": r"0?[1-9]|1\d|2[0-4]", "k2": r"0[1-9]|1\d|2[0-4]",
    "K1": r"0?\d|1[01]", "K2": r"0\d|1[01]", "h1": r"0?[1-9]|1[0-2]", "h2": r"0[1-9]|1[0-2]",
    "m1": r"[0-5]?\d", "m2": r"[0-5]\d", "s1": r"[0-5]?\d", "s2": r"[0-5]\d",
}  # fmt: skip
_ZONES = {
    "X1": r"Z|[+-]\d{2}(?:\d{2})?", "X2": r"Z|[+-]\d{4}", "X3": r"Z|[+-]\d{2}:\d{2}", "X4": r"Z|[+-]\d{4}",
    "X5": r"Z|[+-]\d{2}:\d{2}", "x1": r"[+-]\d{2}(?:\d{2})?", "x2": r"[+-]\d{4}", "x3": r"[+-]\d{2}:\d{2}",
    "x4": r"[+-]\d{4}", "x5": r"[+-]\d{2}:\d{2}", "Z1": r"[+-]\d{4}", "Z2": r"[+-]\d{4}", "Z3": r"[+-]\d{4}",
    "Z4": r"GMT(?:[+-]\d{2}:\d{2})?", "Z5": r"Z|[+-]\d{2}:\d{2}", "O1": r"GMT(?:[+-]\d{1,2}(?::\d{2})?)?",
    "O4": r"GMT(?:[+-]\d{2}:\d{2})?",
}  # fmt: skip
_ANY_ZONE = r"[A-Za-z][A-Za-z0-9_/]*(?:[+-]\d{1,2}(?::?\d{2})?)?|[+-]\d{2}:?\d{2}"


def reads_zone(pattern: str, dialect: Dialect) -> bool:
    """Whether the text that the pattern is for says its time zone."""
    return any(p.letter in "VzOXxZ" for p in pattern_parts(pattern, dialect) if p.letter)


def read_instant(text: str, pattern: str, dialect: Dialect, session_zone: str) -> str:
    """SQL of the instant that ``text`` says; NULL where it does not read.

    :raises BergError: INVALID for a pattern that Java refuses, UNSUPPORTED for a letter that is only written here.
    """

    def made(fields: dict[str, str], local: str) -> str:
        if "zone" in fields:
            return let(local, lambda x: instant_in_any(x, fields["zone"]))
        return instant(local, session_zone)

    return _read(text, pattern, dialect, made)


def read_local(text: str, pattern: str, dialect: Dialect) -> str:
    """SQL of the TIMESTAMP that ``text`` shows, whatever zone it says; NULL where it does not read."""
    return _read(text, pattern, dialect, lambda fields, local: local)


def _read(text: str, pattern: str, dialect: Dialect, made: Callable[[dict[str, str], str], str]) -> str:
    regex, names = _regex(pattern_parts(pattern, dialect), dialect)
    options = "'c'" if dialect is Dialect.FLINK else "'i'"
    groups = f"regexp_extract({text}, {string_literal(regex)}, {['whole', *names]}, {options})"

    def body(g: str) -> str:
        fields = {n: f"{g}.{n}" for n in names}
        local = _lenient(fields) if dialect is Dialect.SIMPLE else _strict(fields, dialect)
        return f"CASE WHEN {g}.whole <> '' THEN {made(fields, local)} END"

    return let(groups, body)


_GROUPS = {
    "y": "year", "u": "year", "M": "month", "L": "month", "d": "day", "D": "day_of_year", "H": "hour", "k": "hour_24",
    "K": "hour_0", "h": "hour_12", "m": "minute", "s": "second", "S": "fraction", "a": "half",
}  # fmt: skip
"""The name of a letter's group; DuckDB does not tell ``m`` from ``M``."""


def _regex(parts: tuple[Part, ...], dialect: Dialect) -> tuple[str, list[str]]:
    """A regular expression of the pattern, and what its groups (behind the first, which is all) are called."""
    out, names = "", []
    for n, part in enumerate(parts):
        if part.letter in ("[", "]"):
            out += "(?:" if part.letter == "[" else ")?"
            continue
        if not part.letter:
            out += re.escape(part.text)
            continue
        name, inner = _group(part, parts[n + 1] if n + 1 < len(parts) else None, dialect)
        if name and name not in names:
            names.append(name)
            out += f"({inner})"
        else:
            out += f"(?:{inner})"
    if dialect is Dialect.SIMPLE:  # what stands behind is not looked at
        return f"^({out})", names
    return f"^({out})$", names


def _group(part: Part, following: Part | None, dialect: Dialect) -> tuple[str, str]:
    """The name of a part's group (empty where its value counts for nothing) and what it matches."""
    letter, count = part.letter, part.width
    if letter in "VzOXxZ":
        if letter in "Vz" or (letter == "Z" and dialect is Dialect.SIMPLE):
            return "zone", _ANY_ZONE
        return "zone", _ZONES[f"{letter}{min(count, 3) if letter == 'X' and dialect is Dialect.SIMPLE else count}"]
    if letter in "ML" and count > 2:
        names = _MONTHS if count == 4 else tuple(m[:3] for m in _MONTHS)
        both = (*_MONTHS, *(m[:3] for m in _MONTHS))
        return "month_name", "|".join(both if dialect is Dialect.SIMPLE else names)
    if letter == "E" and dialect is not Dialect.SPARK:
        both = (*_DAYS, *(d[:3] for d in _DAYS))
        names = _DAYS if count == 4 else tuple(d[:3] for d in _DAYS)
        return "", "|".join(both if dialect is Dialect.SIMPLE else names)
    if letter == "G":
        return "", "Anno Domini" if count == 4 else "AD"
    if letter == "a":
        return "half", "AM|PM"
    if letter not in _GROUPS or (letter == "u" and dialect is Dialect.SIMPLE):
        raise not_supported(f"Reading '{letter * count}' of a date's pattern", None, "It can be written only.")
    name = "year_short" if letter in "yu" and count == 2 else _GROUPS[letter]
    if dialect is Dialect.SIMPLE:
        adjacent = following is not None and following.letter != "" and following.letter in _NUMERIC
        return name, rf"\d{{{count}}}" if adjacent else r"\s*\d+"
    return name, _digits(letter, count, dialect)


def _digits(letter: str, count: int, dialect: Dialect) -> str:
    if letter in "yu":
        return rf"\d{{{count}}}" if count in (2, 4) else rf"\d{{{count},9}}"
    if letter == "S":  # Spark reads fewer digits than there are letters too
        return rf"\d{{1,{count}}}" if dialect is Dialect.SPARK else rf"\d{{{count}}}"
    if letter == "D":
        return rf"\d{{{count},3}}"
    return _RANGES.get(f"{letter}{count}") or (r"\d{1,2}" if count == 1 else r"\d{2}")


def _strict(fields: dict[str, str], dialect: Dialect) -> str:
    """The TIMESTAMP; NULL where there is no such day. What is not there is that of 1970-01-01 00:00:00.

    Flink takes the month's last day for a day up to the 31st that there is not.
    """
    year = f"lpad({_present(fields, 'year', '1970')}, 4, '0')"
    if "year_short" in fields:
        year = f"('20' || {_present(fields, 'year_short', '70')})"
    month = _present(fields, "month", "1")
    if "month_name" in fields:
        month = f"CAST({_month_number(fields['month_name'])} AS VARCHAR)"
    day = _present(fields, "day", "1")
    clock = f"{_hour(fields)} || ':' || {_present(fields, 'minute', '0')} || ':' || {_present(fields, 'second', '0')}"
    if "fraction" in fields:
        clock += f" || '.' || {_present(fields, 'fraction', '0')}"
    if "day_of_year" in fields:
        first = f"TRY_CAST({year} || '-01-01 ' || {clock} AS TIMESTAMP)"
        number = f"CAST({_present(fields, 'day_of_year', '1')} AS INTEGER)"
        moved = f"({first} + to_days({number} - 1))"
        return f"CASE WHEN {number} > 0 AND year({moved}) = year({first}) THEN {moved} END"
    stamp = f"TRY_CAST({year} || '-' || {month} || '-' || {day} || ' ' || {clock} AS TIMESTAMP)"
    if dialect is Dialect.FLINK and "day" in fields:
        last = f"last_day(TRY_CAST({year} || '-' || {month} || '-01' AS DATE))"
        cut = f"TRY_CAST(strftime({last}, '%Y-%m-%d ') || {clock} AS TIMESTAMP)"
        return f"CASE WHEN TRY_CAST({day} AS INTEGER) BETWEEN 29 AND 31 THEN coalesce({stamp}, {cut}) ELSE {stamp} END"
    return stamp


def _present(fields: dict[str, str], name: str, otherwise: str) -> str:
    """A field's text, or what it is when the pattern has no such field or its section was left out."""
    return f"coalesce(nullif({fields[name]}, ''), '{otherwise}')" if name in fields else f"'{otherwise}'"


def _month_number(name: str) -> str:
    return f"list_position({[m[:3].lower() for m in _MONTHS]}, lower(left({name}, 3)))"


def _hour(fields: dict[str, str]) -> str:
    """The hour of the day as text. Without AM or PM it is the morning's."""
    if "hour" in fields:
        return _present(fields, "hour", "0")
    if "hour_24" in fields:
        return f"CAST(CAST({_present(fields, 'hour_24', '24')} AS INTEGER) % 24 AS VARCHAR)"
    for name in ("hour_12", "hour_0"):
        if name in fields:
            hour = f"CAST({_present(fields, name, '0')} AS INTEGER) % 12"
            afternoon = f"CASE WHEN upper({fields['half']}) = 'PM' THEN 12 ELSE 0 END" if "half" in fields else "0"
            return f"CAST({hour} + {afternoon} AS VARCHAR)"
    return "'0'"


def _lenient(fields: dict[str, str]) -> str:
    """As SimpleDateFormat reads: too many days or hours go over into the next month or day."""

    def number(name: str, otherwise: int) -> str:
        return f"coalesce(TRY_CAST({fields[name]} AS INTEGER), {otherwise})" if name in fields else str(otherwise)

    year = number("year", 1970)
    if "year_short" in fields:  # two digits: a year from 80 years ago on
        first = datetime.now(UTC).year - 80
        short = f"CAST({fields['year_short']} AS INTEGER)"
        year = f"CASE WHEN length(trim({fields['year_short']})) > 2 THEN {short} "
        year += f"ELSE {first} + (({short} - {first % 100}) % 100 + 100) % 100 END"
    month = _month_number(fields["month_name"]) if "month_name" in fields else number("month", 1)
    days = number("day_of_year", 1) if "day_of_year" in fields else number("day", 1)
    hour = f"CAST({_hour(fields)} AS INTEGER)"
    seconds = f"({hour} * 3600 + {number('minute', 0)} * 60 + {number('second', 0)})"
    start = f"TRY_CAST(format('{{:04d}}-01-01', {year}) AS TIMESTAMP) + to_months(CAST({month} AS INTEGER) - 1)"
    return f"({start} + to_days({days} - 1) + to_seconds({seconds}) + to_milliseconds({number('fraction', 0)}))"
