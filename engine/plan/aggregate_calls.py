"""Aggregate and window functions: DISTINCT, ORDER BY, FILTER, IGNORE NULLS and OVER around a call."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span, did_you_mean
from bergsql.engine.plan.arguments import fit_arguments
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.calls import bind_function, call_name, find, name_span, result_type
from bergsql.engine.plan.comparison import condition
from bergsql.engine.plan.context import Context, refuse_opaque, refuse_unordered
from bergsql.engine.plan.naming import call_text
from bergsql.engine.plan.nested_order import key_of
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.records import replace
from bergsql.engine.sql.functions.model import Aggregate
from bergsql.engine.sql.parser.json_clauses import JSON_MARK
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import INT

RANKS = frozenset({"row_number", "rank", "dense_rank", "percent_rank", "ntile"})


class _Around:
    """What is written around the arguments of a call."""

    def __init__(self) -> None:
        self.distinct = False
        self.order: list[str] = []
        self.ignore_nulls = False
        self.conditions: list[str] = []
        self.filter_text = ""
        self.over = ""
        self.within = ""
        self.over_text = ""


def bind_aggregate(
    function: Aggregate,
    name: str,
    arguments: Sequence[exp.Expr],
    node: exp.Expr,
    context: Context,
    over: exp.Expr | None,
    around: _Around | None = None,
) -> Bound:
    """An aggregate function, or a window function when ``over`` follows."""
    span = name_span(node)
    around = around or _Around()
    _check_place(function, name, context, over, span)
    inner = replace(context, inside_aggregate=True, aggregates_allowed=False, windows_allowed=False)
    if over is not None:
        inner = replace(context, windows_allowed=False)  # the arguments of a window function may be aggregates
    plain = _unwrap(arguments, inner, around)
    bound = [_argument(a, inner) for a in plain]
    context.found.aggregate = context.found.aggregate or over is None
    text = _text(function, name, bound, around)
    ready = fit_arguments(function.parameters, name, bound, context, span, plain)
    for argument, place in zip(ready, plain, strict=False):
        if function.name in ("min", "max"):
            refuse_unordered(argument.type, context, place, name.upper())
        elif around.distinct:
            refuse_opaque(argument.type, place, f"{name.upper()}(DISTINCT …)")
    if not function.keeps_nulls and ready:
        around.conditions.append(f"{ready[0].sql} IS NOT NULL")
    if context.aggregate_filter and over is None:
        around.conditions.append(context.aggregate_filter)
    if over is not None:
        around.over, around.over_text = window_sql(over, context, name.lower(), bound)

    if around.ignore_nulls and not function.may_ignore_nulls:
        raise BergError(ErrorCode.INVALID, f"{name.upper()} does not take IGNORE NULLS.", span=span)

    def call(duck: str, *sql: str, ignore_nulls: bool = False) -> str:
        if context.planner.calls is not None:
            return _given(duck, sql, around, over, name, span, context, ignore_nulls=ignore_nulls)
        return _written(duck, sql, around, ignore_nulls=ignore_nulls or around.ignore_nulls)

    if isinstance(function.build, str):
        sql = call(function.build, *(r.sql for r in ready))
    else:
        try:
            sql = function.build(call, ready, context)
        except BergError as error:
            raise error.at(span) from None
    if over is None and not (around.distinct or around.order or around.conditions or around.ignore_nulls):
        context.found.calls[sql] = (function.name, tuple(ready))
    if around.within and context.spark:
        rest = call_text(name, [b.text for b in bound[1:]], around.distinct)
        text = f"{rest} WITHIN GROUP (ORDER BY {around.within})"
    if around.filter_text:
        text += f" FILTER (WHERE {around.filter_text})"
    nullable = function.name.split()[0] not in ("count", "row_number", "rank", "dense_rank", "ntile")
    return Bound(sql, result_type(function.result, ready), text + around.over_text, nullable, volatile=True)


def _text(function: Aggregate, name: str, bound: Sequence[Bound], around: _Around) -> str:
    """Spark's text of the call: it drops a second argument that says to ignore NULLs, and shortens names if told so."""
    key = name.lower()
    told_by_argument = function.may_ignore_nulls and function.parameters == "ab?"
    if around.ignore_nulls:
        key = {"first_value": "first", "last_value": "last"}.get(key, key)
    told_by_argument = told_by_argument or key == "approx_count_distinct"
    shown = [b.text for b in (bound[:1] if told_by_argument else bound) if not b.text.startswith(JSON_MARK)]
    text = call_text(key, shown, around.distinct)
    return f"{text} ignore nulls" if around.ignore_nulls and key == "nth_value" else text


