"""Aggregate functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan import integers
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.coercion import bounded
from bergsql.engine.plan.sql_text import failure
from bergsql.engine.sql.functions.collections import array_of
from bergsql.engine.sql.functions.model import Aggregate, Function
from bergsql.engine.sql.types import BIGINT, BOOLEAN, DOUBLE, INTEGERS, INTERVALS, NUMBERS, STRING, DataType, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Call


def spark_sum_type(arguments: Sequence[Bound]) -> DataType:
    type_ = arguments[0].type
    if type_.kind in INTEGERS:
        return BIGINT
    if type_.kind is Kind.DECIMAL:
        return bounded(min((type_.precision or 38) + 10, 38), type_.scale or 0)
    return DataType(type_.kind) if type_.kind in INTERVALS else DOUBLE


def _flink_sum_type(arguments: Sequence[Bound]) -> DataType:
    type_ = arguments[0].type
    return DataType(Kind.DECIMAL, 38, type_.scale or 0) if type_.kind is Kind.DECIMAL else type_


def spark_sum(call: Call, arguments: list[Bound], context: Context) -> str:
    """Spark's SUM of anything but whole numbers."""
    a = arguments[0]
    if a.type.kind in INTERVALS:
        return interval_of(f"CAST({call('sum', interval_count(a))} AS BIGINT)", a.type)
    total = call("sum", a.sql)
    if a.type.kind is Kind.DECIMAL:
        type_ = spark_sum_type(arguments)
        return f"TRY_CAST({total} AS DECIMAL({type_.precision},{type_.scale}))"
    return total


def interval_count(a: Bound) -> str:
    """An interval as a number: of months, or of microseconds."""
    if a.type.kind is Kind.INTERVAL_YEAR_MONTH:
        return f"(datepart('year', {a.sql}) * 12 + datepart('month', {a.sql}))"
    return f"epoch_us({a.sql})"


def interval_of(count: str, type_: DataType) -> str:
    if type_.kind is Kind.INTERVAL_YEAR_MONTH:
        return f"to_months(CAST({count} AS INTEGER))"
    return f"to_microseconds({count})"


def _sum(call: Call, arguments: list[Bound], context: Context) -> str:
    """DuckDB adds integers up in a HUGEINT; what it gives is cut once a group, not once a row."""
    a = arguments[0]
    kind = a.type.kind
    if kind in INTERVALS:
        return spark_sum(call, arguments, context)
    total = call("sum", a.sql)
    if kind in INTEGERS:
        return (
            integers.wrapped(total, Kind.BIGINT if context.spark else kind)
            if kind is Kind.BIGINT or not context.spark
            else f"CAST({total} AS BIGINT)"
        )
    if kind is Kind.DECIMAL:
        type_ = spark_sum_type(arguments) if context.spark else _flink_sum_type(arguments)
        return f"TRY_CAST({_decimal_total(call, a)} AS DECIMAL({type_.precision},{type_.scale}))"
    return f"CAST({total} AS FLOAT)" if kind is Kind.FLOAT and not context.spark else total


_SAFE_DIGITS = 28
"""Ten billion decimals of so many digits add up to one of 38."""


