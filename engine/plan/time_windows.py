"""Windows of time over bounded tables: Flink's TUMBLE, HOP and CUMULATE in FROM, Spark's ``window(ts, '5 minutes')``.

See "Windowing table-valued functions" in Flink's documentation, and ``window`` in Spark's list of functions. Each row
is joined with the windows that its time is in: one without a time is in none.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.calls import call_name, name_span
from bergsql.engine.plan.context import Context, Cte, OutputColumn, Planner
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.from_clause import alias_of, bind_relation, derive
from bergsql.engine.plan.intervals import interval_of_text, micros_of
from bergsql.engine.plan.resolve import column_of
from bergsql.engine.plan.scope import Scope, Source, SourceColumn
from bergsql.engine.plan.sql_text import let
from bergsql.engine.plan.zones import instant
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.types import STAMPS, DataType, Field, Kind

STAMP3 = DataType(Kind.TIMESTAMP, 3)


class Lengths(NamedTuple):
    """The lengths of windows in microseconds: one starts every ``slide``, counted from ``offset`` after 1970."""

    size: int
    slide: int
    offset: int = 0


def sliding(at: str, lengths: Lengths) -> str:
    """SQL of a list of the windows (start and end in microseconds) that the microsecond ``at`` is in."""
    size, slide, offset = lengths

    def made(x: str) -> str:
        last = f"({x} - ((({x} - ({offset})) % {slide}) + {slide}) % {slide})"
        starts = f"list_transform(range({-(-size // slide)}), lambda i: {last} - i * {slide})"
        kept = f"list_filter({starts}, lambda s: s + {size} > {x})"
        return f"list_transform({kept}, lambda s: struct_pack(s := s, e := s + {size}))"

    return let(at, made)


def growing(at: str, lengths: Lengths) -> str:
    """CUMULATE's: all begin with the longest, and each is a step longer."""
    size, step, offset = lengths

    def made(x: str) -> str:
        start = f"({x} - ((({x} - ({offset})) % {size}) + {size}) % {size})"
        ends = f"list_transform(range(1, {size // step} + 1), lambda i: {start} + i * {step})"
        kept = f"list_filter({ends}, lambda e: e > {x})"
        return f"list_transform({kept}, lambda e: struct_pack(s := {start}, e := e))"

    return let(at, made)


# --- Flink's, in FROM -------------------------------------------------------------------------------------------------

_PARAMETERS = {
    "TUMBLE": ("DATA", "TIMECOL", "SIZE", "OFFSET"),
    "HOP": ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET"),
    "CUMULATE": ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET"),
    "SESSION": ("DATA", "TIMECOL", "GAP", ""),
}


def bind_window_function(
    call: exp.Expr, node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]
) -> str:
    """``TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' MINUTES))`` and its like.

    :raises BergError: UNSUPPORTED for SESSION, which Flink has for streams only.
    """
    name = call_name(call).upper()
    if name == "SESSION":
        raise not_supported(f"The window function {name}", span_of(node))
    arguments = window_arguments(call, name)
    inner = Scope(scope.flavour, scope.parent)
    sql = bind_relation(window_table(arguments["DATA"], name), inner, planner, ctes)
    context = Context(planner, inner, "FROM", ctes, aggregates_allowed=False, windows_allowed=False)
    time = descriptor(arguments["TIMECOL"], name, context)
    lengths = flink_lengths(arguments, name, context)
    local = f"CAST({time.sql} AS TIMESTAMP)" if time.type.kind is Kind.TIMESTAMP_LTZ else time.sql
    windows = (growing if name == "CUMULATE" else sliding)(f"epoch_us({local})", lengths)
    at = identifier(planner.alias("windows"))
    columns = inner.all_columns()
    for column in columns:
        planner.note_read(column_of(column, column.name))
    end = f"make_timestamp({at}.w.e)"
    last = f"make_timestamp({at}.w.e - 1000)"
    if time.type.kind is Kind.TIMESTAMP_LTZ:
        last = instant(last, planner.relations.time_zone)
    items = [c.sql for c in columns] + [f"make_timestamp({at}.w.s)", end, last]
    output = [OutputColumn(c.name, c.type, c.nullable) for c in columns]
    output += [OutputColumn("window_start", STAMP3, False), OutputColumn("window_end", STAMP3, False)]
    output.append(OutputColumn("window_time", DataType(time.type.kind, 3), False))
    alias, names = alias_of(node)
    joined = f"(SELECT {', '.join(items)} FROM {sql}, LATERAL (SELECT unnest({windows}) AS w) AS {at})"
    answers_to = (alias,) if alias else ()
    return derive(joined, output, alias or name.lower(), answers_to, names, scope, planner, span_of(node))


