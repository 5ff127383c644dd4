"""DISTINCT in sessions: the values are kept as a list in the state, which goes along when sessions become one."""

from __future__ import annotations

from typing import Final

from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.operators.accumulators.layout import Result, Term

_OTHERS: Final = {"mean": "avg", "variance": "var_samp", "stddev": "stddev_samp", "std": "stddev_samp"}


def of_distinct(term: Term) -> Result:
    """A function of the distinct values that are not NULL. Those of ARRAY_AGG and the like are in no order."""
    type_ = f"{duckdb_name(term.type)}[]"
    delta = term.delta(f"list(DISTINCT {term.x})", f"{term.x} IS NOT NULL")
    values = term.merged(type_, delta, f"list_distinct(list_concat(OLD, {delta}))")
    name = term.call.function
    if name in ("count", "approx_count_distinct"):
        return lambda s: f"coalesce(len({s(values)}), 0)"
    if name in ("listagg", "string_agg"):
        separator = string_literal("," if term.call.separator is None else term.call.separator)
        return lambda s: f"array_to_string({s(values)}, {separator})"
    if name in ("array_agg", "collect_list", "collect_set"):
        return lambda s: s(values) if name == "array_agg" else f"coalesce({s(values)}, [])"
    if name in ("first", "first_value", "last", "last_value", "single_value"):
        return lambda s: f"{s(values)}[1]"
    return lambda s: f"list_aggregate({s(values)}, '{_OTHERS.get(name, name)}')"
