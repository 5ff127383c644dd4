"""The last steps of a plan: columns that nobody reads are dropped, and nodes get their uids."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.engine.streaming.nodes import CollectNode, SinkNode, StreamPlan

if TYPE_CHECKING:
    from bergsql.engine.streaming.nodes import Node


def finished(plan: StreamPlan) -> StreamPlan:
    """The plan, ready to run."""
    from bergsql.engine.streaming.planner.prune import pruned

    return numbered(pruned(plan))


def numbered(plan: StreamPlan) -> StreamPlan:
    """Each node with its name: its kind and a number, in the order of the plan."""
    counts: Counter[str] = Counter()
    made: dict[int, Node] = {}
    for node in plan.nodes():
        kind = _kind(node)
        counts[kind] += 1
        inputs = tuple(made[id(each)] for each in node.inputs)
        made[id(node)] = replace(node, uid=f"{kind}-{counts[kind]}", inputs=inputs)
    ends = tuple(e for e in (made[id(end)] for end in plan.ends) if isinstance(e, SinkNode | CollectNode))
    return replace(plan, ends=ends)


def _kind(node: Node) -> str:
    """``window-aggregate`` of a WindowAggregateNode."""
    name = type(node).__name__.removesuffix("Node")
    return "".join(f"-{c.lower()}" if c.isupper() else c for c in name).lstrip("-")
