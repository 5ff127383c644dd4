"""Spark's bitmaps of 4096 bytes, which count distinct numbers: their bits are numbered from each byte's lowest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import failure, let
from bergsql.engine.sql.functions.codecs import byte_numbers
from bergsql.engine.sql.functions.model import Aggregate, Function, Scalar
from bergsql.engine.sql.types import BIGINT, BYTES

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Builder, Call

_BYTES = 4096


def _constructed(call: Call, arguments: list[Bound], context: Context) -> str:
    """DuckDB's bits are numbered from each byte's highest."""
    last = 8 * _BYTES - 1
    wrong = failure(f"BITMAP_CONSTRUCT_AGG takes places from 0 to {last}, not %s.", arguments[0].sql)
    place = let(
        arguments[0].sql,
        lambda p: (
            f"CASE WHEN {p} BETWEEN 0 AND {last} THEN {p} // 8 * 8 + 7 - {p} % 8 WHEN {p} IS NOT NULL THEN {wrong} END"
        ),
    )
    return _of_bits(call("bitstring_agg", place, "0", str(last)), "00")


def _of_bits(bits: str, unless: str) -> str:
    return f"coalesce(CAST({bits} AS BLOB), unhex('{unless * _BYTES}'))"


def _combined(duck: str, unless: str) -> Builder:
    """Of bitmaps that are shorter, what is not there is 0."""

    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        whole = f"CAST(unhex(rpad(hex({arguments[0].sql}), {2 * _BYTES}, '0')) AS BIT)"
        return _of_bits(call(duck, whole), unless)

    return made


def _bit_position(arguments: list[Bound], context: Context) -> str:
    return let(arguments[0].sql, lambda x: f"CASE WHEN {x} > 0 THEN ({x} - 1) % 32768 ELSE (-{x}) % 32768 END")


def _bucket_number(arguments: list[Bound], context: Context) -> str:
    return let(
        arguments[0].sql,
        lambda x: f"CASE WHEN {x} > 0 THEN 1 + ({x} - 1) // 32768 ELSE CAST(trunc({x} / 32768.0) AS BIGINT) END",
    )


def _bitmap_count(arguments: list[Bound], context: Context) -> str:
    counted = f"list_sum(list_transform({byte_numbers(arguments[0].sql)}, lambda n: bit_count(n)))"
    return f"CASE WHEN {arguments[0].sql} IS NOT NULL THEN CAST(coalesce({counted}, 0) AS BIGINT) END"


FUNCTIONS: tuple[Function, ...] = (
    Scalar("bitmap_bit_position", "s", "l", BIGINT, _bit_position),
    Scalar("bitmap_bucket_number", "s", "l", BIGINT, _bucket_number),
    Scalar("bitmap_count", "s", "x", BIGINT, _bitmap_count),
    Aggregate("bitmap_construct_agg", "s", "l", BYTES, _constructed),
    Aggregate("bitmap_or_agg", "s", "x", BYTES, _combined("bit_or", "00")),
    Aggregate("bitmap_and_agg", "s", "x", BYTES, _combined("bit_and", "FF")),
)
