"""Subqueries in conditions of a stream as joins: IN and EXISTS; those that are values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.expressions import bind
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.sql.types import INT
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.nodes import JoinKind
from bergsql.engine.streaming.planner.build import Stage, Stream
from bergsql.engine.streaming.planner.sql_columns import rewritten

if TYPE_CHECKING:
    from bergsql.engine.streaming.planner.build import Building
    from bergsql.engine.streaming.planner.calls import ScalarQuery
    from bergsql.engine.streaming.planner.joins import Conditions
    from bergsql.engine.streaming.planner.queries import Ctes


def holds_subquery(node: exp.Expr) -> bool:
    return node.find(exp.Query) is not None


def is_subquery_condition(node: exp.Expr) -> bool:
    """Whether a condition is IN or EXISTS of a query, or its NOT."""
    node = _plain(node)[0]
    if isinstance(node, exp.Exists):
        return not isinstance(node.expression, exp.Lambda)
    return isinstance(node, exp.In) and node.args.get("query") is not None


def _plain(node: exp.Expr) -> tuple[exp.Expr, bool]:
    """The condition without parentheses and NOTs, and whether these turn it around."""
    negated = False
    while isinstance(node, exp.Paren | exp.Not):
        negated ^= isinstance(node, exp.Not)
        node = node.this
    return node, negated


def as_join(part: exp.Expr, stage: Stage, building: Building, ctes: Ctes) -> Stage:
    """The rows of the stage for which IN or EXISTS holds: a semi or an anti join."""
    node, negated = _plain(part)
    stage.stream = building.cut(stage.stream, len(stage.columns))
    kind = JoinKind.ANTI if negated else JoinKind.SEMI
    if isinstance(node, exp.Exists):
        return _exists(node, kind, stage, building, ctes)
    return _in(node, kind, stage, building, ctes)


def _in(node: exp.Expr, kind: JoinKind, stage: Stage, building: Building, ctes: Ctes) -> Stage:
    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.casts import convert_sql
    from bergsql.engine.plan.comparison import compared_types
    from bergsql.engine.streaming.planner.calls import Calls
    from bergsql.engine.streaming.planner.joins import Conditions, KeyPair
    from bergsql.engine.streaming.planner.queries import plan_query
    from bergsql.engine.streaming.planner.ranks import settle

    query = node.args["query"]
    while isinstance(query, exp.Subquery) and not query.args.get("alias"):
        query = query.this
    right = settle(plan_query(query, building, ctes), building)
    operands = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
    context = building.context(stage.scope, "WHERE", aggregates=False, windows=False)
    stage.point("l")
    with building.taking(Calls(building, ctes)):
        bound = [bind(o, context) for o in operands]
    if len(bound) != len(right.columns):
        message = f"IN compares {len(bound)} values with a query of {len(right.columns)} columns."
        raise BergError(ErrorCode.ARITY, message, span=span_of(query))
    found = Conditions()
    nullable = False
    for n, (operand, column) in enumerate(zip(bound, right.columns, strict=True)):
        other = Bound(f"r.c{n}", column.type, "", column.nullable)
        types = compared_types(operand.type, column.type, context)
        if types is None:
            raise BergError(ErrorCode.TYPE, "The two sides of IN cannot be compared.", span=span_of(node))
        left_type, right_type = types[0] or operand.type, types[1] or column.type
        shared = context.common_type(left_type, right_type) or left_type
        a = convert_sql(operand.sql, operand.type, shared, context)
        b = convert_sql(other.sql, column.type, shared, context)
        nullable = nullable or operand.nullable or column.nullable
        found.keys.append(KeyPair(a, b, shared, False))
    if kind is JoinKind.ANTI and nullable:  # NOT IN of a NULL is not known: such rows go too
        pairs = " AND ".join(f"({k.left} = {k.right})" for k in found.keys)
        found.keys = []
        found.both.append(f"(({pairs}) IS NOT FALSE)")
    return _joined(found, kind, stage, right, building)


def _joined(found: Conditions, kind: JoinKind, stage: Stage, right: Stream, building: Building) -> Stage:
    from bergsql.engine.streaming.planner.joins import make_join, sides_of

    width = len(stage.columns)
    sides = sides_of(stage.stream, right, found, building)
    stage.stream = building.cut(Stream(make_join(sides, kind, found.condition)), width)
    stage.point()
    return stage


def _exists(node: exp.Expr, kind: JoinKind, stage: Stage, building: Building, ctes: Ctes) -> Stage:
    """EXISTS: conditions of the subquery's WHERE that read the query around are those of the join."""
    from bergsql.engine.plan.scope import Scope
    from bergsql.engine.streaming.planner.conditions import conjuncts_of, plan_where
    from bergsql.engine.streaming.planner.from_clause import plan_from, settled
    from bergsql.engine.streaming.planner.joins import Conditions, classify

    query = node.this
    while isinstance(query, exp.Subquery | exp.Paren):
        query = query.this
    simple = isinstance(query, exp.Select) and not any(
        query.args.get(k) for k in ("group", "having", "qualify", "limit", "offset", "distinct", "with_")
    )
    if not simple or query.args.get("from_") is None or _aggregates(query):
        return _exists_at_all(query, kind, stage, building, ctes)
    where = query.args.get("where")
    parts = conjuncts_of(where.this) if where is not None else []
    inner = settled(plan_from(query, building, ctes, []), building)
    own: list[exp.Expr] = []
    around: list[exp.Expr] = []
    for part in parts:
        (own if _resolves(part, inner, building, ctes) else around).append(part)
    inner = plan_where(inner, own, building, ctes)
    inner.stream = building.cut(inner.stream, len(inner.columns))
    stage.point("l")
    inner.point("r")
    both = Scope(building.relations.flavour, stage.scope)
    both.adopt(inner.scope)
    found = Conditions()
    classify(around, "SEMI", found, Stage(both, inner.stream, inner.columns), building, ctes, "WHERE")
    if kind is JoinKind.ANTI:  # a filter of the left side would drop what has no partner
        found.both += found.left
        found.left = []
    return _joined(found, kind, stage, inner.stream, building)


