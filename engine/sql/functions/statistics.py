"""Aggregates of statistics: the shape of a distribution, linear regression, and sums that are NULL where they fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from bergsql.engine.plan.bound import Bound
from bergsql.engine.sql.functions.model import Aggregate, Function
from bergsql.engine.sql.types import BIGINT, DOUBLE, INTEGERS, DataType

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.sql.functions.model import Call


def _skewness(call: Call, arguments: list[Bound], context: Context) -> str:
    """Of the rows as they are; DuckDB's is an estimate for what they are a sample of. NULL where all are alike."""
    x = arguments[0].sql
    n, spread = call("count", x), call("var_pop", x)
    scaled = f"{call('skewness', x)} * ({n} - 2) / sqrt(CAST({n} AS DOUBLE) * ({n} - 1))"
    return f"CASE WHEN {spread} = 0 THEN NULL WHEN {n} = 2 THEN CAST(0 AS DOUBLE) ELSE {scaled} END"


def _paired(duck: str) -> Callable[[Call, list[Bound], Context], str]:
    return lambda call, arguments, context: call(duck, *(a.sql for a in arguments))


def _where_x_varies(duck: str) -> Callable[[Call, list[Bound], Context], str]:
    def made(call: Call, arguments: list[Bound], context: Context) -> str:
        pair = [a.sql for a in arguments]
        return f"CASE WHEN {call('regr_sxx', *pair)} > 0 THEN {call(duck, *pair)} END"

    return made


def _r2(call: Call, arguments: list[Bound], context: Context) -> str:
    """NULL where the first does not vary, else 1 where the second does not: as Spark has it."""
    pair = [a.sql for a in arguments]
    sxx, syy, sxy = (call(f"regr_{s}", *pair) for s in ("sxx", "syy", "sxy"))
    return (
        f"CASE WHEN {syy} = 0 THEN NULL WHEN {sxx} = 0 THEN CAST(1 AS DOUBLE) ELSE {sxy} * {sxy} / ({sxx} * {syy}) END"
    )


def _try_sum(call: Call, arguments: list[Bound], context: Context) -> str:
    from bergsql.engine.sql.functions.aggregates import spark_sum

    if arguments[0].type.kind in INTEGERS:
        return f"TRY_CAST({call('sum', arguments[0].sql)} AS BIGINT)"
    return spark_sum(call, arguments, context)


def _try_sum_type(arguments: Sequence[Bound]) -> DataType:
    from bergsql.engine.sql.functions.aggregates import spark_sum_type

    return spark_sum_type(arguments)


FUNCTIONS: tuple[Function, ...] = (
    Aggregate("kurtosis", "s", "d", DOUBLE, "kurtosis_pop"),
    Aggregate("skewness", "s", "d", DOUBLE, _skewness),
    Aggregate("regr_count", "fs", "dd", BIGINT, lambda c, a, x: f"CAST({_paired('regr_count')(c, a, x)} AS BIGINT)"),
    Aggregate("regr_avgx", "s", "dd", DOUBLE, "regr_avgx"),
    Aggregate("regr_avgy", "s", "dd", DOUBLE, "regr_avgy"),
    Aggregate("regr_sxx", "fs", "dd", DOUBLE, "regr_sxx"),
    Aggregate("regr_syy", "fs", "dd", DOUBLE, "regr_syy"),
    Aggregate("regr_sxy", "s", "dd", DOUBLE, "regr_sxy"),
    Aggregate("regr_slope", "s", "dd", DOUBLE, _where_x_varies("regr_slope")),
    Aggregate("regr_intercept", "s", "dd", DOUBLE, _where_x_varies("regr_intercept")),
    Aggregate("regr_r2", "s", "dd", DOUBLE, _r2),
    Aggregate("try_sum", "s", "N", _try_sum_type, _try_sum),
)
