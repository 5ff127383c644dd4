"""PIVOT and UNPIVOT behind a relation of FROM, as Spark has them.

PIVOT groups by every column that neither its aggregates nor FOR name; each value of IN becomes a column of each
aggregate. See "PIVOT clause" and "UNPIVOT clause" in Spark's SQL reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce, type_text
from bergsql.engine.plan.coercion import shared_type
from bergsql.engine.plan.comparison import bind_comparison
from bergsql.engine.plan.context import BoundQuery, Context, Cte, Found, OutputColumn, Planner, type_error
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.node_parts import members, refuse_unknown_parts
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.resolve import column_of, resolve
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.quoting import identifier, string_literal
from bergsql.engine.sql.types import STRING, TEXTS, DataType, Kind


def bind_pivots(
    sql: str, nodes: list[exp.Expr], inner: Scope, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]
) -> str:
    """``sql``, whose columns are in ``inner``, turned by each of ``nodes``; the last one's columns join ``scope``."""
    from bergsql.engine.plan.from_clause import alias_of, derive

    names = inner.sources[0].names if len(inner.sources) == 1 else ()
    for node in nodes:
        refuse_unknown_parts(node)
        turn = _unpivot if node.args.get("unpivot") else _pivot
        query = turn(sql, node, inner, planner, ctes)
        alias, columns = alias_of(node)
        inner = scope if node is nodes[-1] else Scope(scope.flavour, scope.parent)
        answers_to = (alias,) if alias else names
        wanted = alias or (names[-1] if names else "pivoted")
        sql = derive(f"({query.sql})", query.columns, wanted, answers_to, columns, inner, planner, span_of(node))
    return sql


class _Value(NamedTuple):
    """A value of PIVOT's IN: the name of its columns, and the condition on a row that it belongs to."""

    name: str
    condition: str