def _aggregates(query: exp.Expr) -> bool:
    """Whether a query without GROUP BY may aggregate: then there is one row always."""
    from bergsql.engine.sql.flavour import Flavour
    from bergsql.engine.sql.functions.model import Aggregate
    from bergsql.engine.sql.functions.registry import function_named

    calls = (c for item in query.expressions for c in item.find_all(exp.Anonymous) if isinstance(c.this, str))
    return any(isinstance(function_named(str(c.this), Flavour.SPARK), Aggregate) for c in calls)


def _resolves(part: exp.Expr, inner: Stage, building: Building, ctes: Ctes) -> bool:
    from bergsql.engine.streaming.planner.calls import Calls

    if is_subquery_condition(part):
        return True
    context = building.context(inner.scope, "WHERE", aggregates=False, windows=False)
    try:
        with building.taking(Calls(building, ctes)):
            bind(part, context)
    except BergError as error:
        if error.code is not ErrorCode.NOT_FOUND:
            raise
        return False
    return True


def _exists_at_all(query: exp.Expr, kind: JoinKind, stage: Stage, building: Building, ctes: Ctes) -> Stage:
    """EXISTS of a query that reads nothing of the one around."""
    from bergsql.engine.streaming.planner.joins import Conditions
    from bergsql.engine.streaming.planner.queries import plan_query
    from bergsql.engine.streaming.planner.ranks import settle

    right = settle(plan_query(query, building, ctes), building)
    right = building.calc(right, [("1", StreamColumn("one", INT, False))])
    return _joined(Conditions(), kind, stage, right, building)


# --- subqueries that are values ---------------------------------------------------------------------------------------


def joined_values(stream: Stream, queries: list[ScalarQuery], building: Building) -> Stream:
    """The stream with a column behind its own for each subquery, NULL while that has no row."""
    from bergsql.engine.streaming.planner.joins import Conditions, make_join, sides_of

    for query in queries:
        if len(query.stream.columns) != 1:
            raise not_supported("A subquery of several columns in a stream", span_of(query.node))
        sides = sides_of(stream, query.stream, Conditions(), building)
        joined = make_join(sides, JoinKind.LEFT, None)
        stream = Stream(joined, stream.window)
    return stream


def with_values(
    stream: Stream, queries: list[ScalarQuery], conditions: list[str], building: Building
) -> tuple[Stream, list[str]]:
    """The stream with the values that conditions read as ``r.c0`` …, and those conditions over it."""
    width = len(stream.columns)
    made = joined_values(stream, queries, building)
    return made, [rewritten(c, lambda s, n: f"i.c{width + n}" if s == "r" else f"{s}.c{n}") for c in conditions]
