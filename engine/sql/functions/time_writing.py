"""Timestamps written after a pattern of Java's, in DuckDB's SQL."""

from __future__ import annotations

from datetime import UTC, datetime

from bergsql.catalog.errors import not_supported
from bergsql.engine.plan.sql_text import let
from bergsql.engine.plan.times import zone
from bergsql.engine.plan.zones import clock_in
from bergsql.engine.sql.functions.java_patterns import Dialect, Part, pattern_parts
from bergsql.engine.sql.quoting import string_literal

_STRFTIME = {
    "y2": "%y", "u2": "%y", "M1": "%-m", "M2": "%m", "M3": "%b", "M4": "%B", "L1": "%-m", "L2": "%m", "L3": "%b",
    "L4": "%B", "d1": "%-d", "d2": "%d", "D1": "%-j", "D3": "%j", "H1": "%-H", "H2": "%H", "h1": "%-I", "h2": "%I",
    "m1": "%-M", "m2": "%M", "s1": "%-S", "s2": "%S", "a1": "%p", "E1": "%a", "E2": "%a", "E3": "%a", "E4": "%A",
    "S3": "%g", "S6": "%f",
}  # fmt: skip
"""What DuckDB's strftime writes alike."""
_SATURDAY = "({t} + to_days(6 - CAST(dayofweek({t}) AS INTEGER)))"
"""Of the week, which begins on Sunday (Flink's clients run in an American locale)."""
_NUMBERS = {
    "y": "year({t})", "u": "year({t})", "M": "month({t})", "L": "month({t})", "d": "day({t})", "D": "dayofyear({t})",
    "H": "hour({t})", "k": "((hour({t}) + 23) % 24 + 1)", "K": "(hour({t}) % 12)", "h": "((hour({t}) + 11) % 12 + 1)",
    "m": "minute({t})", "s": "(second({t}) % 60)", "Q": "quarter({t})", "q": "quarter({t})",
    "F": "((day({t}) - 1) % 7 + 1)", "Y": f"year({_SATURDAY})", "w": f"((dayofyear({_SATURDAY}) - 1) // 7 + 1)",
    "W": "((day({t}) + 5 - dayofweek({t})) // 7 + 1)", "e": "(dayofweek({t}) + 1)", "c": "(dayofweek({t}) + 1)",
    "n": "(microsecond({t}) % 1000000 * 1000)", "N": "((epoch_us({t}) - epoch_us(date_trunc('day', {t}))) * 1000)",
    "A": "((epoch_us({t}) - epoch_us(date_trunc('day', {t}))) // 1000)",
}  # fmt: skip
_SIMPLE_NUMBERS = {"u": "isodow({t})", "S": "(millisecond({t}) % 1000)", "F": "((day({t}) - 1) // 7 + 1)"}
_LONG_NAMES = {
    "UTC": "Coordinated Universal Time", "GMT": "Greenwich Mean Time", "EST": "Eastern Standard Time",
    "EDT": "Eastern Daylight Time", "CST": "Central Standard Time", "CDT": "Central Daylight Time",
    "MST": "Mountain Standard Time", "MDT": "Mountain Daylight Time", "PST": "Pacific Standard Time",
    "PDT": "Pacific Daylight Time", "CET": "Central European Standard Time", "CEST": "Central European Summer Time",
    "JST": "Japan Standard Time",
}  # fmt: skip


def written(at: str, pattern: str, dialect: Dialect, where: str | None) -> str:
    """``at`` written after ``pattern``: an instant, as a clock in the zone ``where`` shows it, or (None) a TIMESTAMP,
    whose zone is UTC where the pattern asks for one.

    :raises BergError: INVALID for a pattern that Java refuses, UNSUPPORTED for a zone's name that is not known here.
    """
    parts = pattern_parts(pattern, dialect)

    def made(x: str) -> str:
        local = x if where is None else clock_in(x, where)
        offset = "0" if where is None else f"CAST(epoch({local}) - epoch({x}) AS INTEGER)"
        return _joined(parts, local, offset, where or "UTC", dialect)

    simple = where is None or all(p.letter not in "VzOXxZ" for p in parts)
    if simple and where is not None:
        return let(clock_in(at, where), lambda t: _joined(parts, t, "0", where, dialect))
    return let(at, made)


