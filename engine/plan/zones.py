"""Time zones in DuckDB's SQL: between what a clock shows and an instant.

Where clocks are set back, an hour is shown twice: Java takes the first of the two instants, DuckDB the second.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta, timezone

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.sql_text import let
from bergsql.engine.plan.times import zone
from bergsql.engine.sql import utc
from bergsql.engine.sql.quoting import string_literal

_FIXED_IDS = {"EST": "-05:00", "MST": "-07:00", "HST": "-10:00"}
_OLD_IDS = frozenset(
    "ACT AET AGT ART AST BET BST CAT CNT CST CTT EAT ECT IET IST JST MIT NET NST PLT PNT PRT PST SST VST".split()
)
"""Java's three-letter names that stand for a region: DuckDB reads them as Java does."""


def fixed_offset(name: str) -> timedelta | None:
    """The offset from UTC of a zone where it is always the same (``UTC``, ``+05:30``); None where it changes.

    :raises BergError: INVALID when there is no such zone.
    """
    known = zone(_FIXED_IDS.get(name, name))
    if known is None:
        if name in _OLD_IDS:
            return None
        raise BergError(ErrorCode.INVALID, f"There is no time zone '{name}'.", hint="Europe/Berlin or +02:00, say.")
    return known.utcoffset(None) if isinstance(known, timezone) else None


def instant(local: str, session_zone: str) -> str:
    """The instant (TIMESTAMPTZ) at which the session's clock shows ``local`` (SQL of a TIMESTAMP)."""
    offset = fixed_offset(session_zone)
    if offset is not None:
        return f"CAST({local} AS TIMESTAMPTZ)" if offset else utc.instant(local)
    return let(local, lambda x: _first(x, f"CAST({x} AS TIMESTAMPTZ)", lambda t: f"CAST({t} AS TIMESTAMP)"))


def instant_in(local: str, where: str) -> str:
    """The instant at which a clock in ``where`` (the name of a zone) shows ``local``."""
    offset = fixed_offset(where)
    if offset is not None:
        return utc.instant(f"{local} - {_micros(offset)}" if offset else local)
    name = string_literal(where)
    return let(local, lambda x: _first(x, f"timezone({name}, {x})", lambda t: f"timezone({name}, {t})"))


def clock_in(at: str, where: str) -> str:
    """What a clock in ``where`` (the name of a zone) shows at an instant: a TIMESTAMP."""
    offset = fixed_offset(where)
    if offset is not None:
        return f"({utc.clock(at)} + {_micros(offset)})" if offset else utc.clock(at)
    return f"timezone({string_literal(where)}, {at})"


_OFFSET = r"'^(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?$'"


def instant_in_any(local: str, where: str) -> str:
    """As :func:`instant_in`, for SQL of a zone's name."""
    at_offset = utc.instant(f"{local} - {_offset(where)}")
    return f"CASE WHEN {_is_offset(where)} THEN {at_offset} ELSE {_region(where, local)} END"


def clock_in_any(at: str, where: str) -> str:
    """As :func:`clock_in`, for SQL of a zone's name."""
    at_offset = f"{utc.clock(at)} + {_offset(where)}"
    return f"CASE WHEN {_is_offset(where)} THEN {at_offset} ELSE {_region(where, at)} END"


def _is_offset(where: str) -> str:
    return f"regexp_matches({where}, {_OFFSET}, 'i')"


def _offset(where: str) -> str:
    """SQL of the offset that a text such as ``+05:30`` says, as an interval."""

    def part(n: int) -> str:
        return f"coalesce(TRY_CAST(regexp_extract({where}, {_OFFSET}, {n}, 'i') AS INTEGER), 0)"

    sign = f"CASE WHEN regexp_extract({where}, {_OFFSET}, 1, 'i') = '-' THEN -60 ELSE 60 END"
    return f"to_seconds({sign} * ({part(2)} * 60 + {part(3)}))"


def _region(where: str, stamp: str) -> str:
    fixed = " ".join(f"WHEN '{name}' THEN 'Etc/GMT{-int(at[:3]):+}'" for name, at in _FIXED_IDS.items())
    return f"timezone(CASE {where} {fixed} WHEN 'Z' THEN 'UTC' WHEN 'z' THEN 'UTC' ELSE {where} END, {stamp})"


def _first(x: str, at: str, shown: Callable[[str], str]) -> str:
    """The first of the instants at which the clock shows ``x``; ``at`` is the last."""
    before = f"({at} - to_hours(1))"
    return f"CASE WHEN {shown(before)} = {x} THEN {before} ELSE {at} END"


def first_shown(at: str, session_zone: str, condition: str = "TRUE") -> str:
    """Of the two instants at which the session's clock shows the same, the first; ``at`` may be the second.

    ``condition`` is SQL: where it does not hold, ``at`` is kept.
    """
    if fixed_offset(session_zone) is not None:
        return at

    def made(x: str) -> str:
        before = f"({x} - to_hours(1))"
        twice = f"CAST({before} AS TIMESTAMP) = CAST({x} AS TIMESTAMP)"
        return f"CASE WHEN {twice} AND {condition} THEN {before} ELSE {x} END"

    return let(at, made)


def moved(at: str, by: str, session_zone: str) -> str:
    """An instant moved by months or days on the session's clock (``by``: an operator and an interval).

    Where the clock shows what it comes to twice, the offset from UTC stays as it was, if it can, as in Java.
    """
    if fixed_offset(session_zone) is not None:
        return f"({at} {by})"

    def made(x: str) -> str:
        to = f"({x} {by})"
        before = f"({to} - to_hours(1))"
        twice = f"CAST({before} AS TIMESTAMP) = CAST({to} AS TIMESTAMP)"
        same = f"{_offset_at(before)} = {_offset_at(x)}"
        return f"CASE WHEN {twice} AND {same} THEN {before} ELSE {to} END"

    return let(at, made)


def _offset_at(at: str) -> str:
    return f"(epoch_us(CAST({at} AS TIMESTAMP)) - epoch_us({at}))"


def _micros(offset: timedelta) -> str:
    return f"to_microseconds({offset // timedelta(microseconds=1)})"
