"""Relations made of arrays and maps: UNNEST, LATERAL VIEW explode, and functions in FROM."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.calls import call_name
from bergsql.engine.plan.casts import coerce, type_text
from bergsql.engine.plan.context import Context, Cte, OutputColumn, Planner, type_error
from bergsql.engine.plan.scope import Scope, Source, derived_columns
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.types import BIGINT, INT, DataType, Kind

EXPLODERS = ("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer")
TABLE_FUNCTIONS = (*EXPLODERS, "unnest", "range")
WINDOW_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")


def _context(scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> Context:
    return Context(planner, scope, "FROM", ctes, aggregates_allowed=False, windows_allowed=False)


def bind_unnest(node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """``UNNEST(array) AS t(x)``; of an array of rows each field is a column, of a map key and value."""
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.plan.from_clause import alias_of

    if len(node.expressions) != 1:
        raise not_supported("UNNEST of several arrays", span_of(node))
    context = _context(scope, planner, ctes)
    bound = bind(node.expressions[0], context)
    alias, names = alias_of(node)
    offset = node.args.get("offset")
    position = bool(offset)
    columns = _element_columns(bound, node, context)
    if position:
        columns = [*columns, OutputColumn("ORDINALITY", INT, False)]
    sql = _unnested(bound, position=position, from_zero=False, outer=False)
    element = bound.type.children[0].type
    if bound.type.kind is Kind.ARRAY and element.kind is Kind.ROW and not context.spark:
        sql = _rows_of_structs(sql, columns, element)
    return _as_relation(sql, columns, alias or "EXPR$0", names, node, scope, planner)


def _element_columns(bound: Bound, node: exp.Expr, context: Context) -> list[OutputColumn]:
    kind = bound.type.kind
    if kind is Kind.MAP:
        key, value = bound.type.children
        names = ("key", "value") if context.spark else ("KEY", "VALUE")
        return [OutputColumn(names[0], key.type, False), OutputColumn(names[1], value.type)]
    if kind is not Kind.ARRAY:
        raise type_error(
            f"Only an array or a map becomes rows, not {type_text(bound.type, context.flavour)}.", span_of(node)
        )
    element = bound.type.children[0].type
    if element.kind is Kind.ROW and not context.spark:
        return [OutputColumn(f.name, f.type) for f in element.children]
    return [OutputColumn("col" if context.spark else "EXPR$0", element)]


def _unnested(bound: Bound, *, position: bool, from_zero: bool, outer: bool) -> str:
    """A query of the elements; ``e`` is an element, ``i`` its number."""
    kind = bound.type.kind
    array = f"map_entries({bound.sql})" if kind is Kind.MAP else bound.sql
    source = f"coalesce(nullif({array}, []), [NULL])" if outer else array
    parts: list[str] = []
    if kind is Kind.MAP:
        parts = ["u.e.key", "u.e.value"]
    else:
        parts = ["u.e"]
    if position:
        number = "CAST(u.i - 1 AS INTEGER)" if from_zero else "CAST(u.i AS INTEGER)"
        if outer:
            number = f"CASE WHEN len({array}) > 0 THEN {number} END"
        parts = [number, *parts] if from_zero else [*parts, number]
    return f"SELECT {', '.join(parts)} FROM unnest({source}) WITH ORDINALITY AS u(e, i)"


def _rows_of_structs(sql: str, columns: list[OutputColumn], element: DataType) -> str:
    parts = ", ".join(f"struct_extract_at(u.e, {i})" for i in range(1, len(element.children) + 1))
    return sql.replace("SELECT u.e", f"SELECT {parts}", 1) if len(columns) >= len(element.children) else sql


def _as_relation(
    sql: str,
    columns: list[OutputColumn],
    wanted: str,
    names: list[exp.Expr],
    node: exp.Expr,
    scope: Scope,
    planner: Planner,
) -> str:
    from bergsql.engine.plan.ctes import rename

    columns = rename(columns, names, wanted, span_of(node))
    alias = planner.alias(wanted)
    found, inner = derived_columns(columns, alias)
    scope.add(Source((wanted,), found))
    return f"LATERAL ({sql}) AS {identifier(alias)}({', '.join(inner)})"


def bind_lateral_view(node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """Spark's ``LATERAL VIEW [OUTER] explode(x) t AS a, b``, as a join."""
    call = node.this
    outer = bool(node.args.get("outer"))
    alias = node.args.get("alias")
    wanted = str(alias.this.this) if alias is not None and alias.this is not None else "t"
    names = list(alias.args.get("columns") or []) if alias is not None else []
    relation = _exploded(call, wanted, names, outer, scope, planner, ctes)
    return f"{'LEFT JOIN' if outer else 'JOIN'} {relation} ON TRUE"


