"""Operators: one file a kind, found by the class of their node and imported when first needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import Node
    from bergsql.engine.streaming.operators.base import Operator

OPERATORS: dict[str, str] = {
    "CalcNode": "calc.Calc",
    "UnionNode": "union.Union",
    "WatermarkNode": "watermark.Watermark",
    "AggregateNode": "aggregate.Aggregate",
    "WindowAggregateNode": "window_aggregate.WindowAggregate",
    "NormalizeNode": "normalize.Normalize",
    "UpsertMaterializeNode": "upsert_materialize.UpsertMaterialize",
    "RankNode": "rank.Rank",
    "OverNode": "over.Over",
    "JoinNode": "join.Join",
    "IntervalJoinNode": "interval_join.IntervalJoin",
    "TemporalJoinNode": "temporal_join.TemporalJoin",
    "LookupJoinNode": "lookup_join.LookupJoin",
    "LimitNode": "limit.Limit",
    "SortNode": "sort.Sort",
}
"""Of each class of node that computes: a module here and a class in it, which is made of the node."""


def make_operator(node: Node) -> Operator:
    """The operator of a node."""
    module, _, name = OPERATORS[type(node).__name__].partition(".")
    made: Operator = getattr(import_module(f"{__name__}.{module}"), name)(node)
    return made