def _check_place(function: Aggregate, name: str, context: Context, over: exp.Expr | None, span: Span | None) -> None:
    upper = name.upper()
    if over is not None:
        if not context.windows_allowed:
            where = "inside another aggregate" if context.clause == "SELECT" else f"in {context.clause}"
            raise BergError(
                ErrorCode.INVALID,
                f"The window function {upper} cannot stand {where}.",
                span=span,
                hint="Compute it in a subquery, and use its column outside.",
            )
        return
    if function.window_only:
        raise BergError(
            ErrorCode.INVALID,
            f"{upper} is a window function: OVER (…) must follow it.",
            span=span,
            hint=f"{upper}() OVER (ORDER BY …)",
        )
    if not context.aggregates_allowed:
        if context.inside_aggregate:
            message = f"The aggregate function {upper} cannot stand inside another one."
        else:
            message = f"The aggregate function {upper} cannot stand in {context.clause}."
        hint = "A condition on groups goes into HAVING." if context.clause == "WHERE" else None
        raise BergError(ErrorCode.INVALID, message, span=span, hint=hint)


def _unwrap(arguments: Sequence[exp.Expr], context: Context, around: _Around) -> list[exp.Expr]:
    """The arguments without DISTINCT, ORDER BY and IGNORE NULLS around them."""
    plain: list[exp.Expr] = []
    for argument in arguments:
        at = argument
        while isinstance(at, exp.Distinct | exp.Order | exp.IgnoreNulls | exp.RespectNulls):
            if isinstance(at, exp.Distinct):
                around.distinct = True
                plain.extend(at.expressions[:-1])
                at = at.expressions[-1]
            elif isinstance(at, exp.Order):
                _add_order(at, context, around)
                at = at.this
            else:
                around.ignore_nulls = isinstance(at, exp.IgnoreNulls)
                at = at.this
        plain.append(at)
    return plain


def _argument(node: exp.Expr, context: Context) -> Bound:
    from bergsql.engine.plan.expressions import bind

    if isinstance(node, exp.Star) or (isinstance(node, exp.Column) and isinstance(node.this, exp.Star)):
        return Bound("*", INT, "1", False)
    return bind(node, context)


def _written(duck: str, arguments: Sequence[str], around: _Around, *, ignore_nulls: bool) -> str:
    distinct = "DISTINCT " if around.distinct else ""
    order = f" ORDER BY {', '.join(around.order)}" if around.order else ""
    conditions = list(around.conditions)
    nulls = ""
    if ignore_nulls and around.over_text:
        nulls = " IGNORE NULLS"
    elif ignore_nulls:  # DuckDB has the words for window functions only
        conditions.append(f"{arguments[0]} IS NOT NULL")
    condition_sql = f" FILTER (WHERE {' AND '.join(conditions)})" if conditions else ""
    over = f" OVER ({around.over})" if around.over_text else ""
    return f"{duck}({distinct}{', '.join(arguments)}{order}{nulls}){condition_sql}{over}"


def _given(
    duck: str,
    arguments: Sequence[str],
    around: _Around,
    over: exp.Expr | None,
    name: str,
    span: Span | None,
    context: Context,
    *,
    ignore_nulls: bool,
) -> str:
    """What stands for a call that a stream's plan takes."""
    from bergsql.engine.plan.calls_taken import TakenCall

    taker = context.planner.calls
    ignores = ignore_nulls or around.ignore_nulls
    order, conditions = tuple(around.order), tuple(around.conditions)
    call = TakenCall(duck, tuple(arguments), around.distinct, order, conditions, ignores, over, name, span)
    return taker.call(call, context) if taker is not None else ""


# --- what stands around a call ----------------------------------------------------------------------------------------


def bind_window(node: exp.Expr, context: Context) -> Bound:
    """``call OVER …``"""
    return _bind_around(node.this, context, node, _Around())


def bind_wrapped(node: exp.Expr, context: Context) -> Bound:
    """``call FILTER (WHERE …)``, ``call IGNORE NULLS``, ``call WITHIN GROUP (ORDER BY …)``."""
    return _bind_around(node, context, None, _Around())


