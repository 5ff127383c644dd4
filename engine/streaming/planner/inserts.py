"""INSERT of a stream: its query made to fit the sink, and the sink asked whether it takes such changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from bergsql.engine.sql.types import INTEGERS, TEXTS, DataType, Kind
from bergsql.engine.streaming.changelog import ChangelogMode
from bergsql.engine.streaming.nodes import SinkNode, UpsertMaterializeNode
from bergsql.engine.streaming.planner.build import Building
from bergsql.engine.streaming.planner.sql_columns import places

if TYPE_CHECKING:
    from bergsql.catalog.errors import Span
    from bergsql.engine.plan.relations import Relations
    from bergsql.engine.sql.statements import Query
    from bergsql.engine.streaming.changelog import StreamColumn
    from bergsql.engine.streaming.nodes import Node
    from bergsql.engine.streaming.planner.build import Shared
    from bergsql.engine.streaming.sinks.base import Sink


MATERIALIZE = "table.exec.sink.upsert-materialize"


class PlannedInsert(NamedTuple):
    """One INSERT: its query, its sink, and what makes SQL of the sink's columns of the query's, read as ``i.c0`` …"""

    query: Query
    sink: Sink
    fit: Callable[[Sequence[StreamColumn]], Sequence[str]]
    span: Span | None
    """Where the target stands."""


def sink_node(insert: PlannedInsert, relations: Relations, shared: Shared) -> SinkNode:
    """The end of a plan that writes.

    :raises BergError: at the query or the target.
    """
    from bergsql.catalog.errors import BergError
    from bergsql.engine.plan.context import Planner
    from bergsql.engine.streaming.planner.plans import query_stream

    stream = query_stream(insert.query, relations, shared)
    items = insert.fit(stream.columns)
    building = Building(relations, Planner(relations), shared)
    ready = building.calc(stream, list(zip(items, insert.sink.columns, strict=True)))
    node: Node = replace(ready.node, key=_key(stream.node, items, insert.sink))
    how = (relations.setting(MATERIALIZE) or "AUTO").upper()
    if _is_materialized(node, insert.sink, how):
        node = UpsertMaterializeNode(
            uid="", inputs=(node,), columns=node.columns, mode=ChangelogMode.RETRACT, key=insert.sink.key
        )
    elif how == "NONE" and insert.sink.key:
        node = replace(node, key=insert.sink.key)  # so says who set it
    try:
        insert.sink.check(node.mode, node.key)
    except BergError as error:
        raise error.at(insert.span) from None
    return SinkNode(uid="", inputs=(node,), columns=insert.sink.columns, mode=node.mode, key=node.key, sink=insert.sink)


def _is_materialized(node: Node, sink: Sink, how: str) -> bool:
    """Whether rows with one primary key must be kept, so that the one before comes back when the last one goes.

    Rows that never go need no memory: the last one stays.
    """
    if not sink.key or node.mode is ChangelogMode.INSERT_ONLY or how == "NONE":
        return False
    return how == "FORCE" or node.key is None or not set(node.key) <= set(sink.key)


def _key(node: Node, items: Sequence[str], sink: Sink) -> tuple[int, ...] | None:
    """The key of a query's rows among the columns of the sink: what a cast to those leaves apart still is one."""
    if node.key is None:
        return None
    found: list[int] = []
    for place in node.key:
        own = node.columns[place].type
        at = next(
            (n for n, sql in enumerate(items) if places(sql) == {place} and _apart(own, sink.columns[n].type)), None
        )
        if at is None:
            return None
        found.append(at)
    return tuple(found)


def _apart(source: DataType, to: DataType) -> bool:
    """Whether values that differ still do when they are stored as the other type."""
    if source.kind in INTEGERS and to.kind in (*INTEGERS, Kind.DECIMAL):
        return True
    if source.kind in TEXTS and to.kind in TEXTS:
        return True
    return source.kind is to.kind and (source.scale or 0) <= (to.scale or 0) and source.kind is not Kind.TIME
