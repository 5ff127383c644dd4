"""Joins with the version of a time: FOR SYSTEM_TIME AS OF a time attribute of the left side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.plan.expressions import bind
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.streaming.nodes import JoinKind, LookupJoinNode, SourceNode, TemporalJoinNode
from bergsql.engine.streaming.planner.attributes import join_key, only_inserts
from bergsql.engine.streaming.planner.build import Stream
from bergsql.engine.streaming.planner.from_clause import plan_relation, settled
from bergsql.engine.streaming.planner.joins import KINDS, joined_columns, joined_conditions, placed, sides_of
from bergsql.engine.streaming.planner.sql_columns import column_at
from bergsql.engine.streaming.planner.versions import all_versions

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.catalog.errors import Span
    from bergsql.engine.streaming.planner.build import Building, Stage
    from bergsql.engine.streaming.planner.joins import Conditions, StarParts
    from bergsql.engine.streaming.planner.queries import Ctes


def versioned_join(stage: Stage, join: exp.Expr, kind: str, version: exp.Expr, building: Building, ctes: Ctes) -> Stage:
    """``a JOIN b FOR SYSTEM_TIME AS OF a.time``: by event time with a version, by processing time with a table."""
    span = span_of(version) or span_of(join.this)
    if kind not in ("INNER", "LEFT"):
        message = "A join with FOR SYSTEM_TIME AS OF is an INNER or a LEFT one, with ON."
        raise BergError(ErrorCode.INVALID, message, span=span)
    context = building.context(stage.scope, "FROM", aggregates=False, windows=False)
    at = column_at(bind(version.expression, context).sql)
    column = stage.stream.columns[at] if at is not None else None
    if at is None or column is None or not (column.rowtime or column.proctime):
        message = "FOR SYSTEM_TIME AS OF takes a time attribute of the left side: a rowtime, or PROCTIME()."
        raise BergError(ErrorCode.INVALID, message, span=span)
    if not only_inserts(stage.stream.node):
        message = "A join with FOR SYSTEM_TIME AS OF takes rows that only come, and those of its left side change."
        raise BergError(ErrorCode.INVALID, message, span=span)
    plain = join.this.copy()
    plain.set("version", None)
    with building.reading(once=bool(column.proctime)):
        right = settled(plan_relation(plain, building, ctes), building)
    right.stream = building.cut(right.stream, len(right.columns))
    found, shown = joined_conditions(stage, right, join, kind, building, ctes, [])
    if not found.keys:
        message = "A join with FOR SYSTEM_TIME AS OF needs an equality of both sides in ON."
        raise BergError(ErrorCode.INVALID, message, span=span)
    if column.proctime:
        return _lookup(stage, right, KINDS[kind], found, shown, building, span)
    return _temporal(stage, right, KINDS[kind], at, found, shown, building, span)


def _temporal(
    stage: Stage,
    right: Stage,
    kind: JoinKind,
    at: int,
    found: Conditions,
    shown: StarParts,
    building: Building,
    span: Span | None,
) -> Stage:
    if found.right:  # a filter would make a version end that does not
        found.both += found.right
        found.right = []
    sides = sides_of(stage.stream, right.stream, found, building)
    node = all_versions(sides.right.node)
    times = [n for n, c in enumerate(node.columns) if c.rowtime]
    if not times:
        message = "The right side of a join with FOR SYSTEM_TIME AS OF a rowtime has a WATERMARK too."
        raise BergError(ErrorCode.INVALID, message, span=span)
    if node.key is None or not set(node.key) <= set(sides.right_keys):
        raise BergError(
            ErrorCode.INVALID,
            "The right side of a join with FOR SYSTEM_TIME AS OF has versions by a key, and ON compares all of that.",
            span=span,
            hint="A table with a PRIMARY KEY, or ROW_NUMBER() … = 1 by rowtime descending, has versions.",
        )
    made = TemporalJoinNode(
        uid="",
        inputs=(sides.left.node, node),
        columns=joined_columns(sides.left, sides.right, kind, times=True),
        mode=sides.left.node.mode,
        key=join_key(kind, sides.left.node, node, sides.left_keys, sides.right_keys),
        kind=kind,
        left_keys=sides.left_keys,
        right_keys=sides.right_keys,
        left_time=at,
        right_time=times[0],
        condition=found.condition,
    )
    return placed(stage, right, Stream(made), len(sides.left.columns), kind, shown, building)


def _lookup(
    stage: Stage,
    right: Stage,
    kind: JoinKind,
    found: Conditions,
    shown: StarParts,
    building: Building,
    span: Span | None,
) -> Stage:
    found.both += found.right
    found.right = []
    source = right.stream.node
    if not isinstance(source, SourceNode) or not source.source.bounded:
        raise BergError(
            ErrorCode.INVALID,
            "FOR SYSTEM_TIME AS OF a processing time looks up a table as it is: an Iceberg table or files, not a "
            "stream or a query.",
            span=span,
        )
    sides = sides_of(stage.stream, right.stream, found, building)
    if sides.right.node is not source:
        message = "What is looked up is compared by its own columns: an expression of them cannot be looked up."
        raise BergError(ErrorCode.UNSUPPORTED, message, span=span)
    made = LookupJoinNode(
        uid="",
        inputs=(sides.left.node,),
        columns=joined_columns(sides.left, sides.right, kind, times=True),
        mode=sides.left.node.mode,
        key=None,
        kind=kind,
        left_keys=sides.left_keys,
        right_keys=sides.right_keys,
        table=source.source,
        condition=found.condition,
    )
    return placed(stage, right, Stream(made), len(sides.left.columns), kind, shown, building)
