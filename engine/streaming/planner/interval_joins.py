"""Joins whose conditions bound the time between two rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.columns import name_parts
from bergsql.engine.plan.expressions import bind
from bergsql.engine.plan.intervals import micros_of
from bergsql.engine.plan.resolve import resolve
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.streaming.nodes import IntervalJoinNode, JoinKind
from bergsql.engine.streaming.planner.attributes import join_key, only_inserts
from bergsql.engine.streaming.planner.sql_columns import reads

if TYPE_CHECKING:
    from bergsql.engine.plan.context import Context
    from bergsql.engine.streaming.planner.build import Building, Stage
    from bergsql.engine.streaming.planner.joins import Conditions, Sides

_Side = tuple[str, int, int]
"""A time: of which input, at which position, moved by so many microseconds."""


def interval_join(
    stage: Stage, right: Stage, sides: Sides, kind: JoinKind, found: Conditions, building: Building
) -> IntervalJoinNode | None:
    """The node of a join with a lower and an upper bound of the time between its rows; None where it has none."""
    left_node, right_node = sides.left.node, sides.right.node
    if not found.nodes or not only_inserts(left_node, right_node):
        return None
    context = building.context(stage.scope, "ON", aggregates=False, windows=False)
    bounds: dict[tuple[int, int], list[int | None]] = {}
    used: list[int] = []
    for number, node in enumerate(found.nodes):
        its = _bounds(node, stage, right, context)
        for times, lower, upper in its:
            known = bounds.setdefault(times, [None, None])
            if lower is not None:
                known[0] = lower if known[0] is None else max(known[0], lower)
            if upper is not None:
                known[1] = upper if known[1] is None else min(known[1], upper)
        if its:
            used.append(number)
    whole = [(times, low, high) for times, (low, high) in bounds.items() if low is not None and high is not None]
    if not whole:
        return None
    (left_time, right_time), lower, upper = whole[0]
    if kind in (JoinKind.SEMI, JoinKind.ANTI):
        message = "A semi or anti join cannot have bounds of time in a stream."
        raise BergError(ErrorCode.UNSUPPORTED, message, span=span_of(found.nodes[0]))
    from bergsql.engine.streaming.planner.joins import joined_columns

    return IntervalJoinNode(
        uid="",
        inputs=(left_node, right_node),
        columns=joined_columns(sides.left, sides.right, kind, times=True),
        mode=left_node.mode,
        key=join_key(kind, left_node, right_node, sides.left_keys, sides.right_keys),
        kind=kind,
        left_keys=sides.left_keys,
        right_keys=sides.right_keys,
        left_time=left_time,
        right_time=right_time,
        lower=lower,
        upper=upper,
        condition=found.condition,
    )


def _bounds(
    node: exp.Expr, stage: Stage, right: Stage, context: Context
) -> list[tuple[tuple[int, int], int | None, int | None]]:
    """What a condition says of ``right time - left time``: the two times, the least and the greatest difference."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Between):
        low = _compared(exp.GTE, node.this, node.args["low"], stage, right, context)
        high = _compared(exp.LTE, node.this, node.args["high"], stage, right, context)
        return [low, high] if low is not None and high is not None else []
    if isinstance(node, exp.LT | exp.LTE | exp.GT | exp.GTE | exp.EQ):
        one = _compared(type(node), node.this, node.expression, stage, right, context)
        return [one] if one is not None else []
    return []


def _compared(
    kind: type[exp.Binary], first: exp.Expr, second: exp.Expr, stage: Stage, right: Stage, context: Context
) -> tuple[tuple[int, int], int | None, int | None] | None:
    a, b = _time(first, stage, right, context), _time(second, stage, right, context)
    if a is None or b is None or a[0] == b[0]:
        return None
    if a[0] == "l":  # turned around, so that the right time comes first
        a, b = b, a
        kind = {exp.LT: exp.GT, exp.LTE: exp.GTE, exp.GT: exp.LT, exp.GTE: exp.LTE}.get(kind, kind)
    times, difference = (b[1], a[1]), b[2] - a[2]
    if kind in (exp.GT, exp.GTE):
        return times, difference + (kind is exp.GT), None
    if kind in (exp.LT, exp.LTE):
        return times, None, difference - (kind is exp.LT)
    return times, difference, difference


def _time(node: exp.Expr, stage: Stage, right: Stage, context: Context) -> _Side | None:
    """A rowtime, plus or minus a literal interval."""
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Add | exp.Sub):
        inner = _time(node.this, stage, right, context)
        micros = micros_of(bind(node.expression, context)) if inner is not None else None
        if inner is None or micros is None:
            return None
        return inner[0], inner[1], inner[2] + (micros if isinstance(node, exp.Add) else -micros)
    if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
        return None
    try:
        bound, taken, _ = resolve(context.scope, *name_parts(node))
    except BergError:
        return None
    found = reads(bound.sql)
    if taken != len(name_parts(node)[0]) or len(found) != 1:
        return None
    ((side, place),) = found
    columns = (stage if side == "l" else right).stream.columns
    return (side, place, 0) if bound.sql == f"{side}.c{place}" and columns[place].rowtime else None
