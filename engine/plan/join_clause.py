"""One JOIN of a FROM clause: both sides, its condition, and what it makes nullable."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from bergsql.engine.plan.comparison import condition
from bergsql.engine.plan.context import Context, Cte, Planner
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.from_clause import bind_joins, bind_relation
from bergsql.engine.plan.joins import JOINS, bind_using, join_kind
from bergsql.engine.plan.node_parts import refuse_unknown_parts
from bergsql.engine.plan.pushdown import push
from bergsql.engine.plan.records import replace
from bergsql.engine.plan.scope import Scope, Source, SourceColumn


def bind_join(left: str, join: exp.Expr, scope: Scope, planner: Planner, ctes: Mapping[str, Cte]) -> str:
    """``left`` joined to one more relation, whose columns join ``scope``."""
    refuse_unknown_parts(join)
    kind = join_kind(join)
    before = list(scope.sources)
    left_slots = set(scope.slots)
    left_star, scope.star = scope.star, None
    right = bind_relation(join.this, scope, planner, ctes)
    nested = join.this.args.get("joins") or []
    right = bind_joins(right, nested, scope, planner, ctes) if nested else right
    right_slots = scope.slots - left_slots
    on, using = join.args.get("on"), join.args.get("using") or []
    added = scope.sources[len(before) :]
    natural = join.args.get("method") == "NATURAL"
    merges = left_star is not None or scope.star is not None
    left_columns: list[SourceColumn] = []
    right_columns: list[SourceColumn] = []
    if merges or using or natural:
        plain = [c for s in before for c in s.columns]
        left_columns = plain if left_star is None else left_star
        right_columns = scope.all_columns()[len(plain) :]
        scope.star = [*left_columns, *right_columns] if merges else None
    if natural:
        names = {scope.fold(c.name) for c in left_columns}
        using = [exp.to_identifier(c.name) for c in right_columns if scope.fold(c.name) in names]
    clause = ""
    if using:
        clause = " ON " + bind_using(
            [u.this if isinstance(u, exp.Column) else u for u in using],
            kind,
            left_columns,
            right_columns,
            scope,
            planner,
            (left_slots, right_slots),
        )
    elif on is not None:
        context = Context(planner, scope, "ON", ctes, aggregates_allowed=False, windows_allowed=False)
        bound = condition(bind(on, context), context, on, "ON")
        push(planner, scope, bound, JOINS[kind].pushes(left_slots, right_slots))
        clause = f" ON {bound.sql}"
    elif kind not in ("CROSS",) and JOINS[kind].needs_condition:
        kind = "CROSS" if kind == "INNER" else kind
        clause = "" if kind == "CROSS" else " ON TRUE"
    if clause and kind == "CROSS":
        kind = "INNER"
    _pad(planner, kind, left_slots, right_slots)
    if kind in ("SEMI", "ANTI"):
        scope.cut(len(before))  # the right side is not seen outside
        scope.star = left_columns if scope.star is not None else None
    if kind in ("RIGHT", "FULL", "LEFT", "ASOF LEFT"):
        _mark_nullable(scope, before, added, kind)
    sql = f"{left} {JOINS[kind].sql} {right}{clause}"
    pivots = join.args.get("pivots")
    if not pivots:
        return sql
    from bergsql.engine.plan.pivot import bind_pivots

    return bind_pivots(sql, pivots, scope.emptied(), scope, planner, ctes)


def commas_last(joins: list[exp.Expr]) -> list[exp.Expr]:
    """The joins so that they may be made from left to right. In Flink a comma joins last, which only a RIGHT or FULL
    JOIN behind it can tell: those join the relation behind the comma alone."""
    groups: list[list[exp.Expr]] = []
    for join in joins:
        if _is_comma(join) or not groups:
            groups.append([join])
        else:
            groups[-1].append(join)
    made: list[exp.Expr] = []
    for first, *rest in groups:
        if _is_comma(first) and any(str(j.args.get("side") or "").upper() in ("RIGHT", "FULL") for j in rest):
            relation = first.this.copy()
            relation.set("joins", [*(relation.args.get("joins") or []), *(j.copy() for j in rest)])
            made.append(exp.Join(this=exp.Paren(this=relation)))
        else:
            made += [first, *rest]
    return made


def _is_comma(join: exp.Expr) -> bool:
    return not any(join.args.get(k) for k in ("method", "side", "on", "using")) and join.args.get("kind") != "INNER"


def _pad(planner: Planner, kind: str, left: set[int], right: set[int]) -> None:
    padded = {"LEFT": right, "ASOF LEFT": right, "RIGHT": left, "FULL": left | right}.get(kind, set())
    for number in padded:
        planner.slots[number].padded = True


def _mark_nullable(scope: Scope, before: list[Source], added: list[Source], kind: str) -> None:
    outer = added if kind in ("LEFT", "ASOF LEFT", "FULL") else []
    for source in [*outer, *(before if kind in ("RIGHT", "FULL") else [])]:
        for column in source.columns:
            column.nullable = True
    if scope.star is not None:
        scope.star = [replace(c, nullable=True) for c in scope.star]