def _joined(parts: tuple[Part, ...], t: str, offset: str, where: str, dialect: Dialect) -> str:
    """The parts one behind the other; neighbours that strftime writes are one call."""
    out: list[str] = []
    run = ""
    for part in parts:
        if part.letter in ("[", "]") and part.letter:
            continue
        directive = part.text.replace("%", "%%") if not part.letter else _directive(part, dialect)
        if directive is not None:
            run += directive
            continue
        if run:
            out.append(f"strftime({t}, {string_literal(run)})")
        run = ""
        out.append(_field(part, t, offset, where, dialect))
    if run:
        out.append(f"strftime({t}, {string_literal(run)})")
    if not out:
        return f"CASE WHEN {t} IS NOT NULL THEN '' END"
    return out[0] if len(out) == 1 else f"({' || '.join(out)})"


def _directive(part: Part, dialect: Dialect) -> str | None:
    if dialect is Dialect.SIMPLE and part.letter in _SIMPLE_NUMBERS:
        return None
    return _STRFTIME.get(f"{part.letter}{part.width}")


def _field(part: Part, t: str, offset: str, where: str, dialect: Dialect) -> str:
    letter, count = part.letter, part.width
    if letter in "XxZO":
        return let(offset, lambda o: _offset(letter, count, o))
    if letter == "V":
        return string_literal(where)
    if letter == "z":
        return _zone_name(where, offset, long=count == 4)
    if letter == "G":
        return string_literal("Anno Domini" if count == 4 else "AD")
    if letter == "a":
        return f"strftime({t}, '%p')"
    if (letter in "ec" and count > 2) or letter == "E":
        return f"strftime({t}, '{'%A' if count >= 4 else '%a'}')"
    if letter in "ML" and count > 2:
        return f"strftime({t}, '{'%B' if count >= 4 else '%b'}')"
    if letter in "Qq" and count > 2:
        return _quarter(t, long=count == 4)
    if letter == "S" and dialect is not Dialect.SIMPLE:
        micros = f"format('{{:06d}}', microsecond({t}) % 1000000)"
        return f"left({micros}, {count})" if count <= 6 else f"({micros} || '{'0' * (count - 6)}')"
    number = (_SIMPLE_NUMBERS.get(letter) if dialect is Dialect.SIMPLE else None) or _NUMBERS[letter]
    sql = number.format(t=t)
    if letter in "yuY" and count == 2 and not (dialect is Dialect.SIMPLE and letter == "u"):
        sql = f"({sql} % 100)"
    return f"format('{{:0{count}d}}', {sql})"


def _quarter(t: str, *, long: bool) -> str:
    if not long:
        return f"('Q' || quarter({t}))"
    return f"(['1st', '2nd', '3rd', '4th'][quarter({t})] || ' quarter')"


def _offset(letter: str, count: int, o: str) -> str:
    """An offset, given in seconds, as Java's letters write it."""
    hours, minutes = f"(abs({o}) // 3600)", f"(abs({o}) // 60 % 60)"
    sign = f"CASE WHEN {o} < 0 THEN '-' ELSE '+' END"
    colon = f"({sign} || format('{{:02d}}:{{:02d}}', {hours}, {minutes}))"
    plain = f"({sign} || format('{{:02d}}{{:02d}}', {hours}, {minutes}))"
    if letter == "O" or (letter == "Z" and count == 4):
        short = f"({sign} || {hours} || CASE WHEN {minutes} = 0 THEN '' ELSE format(':{{:02d}}', {minutes}) END)"
        return f"CASE WHEN {o} = 0 THEN 'GMT' ELSE 'GMT' || {colon if count == 4 else short} END"
    if letter == "Z":
        return f"CASE WHEN {o} = 0 THEN 'Z' ELSE {colon} END" if count == 5 else plain
    least = f"({sign} || format('{{:02d}}', {hours}) || CASE WHEN {minutes} = 0 THEN '' "
    least += f"ELSE format('{{:02d}}', {minutes}) END)"
    text = least if count == 1 else plain if count in (2, 4) else colon
    return f"CASE WHEN {o} = 0 THEN 'Z' ELSE {text} END" if letter == "X" else text


def _zone_name(where: str, offset: str, *, long: bool) -> str:
    """The name of the zone's time, such as ``EDT``: it follows from the offset."""
    known = zone(where)
    names: dict[int, str] = {}
    for month in (1, 7):
        at = datetime(2024, month, 1, tzinfo=UTC).astimezone(known)
        delta, name = at.utcoffset(), at.tzname() or ""
        if delta is None or not name.isalpha() or (long and name not in _LONG_NAMES):
            raise not_supported(f"The name of the time zone '{where}' in a pattern", None, "VV writes its id.")
        names[int(delta.total_seconds())] = _LONG_NAMES[name] if long else name
    if len(names) == 1:
        return string_literal(next(iter(names.values())))
    cases = " ".join(f"WHEN {o} THEN {string_literal(n)}" for o, n in names.items())
    return f"CASE {offset} {cases} ELSE 'LMT' END"
