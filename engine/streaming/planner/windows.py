"""Windows of time: Flink's functions in FROM and in GROUP BY, Spark's ``window``; and what groups by their bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.calls import call_name, name_span
from bergsql.engine.plan.intervals import micros_of
from bergsql.engine.plan.scope import Source, SourceColumn
from bergsql.engine.plan.time_windows import (
    STAMP3,
    Lengths,
    bind_spark_windows,
    descriptor,
    flink_lengths,
    growing,
    sliding,
    window_arguments,
    window_table,
)
from bergsql.engine.plan.zones import instant
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.types import DataType, Kind
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import WindowAggregateNode, WindowKind
from bergsql.engine.streaming.operators.window_times import allows_lateness
from bergsql.engine.streaming.planner.attributes import only_inserts
from bergsql.engine.streaming.planner.build import Stage, Stream, Windowed
from bergsql.engine.streaming.planner.from_clause import plan_relation, settled
from bergsql.engine.streaming.planner.sql_columns import column_at

if TYPE_CHECKING:
    from bergsql.catalog.errors import Span
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.streaming.nodes import AggregateCall
    from bergsql.engine.streaming.planner.build import Building
    from bergsql.engine.streaming.planner.queries import Ctes

NAMES = ("window_start", "window_end", "window_time")


def window_stream(call: exp.Expr, node: exp.Expr, building: Building, ctes: Ctes) -> Stream:
    """``TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), …))`` and its like: the rows, once for each window that they are in."""
    name = call_name(call).upper()
    arguments = window_arguments(call, name)
    stage = settled(plan_relation(window_table(arguments["DATA"], name), building, ctes), building)
    context = building.context(stage.scope, "FROM", aggregates=False, windows=False)
    time = descriptor(arguments["TIMECOL"], name, context)
    at = _time(time, stage, name, span_of(arguments["TIMECOL"]))
    lengths = flink_lengths(arguments, name, context)
    if name != "SESSION":
        return _assigned(stage.stream, at, lengths, building, grows=name == "CUMULATE")
    partition: list[int] = []
    from bergsql.engine.plan.expressions import bind

    written = arguments["DATA"]
    for column in written.expressions[1:] if isinstance(written, exp.Anonymous) else []:
        place = column_at(bind(column, context).sql)
        if place is None:
            message = "SESSION is partitioned by columns of its table."
            raise BergError(ErrorCode.INVALID, message, span=span_of(column))
        partition.append(place)
    return _session(stage.stream, at, lengths.size, tuple(partition), building, span_of(node))


def _time(time: Bound, stage: Stage, name: str, span: Span | None) -> int:
    """The position of a window's time, which is a rowtime."""
    at = column_at(time.sql)
    column = stage.stream.columns[at] if at is not None else None
    if at is not None and column is not None and column.rowtime:
        return at
    if column is not None and column.proctime:
        message = f"{name} by processing time is not supported yet: its windows would close with the clock."
        raise BergError(ErrorCode.UNSUPPORTED, message, span=span)
    raise BergError(
        ErrorCode.INVALID,
        f"The time of {name} in a stream is a column with a WATERMARK.",
        span=span,
        hint="WATERMARK FOR ts AS ts - INTERVAL '5' SECOND in CREATE TABLE; of an Iceberg table 'watermark-column'.",
    )


def _assigned(stream: Stream, at: int, lengths: Lengths, building: Building, *, grows: bool) -> Stream:
    time = stream.columns[at]
    zoned = time.type.kind is Kind.TIMESTAMP_LTZ
    local = f"CAST(i.c{at} AS TIMESTAMP)" if zoned else f"i.c{at}"
    windows = (growing if grows else sliding)(f"epoch_us({local})", lengths)
    w = identifier(building.planner.alias("windows"))
    last = f"make_timestamp({w}.w.e - 1000)"
    last = instant(last, building.relations.time_zone) if zoned else last
    own = [(f"i.c{n}", c) for n, c in enumerate(stream.columns)]
    bounds = [(f"make_timestamp({w}.w.s)", STAMP3), (f"make_timestamp({w}.w.e)", STAMP3)]
    made = [(sql, StreamColumn(n, t, False)) for (sql, t), n in zip(bounds, NAMES, strict=False)]
    made.append((last, StreamColumn(NAMES[2], DataType(time.type.kind, 3), False, rowtime=True)))
    joined = f", LATERAL (SELECT unnest({windows}) AS w) AS {w}"
    width = len(own)
    result = building.calc(stream, [*own, *made], joined=joined)
    return Stream(result.node, Windowed(WindowKind.ASSIGNED, width, width + 1, width + 2, at))


