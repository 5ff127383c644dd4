"""Relations made of arrays and maps: UNNEST, LATERAL VIEW explode, and functions in FROM."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.calls import call_name
from bergsql.engine.plan.casts import coerce
from bergsql.engine.plan.context import Context, Cte, OutputColumn, Planner
from bergsql.engine.plan.scope import Scope, Source, derived_columns
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.types import BIGINT, INT, Kind

if TYPE_CHECKING:
    from bergsql.engine.plan.generators import Generated

EXPLODERS = (
    "explode",
    "explode_outer",
    "posexplode",
    "posexplode_outer",
    "inline",
    "inline_outer",
    "stack",
    "json_tuple",
)
TABLE_FUNCTIONS = (*EXPLODERS, "unnest", "range")
WINDOW_FUNCTIONS = ("TUMBLE", "HOP", "CUMULATE", "SESSION")


def _context(scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> Context:
    return Context(planner, scope, "FROM", ctes, aggregates_allowed=False, windows_allowed=False)


def bind_unnest(node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """``UNNEST(array) AS t(x)``; of an array of rows each field is a column, of a map key and value.

    Several stand side by side, and the shorter ones end in NULLs. WITH ORDINALITY adds the number of the row, from 1.
    """
    from bergsql.engine.plan.expressions import bind
    from bergsql.engine.plan.from_clause import alias_of

    context = _context(scope, planner, ctes)
    alias, names = alias_of(node)
    columns: list[OutputColumn] = []
    lists: list[str] = []
    for written in node.expressions:
        added, its = _columns_of(bind(written, context), written, context)
        columns += added
        lists += its
    several = len(node.expressions) > 1
    if several:
        columns = [OutputColumn(c.name, c.type) for c in columns]
        if not planner.spark:
            columns = [c if c.name != "EXPR$0" else OutputColumn(f"EXPR${i}", c.type) for i, c in enumerate(columns)]
    offset = node.args.get("offset")
    if offset:
        columns.append(OutputColumn("ORDINALITY", INT, False))
        if isinstance(offset, exp.Expr):  # the parser takes the last name away
            names = [*names, offset]
        lengths = ", ".join(f"coalesce(len({x}), 0)" for x in lists)
        lists.append(f"CAST(range(1, 1 + {f'greatest({lengths})' if len(lists) > 1 else lengths}) AS INTEGER[])")
    return _as_relation(lists, columns, alias or "EXPR$0", names, node, scope, planner)


def _columns_of(bound: Bound, node: exp.Expr, context: Context) -> Generated:
    """The columns of one argument of UNNEST, and the lists of their values."""
    from bergsql.engine.plan.generators import elements, fields_of

    rows = bound.type.kind is Kind.ARRAY and bound.type.children[0].type.kind is Kind.ROW
    if rows and not context.spark:
        return fields_of(bound)
    return elements(bound, node, context, ("key", "value", "col") if context.spark else ("KEY", "VALUE", "EXPR$0"))


def _as_relation(
    lists: list[str],
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
    items = ", ".join(f"unnest({x})" for x in lists)
    return f"LATERAL (SELECT {items}) AS {identifier(alias)}({', '.join(inner)})"


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
        from bergsql.engine.plan.time_windows import bind_window_function

        return bind_window_function(call, node, scope, planner, ctes)
    alias, names = alias_of(node)
    if name.lower() == "range":
        return _range(call, alias or "range", names, scope, planner, ctes)
    return _exploded(call, alias or "t", names, False, scope, planner, ctes)


def _range(
    call: exp.Expr, alias: str, names: list[exp.Expr], scope: Scope, planner: Planner, ctes: Mapping[str, Cte]
) -> str:
    from bergsql.engine.plan.expressions import bind

    context = _context(scope, planner, ctes)
    if not 1 <= len(call.expressions) <= 3:
        raise BergError(ErrorCode.ARITY, "RANGE takes start, end and step.", span=span_of(call))
    bounds = [coerce(bind(e, context), BIGINT, context, e) for e in call.expressions]
    if len(bounds) == 3 and bounds[2].constant == 0:
        raise BergError(ErrorCode.INVALID, "The step of RANGE cannot be 0.", span=span_of(call.expressions[2]))
    sql = f"range({', '.join(b.sql for b in bounds)})"
    columns = [OutputColumn("id", BIGINT, False)]
    if call.find(exp.Column, exp.Query) is not None:
        return _as_relation([sql], columns, alias, names, call, scope, planner)
    from bergsql.engine.plan.from_clause import derive

    # DuckDB's table function makes the numbers as they are asked for; its list would hold all of them.
    return derive(sql, columns, alias, (alias,), names, scope, planner, span_of(call))


def _exploded(
    call: exp.Expr,
    alias: str,
    names: list[exp.Expr],
    outer: bool,
    scope: Scope,
    planner: Planner,
    ctes: Mapping[str, Cte],
) -> str:
    name = call_name(call).lower() if isinstance(call, exp.Anonymous) else ""
    if name == "unnest":
        return bind_unnest(exp.Unnest(expressions=call.expressions), scope, planner, ctes)
    if name not in EXPLODERS:
        raise BergError(
            ErrorCode.NOT_FOUND,
            f"There is no table function '{name or type(call).__name__.lower()}'.",
            span=span_of(call),
            hint=did_you_mean(name, TABLE_FUNCTIONS),
        )
    from bergsql.engine.plan.generators import generated

    columns, lists = generated(call, _context(scope, planner, ctes), outer=outer)
    return _as_relation(lists, columns, alias, names, call, scope, planner)