def _decimal_total(call: Call, a: Bound) -> str:
    """The sum of decimals, NULL where it has more than 38 digits (DuckDB raises there).

    The rare large ones are added up apart, as two whole numbers each: the digits before the last 19, and those.
    """
    digits, scale = a.type.precision or 38, a.type.scale or 0
    plain = call("sum", a.sql)
    if digits <= _SAFE_DIGITS:
        return plain
    from bergsql.engine.plan.decimals import digits_of, of_digits
    from bergsql.engine.plan.sql_text import each, let, let_all

    def parts_of(x: str) -> list[str]:
        bound = f"CAST(1e{_SAFE_DIGITS - scale} AS DOUBLE)"
        small = f"CAST({x} AS DOUBLE) BETWEEN -{bound} AND {bound}"
        whole = digits_of(x, a.type)
        return [
            f"CASE WHEN {small} THEN {x} END",
            f"CASE WHEN NOT ({small}) THEN {whole} // 10000000000000000000 END",
            f"CASE WHEN NOT ({small}) THEN {whole} % 10000000000000000000 END",
        ]

    def part_sum(values: str, i: int) -> str:
        return f"list_sum({each(values, lambda e: parts_of(e)[i])})"

    type_ = DataType(Kind.DECIMAL, 38, scale)

    def added(sums: list[str]) -> str:
        low, high, rest = sums
        digits_low = digits_of(f"CAST(coalesce({low}, 0) AS DECIMAL(38,{scale}))", type_)
        total = f"TRY(CAST({high} AS HUGEINT) * 10000000000000000000 + CAST({rest} AS HUGEINT) + {digits_low})"
        return f"CASE WHEN {high} IS NULL THEN {low} ELSE {of_digits(total, type_)} END"

    if not plain.startswith("sum(DISTINCT"):
        return let_all([call("sum", part) for part in parts_of(a.sql)], added)
    # Parts of different values may be equal: the values are made distinct, not the parts.
    return let(call("list", a.sql), lambda x: let_all([part_sum(x, i) for i in range(3)], added))


def _avg_type(arguments: Sequence[Bound]) -> DataType:
    type_ = arguments[0].type
    if type_.kind is Kind.DECIMAL:
        precision, scale = type_.precision or 38, type_.scale or 0
        return bounded(precision + 4, scale + 4)
    return DataType(type_.kind) if type_.kind in INTERVALS else DOUBLE


def _flink_avg_type(arguments: Sequence[Bound]) -> DataType:
    type_ = arguments[0].type
    if type_.kind is Kind.DECIMAL:
        return DataType(Kind.DECIMAL, 38, max(6, type_.scale or 0))
    return type_


def _avg(call: Call, arguments: list[Bound], context: Context) -> str:
    a = arguments[0]
    kind = a.type.kind
    if kind in INTERVALS:
        mean = f"round({call('sum', interval_count(a))} / CAST({call('count', a.sql)} AS DOUBLE))"
        return f"CASE WHEN {call('count', a.sql)} > 0 THEN {interval_of(f'CAST({mean} AS BIGINT)', a.type)} END"
    if kind is Kind.DECIMAL:
        type_ = _avg_type(arguments) if context.spark else _flink_avg_type(arguments)
        return _decimal_average(_decimal_total(call, a), call("count", a.sql), a.type, type_, context)
    if kind in INTEGERS and not context.spark:  # Flink's average of integers is one
        name = integers.SQL_NAMES[kind]
        return f"CAST({call('sum', a.sql)} // nullif({call('count', a.sql)}, 0) AS {name})"
    average = call("avg", a.sql)
    return f"CAST({average} AS FLOAT)" if kind is Kind.FLOAT and not context.spark else average


def _decimal_average(total: str, count: str, source: DataType, to: DataType, context: Context) -> str:
    from bergsql.engine.plan.decimals import decimal_operation

    whole = DataType(Kind.DECIMAL, 38, source.scale or 0)
    a = Bound(f"CAST({total} AS DECIMAL(38,{source.scale or 0}))", whole, "")
    b = Bound(f"CAST(nullif({count}, 0) AS DECIMAL(20,0))", DataType(Kind.DECIMAL, 20, 0), "", constant=object())
    return decimal_operation("/", (a, a.type), (b, b.type), to, context)


def _single_value(call: Call, arguments: list[Bound], context: Context) -> str:
    """Flink's SINGLE_VALUE: an error where there are several rows."""
    several = failure("SINGLE_VALUE is of one row, and there are %s.", call("count", "1"))
    return f"CASE WHEN {call('count', '1')} > 1 THEN {several} ELSE {call('any_value', arguments[0].sql)} END"


