"""The versions of a stream's rows, for joins with the one that was valid at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from bergsql.engine.streaming.changelog import ChangelogMode, column
from bergsql.engine.streaming.nodes import CalcNode, NormalizeNode, RankNode, WatermarkNode

if TYPE_CHECKING:
    from bergsql.engine.sql.statements import Query
    from bergsql.engine.streaming.nodes import Node


def all_versions(node: Node) -> Node:
    """The same rows with every version of a key, also those that another one follows in the same batch.

    What folds a batch to the last row of each key is left out: upserts are taken as they come, and of a
    ``ROW_NUMBER() … = 1`` by rowtime descending its input, whose rows are the versions.
    """
    if isinstance(node, NormalizeNode):
        return node.inputs[0]
    if isinstance(node, RankNode) and _is_last_by_time(node):
        (below,) = node.inputs
        items = [f"i.{column(position)}" for position in range(len(below.columns))]
        items += ["1::BIGINT"] if node.numbered else []
        return CalcNode(
            uid="", inputs=node.inputs, columns=node.columns, mode=below.mode, key=node.partition, items=tuple(items)
        )
    if isinstance(node, WatermarkNode) or (isinstance(node, CalcNode) and node.condition is None and not node.joined):
        below = all_versions(node.inputs[0])
        if below is not node.inputs[0]:
            return replace(node, inputs=(below,), mode=below.mode)
    return node


def _is_last_by_time(node: RankNode) -> bool:
    (below,) = node.inputs
    if (node.first, node.last, len(node.order)) != (1, 1, 1):
        return False
    order = node.order[0]
    return below.mode is ChangelogMode.INSERT_ONLY and order.descending and below.columns[order.position].rowtime


def without_times(query: Query) -> Query:
    """The query without FOR SYSTEM_TIME AS OF a column: what is joined so has the columns of what it is joined with."""
    versions = [node for node in query.ast.find_all(exp.Version) if node.expression.find(exp.Column) is not None]
    if not versions:
        return query
    ast = query.ast.copy()
    for node in list(ast.find_all(exp.Version)):
        if node.expression.find(exp.Column) is not None and node.parent is not None:
            node.parent.set("version", None)
    return query._replace(ast=ast)
