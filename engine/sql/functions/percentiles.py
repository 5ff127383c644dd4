"""PERCENTILE, PERCENTILE_CONT and MEDIAN, of numbers and of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.sql_text import each, failure, let, let_all
from bergsql.engine.sql.functions.aggregates import check_fraction, interval_count, interval_of
from bergsql.engine.sql.functions.collections import array_of
from bergsql.engine.sql.functions.model import Aggregate, Function
from bergsql.engine.sql.types import DOUBLE, INTERVALS, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Call


def _type(arguments: Sequence[Bound]) -> DataType:
    kind = arguments[0].type.kind
    one = DataType(kind) if kind in INTERVALS else DOUBLE
    many = len(arguments) > 1 and arguments[1].type.kind is Kind.ARRAY
    return array_of(one) if many else one


def _number(value: Bound, context: Context) -> str:
    from bergsql.engine.plan.casts import coerce

    if value.type.kind in INTERVALS:
        return f"CAST({interval_count(value)} AS DOUBLE)"
    return coerce(value, DOUBLE, context).sql


def _of_numbers(found: str, arguments: Sequence[Bound]) -> str:
    """What was found of an interval's number as an interval again, cut to its unit as Spark does."""
    type_ = arguments[0].type
    if type_.kind not in INTERVALS:
        return found

    def back(number: str) -> str:
        return interval_of(f"CAST(trunc({number}) AS BIGINT)", type_)

    return each(found, back) if _type(arguments).kind is Kind.ARRAY else back(found)


def _continuous(call: Call, arguments: list[Bound], context: Context) -> str:
    check_fraction(arguments[1])
    found = call("quantile_cont", _number(arguments[0], context), arguments[1].sql)
    return _of_numbers(found, arguments)


def _median(call: Call, arguments: list[Bound], context: Context) -> str:
    return _of_numbers(call("median", _number(arguments[0], context)), arguments)


def _percentile(call: Call, arguments: list[Bound], context: Context) -> str:
    """PERCENTILE(x, fraction[, frequency]): each value counts as often as its frequency says."""
    if len(arguments) < 3 or arguments[2].constant == 1:
        return _continuous(call, arguments, context)
    check_fraction(arguments[1])
    frequency = arguments[2]
    if isinstance(frequency.constant, int) and frequency.constant < 0:
        raise BergError(ErrorCode.INVALID, "The frequency of a value is not below 0.")
    value, times = _number(arguments[0], context), frequency.sql
    wrong = failure("The frequency of a value is not below 0.")
    counted = f"CASE WHEN {times} < 0 THEN {wrong} WHEN {value} IS NOT NULL AND {times} > 0 THEN {times} END"
    pairs = call("list", f"struct_pack(v := {value}, n := {counted})")
    items = f"list_sort(list_filter({pairs}, lambda pair: pair.n IS NOT NULL))"
    total = call("sum", counted)

    def placed(values: list[str]) -> str:
        sorted_, rows = values

        def at(fraction: str) -> str:
            place = f"(CAST({rows} - 1 AS DOUBLE) * {fraction})"
            return let(place, lambda p: _between(sorted_, p))

        if arguments[1].type.kind is Kind.ARRAY:
            return f"CASE WHEN {rows} > 0 THEN {each(arguments[1].sql, at)} END"
        return f"CASE WHEN {rows} > 0 THEN {at(arguments[1].sql)} END"

    return _of_numbers(let_all([items, total], placed), arguments)


def _between(items: str, place: str) -> str:
    """The value at a place, counted from 0, among (value, times) in order; between two places a mean of both."""
    low, high = (_value_at(items, f"{f}({place})") for f in ("floor", "ceil"))
    share = f"({place} - floor({place}))"
    return f"CASE WHEN {share} = 0 THEN {low} ELSE (1 - {share}) * {low} + {share} * {high} END"


def _value_at(items: str, place: str) -> str:
    start = "struct_pack(v := CAST(0 AS DOUBLE), n := CAST(0 AS BIGINT))"
    passed = "struct_pack(v := item.v, n := CAST(seen.n + item.n AS BIGINT))"
    step = f"CASE WHEN seen.n > {place} THEN seen ELSE {passed} END"
    return f"struct_extract(list_reduce({items}, lambda seen, item: {step}, {start}), 'v')"


FUNCTIONS: tuple[Function, ...] = (
    Aggregate("median", "s", "N", _type, _median),
    Aggregate("percentile", "fs", "Nal?", _type, _percentile),
    Aggregate("percentile_cont", "fs", "Na", _type, _continuous),
)
