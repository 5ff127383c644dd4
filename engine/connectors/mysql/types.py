"""Which types a column of MySQL may be declared with, and how its values become of them.

Values come in two ways: as texts of a SELECT, and as Python's values of the binlog. Both are brought to one form,
Arrow's of the column's family, from which one piece of SQL makes the declared type.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.sql_text import failure
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name, flink_name
from bergsql.engine.sql.types import BINARIES, FLOATS, INTEGERS, TEXTS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.connectors.mysql.shape import ColumnShape


class Family(Enum):
    """How values are before they become of a declared type."""

    INTEGER = "int64"
    UNSIGNED = "uint64"  # BIGINT UNSIGNED
    FLOAT = "float32"
    DOUBLE = "float64"
    DECIMAL = "decimal text"
    TEXT = "text"
    BYTES = "bytes"
    BITS = "bits"  # of BIT(n), as bytes, the highest first
    DATE = "date"
    STAMP = "timestamp"  # DATETIME: of no zone
    INSTANT = "instant"  # TIMESTAMP, in UTC
    TIME = "time text"


FAMILIES: Final = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "year"), Family.INTEGER),
    "bigint": Family.INTEGER,
    "float": Family.FLOAT,
    "double": Family.DOUBLE,
    "decimal": Family.DECIMAL,
    **dict.fromkeys(
        ("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set", "json"), Family.TEXT
    ),
    **dict.fromkeys(("uuid", "inet4", "inet6"), Family.TEXT),
    **dict.fromkeys(
        ("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point", "linestring"),
        Family.BYTES,
    ),
    **dict.fromkeys(
        ("polygon", "multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection"),
        Family.BYTES,
    ),
    "bit": Family.BITS,
    "date": Family.DATE,
    "datetime": Family.STAMP,
    "timestamp": Family.INSTANT,
    "time": Family.TIME,
}


def family_of(column: ColumnShape) -> Family:
    """The family of a column's values.

    :raises BergError: UNSUPPORTED for a type that is not known.
    """
    found = FAMILIES.get(column.kind)
    if found is None:
        raise BergError(ErrorCode.UNSUPPORTED, f"MySQL's type {column.full} of column '{column.name}' cannot be read.")
    return Family.UNSIGNED if column.kind == "bigint" and column.unsigned else found


_RANGES: Final = {
    ("tinyint", False): Kind.TINYINT,
    ("tinyint", True): Kind.SMALLINT,
    ("smallint", False): Kind.SMALLINT,
    ("smallint", True): Kind.INT,
    ("mediumint", False): Kind.INT,
    ("mediumint", True): Kind.INT,
    ("int", False): Kind.INT,
    ("int", True): Kind.BIGINT,
    ("bigint", False): Kind.BIGINT,
    ("year", True): Kind.SMALLINT,
    ("year", False): Kind.SMALLINT,
}
"""The least type that holds all values of a whole number's type, by whether it is unsigned."""
_DIGITS: Final = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 19}


class Fit(NamedTuple):
    """How a column becomes of its declared type: SQL of a value of the family."""

    family: Family
    sql: Callable[[str], str]


def fit(column: ColumnShape, declared: DataType, zone: str, *, boolean_bytes: bool) -> Fit:
    """How a column of MySQL is read as what is declared.

    :param zone: the name of the server's time zone, in which TIMESTAMP is a TIMESTAMP of no zone.
    :param boolean_bytes: whether TINYINT(1) is a BOOLEAN.
    :raises BergError: TYPE where some value would not be of that type; UNSUPPORTED.
    """
    family = family_of(column)
    made = _fitting(column, family, declared, zone, boolean_bytes=boolean_bytes)
    if made is None:
        raise BergError(
            ErrorCode.TYPE,
            f"Column '{column.name}' is {flink_name(declared)}, and MySQL's {column.full} cannot be read as that.",
            hint=f"It can be {natural(column, boolean_bytes=boolean_bytes)}.",
        )
    return Fit(family, made)


def natural(column: ColumnShape, *, boolean_bytes: bool) -> str:
    """The type that holds all values of a column, as Flink writes it."""
    match family_of(column):
        case Family.INTEGER:
            if boolean_bytes and column.full.startswith("tinyint(1)"):
                return "BOOLEAN"
            return _RANGES[(column.kind, column.unsigned)].name
        case Family.UNSIGNED:
            return "DECIMAL(20, 0)"
        case Family.DECIMAL:
            wide = (column.precision or 10) > 38
            return "STRING" if wide else f"DECIMAL({column.precision}, {column.scale})"
        case Family.BITS:
            return "BOOLEAN" if column.length == 1 else "BYTES"
        case Family.STAMP:
            return f"TIMESTAMP({column.fraction})"
        case Family.INSTANT:
            return f"TIMESTAMP_LTZ({column.fraction})"
        case Family.TIME:
            return f"TIME({column.fraction}), or STRING"
        case Family.TEXT:
            return "STRING"
        case other:
            return other.name


