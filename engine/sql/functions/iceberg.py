"""The functions that Iceberg adds to a catalog: ``catalog.system.bucket(16, x)`` and its kin (spec, Appendix B)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.transforms import bucket
from bergsql.engine.plan.bound import DATE, INT, STRING, Bound
from bergsql.engine.plan.coercion import BINARIES, INTEGERS, STAMPS, TEXTS
from bergsql.engine.plan.integers import SQL_NAMES
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.sql_text import let
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.type_names import to_iceberg
from bergsql.engine.sql.types import DataType, Kind
from bergsql.engine.table.partition_sql import Partitioned, with_partition_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.engine.plan.context import Context

ICEBERG_VERSION = "1.10.2"
"""The version of the Iceberg library whose behaviour is followed."""


def _moment(bound: Bound) -> str:
    """A date or a timestamp on UTC's clock: transforms know no session time zone."""
    return f"timezone('UTC', {bound.sql})" if bound.type.kind is Kind.TIMESTAMP_LTZ else bound.sql


def _time(name: str, of_date: str | None, template: str) -> Callable[[list[Bound], Context], str]:
    def made(arguments: list[Bound], context: Context) -> str:
        value = arguments[0]
        if value.type.kind is Kind.NULL:
            return "NULL"
        allowed = (*STAMPS, *((Kind.DATE,) if of_date else ()))
        if value.type.kind not in allowed:
            raise _wrong(name, value, "a timestamp" if of_date is None else "a date or a timestamp")
        return let(_moment(value), template.format)

    return made


def _wrong(name: str, value: Bound, wanted: str) -> BergError:
    return BergError(ErrorCode.TYPE, f"{name.upper()} takes {wanted}, not {value.type.kind.value}.")


def _width(name: str, arguments: list[Bound]) -> int:
    width = arguments[0].constant
    if not isinstance(width, int) or width <= 0:
        raise BergError(ErrorCode.INVALID, f"The first argument of {name.upper()} is a positive number.")
    return width


def _truncate(arguments: list[Bound], context: Context) -> Bound:
    width, value = _width("truncate", arguments), arguments[1]
    kind = value.type.kind
    if kind is Kind.NULL:
        return Bound("NULL", value.type, "")
    if kind in TEXTS:
        return Bound(f"left({value.sql}, {width})", STRING, "")
    if kind in BINARIES:
        return Bound(f"({value.sql})[1:{width}]", DataType(Kind.BYTES), "")
    if kind in INTEGERS:
        sql = let(value.sql, lambda v: f"({v} - (({v} % {width}) + {width}) % {width})")
        return Bound(f"CAST({sql} AS {SQL_NAMES[kind]})", value.type, "")
    if kind is Kind.DECIMAL:
        scale = value.type.scale or 0
        wide = f"DECIMAL(38,{scale})"
        unit = f"CAST({width} * CAST(1e-{scale} AS {wide}) AS {wide})" if scale else str(width)

        def cut(v: str) -> str:
            rest = f"CAST((({v} % {unit}) + {unit}) % {unit} AS {wide})"
            return f"CAST({v} - {rest} AS DECIMAL({value.type.precision},{scale}))"

        return Bound(let(value.sql, cut), value.type, "")
    raise _wrong("truncate", value, "a whole number, a decimal, text or bytes")


def _bucket(arguments: list[Bound], context: Context) -> Bound:
    count, value = _width("bucket", arguments), arguments[1]
    if value.type.kind is Kind.NULL:
        return Bound("CAST(NULL AS INTEGER)", INT, "")
    if value.type.kind is Kind.CHAR or value.type.kind is Kind.VARCHAR:
        value = replace(value, type=STRING)
    if value.type.kind is Kind.BINARY:
        value = replace(value, type=DataType(Kind.BYTES))
    if value.type.kind not in (*INTEGERS, *STAMPS, *TEXTS, *BINARIES, Kind.DATE, Kind.TIME, Kind.DECIMAL, Kind.UUID):
        raise _wrong("bucket", value, "a whole number, a decimal, a date, a timestamp, text or bytes")
    # The hash takes dozens of steps, each used several times: columns of nested subqueries, as a writer computes it.
    part = Partitioned(bucket(count), "v", to_iceberg(value.type, itertools.count(1), 3))
    source, (key,) = with_partition_keys(f"(SELECT {value.sql} AS v)", [part], "h_")
    return Bound(f"(SELECT CAST({key.column} AS INTEGER) FROM {source})", INT, "", value.nullable)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("system.iceberg_version", "fs", "", STRING, f"'{ICEBERG_VERSION}'"),
    Scalar("system.years system.year", "fs", "a", INT, _time("years", "date", "CAST(year({0}) - 1970 AS INTEGER)")),
    Scalar(
        "system.months system.month",
        "fs",
        "a",
        INT,
        _time("months", "date", "CAST((year({0}) - 1970) * 12 + month({0}) - 1 AS INTEGER)"),
    ),
    Scalar("system.days system.day", "fs", "a", DATE, _time("days", "date", "CAST({0} AS DATE)")),
    Scalar(
        "system.hours system.hour", "fs", "a", INT, _time("hours", None, "CAST(floor(epoch({0}) / 3600) AS INTEGER)")
    ),
    Scalar("system.bucket", "fs", "ia", INT, _bucket),
    Scalar("system.truncate", "fs", "ia", STRING, _truncate),
)