def _count(call: Call, arguments: list[Bound], context: Context) -> str:
    if len(arguments) == 1:
        one = arguments[0]
        return call("count", one.sql) if one.type.kind is not Kind.NULL else "CAST(0 AS BIGINT)"
    # Rows where none is NULL.
    there = " AND ".join(f"{a.sql} IS NOT NULL" for a in arguments)
    return call("count", f"CASE WHEN {there} THEN ({', '.join(a.sql for a in arguments)}) END")


def _list(call: Call, arguments: list[Bound], context: Context) -> str:
    return f"coalesce({call('list', arguments[0].sql)}, [])"


def _set(call: Call, arguments: list[Bound], context: Context) -> str:
    return f"coalesce(list_distinct({call('list', arguments[0].sql)}), [])"


def _array(arguments: Sequence[Bound]) -> DataType:
    return array_of(arguments[0].type)


def _first(duck: str) -> Callable[[Call, list[Bound], Context], str]:
    """The first or last value. Flink leaves NULLs out, Spark if TRUE follows."""

    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        ignore = not context.spark
        if len(arguments) > 1:
            told = arguments[1].constant
            if not isinstance(told, bool):
                raise BergError(ErrorCode.INVALID, "The second argument, whether to ignore NULLs, is TRUE or FALSE.")
            ignore = told
        return call(duck, arguments[0].sql, ignore_nulls=ignore)

    return made


def _quantile_disc(call: Call, arguments: list[Bound], context: Context) -> str:
    check_fraction(arguments[1])
    return call("quantile_disc", arguments[0].sql, arguments[1].sql)


def _approx_percentile(call: Call, arguments: list[Bound], context: Context) -> str:
    check_fraction(arguments[1])
    if len(arguments) > 2:
        accuracy = arguments[2].constant
        if not isinstance(accuracy, int) or isinstance(accuracy, bool) or accuracy < 1:
            raise BergError(ErrorCode.INVALID, "The accuracy of a percentile is a literal number above 0.")
    return call("quantile_disc", arguments[0].sql, arguments[1].sql)


def check_fraction(fraction: Bound) -> None:
    """What DuckDB takes as a fraction: a literal from 0 to 1, or an array of such (which is looked at when it runs)."""
    kind = fraction.type.children[0].type.kind if fraction.type.kind is Kind.ARRAY else fraction.type.kind
    if kind not in NUMBERS:
        raise BergError(ErrorCode.TYPE, f"The fraction of a percentile is a number from 0 to 1, not {kind.value}.")
    if fraction.type.kind is Kind.ARRAY:
        return
    if not isinstance(fraction.constant, int | float | Decimal):
        raise not_supported("A percentile whose fraction is not a literal")
    if not 0 <= fraction.constant <= 1:
        raise BergError(ErrorCode.INVALID, "The fraction of a percentile is a number from 0 to 1.")


def _quantile_disc_type(arguments: Sequence[Bound]) -> DataType:
    return array_of(DOUBLE) if arguments[1].type.kind is Kind.ARRAY else DOUBLE


def _discrete_type(arguments: Sequence[Bound]) -> DataType:
    return array_of(arguments[0].type) if arguments[1].type.kind is Kind.ARRAY else arguments[0].type


def _listagg(call: Call, arguments: list[Bound], context: Context) -> str:
    default = "''" if context.spark else "','"
    if len(arguments) < 2 or arguments[1].is_constant:
        return call("string_agg", arguments[0].sql, arguments[1].sql if len(arguments) > 1 else default)
    # Flink joins with the separator of the last row that has a text; DuckDB takes a literal only.
    from bergsql.engine.plan.sql_text import joined

    text, separator = (a.sql for a in arguments)
    texts = f"list_filter({call('list', text)}, lambda t: t IS NOT NULL)"
    last = call("last", f"CASE WHEN {text} IS NOT NULL THEN coalesce({separator}, '') END", ignore_nulls=True)
    return joined(f"nullif({texts}, [])", last)