def bind_lateral_function(
    node: exp.Expr, call: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]
) -> str:
    """``LATERAL TABLE(f(x)) AS t(a)`` and ``LATERAL explode(x) AS t(a)``."""
    from bergsql.engine.plan.from_clause import alias_of

    if isinstance(call, exp.Anonymous) and call_name(call).upper() == "TABLE" and call.expressions:
        call = call.expressions[0]
    alias, names = alias_of(node)
    return _exploded(call, alias or "t", names, False, scope, planner, ctes)


def bind_table_function(node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """A function in FROM."""
    from bergsql.engine.plan.from_clause import alias_of

    call = node.this
    if call_name(call).upper() == "TABLE" and call.expressions:
        call = call.expressions[0]
    name = call_name(call) if isinstance(call, exp.Anonymous) else ""
    if name.upper() in WINDOW_FUNCTIONS:
        raise not_supported(f"The window function {name.upper()}", span_of(node))
    alias, names = alias_of(node)
    if name.lower() == "range" and planner.spark:
        return _range(call, alias or "range", names, scope, planner, ctes)
    return _exploded(call, alias or "t", names, False, scope, planner, ctes)


def _range(
    call: exp.Expr, alias: str, names: list[exp.Expr], scope: Scope, planner: Planner, ctes: Mapping[str, Cte]
) -> str:
    from bergsql.engine.plan.expressions import bind

    context = _context(scope, planner, ctes)
    if not 1 <= len(call.expressions) <= 3:
        raise BergError(ErrorCode.ARITY, "RANGE takes start, end and step.", span=span_of(call))
    bounds = [coerce(bind(e, context), BIGINT, context, e).sql for e in call.expressions]
    sql = f"SELECT * FROM range({', '.join(bounds)})"
    return _as_relation(sql, [OutputColumn("id", BIGINT, False)], alias, names, call, scope, planner)


def _exploded(
    call: exp.Expr,
    alias: str,
    names: list[exp.Expr],
    outer: bool,
    scope: Scope,
    planner: Planner,
    ctes: Mapping[str, Cte],
) -> str:
    from bergsql.engine.plan.expressions import bind

    name = call_name(call).lower() if isinstance(call, exp.Anonymous) else ""
    if name == "unnest" or name not in EXPLODERS:
        if name == "unnest":
            return bind_unnest(exp.Unnest(expressions=call.expressions), scope, planner, ctes)
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"There is no table function '{name or type(call).__name__.lower()}'.",
            span=span_of(call),
            hint=did_you_mean(name, TABLE_FUNCTIONS),
        )
    if len(call.expressions) != 1:
        raise BergError(ErrorCode.ARITY, f"{name.upper()} takes 1 argument.", span=span_of(call))
    context = _context(scope, planner, ctes)
    bound = bind(call.expressions[0], context)
    columns = _element_columns(bound, call, context)
    position = name.startswith("posexplode")
    sql = _unnested(bound, position=position, from_zero=True, outer=outer or name.endswith("_outer"))
    if name.startswith("inline"):
        element = bound.type.children[0].type if bound.type.children else bound.type
        if element.kind is not Kind.ROW:
            raise type_error("INLINE takes an array of structs.", span_of(call))
        columns = [OutputColumn(f.name, f.type) for f in element.children]
        sql = _rows_of_structs(sql, columns, element)
    if position:
        columns = [OutputColumn("pos", INT), *columns]
    return _as_relation(sql, columns, alias, names, call, scope, planner)
