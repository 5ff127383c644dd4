"""The functions that Iceberg adds to a catalog: ``catalog.system.bucket(16, x)`` and its kin (spec, Appendix B)."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.transforms import TransformKind, bucket
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.decimals import of_digits
from bergsql.engine.plan.integers import BITS, wrapped
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.sql_text import let
from bergsql.engine.sql.functions.model import Function, Scalar
from bergsql.engine.sql.type_names import to_iceberg
from bergsql.engine.sql.types import BINARIES, BYTES, DATE, INT, INTEGERS, STAMPS, STRING, TEXTS, Kind
from bergsql.engine.table.partition_sql import Partitioned, floored, units_since_1970, unscaled, with_partition_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from bergsql.catalog.metadata.types import IcebergType
    from bergsql.engine.plan.context import Context

ICEBERG_VERSION = "1.10.2"
"""The version of the Iceberg library whose behaviour is followed."""


def _iceberg_type(value: Bound) -> IcebergType:
    return to_iceberg(value.type, itertools.count(1), 3)


def _units(unit: TransformKind) -> Callable[[list[Bound], Context], str]:
    """YEARS, MONTHS, DAYS and HOURS since 1970, in UTC: transforms know no session time zone."""

    def made(arguments: list[Bound], context: Context) -> str:
        value = arguments[0]
        whole_days = unit is not TransformKind.HOUR
        if value.type.kind is Kind.NULL:
            return f"CAST(NULL AS {'DATE' if unit is TransformKind.DAY else 'INTEGER'})"
        if value.type.kind not in (*STAMPS, *((Kind.DATE,) if whole_days else ())):
            raise _wrong(f"{unit.value}s", value, "a date or a timestamp" if whole_days else "a timestamp")
        number = let(value.sql, lambda v: units_since_1970(unit, v, _iceberg_type(value)))
        whole = f"CAST({number} AS INTEGER)"
        return f"(DATE '1970-01-01' + {whole})" if unit is TransformKind.DAY else whole

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
        return Bound(f"({value.sql})[1:{width}]", BYTES, "")
    if kind in INTEGERS:
        bits = max(BITS[kind], 32)  # narrower integers are Iceberg's int
        cut = let(f"CAST({value.sql} AS HUGEINT)", lambda n: floored(n, width, bits))
        return Bound(wrapped(cut, kind), value.type, "")
    if kind is Kind.DECIMAL:
        cut = let(unscaled(value.sql), lambda n: floored(n, width))
        return Bound(of_digits(cut, value.type), value.type, "")
    raise _wrong("truncate", value, "a whole number, a decimal, text or bytes")


def _bucket(arguments: list[Bound], context: Context) -> Bound:
    count, value = _width("bucket", arguments), arguments[1]
    if value.type.kind is Kind.NULL:
        return Bound("CAST(NULL AS INTEGER)", INT, "")
    if value.type.kind is Kind.CHAR or value.type.kind is Kind.VARCHAR:
        value = replace(value, type=STRING)
    if value.type.kind is Kind.BINARY:
        value = replace(value, type=BYTES)
    if value.type.kind not in (*INTEGERS, *STAMPS, *TEXTS, *BINARIES, Kind.DATE, Kind.TIME, Kind.DECIMAL, Kind.UUID):
        raise _wrong("bucket", value, "a whole number, a decimal, a date, a timestamp, text or bytes")
    # The hash takes dozens of steps, each used several times: columns of nested subqueries, as a writer computes it.
    part = Partitioned(bucket(count), "v", _iceberg_type(value))
    source, (key,) = with_partition_keys(f"(SELECT {value.sql} AS v)", [part], "h_")
    return Bound(f"(SELECT CAST({key.column} AS INTEGER) FROM {source})", INT, "", value.nullable)


FUNCTIONS: tuple[Function, ...] = (
    Scalar("system.iceberg_version", "fs", "", STRING, f"'{ICEBERG_VERSION}'"),
    Scalar("system.years system.year", "fs", "a", INT, _units(TransformKind.YEAR)),
    Scalar("system.months system.month", "fs", "a", INT, _units(TransformKind.MONTH)),
    Scalar("system.days system.day", "fs", "a", DATE, _units(TransformKind.DAY)),
    Scalar("system.hours system.hour", "fs", "a", INT, _units(TransformKind.HOUR)),
    Scalar("system.bucket", "fs", "ia", INT, _bucket),
    Scalar("system.truncate", "fs", "ia", STRING, _truncate),
)
