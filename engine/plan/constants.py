"""Known values in DuckDB's SQL, and Spark's text of them."""

from __future__ import annotations

import math
from datetime import date, datetime, time
from decimal import Decimal

from bergsql.catalog.metadata.java_floats import double_text, float_text
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.time_text import time_text, timestamp_text
from bergsql.engine.plan.times import from_utc, zone
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import STAMPS, DataType, Kind


def constant(value: object, type_: DataType, text: str | None = None, zone_name: str = "UTC") -> Bound:
    """A known value as a bound expression. Dates and times are as :data:`bergsql.engine.result.Row` has them."""
    sql = constant_sql(value, type_)
    return Bound(sql, type_, constant_text(value, type_, zone_name) if text is None else text, value is None, value)


def constant_sql(value: object, type_: DataType) -> str:
    """``value`` in DuckDB's SQL, of exactly the DuckDB type of ``type_``."""
    if value is None:
        return "NULL" if type_.kind is Kind.NULL else f"CAST(NULL AS {duckdb_name(type_)})"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return _integer_sql(value, type_)
    if isinstance(value, str):
        return string_literal(value)
    if isinstance(value, Decimal):
        whole = type_.precision or 38
        text = f"{value:f}"
        if len(text.lstrip("-").replace(".", "")) > 38:  # with the 0 before its point, DuckDB would read a double
            text = f"'{text}'"
        return f"CAST({text} AS DECIMAL({whole},{type_.scale or 0}))"
    if isinstance(value, float):
        return _float_sql(value, type_)
    if isinstance(value, bytes):
        return f"unhex('{value.hex()}')" if value else "''::BLOB"
    if isinstance(value, datetime):
        text = timestamp_text(value, None)
        return f"TIMESTAMPTZ '{text}+00'" if type_.kind is Kind.TIMESTAMP_LTZ else f"TIMESTAMP '{text}'"
    if isinstance(value, date):
        return f"DATE '{value.year:04}-{value.month:02}-{value.day:02}'"
    if isinstance(value, time):
        return f"TIME '{time_text(value, None)}'"
    raise TypeError(type(value).__name__)


def _integer_sql(value: int, type_: DataType) -> str:
    if type_.kind is Kind.DECIMAL:
        return f"CAST({value} AS DECIMAL({type_.precision},{type_.scale or 0}))"
    if type_.kind is Kind.INT and value >= 0:
        return str(value)
    if type_.kind is Kind.BIGINT and value >= 2**31:
        return str(value)
    if type_.kind in STAMPS:  # nanoseconds since 1970
        made = f"make_timestamp_ns({value})"
        return made if type_.kind is Kind.TIMESTAMP else f"CAST({made} AS {duckdb_name(type_)})"
    return f"CAST({value} AS {duckdb_name(type_)})"


def _float_sql(value: float, type_: DataType) -> str:
    negative_zero = value == 0 and math.copysign(1, value) < 0  # as a number it would lose its sign
    shown = repr(value) if math.isfinite(value) and not negative_zero else f"'{value}'"
    if type_.kind is Kind.DOUBLE and math.isfinite(value) and "e" in shown and value > 0:
        return shown
    return f"CAST({shown} AS {duckdb_name(type_)})"


def constant_text(value: object, type_: DataType, zone_name: str) -> str:
    """Spark's text of a literal."""
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value) if type_.kind is Kind.FLOAT else double_text(value)
        case bytes():
            return f"X'{value.hex().upper()}'"
        case datetime():
            local = _local(value, type_, zone_name)
            word = "TIMESTAMP_NTZ" if type_.kind is Kind.TIMESTAMP else "TIMESTAMP"
            return f"{word} '{timestamp_text(local, None)}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case time():
            return f"TIME '{time_text(value, None)}'"
        case Decimal():
            return f"{value:f}"
    return str(value)


def _local(value: datetime, type_: DataType, zone_name: str) -> datetime:
    where = zone(zone_name)
    shown = from_utc(value, where) if type_.kind is Kind.TIMESTAMP_LTZ and where else value
    return shown or value
