"""Casts from and to text, as Java reads and writes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.plan.integers import SQL_NAMES
from bergsql.engine.plan.sql_text import each, failure, let
from bergsql.engine.sql.type_names import duckdb_name, flink_name
from bergsql.engine.sql.types import BINARIES, FLOATS, INTEGERS, STAMPS, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.engine.plan.context import Context

BLANKS = "[\\x00-\\x20]*"


def utf8_text(sql: str) -> str:
    """Bytes as text, what is not UTF-8 replaced by the mark for it."""
    return let(sql, lambda x: f"coalesce(TRY(decode({x})), replace(decode({x}, 'replace'), '?', chr(65533)))")


def _pattern(inner: str) -> str:
    """A regular expression as a SQL string: ``inner`` (its first group is what is read) with blanks around."""
    return f"'^{BLANKS}{inner}{BLANKS}$'"


_INTEGER = _pattern(r"([+-]?[0-9]+)(?:\.[0-9]*)?")
_FRACTION = _pattern(r"[+-]?\.[0-9]*")
_NUMBER = _pattern(
    r"([+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[nN][aA][nN]|[iI][nN][fF](?:[iI][nN][iI][tT][yY])?))"
)
TRUE_WORDS = ("t", "true", "y", "yes", "1")
FALSE_WORDS = ("f", "false", "n", "no", "0")
_TRUE, _FALSE = (_pattern(f"(?i:{'|'.join(words)})") for words in (TRUE_WORDS, FALSE_WORDS))
_ZONELESS = r"""'^\s*\S+[ T]\d{1,2}(?::\d{1,2})*(?:\.\d*)?\s*$'"""
"""A day and a time with no zone behind."""
_YEAR, _MONTH = _pattern("([0-9]{4,7})"), _pattern("([0-9]{4,7}-[0-9]{1,2})")
_DAY = _pattern("[+]?(-?[0-9]{4,7}-[0-9]{1,2}-[0-9]{1,2})(?:[ T].*)?")
_STAMP = _pattern("[+]?(-?[0-9]{4,7}-[0-9]{1,2}-[0-9]{1,2}(?:[ T].*?)?)")
_TIME = _pattern(r"([0-9]{1,2}(?::[0-9]{1,2})?(?::[0-9]{1,2}(?:\.[0-9]+)?)?)")


def from_text(sql: str, to: DataType, session_zone: str, *, strict: bool) -> str | None:
    """Text read as ``to``. What does not read is NULL, or an error when ``strict``."""
    read = _reader(sql, to, session_zone)
    if read is None or not strict or to.kind in BINARIES:
        return read
    return let(
        sql,
        lambda x: (
            f"coalesce({_reader(x, to, session_zone)}, CASE WHEN {x} IS NOT NULL THEN "
            f"{failure(f'%s cannot be cast to {target_name(to)}.', quoted_text(x))} END)"
        ),
    )


def target_name(to: DataType) -> str:
    """What a message about a failed cast calls the type: a DECIMAL may fail by its digits alone."""
    return flink_name(to) if to.kind is Kind.DECIMAL else to.kind.value


def quoted_text(sql: str) -> str:
    """SQL of a text in quotes, for a message."""
    return f"'''' || {sql} || ''''"


def _reader(sql: str, to: DataType, session_zone: str) -> str | None:
    """SQL that reads the text, NULL where it does not read. DuckDB's own casts read more: ``1_000``, ``1e3`` …"""
    kind = to.kind
    if kind in INTEGERS:
        name = SQL_NAMES[kind]
        return let(
            sql,
            lambda x: (
                f"coalesce(TRY_CAST(regexp_extract({x}, {_INTEGER}, 1) AS {name}), "
                f"CASE WHEN regexp_matches({x}, {_FRACTION}) THEN CAST(0 AS {name}) END)"
            ),
        )
    if kind in FLOATS or kind is Kind.DECIMAL:
        return f"TRY_CAST(regexp_extract({sql}, {_NUMBER}, 1) AS {duckdb_name(to)})"
    if kind is Kind.BOOLEAN:
        return let(
            sql,
            lambda x: (
                f"CASE WHEN regexp_matches({x}, {_TRUE}) THEN TRUE WHEN regexp_matches({x}, {_FALSE}) THEN FALSE END"
            ),
        )
    if kind is Kind.DATE:
        return let(sql, lambda x: f"TRY_CAST({_whole_day(x, _DAY)} AS DATE)")
    if kind in STAMPS:
        from bergsql.engine.plan.casts import cut_fraction

        whole = DataType(kind, 9 if to.holds_nanoseconds else 6)
        read = let(
            sql,
            lambda x: _first_of_two(f"TRY_CAST({_whole_day(x, _STAMP)} AS {duckdb_name(to)})", x, to, session_zone),
        )
        return cut_fraction(read, whole, to)
    if kind is Kind.TIME:
        return f"TRY_CAST(regexp_extract({sql}, {_TIME}, 1) AS {duckdb_name(to)})"
    if kind in BINARIES:
        return f"encode({sql})"
    if kind is Kind.UUID:
        return f"TRY_CAST({sql} AS UUID)"
    return None