def window_arguments(call: exp.Expr, name: str) -> dict[str, exp.Expr]:
    """The arguments by their names; they may be written with ``name =>``."""
    parameters = _PARAMETERS[name]
    given: dict[str, exp.Expr] = {}
    for position, argument in enumerate(call.expressions):
        key = parameters[position] if position < len(parameters) else ""
        value = argument
        if isinstance(argument, exp.Kwarg):
            key, value = str(argument.this.name).upper(), argument.expression
            if not key or key not in parameters:
                message = f"{name} has no argument {key}."
                raise BergError(ErrorCode.INVALID, message, span=span_of(argument), hint=did_you_mean(key, parameters))
        if not key or key in given:
            raise BergError(ErrorCode.ARITY, _usage(name), span=name_span(call))
        given[key] = value
    if any(p not in given for p in parameters[:-1]):
        raise BergError(ErrorCode.ARITY, _usage(name), span=name_span(call))
    return given


def _usage(name: str) -> str:
    lengths = ", ".join(p.lower() for p in _PARAMETERS[name][2:-1])
    offset = " and an offset, which may be left out" if _PARAMETERS[name][-1] else ""
    return f"{name} takes TABLE t, DESCRIPTOR(time column), {lengths}{offset}."


def window_table(argument: exp.Expr, name: str) -> exp.Expr:
    """The relation that is the first argument of a window function."""
    if isinstance(argument, exp.Subquery):
        return argument
    is_table = isinstance(argument, exp.Anonymous) and call_name(argument).upper() == "TABLE"
    alone = is_table and (len(argument.expressions) == 1 or (name == "SESSION" and argument.expressions))
    column = argument.expressions[0] if alone else None
    if not isinstance(column, exp.Column):
        raise BergError(ErrorCode.INVALID, f"The first argument of {name} is a table: TABLE t.", span=span_of(argument))
    parts = {"this": column.this, "db": column.args.get("table"), "catalog": column.args.get("db")}
    return exp.Table(**{k: v.copy() for k, v in parts.items() if v is not None})


def descriptor(argument: exp.Expr, name: str, context: Context) -> Bound:
    """The time column that DESCRIPTOR names."""
    is_one = isinstance(argument, exp.Anonymous) and call_name(argument).upper() == "DESCRIPTOR"
    if not is_one or len(argument.expressions) != 1:
        message = f"The second argument of {name} is the time column: DESCRIPTOR(ts)."
        raise BergError(ErrorCode.INVALID, message, span=span_of(argument))
    time = bind(argument.expressions[0], context)
    return _checked_time(time, name, argument)


def _checked_time(time: Bound, name: str, place: exp.Expr) -> Bound:
    if time.type.kind not in STAMPS:
        message = f"{name} takes a timestamp, not {time.type.kind.value}."
        raise BergError(ErrorCode.TYPE, message, span=span_of(place))
    return time


def flink_lengths(arguments: Mapping[str, exp.Expr], name: str, context: Context) -> Lengths:
    """The lengths of Flink's windows; the gap of SESSION is its size."""

    def length(key: str) -> int:
        micros = micros_of(bind(arguments[key], context))
        if micros is None or (key != "OFFSET" and micros <= 0):
            message = (
                f"The {key.lower()} of {name} is a literal interval of days and time, such as INTERVAL '5' MINUTES."
            )
            raise BergError(ErrorCode.INVALID, message, span=span_of(arguments[key]))
        return micros

    if name == "SESSION":
        return Lengths(length("GAP"), 0)
    size = length("SIZE")
    offset = length("OFFSET") if "OFFSET" in arguments else 0
    step = length("SLIDE" if name == "HOP" else "STEP") if name != "TUMBLE" else size
    if name == "CUMULATE" and size % step:
        message = "The size of CUMULATE is a multiple of its step."
        raise BergError(ErrorCode.INVALID, message, span=span_of(arguments["SIZE"]))
    return Lengths(size, step, offset)