def _bind_around(node: exp.Expr, context: Context, over: exp.Expr | None, around: _Around) -> Bound:
    from bergsql.engine.plan.expressions import bind

    at = node
    extra: list[exp.Expr] = []
    inner = replace(context, inside_aggregate=True, aggregates_allowed=False, windows_allowed=False, clause="FILTER")
    while not isinstance(at, exp.Anonymous):
        if isinstance(at, exp.Filter):
            where = at.expression.this
            bound = condition(bind(where, inner), context, where, "FILTER")
            around.conditions.append(bound.sql)
            around.filter_text = bound.text
        elif isinstance(at, exp.IgnoreNulls):
            around.ignore_nulls = True
        elif isinstance(at, exp.WithinGroup):
            ordered = at.expression.expressions
            extra = [o.this if isinstance(o, exp.Ordered) else o for o in ordered]
            if len(ordered) != 1 or call_name(at.this).lower() not in ("percentile_cont", "percentile_disc", "mode"):
                _add_order(at.expression, inner, around)
                extra = []
            else:
                key, around.within = order_key(ordered[0], replace(inner, inside_aggregate=True))
                if call_name(at.this).lower() == "mode":  # of several that are as frequent, the first in this order
                    around.order = [key]
                    around.within = around.within.removesuffix(" ASC NULLS FIRST").removesuffix(" NULLS LAST")
                elif around.within.endswith(" ASC NULLS FIRST"):
                    around.within = around.within.removesuffix(" ASC NULLS FIRST")
                else:  # the fraction counts from the other end
                    around.within = around.within.removesuffix(" NULLS LAST")
                    around.order = [key]
        elif not isinstance(at, exp.RespectNulls):
            raise BergError(ErrorCode.INVALID, "OVER and FILTER follow a function.", span=span_of(at))
        at = at.this
    name = call_name(at)
    function = find(name, context, name_span(at))
    if not isinstance(function, Aggregate):
        if over is not None and not extra and not around.conditions:
            return bind_function(name, at.expressions, at, context, over)
        raise BergError(ErrorCode.INVALID, f"{name.upper()} is no aggregate function.", span=name_span(at))
    return bind_aggregate(function, name, [*extra, *at.expressions], at, context, over, around)


def _add_order(order: exp.Expr, context: Context, around: _Around) -> None:
    around.order = [order_key(o, context)[0] for o in order.expressions]


def order_key(node: exp.Expr, context: Context, bound: Bound | None = None) -> tuple[str, str]:
    """An ORDER BY key as SQL and as Spark's text. NULL comes first ascending and last descending, in both flavours."""
    from bergsql.engine.plan.expressions import bind

    if isinstance(node, exp.Ordered):
        refuse_unknown_parts(node)
    inner = node.this if isinstance(node, exp.Ordered) else node
    descending = bool(node.args.get("desc")) if isinstance(node, exp.Ordered) else False
    first = node.args.get("nulls_first") if isinstance(node, exp.Ordered) else None
    nulls_first = (not descending) if first is None else bool(first)
    bound = bound or bind(inner, context)
    refuse_unordered(bound.type, context, inner, "ORDER BY")
    tail = f"{'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
    return f"{key_of(bound)} {tail}", f"{bound.text} {tail}"


# --- OVER -------------------------------------------------------------------------------------------------------------


def window_sql(node: exp.Expr, context: Context, function: str, arguments: Sequence[Bound]) -> tuple[str, str]:
    """What stands in ``OVER (…)``, and Spark's text of it with a blank in front."""
    from bergsql.engine.plan.expressions import bind

    inner = replace(context, windows_allowed=False, clause="OVER")
    partition, order, spec = window_parts(node, context)
    keys = [bind(p, inner) for p in partition]
    for key, place in zip(keys, partition, strict=True):
        refuse_unordered(key.type, context, place, "PARTITION BY")
    context.found.partitions.append(frozenset(k.sql for k in keys))
    ordered = [order_key(o, inner) for o in order]
    sql: list[str] = []
    text: list[str] = []
    if keys:
        sql.append(f"PARTITION BY {', '.join(k.sql for k in keys)}")
        text.append(f"PARTITION BY {', '.join(k.text for k in keys)}")
    if ordered:
        sql.append(f"ORDER BY {', '.join(k for k, _ in ordered)}")
        text.append(f"ORDER BY {', '.join(t for _, t in ordered)}")
    if spec is not None:
        from bergsql.engine.plan.window_frame import frame_sql

        frame = frame_sql(spec, order, inner, span_of(node))
        sql.append(frame)
        text.append(frame)
    elif function in ("lag", "lead"):
        offset = arguments[1].constant if len(arguments) > 1 else 1
        offset = -offset if function == "lag" and isinstance(offset, int) else offset
        text.append(f"ROWS BETWEEN {offset} FOLLOWING AND {offset} FOLLOWING")
    elif function in RANKS:
        text.append("ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
    elif ordered:
        text.append("RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
    else:
        text.append("ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING")
    return " ".join(sql), f" OVER ({' '.join(text)})"


def window_parts(node: exp.Expr, context: Context) -> tuple[list[exp.Expr], list[exp.Expr], exp.Expr | None]:
    """PARTITION BY, ORDER BY and the frame of a window, those of a named one included."""
    partition = list(node.args.get("partition_by") or [])
    order_node = node.args.get("order")
    order = list(order_node.expressions) if order_node is not None else []
    spec = node.args.get("spec")
    alias = node.args.get("alias")
    if alias is not None:
        name = str(alias.this)
        named = context.windows.get(context.scope.fold(name))
        if named is None:
            raise BergError(
                ErrorCode.NOT_FOUND,
                f"There is no window '{name}'.",
                span=span_of(alias),
                hint=did_you_mean(name, context.windows) or "WINDOW name AS (…) behind HAVING names one.",
            )
        base_partition, base_order, base_spec = window_parts(named, context)
        partition, order, spec = partition or base_partition, order or base_order, spec or base_spec
    return partition, order, spec
