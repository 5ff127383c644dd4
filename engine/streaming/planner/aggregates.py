"""GROUP BY: keys and arguments as columns, the calls as the node knows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import not_supported
from bergsql.engine.sql.types import BIGINT, BOOLEAN
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import AggregateCall, AggregateNode
from bergsql.engine.streaming.planner.attributes import only_inserts
from bergsql.engine.streaming.planner.build import Stream
from bergsql.engine.streaming.planner.ordering import sort_keys
from bergsql.engine.streaming.planner.ranks import settle
from bergsql.engine.streaming.planner.sql_columns import column_at
from bergsql.engine.streaming.planner.types_of import literal_text, types_of

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.calls_taken import TakenCall
    from bergsql.engine.sql.types import DataType
    from bergsql.engine.streaming.planner.build import Building
    from bergsql.engine.streaming.planner.calls import Calls

_FUNCTIONS = {
    "string_agg": "listagg",
    "list": "array_agg",
    "first": "first_value",
    "last": "last_value",
    "count_if": "count",
    "approx_count_distinct": "count",
}
"""What those of DuckDB's aggregates are for the node that it calls otherwise."""


_WHOLE = frozenset({"quantile_disc", "quantile_cont", "mode", "arg_min", "arg_max", "arg_min_null", "arg_max_null"})
"""Those that need all values of a group."""


def aggregate(stream: Stream, calls: Calls, node: exp.Expr, building: Building) -> tuple[Stream, list[int]]:
    """The stream grouped, and where the keys and then the aggregates are in it."""
    if calls.sets:
        from bergsql.engine.streaming.planner.grouping_sets import expanded

        stream, keys = expanded(stream, calls, building)
    else:
        wanted = [(k.sql, StreamColumn(k.name or "", k.type, k.nullable)) for k in calls.keys]
        stream, keys = building.with_columns(stream, wanted)
    made: list[AggregateCall] = []
    results = result_types(calls.aggregates, stream, building)
    for call, type_ in zip(calls.aggregates, results, strict=True):
        stream, ready = ready_call(stream, call, type_, building)
        made.append(ready)
    window = stream.window
    if window is not None and not window.closed and {window.start, window.end} <= set(keys):
        from bergsql.engine.streaming.planner.windows import window_aggregate

        return window_aggregate(stream, keys, made, node, building)
    stream = settle(stream, building)
    return _grouped(stream, keys, made, building)


def _grouped(
    stream: Stream, keys: list[int], calls: list[AggregateCall], building: Building
) -> tuple[Stream, list[int]]:
    unique = list(dict.fromkeys(keys))
    stream, unique, calls = _narrowed(stream, unique, calls, building)
    below = stream.node
    columns = [below.columns[n]._replace(rowtime=False, proctime=False) for n in unique]
    columns += [StreamColumn(c.function, c.type, c.function != "count") for c in calls]
    mode = ChangelogMode.INSERT_ONLY if not calls and only_inserts(below) else ChangelogMode.RETRACT
    made = AggregateNode(
        uid="",
        inputs=(below,),
        columns=tuple(columns),
        mode=mode,
        key=tuple(range(len(unique))),
        keys=tuple(unique),
        calls=tuple(calls),
    )
    order = {old: n for n, old in enumerate(dict.fromkeys(keys))}
    at = [order[k] for k in keys] + [len(unique) + n for n in range(len(calls))]
    return Stream(made), at


def _narrowed(
    stream: Stream, keys: list[int], calls: list[AggregateCall], building: Building
) -> tuple[Stream, list[int], list[AggregateCall]]:
    """The stream without the columns that neither keys nor calls read."""
    used = set(keys)
    for call in calls:
        used |= {*call.arguments, *(n for n, _ in call.order)} | ({call.filter} if call.filter is not None else set())
    if used == set(range(len(stream.columns))):
        return stream, keys, calls
    kept = sorted(used)
    by = {old: n for n, old in enumerate(kept)}
    stream = building.calc(stream, [(f"i.c{n}", stream.columns[n]) for n in kept])
    return stream, [by[k] for k in keys], [moved_call(c, by) for c in calls]


def moved_call(call: AggregateCall, by: dict[int, int]) -> AggregateCall:
    from dataclasses import replace

    return replace(
        call,
        arguments=tuple(by[n] for n in call.arguments),
        filter=by[call.filter] if call.filter is not None else None,
        order=tuple((by[n], d) for n, d in call.order),
    )


def result_types(calls: list[TakenCall], stream: Stream, building: Building) -> list[DataType]:
    """What DuckDB gives for each call."""
    if not calls:
        return []
    sql = [f"{c.duck}({', '.join(c.arguments)})" for c in calls]
    return types_of(sql, stream.columns, building.relations)


def ready_call(stream: Stream, call: TakenCall, type_: DataType, building: Building) -> tuple[Stream, AggregateCall]:
    """A call over columns of the stream, which gets those that it lacks."""
    function = _FUNCTIONS.get(call.duck, call.duck)
    arguments = list(call.arguments)
    conditions = list(call.conditions)
    separator = None
    if call.duck == "string_agg":
        separator = literal_text(arguments.pop())
        if separator is None:
            raise not_supported(f"{call.name.upper()} with a separator that is not a literal, in a stream", call.span)
    if call.duck == "count_if":
        conditions.append(arguments.pop())
    if call.ignore_nulls or call.duck == "any_value":
        conditions.append(f"({arguments[0]} IS NOT NULL)")
    if call.duck == "count" and arguments and not call.distinct and _is_constant(arguments[0]):
        arguments = []
    types = types_of(arguments, stream.columns, building.relations) if arguments else []
    wanted = [(a, StreamColumn("", t)) for a, t in zip(arguments, types, strict=True)]
    if conditions:
        wanted.append((" AND ".join(conditions), StreamColumn("", BOOLEAN)))
    stream, places = building.with_columns(stream, wanted)
    order: tuple[tuple[int, bool], ...] = ()
    if call.order:
        stream, keys = sort_keys(stream, call.order, building)
        order = tuple((k.position, k.descending) for k in keys)
    ready = AggregateCall(
        function,
        tuple(places[: len(arguments)]),
        BIGINT if function == "count" else type_,
        call.distinct or call.duck == "approx_count_distinct",
        places[-1] if conditions else None,
        separator,
        order,
    )
    if call.duck in _WHOLE:
        raise not_supported(f"{call.name.upper()} in a stream", call.span)
    from bergsql.engine.streaming.operators.aggregate_rules import unsupported

    reason = unsupported(ready, stream.node.mode)
    if reason is not None:
        raise not_supported(f"{call.name.upper()} in a stream", call.span, reason)
    return stream, ready


def _is_constant(sql: str) -> bool:
    return sql == "*" or (sql.isdigit() and column_at(sql) is None)