# --- Spark's, among expressions ---------------------------------------------------------------------------------------


def bind_spark_windows(node: exp.Expr, scope: Scope, context: Context) -> tuple[exp.Expr, str]:
    """The SELECT with ``window(…)`` replaced by the column ``window``, and what joins that column to its FROM.

    :raises BergError: INVALID for two different windows, and for lengths that do not fit.
    """
    node = node.copy()
    calls = window_calls(node)
    first = calls[0]
    other = next((c for c in calls if c.sql() != first.sql()), None)
    if other is not None:
        message = "A query has one window of time only."
        raise BergError(ErrorCode.INVALID, message, span=name_span(other))
    if not 2 <= len(first.expressions) <= 4:
        message = f"WINDOW takes 2 to 4 arguments, not {len(first.expressions)}."
        raise BergError(ErrorCode.ARITY, message, span=name_span(first))
    time, *lengths = first.expressions
    inner = Context(context.planner, scope, "GROUP BY", context.ctes, aggregates_allowed=False, windows_allowed=False)
    bound = bind(time, inner)
    if bound.type.kind not in STAMPS:
        from bergsql.engine.plan.arguments import fit_arguments

        bound = fit_arguments("S", "window", [bound], inner, name_span(first), [time])[0]
    windows = sliding(f"epoch_us({bound.sql})", _spark_lengths(lengths, inner))
    alias = identifier(context.planner.alias("window"))
    type_ = DataType(bound.type.kind, 6)
    made = "make_timestamptz" if type_.kind is Kind.TIMESTAMP_LTZ else "make_timestamp"
    struct = f'struct_pack("start" := {made}(w.s), "end" := {made}(w.e))'
    row = DataType(Kind.ROW, children=(Field("start", type_), Field("end", type_)))
    scope.star = scope.all_columns()  # a star does not stand for it
    scope.add(Source((), [SourceColumn("window", f"{alias}.w", row, False)]))
    for call in calls:
        column = exp.Column(this=exp.Identifier(this="window", quoted=False))
        column.this.meta.update(call.meta)
        call.replace(column)
    return node, f", LATERAL (SELECT {struct} AS w FROM (SELECT unnest({windows}) AS w)) AS {alias}"


def window_calls(node: exp.Expr) -> list[exp.Expr]:
    """The calls of WINDOW in a SELECT itself, not in its subqueries."""
    found: list[exp.Expr] = []
    for key in ("expressions", "where", "group", "having", "qualify", "order"):
        value = node.args.get(key)
        for part in value if isinstance(value, list) else [value]:
            if not isinstance(part, exp.Expr):
                continue
            for inner in part.walk(prune=lambda n: isinstance(n, exp.Query)):
                if isinstance(inner, exp.Anonymous) and isinstance(inner.this, str) and inner.this.lower() == "window":
                    found.append(inner)
    return found


def _spark_lengths(nodes: list[exp.Expr], context: Context) -> Lengths:
    micros: list[int] = []
    for node, word in zip(nodes, ("length", "slide", "start"), strict=False):
        bound = bind(node, context)
        if isinstance(bound.constant, str):
            bound = interval_of_text(bound.constant, node)
        count = micros_of(bound)
        if count is None or (count <= 0 and word != "start"):
            message = f"The {word} of a window is a literal such as '10 minutes', of days and time, not of months."
            raise BergError(ErrorCode.INVALID, message, span=span_of(node))
        micros.append(count)
    size = micros[0]
    slide = micros[1] if len(micros) > 1 else size
    start = micros[2] if len(micros) > 2 else 0
    if slide > size:
        raise BergError(ErrorCode.INVALID, "The slide of a window is no longer than it.", span=span_of(nodes[1]))
    if abs(start) >= slide:
        raise BergError(ErrorCode.INVALID, "The start of a window is less than its slide.", span=span_of(nodes[2]))
    return Lengths(size, slide, start)