def _count_if(call: Call, arguments: list[Bound], context: Context) -> str:
    return f"CAST({call('count_if', f'coalesce({arguments[0].sql}, FALSE)')} AS BIGINT)"


def _distinct(call: Call, arguments: list[Bound], context: Context) -> str:
    """The second argument, how far off it may be, is a literal; DuckDB's sketch has one size."""
    if len(arguments) > 1 and not isinstance(arguments[1].constant, int | float | Decimal):
        raise BergError(ErrorCode.INVALID, "The second argument, how far off the number may be, is a literal number.")
    return call("approx_count_distinct", arguments[0].sql)


def _grouping(call: Call, arguments: list[Bound], context: Context) -> str:
    _check_grouped(arguments, context)
    name = "TINYINT" if context.spark else "BIGINT"
    return f"CAST(GROUPING({', '.join(a.sql for a in arguments)}) AS {name})"


def _grouping_id(call: Call, arguments: list[Bound], context: Context) -> str:
    _check_grouped(arguments, context)
    keys = [a.sql for a in arguments] or list(context.group_keys)
    if not keys:
        raise BergError(ErrorCode.INVALID, "GROUPING_ID needs a GROUP BY.")
    return f"CAST(GROUPING({', '.join(keys)}) AS BIGINT)"


def _extreme(word: str) -> Callable[[Call, list[Bound], Context], str]:
    """MIN and MAX; of rows and arrays by their ordering keys."""

    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        from bergsql.engine.plan.nested_order import key_of

        value = arguments[0]
        key = key_of(value)
        return call(word, value.sql) if key == value.sql else call(f"arg_{word}", value.sql, key)

    return made


def _by_key(duck: str) -> Callable[[Call, list[Bound], Context], str]:
    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        from bergsql.engine.plan.nested_order import key_of

        return call(duck, arguments[0].sql, key_of(arguments[1]))

    return made


def _mode(call: Call, arguments: list[Bound], context: Context) -> str:
    """The most frequent value; of several that are, with TRUE behind, the least."""
    value = arguments[0]
    told = arguments[1].constant if len(arguments) > 1 else False
    if not isinstance(told, bool):
        raise BergError(ErrorCode.INVALID, "The second argument of MODE, whether the least counts, is TRUE or FALSE.")
    if not told:
        return call("mode", value.sql)
    from bergsql.engine.plan.nested_order import sorted_list
    from bergsql.engine.plan.sql_text import let

    # DuckDB has no order within a window's function: the values are counted in their order.
    return let(call("list", value.sql), lambda x: f"list_mode({sorted_list(x, value.type, 'ASC', 'LAST')})")


def _group_id(call: Call, arguments: list[Bound], context: Context) -> str:
    """Which one of several equal grouping sets a row is of: 0 where all differ."""
    if not context.group_keys:
        raise BergError(ErrorCode.INVALID, "GROUP_ID needs a GROUP BY.")
    if context.repeats_sets:
        raise not_supported("GROUP_ID with grouping sets of which two may be the same")
    return call("min", "CAST(0 AS BIGINT)")


def _check_grouped(arguments: list[Bound], context: Context) -> None:
    if any(a.sql not in context.group_keys for a in arguments):
        raise BergError(ErrorCode.INVALID, "GROUPING takes what the query groups by.", hint="GROUP BY CUBE (…), say.")


def _corr(call: Call, arguments: list[Bound], context: Context) -> str:
    """NULL where one side does not vary. DuckDB's is NaN there, as it is of NaNs."""
    a, b = (x.sql for x in arguments)

    def varies(x: str) -> str:
        paired = f"CASE WHEN {a} IS NOT NULL AND {b} IS NOT NULL THEN {x} END"
        low, high = call("min", paired), call("max", paired)
        return f"({low} <> {high} OR isnan({high}))"

    return f"CASE WHEN {varies(a)} AND {varies(b)} THEN {call('corr', a, b)} END"