def _pivot(sql: str, node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> BoundQuery:
    if len(node.args["fields"]) != 1:
        raise BergError(ErrorCode.SYNTAX, "PIVOT has one FOR … IN (…).", span=span_of(node))
    field = node.args["fields"][0]
    context = Context(planner, scope, "PIVOT", ctes, windows_allowed=False)
    plain = replace(context, aggregates_allowed=False, found=Found())
    keys = [bind(k, plain) for k in members(field.this)]
    values = [_value(v, keys, plain) for v in _listed(field)]
    used = {k.sql for k in keys} | {c for a in node.expressions for c in _read(a, scope)}
    kept = [c for c in scope.all_columns() if c.sql not in used]
    columns = [OutputColumn(c.name, c.type, c.nullable) for c in kept]
    for column in kept:
        planner.note_read(column_of(column, column.name))
    items = [c.sql for c in kept]
    several = len(node.expressions) > 1
    for value in values:
        for written in node.expressions:
            made, name = _aggregate(written, replace(context, aggregate_filter=value.condition))
            items.append(made.sql)
            columns.append(OutputColumn(f"{value.name}_{name}" if several else value.name, made.type))
    group = f" GROUP BY {', '.join(c.sql for c in kept)}" if kept else ""
    return BoundQuery(f"SELECT {', '.join(items)} FROM {sql}{group}", columns)


def _listed(field: exp.Expr) -> list[exp.Expr]:
    if not isinstance(field, exp.In) or not field.expressions:
        raise BergError(ErrorCode.SYNTAX, "FOR needs IN with a list of values.", span=span_of(field))
    return list(field.expressions)


def _value(node: exp.Expr, keys: list[Bound], context: Context) -> _Value:
    alias = str(node.args["alias"].name) if isinstance(node, exp.PivotAlias | exp.Alias) else None
    inner = node.this if isinstance(node, exp.PivotAlias | exp.Alias) else node
    values = [bind(v, context) for v in members(inner)]
    for value in values:
        if not value.is_constant:
            raise BergError(ErrorCode.INVALID, "PIVOT's IN takes literals.", span=span_of(inner))
    if len(values) != len(keys):
        message = f"FOR names {len(keys)} {'column' if len(keys) == 1 else 'columns'}, and this is {len(values)}."
        raise BergError(ErrorCode.ARITY, message, span=span_of(inner))
    equal = exp.NullSafeEQ(this=inner, expression=inner)
    condition = " AND ".join(bind_comparison(equal, k, v, context).sql for k, v in zip(keys, values, strict=True))
    texts = [_text(v) for v in values]
    return _Value(alias or (texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"), condition)


def _text(value: Bound) -> str:
    """The value as text, as Spark casts it."""
    constant = value.constant
    if constant is None:
        return "null"
    if isinstance(constant, bool):
        return str(constant).lower()
    return f"{constant:f}" if isinstance(constant, Decimal) else str(constant)


def _read(node: exp.Expr, scope: Scope) -> set[str]:
    """The columns that an aggregate of PIVOT reads, by their SQL."""
    from bergsql.engine.plan.columns import name_parts

    found: set[str] = set()
    for column in node.find_all(exp.Column):
        if isinstance(column.this, exp.Star):
            continue
        try:
            found.add(resolve(scope, *name_parts(column))[0].sql)
        except BergError as error:  # a variable of a lambda is no column; anything else is refused when it is bound
            if error.code is not ErrorCode.NOT_FOUND:
                raise
    return found


def _aggregate(node: exp.Expr, context: Context) -> tuple[Bound, str]:
    """An aggregate over the rows of one value, and what it is called. Without such rows it is NULL, a COUNT too."""
    inner = node.this if isinstance(node, exp.Alias) else node
    context = replace(context, found=Found())
    bound = bind(inner, context)
    if not context.found.aggregate:
        raise BergError(ErrorCode.INVALID, "PIVOT takes aggregate functions.", span=span_of(inner), hint="SUM(x), say.")
    if context.found.loose:
        name, span = context.found.loose[0]
        raise BergError(ErrorCode.INVALID, f"Column '{name}' is outside of PIVOT's aggregate function.", span=span)
    name = str(node.args["alias"].name) if isinstance(node, exp.Alias) else bound.text
    if not (isinstance(inner, exp.Anonymous) and bound.nullable):
        there = f"count(*) FILTER (WHERE {context.aggregate_filter}) > 0"
        bound = replace(bound, sql=f"CASE WHEN {there} THEN {bound.sql} END")
    return bound, name


# --- UNPIVOT ----------------------------------------------------------------------------------------------------------


def _unpivot(sql: str, node: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> BoundQuery:
    context = Context(planner, scope, "UNPIVOT", ctes, aggregates_allowed=False, windows_allowed=False)
    names = [p.name for p in members(node.expressions[0])]
    if len(node.expressions) != 1 or len(node.args["fields"]) != 1:
        raise BergError(
            ErrorCode.SYNTAX,
            "UNPIVOT has one value name, or several in parentheses, and one FOR … IN (…).",
            span=span_of(node),
        )
    field = node.args["fields"][0]
    rows = [_row(r, len(names), context) for r in _listed(field)]
    used = {b.sql for _, row in rows for b in row}
    kept = [c for c in scope.all_columns() if c.sql not in used]
    for column in kept:
        planner.note_read(column_of(column, column.name))
    types = []

    def common(a: DataType, b: DataType) -> DataType | None:
        if (a.kind in TEXTS) != (b.kind in TEXTS) and Kind.NULL not in (a.kind, b.kind):
            return None  # as in Spark, no text is made of other values
        return context.common_type(a, b)

    for position in range(len(names)):
        shared, odd = shared_type((row[position].type for _, row in rows), common)
        if odd is not None:
            a, b = type_text(shared, context.flavour), type_text(rows[odd][1][position].type, context.flavour)
            raise type_error(f"UNPIVOT mixes {a} and {b}.", _listed(field)[odd], f"CAST(… AS {a}) makes them equal.")
        types.append(shared)
    lines = ", ".join(
        f"({', '.join([string_literal(n), *(coerce(b, t, context).sql for b, t in zip(row, types, strict=True))])})"
        for n, row in rows
    )
    alias = identifier(planner.alias("unpivoted"))
    values = [f"v{i}" for i in range(len(names))]
    made = [*(c.sql for c in kept), f"{alias}.n", *(f"{alias}.{v}" for v in values)]
    where = (
        "" if node.args.get("include_nulls") else f" WHERE {' OR '.join(f'{alias}.{v} IS NOT NULL' for v in values)}"
    )
    columns = [*(OutputColumn(c.name, c.type, c.nullable) for c in kept), OutputColumn(field.this.name, STRING, False)]
    columns += [OutputColumn(n, t) for n, t in zip(names, types, strict=True)]
    relation = f"LATERAL (VALUES {lines}) AS {alias}(n, {', '.join(values)})"
    return BoundQuery(f"SELECT {', '.join(made)} FROM {sql}, {relation}{where}", columns)


def _row(node: exp.Expr, width: int, context: Context) -> tuple[str, list[Bound]]:
    """The columns that one element of UNPIVOT's IN names, and what the row is called."""
    alias = str(node.args["alias"].name) if isinstance(node, exp.PivotAlias | exp.Alias) else None
    inner = node.this if isinstance(node, exp.PivotAlias | exp.Alias) else node
    parts = members(inner)
    for part in parts:
        if not isinstance(part, exp.Column):
            raise BergError(ErrorCode.INVALID, "UNPIVOT's IN takes columns.", span=span_of(part))
    if len(parts) != width:
        message = f"UNPIVOT makes {width} {'column' if width == 1 else 'columns'}, and this is {len(parts)}."
        raise BergError(ErrorCode.ARITY, message, span=span_of(inner))
    bound = [bind(p, context) for p in parts]
    return alias or "_".join(b.name or p.name for b, p in zip(bound, parts, strict=True)), bound
