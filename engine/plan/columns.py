"""Names in expressions: columns, fields of structs, variables of lambdas, aliases of earlier items."""

from __future__ import annotations

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, Span
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.context import Context
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.resolve import field_of, resolve
from bergsql.engine.sql.flavour import Flavour
from bergsql.engine.sql.parser.query import span_of


def name_parts(node: exp.Expr) -> tuple[list[str], list[Span | None]]:
    """The parts of a column's dotted name, and their places."""
    parts = [node.args.get(key) for key in ("catalog", "db", "table", "this")]
    found = [p for p in parts if p is not None]
    return [str(p.this) for p in found], [span_of(p) for p in found]


def bind_column(node: exp.Expr, context: Context) -> Bound:
    """A column, a field of one, a lambda's variable, or an alias of an earlier SELECT item."""
    if isinstance(node.this, exp.Star):
        raise BergError(ErrorCode.INVALID, "A star stands alone in SELECT or in COUNT(*).", span=span_of(node))
    parts, spans = name_parts(node)
    try:
        return bind_name(parts, spans, context)
    except BergError as error:
        known = _CALLED_WITHOUT_PARENTHESES[context.flavour]
        name = parts[0].lower()
        if error.code is not ErrorCode.NOT_FOUND or len(parts) > 1 or node.this.args.get("quoted") or name not in known:
            raise
    from bergsql.engine.plan.calls import bind_function

    return bind_function(name, [], node, context)


_CALLED_WITHOUT_PARENTHESES = {
    Flavour.FLINK: ("current_time", "localtime", "localtimestamp", "current_catalog", "session_user"),
    Flavour.SPARK: ("user", "current_time", "localtime"),
}
"""Functions that look like columns, besides those that the grammar knows."""


def bind_name(parts: list[str], spans: list[Span | None], context: Context) -> Bound:
    scope = context.scope
    key = scope.fold(parts[0])
    start = context.variables.get(key)
    if start is None and len(parts) == 1 and context.aliases_first:
        start = context.aliases.get(key)
    if start is not None:
        return _fields(start, parts[1:], spans[1:], context)
    try:
        bound, taken, own = resolve(scope, parts, spans)
    except BergError as error:
        alias = context.aliases.get(key) if error.code is ErrorCode.NOT_FOUND else None
        if alias is None:
            raise
        return _fields(alias, parts[1:], spans[1:], context)
    context.planner.note_read(bound)
    if own and not context.inside_aggregate and not (len(parts) > taken and bound.sql in context.group_keys):
        context.found.loose.append((".".join(parts[:taken]), spans[taken - 1]))
    if len(parts) > taken:
        bound = context.grouped(bound)
    return _fields(bound, parts[taken:], spans[taken:], context)


def _fields(bound: Bound, names: list[str], spans: list[Span | None], context: Context) -> Bound:
    for name, span in zip(names, spans, strict=True):
        bound = field_of(bound, name, span, context.flavour)
    return bound


def bind_identifier(node: exp.Expr, context: Context) -> Bound:
    return bind_name([str(node.this)], [span_of(node)], context)


def bind_dot(node: exp.Expr, context: Context) -> Bound:
    """A field of an expression, or a function with a dotted name."""
    last = node.expression
    if isinstance(last, exp.Anonymous):
        from bergsql.engine.plan.calls import bind_special_call

        return bind_special_call(node, context)
    names = [last]
    at = node.this
    while isinstance(at, exp.Dot) and not isinstance(at.expression, exp.Anonymous):
        names.append(at.expression)
        at = at.this
    names.reverse()
    if isinstance(at, exp.Column):
        parts, spans = name_parts(at)
        return bind_name(parts + [str(n.this) for n in names], spans + [span_of(n) for n in names], context)
    found = _fields(bind(at, context), [str(n.this) for n in names], [span_of(n) for n in names], context)
    return replace(found, name=None) if context.spark else found  # Spark heads it by the whole expression