FUNCTIONS: tuple[Function, ...] = (
    Aggregate("count", "fs", "a+", BIGINT, _count),
    Aggregate("sum", "s", "N", spark_sum_type, _sum),
    Aggregate("sum", "f", "n", _flink_sum_type, _sum),
    Aggregate("avg mean try_avg", "s", "N", _avg_type, _avg),
    Aggregate("avg mean try_avg", "f", "n", _flink_avg_type, _avg),
    Aggregate("min", "fs", "a", 0, _extreme("min")),
    Aggregate("max", "fs", "a", 0, _extreme("max")),
    Aggregate("stddev stddev_samp", "fs", "d", DOUBLE, "stddev_samp"),
    Aggregate("std", "s", "d", DOUBLE, "stddev_samp"),
    Aggregate("stddev_pop", "fs", "d", DOUBLE, "stddev_pop"),
    Aggregate("variance var_samp", "fs", "d", DOUBLE, "var_samp"),
    Aggregate("var_pop", "fs", "d", DOUBLE, "var_pop"),
    Aggregate("corr", "s", "dd", DOUBLE, _corr),
    Aggregate("covar_pop", "fs", "dd", DOUBLE, "covar_pop"),
    Aggregate("covar_samp", "fs", "dd", DOUBLE, "covar_samp"),
    Aggregate("collect_list array_agg", "s", "a", _array, _list, keeps_nulls=False),
    Aggregate("collect_set", "s", "a", _array, _set, keeps_nulls=False),
    Aggregate("array_agg", "f", "a", _array, "list"),
    Aggregate("first first_value any_value", "s", "ab?", 0, _first("first"), may_ignore_nulls=True),
    Aggregate("last last_value", "s", "ab?", 0, _first("last"), may_ignore_nulls=True),
    Aggregate("first_value", "f", "a", 0, _first("first"), may_ignore_nulls=True),
    Aggregate("last_value", "f", "a", 0, _first("last"), may_ignore_nulls=True),
    Aggregate("single_value", "f", "a", 0, _single_value),
    Aggregate("count_if", "s", "b", BIGINT, _count_if),
    Aggregate("bool_and every", "s", "b", BOOLEAN, "bool_and"),
    Aggregate("bool_or some any", "s", "b", BOOLEAN, "bool_or"),
    Aggregate("every", "f", "b", BOOLEAN, "bool_and"),
    Aggregate("some", "f", "b", BOOLEAN, "bool_or"),
    Aggregate("any_value", "f", "a", 0, "any_value"),
    Aggregate("max_by", "s", "aa", 0, _by_key("arg_max_null")),
    Aggregate("min_by", "s", "aa", 0, _by_key("arg_min_null")),
    Aggregate("mode", "s", "ab?", 0, _mode),
    Aggregate("percentile_disc", "s", "da", _quantile_disc_type, _quantile_disc),
    Aggregate("percentile_approx approx_percentile", "s", "aaa?", _discrete_type, _approx_percentile),
    Aggregate("approx_count_distinct", "fs", "ad?", BIGINT, _distinct),
    Aggregate("listagg", "fs", "tt?", STRING, _listagg),
    Aggregate("string_agg", "s", "tt?", STRING, _listagg),
    Aggregate("bit_and", "fs", "I", 0, "bit_and"),
    Aggregate("bit_or", "fs", "I", 0, "bit_or"),
    Aggregate("bit_xor", "fs", "I", 0, "bit_xor"),
    Aggregate("grouping", "s", "a", DataType(Kind.TINYINT), _grouping),
    Aggregate("grouping", "f", "a", BIGINT, _grouping),
    Aggregate("group_id", "f", "", BIGINT, _group_id),
    Aggregate("grouping_id", "fs", "a*", BIGINT, _grouping_id),
)