def _fitting(
    column: ColumnShape, family: Family, declared: DataType, zone: str, *, boolean_bytes: bool
) -> Callable[[str], str] | None:
    kind = declared.kind
    name = duckdb_name(declared)
    match family:
        case Family.INTEGER:
            if kind is Kind.BOOLEAN and column.kind == "tinyint" and boolean_bytes:
                return lambda v: f"({v} <> 0)"
            if kind in INTEGERS:
                least = _RANGES[(column.kind, column.unsigned)]
                wide = INTEGERS.index(kind) >= INTEGERS.index(least)
                return (lambda v: f"CAST({v} AS {name})") if wide else None
            return _number_as(declared, 10 if column.kind != "bigint" else 19, 0)
        case Family.UNSIGNED:
            return _number_as(declared, 20, 0)
        case Family.DECIMAL:
            return _decimal_as(column, declared)
        case Family.FLOAT | Family.DOUBLE:
            if kind in TEXTS:
                return lambda v: f"CAST({v} AS VARCHAR)"
            holds = kind in FLOATS and (family is Family.FLOAT or kind is Kind.DOUBLE)
            return (lambda v: f"CAST({v} AS {name})") if holds else None
        case Family.TEXT:
            return (lambda v: v) if kind in TEXTS else None
        case Family.BYTES:
            return (lambda v: v) if kind in BINARIES else None
        case Family.BITS:
            if kind is Kind.BOOLEAN and column.length == 1:
                return lambda v: f"({v} = '\\x01'::BLOB)"
            return (lambda v: v) if kind in BINARIES else None
        case Family.DATE:
            if kind in TEXTS:
                return lambda v: f"CAST({v} AS VARCHAR)"
            return (lambda v: v) if kind is Kind.DATE else None
        case Family.STAMP:
            return _stamp_as(declared, column.fraction)
        case Family.INSTANT:
            return _instant_as(declared, column.fraction, zone)
        case Family.TIME:
            return _time_as(column, declared)
    return None


def _number_as(declared: DataType, digits: int, scale: int) -> Callable[[str], str] | None:
    """A number of so many digits, as a DECIMAL that holds it or a text."""
    if declared.kind in TEXTS:
        return lambda v: f"CAST({v} AS VARCHAR)"
    if declared.kind is Kind.DECIMAL and (declared.precision or 10) - (declared.scale or 0) >= digits - scale:
        name = duckdb_name(declared)
        return lambda v: f"CAST({v} AS {name})"
    return None


def _decimal_as(column: ColumnShape, declared: DataType) -> Callable[[str], str] | None:
    if declared.kind in TEXTS:
        return lambda v: v
    if declared.kind is not Kind.DECIMAL or (declared.scale or 0) < (column.scale or 0):
        return None
    whole = (declared.precision or 10) - (declared.scale or 0)
    needed = (column.precision or 10) - (column.scale or 0)
    name = duckdb_name(declared)
    if whole >= needed:
        return lambda v: f"CAST({v} AS {name})"
    if declared.precision != 38:
        return None
    # MySQL has up to 65 digits: whether a value is too large is seen when it comes.
    told = f"Column {column.name} holds a number that {flink_name(declared)} cannot: %s"
    return lambda v: f"CASE WHEN {v} IS NOT NULL THEN coalesce(TRY_CAST({v} AS {name}), {failure(told, v)}) END"


def _stamp_as(declared: DataType, fraction: int) -> Callable[[str], str] | None:
    if declared.kind in TEXTS:
        return lambda v: f"CAST({v} AS VARCHAR)"
    if declared.kind is Kind.TIMESTAMP and (6 if declared.precision is None else declared.precision) >= fraction:
        name = duckdb_name(declared)
        return lambda v: f"CAST({v} AS {name})"
    return None


def _instant_as(declared: DataType, fraction: int, zone: str) -> Callable[[str], str] | None:
    if (6 if declared.precision is None else declared.precision) < fraction:
        return None
    if declared.kind is Kind.TIMESTAMP_LTZ:
        name = duckdb_name(declared)
        return lambda v: f"CAST({v} AS {name})"
    if declared.kind is Kind.TIMESTAMP:
        name = duckdb_name(declared)
        return lambda v: f"CAST({v} AT TIME ZONE {string_literal(zone)} AS {name})"
    return None


def _time_as(column: ColumnShape, declared: DataType) -> Callable[[str], str] | None:
    if declared.kind in TEXTS:
        return lambda v: v
    if declared.kind is not Kind.TIME:
        return None
    told = f"Column {column.name} holds %s, which is no time of a day: a STRING can hold it."
    name = duckdb_name(declared)
    day = "({0} >= '24' OR length(split_part({0}, ':', 1)) > 2 OR starts_with({0}, '-'))"
    return lambda v: f"CASE WHEN {day.format(v)} THEN {failure(told, v)} ELSE CAST({v} AS {name}) END"