def _session(
    stream: Stream, at: int, gap: int, partition: tuple[int, ...] | None, building: Building, span: Span | None
) -> Stream:
    """Rows of sessions: their bounds are known when they close, and until then have no value."""
    time = stream.columns[at]
    _refuse_changes(stream, "SESSION", span)
    own = [(f"i.c{n}", c) for n, c in enumerate(stream.columns)]
    types = (STAMP3, STAMP3, DataType(time.type.kind, 3))
    nothing = ("TIMESTAMP", "TIMESTAMP", "TIMESTAMPTZ" if time.type.kind is Kind.TIMESTAMP_LTZ else "TIMESTAMP")
    made = [
        (f"CAST(NULL AS {sql})", StreamColumn(n, t, False)) for n, t, sql in zip(NAMES, types, nothing, strict=True)
    ]
    width = len(own)
    result = building.calc(stream, [*own, *made])
    return Stream(result.node, Windowed(WindowKind.SESSION, width, width + 1, width + 2, at, gap, partition))


def refuse_open_session(window: Windowed) -> None:
    """Refuse to read the bounds of a session that is not closed.

    :raises BergError: UNSUPPORTED.
    """
    if window.kind is WindowKind.SESSION and not window.closed:
        raise BergError(
            ErrorCode.UNSUPPORTED,
            "The bounds of a SESSION are known when it closes: the query must group by window_start and window_end.",
        )


def _refuse_changes(stream: Stream, what: str, span: Span | None) -> None:
    if not only_inserts(stream.node):
        raise BergError(
            ErrorCode.INVALID,
            f"{what} takes rows that only come, and those of its input change.",
            span=span,
            hint="GROUP BY without windows takes changes.",
        )


# --- GROUP BY the bounds ----------------------------------------------------------------------------------------------


def window_aggregate(
    stream: Stream, keys: list[int], calls: list[AggregateCall], node: exp.Expr, building: Building
) -> tuple[Stream, list[int]]:
    """The stream grouped by its windows and other keys, and where the keys and then the calls are in it."""
    from bergsql.engine.streaming.planner.aggregates import moved_call

    window = stream.window
    assert window is not None
    _refuse_changes(stream, "A window's GROUP BY", span_of(node.args["group"]))
    bounds = {window.start: 0, window.end: 1}
    if window.window_time is not None:
        bounds[window.window_time] = 2
    others = list(dict.fromkeys(k for k in keys if k not in bounds))
    partition = others if window.partition is None else list(window.partition)
    if any(p not in others for p in partition):
        raise BergError(
            ErrorCode.UNSUPPORTED,
            "A SESSION with PARTITION BY is grouped by those columns too.",
            span=span_of(node.args["group"]),
        )
    used = {*others, window.time}
    if window.kind is WindowKind.ASSIGNED:
        used |= {window.start, window.end}
    for call in calls:
        used |= {*call.arguments, *(n for n, _ in call.order)} | ({call.filter} if call.filter is not None else set())
    kept = sorted(used)
    by = {old: n for n, old in enumerate(kept)}
    time = stream.columns[window.time]
    below = building.calc(stream, [(f"i.c{n}", stream.columns[n]) for n in kept]).node
    columns = [below.columns[by[k]]._replace(rowtime=False, proctime=False) for k in others]
    columns += [StreamColumn(c.function, c.type, c.function != "count") for c in calls]
    first = len(columns)
    columns += [StreamColumn(NAMES[0], STAMP3, False), StreamColumn(NAMES[1], STAMP3, False)]
    columns.append(StreamColumn(NAMES[2], DataType(time.type.kind, 3), False, rowtime=True))
    assigned = window.kind is WindowKind.ASSIGNED
    made = WindowAggregateNode(
        uid="",
        inputs=(below,),
        columns=tuple(columns),
        mode=ChangelogMode.RETRACT if allows_lateness(building.relations.setting) else below.mode,
        key=(*range(len(others)), first, first + 1),
        kind=window.kind,
        keys=tuple(by[k] for k in others),
        calls=tuple(moved_call(c, by) for c in calls),
        time=by[window.time],
        start=by[window.start] if assigned else None,
        end=by[window.end] if assigned else None,
        gap=window.gap,
        partition=tuple(others.index(p) for p in partition) if not assigned else (),
    )
    place = {k: n for n, k in enumerate(others)} | {k: first + n for k, n in bounds.items()}
    at = [place[k] for k in keys] + [len(others) + n for n in range(len(calls))]
    closed = Windowed(window.kind, first, first + 1, first + 2, first + 2, closed=True)
    return Stream(made, closed), at


# --- Flink's older windows, in GROUP BY -------------------------------------------------------------------------------

_PARTS = {"START": 0, "END": 1, "ROWTIME": 2}
_LEGACY = ("TUMBLE", "HOP", "SESSION")


