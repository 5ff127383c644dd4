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
_ALL_IN_ORDER: Final = "It is of all values of a group in order, which would have to be read again with each change."
_WHOLE: Final = {
    **dict.fromkeys(("percentile", "percentile_cont", "percentile_disc", "percentile_approx", "median"), _ALL_IN_ORDER),
    **dict.fromkeys(("quantile_cont", "quantile_disc"), _ALL_IN_ORDER),
    "mode": "It is of all values of a group, which would have to be read again with each change.",
}


def unsupported(call: AggregateCall, mode: ChangelogMode) -> str | None:
    """Why a call cannot be computed over an input of ``mode`` change by change, a sentence; None where it can."""
    if call.function not in FUNCTIONS:
        return _WHOLE.get(call.function, "Nothing is known of it by which changes could be brought in.")
    if call.order:
        return "In a stream values are taken in the order in which they come, not in that of ORDER BY."
    if call.function in ("listagg", "string_agg") and len(call.arguments) > 1:
        return "In a stream the separator is a literal."
    if mode is ChangelogMode.UPSERT:
        return "The rows' values before a change are not known."
    return None


def lay_out(layout: Layout, call: AggregateCall) -> Result:
    """Bring a call into a layout; how its result is made of the state."""
    from dataclasses import replace
    from importlib import import_module

    from bergsql.engine.streaming.operators.accumulators.layout import Term

    distinct = (call.distinct or call.function in _DISTINCT) and call.function not in _NO_MATTER
    place = "listed_distinct.of_distinct" if distinct and layout.merges else FUNCTIONS[call.function]
    module, name = place.split(".")
    make = getattr(import_module(f"bergsql.engine.streaming.operators.accumulators.{module}"), name)
    result: Result = make(Term(layout, replace(call, distinct=distinct)))
    return result
