"""Which aggregates a stream can have, and why not the others.

Functions are named as in :class:`AggregateCall`. What differs between the flavours the planner says otherwise: whether
NULLs count for FIRST_VALUE, LAST_VALUE and ARRAY_AGG (they do, unless the call's filter leaves them out), and by the
result's type how sums wrap and averages are rounded. ``collect_list`` and ``collect_set`` leave NULLs out themselves,
and give an empty list for none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bergsql.engine.streaming.changelog import ChangelogMode

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import AggregateCall
    from bergsql.engine.streaming.operators.accumulators.layout import Layout, Result

FUNCTIONS: Final = {
    "count": "numbers.count",
    "count_if": "numbers.count_if",
    "approx_count_distinct": "numbers.count",
    "sum": "numbers.sum_",
    "avg": "numbers.avg",
    "mean": "numbers.avg",
    "var_pop": "numbers.var_pop",
    "var_samp": "numbers.var_samp",
    "variance": "numbers.var_samp",
    "stddev_pop": "numbers.stddev_pop",
    "stddev_samp": "numbers.stddev_samp",
    "stddev": "numbers.stddev_samp",
    "std": "numbers.stddev_samp",
    "min": "values.least",
    "max": "values.greatest",
    "bool_and": "values.bool_and",
    "every": "values.bool_and",
    "bool_or": "values.bool_or",
    "some": "values.bool_or",
    "any": "values.bool_or",
    "bit_and": "values.bit_and",
    "bit_or": "values.bit_or",
    "bit_xor": "values.bit_xor",
    "first": "values.first",
    "first_value": "values.first",
    "last": "values.last",
    "last_value": "values.last",
    "any_value": "values.any_value",
    "single_value": "values.single",
    "array_agg": "values.array",
    "collect_list": "values.collected",
    "collect_set": "values.collected",
    "listagg": "values.listed",
    "string_agg": "values.listed",
}
"""Each function's place in :mod:`bergsql.engine.streaming.operators.accumulators`."""

_DISTINCT: Final = frozenset({"approx_count_distinct", "collect_set"})
"""Functions that are of distinct values by themselves."""
_NO_MATTER: Final = frozenset(
    {"min", "max", "bool_and", "every", "bool_or", "some", "any", "bit_and", "bit_or", "any_value"}
)
"""Functions of which DISTINCT changes nothing."""
_WHOLE: Final = {
    "percentile": "it is of all values of a group in order",
    "percentile_cont": "it is of all values of a group in order",
    "percentile_disc": "it is of all values of a group in order",
    "percentile_approx": "it is of all values of a group in order",
    "median": "it is of all values of a group in order",
    "mode": "it is of all values of a group",
    "grouping_id": "GROUPING SETS of a stream are not",
    "grouping": "GROUPING SETS of a stream are not",
}


def unsupported(call: AggregateCall, mode: ChangelogMode) -> str | None:
    """Why a call cannot be computed over an input of ``mode`` change by change; None where it can."""
    name = call.function.upper()
    if call.function not in FUNCTIONS:
        reason = _WHOLE.get(call.function, "it cannot be brought up to date by changes")
        return f"{name} in a stream: {reason}"
    if call.order:
        return f"{name} with ORDER BY in a stream: values are taken in the order in which they come"
    if call.function in ("listagg", "string_agg") and len(call.arguments) > 1:
        return f"{name} in a stream with a separator that is no literal"
    if mode is ChangelogMode.UPSERT:
        return f"{name} over rows without their values before the change"
    return None


def lay_out(layout: Layout, call: AggregateCall) -> Result:
    """Bring a call into a layout; how its result is made of the state."""
    from dataclasses import replace
    from importlib import import_module

    from bergsql.engine.streaming.operators.accumulators.layout import Term

    distinct = (call.distinct or call.function in _DISTINCT) and call.function not in _NO_MATTER
    module, name = FUNCTIONS[call.function].split(".")
    make = getattr(import_module(f"bergsql.engine.streaming.operators.accumulators.{module}"), name)
    result: Result = make(Term(layout, replace(call, distinct=distinct)))
    return result