def _first_of_two(at: str, text: str, to: DataType, session_zone: str) -> str:
    """The instant that a text was read as; of the two at which a clock that was set back shows it, the first."""
    if to.kind is Kind.TIMESTAMP or to.holds_nanoseconds:
        return at
    from bergsql.engine.plan.zones import first_shown

    return first_shown(at, session_zone, f"regexp_matches({text}, {_ZONELESS})")


def _whole_day(x: str, pattern: str) -> str:
    """The text of a day; ``2024`` and ``2024-05`` are days too."""
    return (
        f"CASE WHEN regexp_matches({x}, {pattern}) THEN regexp_extract({x}, {pattern}, 1) "
        f"WHEN regexp_matches({x}, {_MONTH}) THEN regexp_extract({x}, {_MONTH}, 1) || '-01' "
        f"WHEN regexp_matches({x}, {_YEAR}) THEN regexp_extract({x}, {_YEAR}, 1) || '-01-01' END"
    )


def to_text(sql: str, source: DataType, to: DataType, context: Context) -> str | None:
    """``sql`` written as text; a CHAR is padded, it and a VARCHAR are cut to their length (flink)."""
    written = _written(sql, source, context)
    if written is None:
        return None
    if to.kind is Kind.CHAR:
        return f"rpad(left({written}, {to.precision or 1}), {to.precision or 1}, ' ')"
    if to.kind is Kind.VARCHAR and to.precision:
        return f"left({written}, {to.precision})"
    return written


def _written(sql: str, source: DataType, context: Context) -> str | None:
    kind = source.kind
    if kind in TEXTS:
        return sql
    if kind in FLOATS:
        return double_text(sql)
    if kind is Kind.BOOLEAN and not context.spark:
        return f"upper(CAST({sql} AS VARCHAR))"
    if kind in STAMPS:
        return _stamp_text(sql, source, context)
    if kind is Kind.DATE:
        return _with_any_year(sql, "DATE", lambda _: "''", lambda x: f"CAST({x} AS VARCHAR)", context)
    if kind is Kind.TIME and not context.spark and (source.precision or 0) == 0:
        return f"strftime(DATE '1970-01-01' + {sql}, '%H:%M:%S')"
    if kind in BINARIES:
        return utf8_text(sql)
    if kind is Kind.ARRAY:
        return _array_text(sql, source, context)
    if kind is Kind.MAP:
        return _map_text(sql, source, context)
    if kind is Kind.ROW:  # one without fields is NULL: `_partition` of a table without partitions
        return _row_text(sql, source, context) if source.children else f"CAST({sql} AS VARCHAR)"
    if kind is Kind.VARIANT:
        return let(sql, variant_text)
    if kind in (Kind.INTERVAL_DAY_TIME, Kind.INTERVAL_YEAR_MONTH, Kind.MULTISET):
        return None
    return f"CAST({sql} AS VARCHAR)"


def variant_text(x: str) -> str:
    """A variant as text: a text is itself, its own null is NULL, all else is JSON."""
    json = f"CAST(CAST({x} AS JSON) AS VARCHAR)"
    kind = f"variant_typeof({x})"
    return f"CASE {kind} WHEN 'VARCHAR' THEN CAST({x} AS VARCHAR) WHEN 'VARIANT_NULL' THEN NULL ELSE {json} END"


def _item(sql: str, type_: DataType, context: Context) -> str:
    null = "null" if context.spark else "NULL"
    if type_.kind is Kind.NULL:
        return f"'{null}'"
    return f"coalesce({_written(sql, type_, context)}, '{null}')"


def _array_text(sql: str, source: DataType, context: Context) -> str:
    items = each(sql, lambda e: _item(e, source.children[0].type, context))
    return f"('[' || array_to_string({items}, ', ') || ']')"