def legacy_windows(node: exp.Expr, stage: Stage, building: Building) -> tuple[exp.Expr, Stage]:
    """``GROUP BY TUMBLE(ts, INTERVAL '10' SECOND)`` with ``TUMBLE_START(…)``: the query over columns of the window."""
    group = node.args.get("group")
    if group is None or building.planner.spark:
        return node, stage
    calls = [g for g in group.expressions if isinstance(g, exp.Anonymous) and call_name(g).upper() in _LEGACY]
    if not calls:
        return node, stage
    if len(calls) > 1:
        message = "GROUP BY takes one window of time."
        raise BergError(ErrorCode.INVALID, message, span=name_span(calls[1]))
    call = calls[0]
    name = call_name(call).upper()
    stage.stream = building.cut(stage.stream, len(stage.columns))
    stage.stream = _legacy_stream(call, name, stage, building)
    columns = [
        SourceColumn(f"${n}", f"i.c{len(stage.columns) + n}", c.type, False)
        for n, c in enumerate(stage.stream.columns[len(stage.columns) :])
    ]
    stage.scope.star = stage.scope.all_columns()
    stage.scope.add(Source((), columns))
    node = node.copy()
    _rewrite(node, name, call)
    return node, Stage(stage.scope, stage.stream, [*stage.columns, *columns], stage.computed)


def _legacy_stream(call: exp.Expr, name: str, stage: Stage, building: Building) -> Stream:
    from bergsql.engine.plan.expressions import bind

    context = building.context(stage.scope, "GROUP BY", aggregates=False, windows=False)
    count = 3 if name == "HOP" else 2
    if len(call.expressions) != count:
        message = f"{name} takes a time and {'a slide and a size' if name == 'HOP' else 'a length'}."
        raise BergError(ErrorCode.ARITY, message, span=name_span(call))
    at = _time(bind(call.expressions[0], context), stage, name, span_of(call.expressions[0]))
    lengths: list[int] = []
    for argument in call.expressions[1:]:
        micros = micros_of(bind(argument, context))
        if micros is None or micros <= 0:
            message = f"The lengths of {name} are literal intervals of days and time, such as INTERVAL '5' MINUTE."
            raise BergError(ErrorCode.INVALID, message, span=span_of(argument))
        lengths.append(micros)
    if name == "SESSION":
        return _session(stage.stream, at, lengths[0], None, building, name_span(call))
    size, slide = lengths[-1], lengths[0]
    return _assigned(stage.stream, at, Lengths(size, slide), building, grows=False)


def _rewrite(node: exp.Expr, name: str, window: exp.Expr) -> None:
    """Columns of the window in the place of the calls that are about it."""
    written = window.sql()
    group = node.args["group"]
    keys: list[exp.Expr] = []
    for key in group.expressions:
        keys += [_column(0), _column(1), _column(2)] if key.sql() == written else [key]
    group.set("expressions", keys)
    for part in [*node.expressions, node.args.get("having"), node.args.get("order")]:
        if part is None:
            continue
        for call in list(part.find_all(exp.Anonymous)):
            prefix, _, suffix = str(call.this).upper().rpartition("_")
            if prefix != name or suffix not in (*_PARTS, "PROCTIME"):
                continue
            if suffix == "PROCTIME":
                message = f"{prefix}_PROCTIME in a stream is not supported yet."
                raise BergError(ErrorCode.UNSUPPORTED, message, span=name_span(call))
            if [a.sql() for a in call.expressions] != [a.sql() for a in window.expressions]:
                message = f"{prefix}_{suffix} takes what {name} in GROUP BY takes."
                raise BergError(ErrorCode.INVALID, message, span=name_span(call))
            column = _column(_PARTS[suffix])
            column.this.meta.update(call.meta)
            if call is part:
                node.set(
                    "expressions", [_unnamed(column, n) if e is part else e for n, e in enumerate(node.expressions)]
                )
            else:
                call.replace(column)


def _unnamed(column: exp.Expr, place: int) -> exp.Expr:
    """An item that was a call: it has the name that Flink gives such items."""
    return exp.Alias(this=column, alias=exp.to_identifier(f"EXPR${place}", quoted=True))


def _column(part: int) -> exp.Expr:
    return exp.column(exp.to_identifier(f"${part}", quoted=True))


# --- Spark's ----------------------------------------------------------------------------------------------------------


def spark_window(node: exp.Expr, stage: Stage, building: Building) -> tuple[exp.Expr, Stage]:
    """``window(ts, '5 minutes')`` among keys and items: a column, by which groups are as by any other."""
    stage = settled(stage, building)
    stage.stream = building.cut(stage.stream, len(stage.columns))
    before = len(stage.scope.sources)
    node, joined = bind_spark_windows(node, stage.scope, building.context(stage.scope))
    added = [c for s in stage.scope.sources[before:] for c in s.columns]
    own = [(f"i.c{n}", c) for n, c in enumerate(stage.stream.columns)]
    made = [(c.sql, StreamColumn(c.name, c.type, c.nullable)) for c in added]
    stream = building.calc(stage.stream, [*own, *made], joined=joined)
    after = Stage(stage.scope, stream, [*stage.columns, *added], stage.computed)
    after.point()
    return node, after
