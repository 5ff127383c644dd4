"""UNION, INTERSECT and EXCEPT of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.casts import convert_sql, same_in_duckdb
from bergsql.engine.plan.scope import Scope
from bergsql.engine.plan.set_operations import has_tail, word_of
from bergsql.engine.sql.parser.query import span_of
from bergsql.engine.streaming.changelog import StreamColumn
from bergsql.engine.streaming.nodes import JoinKind, JoinNode, UnionNode
from bergsql.engine.streaming.planner.assemble import distinct_rows
from bergsql.engine.streaming.planner.attributes import join_mode
from bergsql.engine.streaming.planner.build import Stream, settled_mode
from bergsql.engine.streaming.planner.ranks import settle

if TYPE_CHECKING:
    from bergsql.engine.streaming.planner.build import Building
    from bergsql.engine.streaming.planner.queries import Ctes


def plan_set_operation(node: exp.Expr, building: Building, ctes: Ctes) -> Stream:
    """A chain of set operations without what follows it; UNION ALLs in a row are one node."""
    from bergsql.engine.streaming.planner.queries import plan_query

    spine: list[exp.Expr] = []
    at = node
    while isinstance(at, exp.SetOperation) and (at is node or not has_tail(at)):
        spine.append(at)
        at = at.this
    stream = settle(plan_query(at, building, ctes), building)
    waiting = [stream]
    for operation in reversed(spine):
        right = settle(plan_query(operation.expression, building, ctes), building)
        word = word_of(operation)
        if operation.args.get("by_name"):
            raise not_supported("UNION BY NAME in a stream", span_of(operation.expression))
        if word == "UNION ALL":
            waiting.append(right)
            continue
        waiting = [_combined(word, _union(waiting, building, operation), right, operation, building)]
    return _union(waiting, building, node)


def _union(streams: list[Stream], building: Building, node: exp.Expr) -> Stream:
    if len(streams) == 1:
        return streams[0]
    columns = _shared(streams, building, node)
    ready = [_as(s, columns, building) for s in streams]
    inputs = tuple(s.node for s in ready)
    shown = tuple(
        c._replace(rowtime=all(s.columns[n].rowtime for s in ready), proctime=all(s.columns[n].proctime for s in ready))
        for n, c in enumerate(columns)
    )
    return Stream(UnionNode(uid="", inputs=inputs, columns=shown, mode=settled_mode(*inputs)))


def _shared(streams: list[Stream], building: Building, node: exp.Expr) -> list[StreamColumn]:
    """The columns of all: the names of the first, the types that all have in common."""
    context = building.context(Scope(building.relations.flavour))
    columns = list(streams[0].columns)
    for stream in streams[1:]:
        if len(stream.columns) != len(columns):
            message = f"The two sides of UNION have {len(columns)} and {len(stream.columns)} columns."
            raise BergError(ErrorCode.ARITY, message, span=span_of(node))
        for n, column in enumerate(stream.columns):
            shared = context.common_type(columns[n].type, column.type)
            if shared is None:
                message = f"Column {n + 1} of the two sides has types that have nothing in common."
                raise BergError(ErrorCode.TYPE, message, span=span_of(node))
            columns[n] = StreamColumn(columns[n].name, shared, columns[n].nullable or column.nullable)
    return columns


def _as(stream: Stream, columns: list[StreamColumn], building: Building) -> Stream:
    """The stream with its columns cast to those."""
    context = building.context(Scope(building.relations.flavour))
    items: list[tuple[str, StreamColumn]] = []
    changed = False
    for n, (own, wanted) in enumerate(zip(stream.columns, columns, strict=True)):
        plain = own.type == wanted.type or same_in_duckdb(own.type, wanted.type)
        changed = changed or not plain
        sql = f"i.c{n}" if plain else convert_sql(f"i.c{n}", own.type, wanted.type, context)
        items.append((sql, wanted))
    return building.calc(stream, items) if changed else stream


def _combined(word: str, left: Stream, right: Stream, node: exp.Expr, building: Building) -> Stream:
    if word == "UNION":
        return distinct_rows(_union([left, right], building, node))
    if word.endswith(" ALL"):
        raise not_supported(f"{word} in a stream", span_of(node.expression))
    columns = _shared([left, right], building, node)
    first, second = distinct_rows(_as(left, columns, building)), distinct_rows(_as(right, columns, building))
    kind = JoinKind.SEMI if word == "INTERSECT" else JoinKind.ANTI
    keys = tuple(range(len(columns)))
    made = JoinNode(
        uid="",
        inputs=(first.node, second.node),
        columns=first.node.columns,
        mode=join_mode(kind, first.node, second.node),
        key=keys,
        kind=kind,
        left_keys=keys,
        right_keys=keys,
        null_safe=tuple(True for _ in keys),
    )
    return Stream(made)