def _map_text(sql: str, source: DataType, context: Context) -> str:
    arrow = " -> " if context.spark else "="
    key, value = (c.type for c in source.children)
    entries = each(
        f"map_entries({sql})",
        lambda e: f"({_item(f'{e}.key', key, context)} || '{arrow}' || {_item(f'{e}.value', value, context)})",
    )
    return f"('{{' || array_to_string({entries}, ', ') || '}}')"


def _row_text(sql: str, source: DataType, context: Context) -> str:
    left, right = ("{", "}") if context.spark else ("(", ")")

    def made(x: str) -> str:
        parts = [_item(f"struct_extract_at({x}, {i})", f.type, context) for i, f in enumerate(source.children, start=1)]
        joined = " || ', ' || ".join(parts)
        return f"CASE WHEN {x} IS NOT NULL THEN '{left}' || {joined} || '{right}' END"

    return let(sql, made)


def _with_any_year(
    sql: str, name: str, rest: Callable[[str], str], plain: Callable[[str], str], context: Context
) -> str:
    """A day or timestamp as ``plain`` writes it from the year 1 to 9999. Java's calendars have a year 0 before, and
    Spark writes a plus behind; ``rest`` is SQL of what follows the day."""

    def made(x: str) -> str:
        year = f"year({x})"
        sign = f"CASE WHEN {year} < 0 THEN '-' WHEN {year} > 9999 THEN '{'+' if context.spark else ''}' ELSE '' END"
        far = f"{sign} || printf('%04d', abs({year}))"
        far += f" || strftime({x}, '-%m-%d') || {rest(x)}"
        last = "9999-12-31" if name == "DATE" else "9999-12-31 23:59:59.999999"
        near = f"{x} BETWEEN {name} '0001-01-01' AND {name} '{last}'"
        return f"CASE WHEN {near} THEN {plain(x)} WHEN {x} IS NOT NULL THEN {far} END"

    return let(sql, made)


def _stamp_text(sql: str, source: DataType, context: Context) -> str:
    # An instant is written as the clock of the session's time zone shows it, without a zone.
    local = f"CAST({sql} AS TIMESTAMP)" if source.kind is Kind.TIMESTAMP_LTZ else sql
    digits = source.fractional_digits
    if digits > 6:  # of years from 1677 to 2262
        return f"CAST({local} AS VARCHAR)"

    def plain(x: str) -> str:
        if context.spark:
            return f"CAST({x} AS VARCHAR)"
        if digits == 0:
            return f"strftime({x}, '%Y-%m-%d %H:%M:%S')"
        return f"left(strftime({x}, '%Y-%m-%d %H:%M:%S.%f'), {20 + digits})"

    def clock(x: str) -> str:
        if context.spark:
            return f"' ' || CAST(CAST({x} AS TIME) AS VARCHAR)"
        return f"left(strftime({x}, ' %H:%M:%S.%f'), {10 + digits if digits else 9})"

    return _with_any_year(local, "TIMESTAMP", clock, plain, context)


def double_text(sql: str) -> str:
    """``Double.toString``: DuckDB's shortest digits, with Java's exponent from 1E7 up and below 0.001."""
    return let(sql, _double_text)


def _double_text(x: str) -> str:
    shown = f"ltrim(CAST({x} AS VARCHAR), '-')"
    whole = f"split_part({shown}, '.', 1)"
    digits = f"rtrim(replace({shown}, '.', ''), '0')"
    small = f"ltrim(replace({shown}, '.', ''), '0')"
    mantissa, exponent = f"split_part({shown}, 'e', 1)", f"CAST(split_part({shown}, 'e', 2) AS INTEGER)"

    def scientific(d: str, e: str) -> str:
        return f"left({d}, 1) || '.' || CASE WHEN length({d}) > 1 THEN substr({d}, 2) ELSE '0' END || 'E' || {e}"

    return (
        f"CASE WHEN isnan({x}) THEN 'NaN' WHEN isinf({x}) THEN CASE WHEN {x} > 0 THEN 'Infinity' ELSE '-Infinity' END "
        f"WHEN {x} = 0 OR abs({x}) >= 0.001 AND abs({x}) < 10000000 THEN CAST({x} AS VARCHAR) "
        f"WHEN {x} IS NOT NULL THEN CASE WHEN {x} < 0 THEN '-' ELSE '' END || CASE "
        f"WHEN contains({shown}, 'e') THEN {mantissa} || CASE WHEN contains({mantissa}, '.') THEN '' ELSE '.0' END "
        f"|| 'E' || {exponent} "
        f"WHEN abs({x}) >= 1 THEN {scientific(digits, f'(length({whole}) - 1)')} "
        f"ELSE {scientific(small, '-4')} END END"
    )
