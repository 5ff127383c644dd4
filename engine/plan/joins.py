"""Kinds of joins, and USING."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, did_you_mean, not_supported
from bergsql.engine.plan.bound import Bound
from bergsql.engine.plan.casts import coerce
from bergsql.engine.plan.coercion import common_type
from bergsql.engine.plan.comparison import bind_comparison
from bergsql.engine.plan.context import Context, Planner
from bergsql.engine.plan.pushdown import push
from bergsql.engine.plan.resolve import column_of
from bergsql.engine.plan.scope import Scope, SourceColumn
from bergsql.engine.sql.parser.query import span_of

Slots = set[int]


class JoinKind(NamedTuple):
    """``pushes(left, right)``: the scans that a condition of ON may be pushed to, because it drops their rows."""

    sql: str
    pushes: Callable[[Slots, Slots], Slots]
    needs_condition: bool = True


def _both(left: Slots, right: Slots) -> Slots:
    return left | right


def _left(left: Slots, right: Slots) -> Slots:  # noqa: ARG001
    return left


def _right(left: Slots, right: Slots) -> Slots:  # noqa: ARG001
    return right


def _none(left: Slots, right: Slots) -> Slots:  # noqa: ARG001
    return set()


JOINS = {
    "CROSS": JoinKind("CROSS JOIN", _both, needs_condition=False),
    "INNER": JoinKind("JOIN", _both),
    "LEFT": JoinKind("LEFT JOIN", _right),
    "RIGHT": JoinKind("RIGHT JOIN", _left),
    "FULL": JoinKind("FULL JOIN", _none),
    "SEMI": JoinKind("SEMI JOIN", _both),
    "ANTI": JoinKind("ANTI JOIN", _right),
    "ASOF": JoinKind("ASOF JOIN", _none),
    "ASOF LEFT": JoinKind("ASOF LEFT JOIN", _none),
}


def join_kind(join: exp.Expr) -> str:
    """The kind as a key of :data:`JOINS`."""
    kind = str(join.args.get("kind") or "").upper()
    side = str(join.args.get("side") or "").upper()
    method = str(join.args.get("method") or "").upper()
    if method == "ASOF":
        if join.args.get("on") is None or side not in ("", "LEFT"):
            message = "ASOF JOIN needs ON with equalities and one of >=, >, <= or <; it may be a LEFT one."
            raise BergError(ErrorCode.INVALID, message, span=span_of(join.this))
        return f"ASOF {side}".strip()
    if method not in ("", "NATURAL"):
        raise not_supported(f"A {method} JOIN", span_of(join.this))
    if kind in ("SEMI", "ANTI"):
        return kind
    if side:
        return side
    if kind in ("", "INNER", "OUTER"):
        has_condition = join.args.get("on") is not None or join.args.get("using") or method
        return "INNER" if has_condition or kind == "INNER" else "CROSS"
    if kind == "CROSS":
        return "CROSS"
    raise not_supported(f"A {kind} JOIN", span_of(join.this))


def bind_using(
    names: list[exp.Expr],
    kind: str,
    left_columns: list[SourceColumn],
    right_columns: list[SourceColumn],
    scope: Scope,
    planner: Planner,
    slots: tuple[Slots, Slots],
) -> str:
    """``USING (a, b)``: equal columns, which ``*`` shows once and first. ``slots``: the scans of the two sides."""
    context = Context(planner, scope, "USING")
    conditions: list[str] = []
    merged: list[SourceColumn] = []
    gone: list[SourceColumn] = []
    for node in names:
        name = str(node.this)
        left = one_column(name, left_columns, node, scope)
        right = one_column(name, right_columns, node, scope)
        a, b = column_of(left, name), column_of(right, name)
        planner.note_read(a)
        planner.note_read(b)
        equal = exp.EQ(this=node, expression=node)
        condition = bind_comparison(equal, a, b, context)
        conditions.append(condition.sql)
        push(planner, scope, condition, JOINS[kind].pushes(*slots))
        merged.append(merged_column(left, right, a, b, kind, context))
        gone += [left, right]
    if kind not in ("SEMI", "ANTI"):
        rest = [c for c in [*left_columns, *right_columns] if not any(c is g for g in gone)]
        scope.star = [*merged, *rest]
        for column in merged:
            scope.merged[scope.fold(column.name)] = column
    return " AND ".join(conditions)


def one_column(name: str, columns: list[SourceColumn], node: exp.Expr, scope: Scope) -> SourceColumn:
    """The column of that name of one side of a join.

    :raises BergError: NOT_FOUND, or INVALID where there are several.
    """
    found = [c for c in columns if scope.same(c.name, name)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BergError(ErrorCode.INVALID, f"Column '{name}' is ambiguous in this join.", span=span_of(node))
    raise BergError(
        ErrorCode.NOT_FOUND,
        f"Column '{name}' is not on both sides of the join.",
        span=span_of(node),
        hint=did_you_mean(name, [c.name for c in columns]) or _metadata_hint(name),
    )


def _metadata_hint(name: str) -> str | None:
    from bergsql.engine.plan.resolve import METADATA_COLUMNS, ROW_LINEAGE

    if name not in METADATA_COLUMNS | ROW_LINEAGE:
        return None
    return f"USING does not see metadata columns: write ON a.{name} = b.{name}."


def merged_column(
    left: SourceColumn, right: SourceColumn, a: Bound, b: Bound, kind: str, context: Context
) -> SourceColumn:
    """What USING makes of two columns: that of the side whose rows all stay; of a FULL JOIN the one that is there."""
    if kind == "RIGHT":
        return right
    if kind != "FULL":
        return left
    shared = common_type(left.type, right.type, context.flavour) or left.type
    x, y = coerce(a, shared, context), coerce(b, shared, context)
    return SourceColumn(left.name, f"coalesce({x.sql}, {y.sql})", shared)
