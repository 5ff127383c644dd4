"""VALUES."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce, type_text
from bergsql.engine.plan.coercion import shared_type
from bergsql.engine.plan.context import BoundQuery, Context, Cte, OutputColumn, Planner, type_error
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.node_parts import members
from bergsql.engine.plan.scope import Scope
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import NULL, TEXTS, DataType, Kind


def bind_values(node: exp.Expr, planner: Planner, parent: Scope | None, ctes: Mapping[str, Cte]) -> BoundQuery:
    """``VALUES (1, 'a'), (2, 'b')``: unnamed columns are ``EXPR$0`` … (flink), ``col1`` … (spark)."""
    context = Context(
        planner, Scope(planner.flavour, parent), "VALUES", dict(ctes), aggregates_allowed=False, windows_allowed=False
    )
    rows = [_row(r, context) for r in node.expressions]
    width = len(rows[0])
    for row, source in zip(rows, node.expressions, strict=True):
        if len(row) != width:
            raise BergError(
                ErrorCode.ARITY, f"This row has {len(row)} values; the first has {width}.", span=span_of(source)
            )
    types = [_column_type([r[i] for r in rows], node, i, context) for i in range(width)]
    lines = []
    for row in rows:
        items = (
            b.sql if b.type == t or b.type == NULL else _sql(b, t, context) for b, t in zip(row, types, strict=True)
        )
        lines.append(f"({', '.join(items)})")
    columns = [
        OutputColumn(f"col{i + 1}" if planner.spark else f"EXPR${i}", type_, any(r[i].nullable for r in rows))
        for i, type_ in enumerate(types)
    ]
    from bergsql.engine.plan.ordering import with_tail

    return with_tail(BoundQuery(f"VALUES {', '.join(lines)}", columns), node, planner, ctes)


def _row(node: exp.Expr, context: Context) -> list[Bound]:
    return [bind(n, context) for n in members(node)]


def _column_type(values: list[Bound], node: exp.Expr, position: int, context: Context) -> DataType:
    def combine(a: DataType, b: DataType) -> DataType | None:
        found = context.common_type(a, b)
        if (a.kind in TEXTS) != (b.kind in TEXTS) and Kind.NULL not in (a.kind, b.kind):
            return None  # VALUES makes no text of numbers
        return found

    shared, odd = shared_type((v.type for v in values), combine)
    if odd is not None:
        a, b = type_text(shared, context.flavour), type_text(values[odd].type, context.flavour)
        raise type_error(
            f"Column {position + 1} of VALUES is {a} in one row and {b} in row {odd + 1}.", node.expressions[odd]
        )
    return shared


def _sql(bound: Bound, to: DataType, context: Context) -> str:
    return bound.sql if bound.type.kind in TEXTS and to.kind in TEXTS else coerce(bound, to, context).sql
