"""Column pruning: a source reads no column that nobody needs, and state holds none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from bergsql.engine.streaming import nodes as n
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import Node, StreamPlan
from bergsql.engine.streaming.planner.ranks import unnumbered
from bergsql.engine.streaming.planner.sql_columns import moved, places, rewritten

Places = Mapping[int, int]
"""Where columns are, by where they were."""


class _Made(NamedTuple):
    node: Node
    at: Places


def pruned(plan: StreamPlan) -> StreamPlan:
    """The plan without columns that are not read. What its ends give stays as it is."""
    made = _Pruning(plan)
    ends = tuple(made.rebuilt(end).node for end in plan.ends)
    return replace(plan, ends=tuple(e for e in ends if isinstance(e, n.SinkNode | n.CollectNode)))


class _Pruning:
    """What is needed of each node, then the nodes made anew from the sources up."""

    def __init__(self, plan: StreamPlan) -> None:
        nodes = plan.nodes()
        self.needed: dict[int, set[int]] = {id(node): set() for node in nodes}
        self._made: dict[int, _Made] = {}
        for end in plan.ends:
            self.needed[id(end)] = set(range(len(end.columns)))
        for node in reversed(nodes):
            need = self.needed[id(node)]
            if isinstance(node, n.RankNode):
                need |= set(node.partition)
            elif node.key is not None and node.mode is not ChangelogMode.INSERT_ONLY:
                need |= set(node.key)  # by which rows are found that are taken back
            for below, used in zip(node.inputs, _asked(node, need), strict=True):
                # A row of no columns cannot be held.
                self.needed[id(below)] |= used or ({0} if isinstance(node, _HOLDS) else set())

    def rebuilt(self, node: Node) -> _Made:
        found = self._made.get(id(node))
        if found is None:
            found = self._made[id(node)] = self._rebuild(node)
        return found

    def _rebuild(self, node: Node) -> _Made:
        need = sorted(self.needed[id(node)])
        if isinstance(node, n.SourceNode):
            source = node.source
            if len(need) < len(node.columns):
                source = source.reading(frozenset(need))
            return _Made(replace(node, source=source), {k: k for k in range(len(node.columns))})
        if isinstance(node, n.RankNode) and node.numbered and len(node.columns) - 1 not in need:
            node = unnumbered(node)
        below = [self._narrowed(each, node) for each in node.inputs]
        if isinstance(node, n.CalcNode):
            return _calc(node, need, below[0])
        parts = _moved_parts(node, below)
        parts["inputs"] = tuple(b.node for b in below)
        at, columns = _outputs(node, below)
        key = None
        if node.key is not None and all(k in at for k in node.key):
            key = tuple(at[k] for k in node.key)
        return _Made(replace(node, columns=columns, key=key, **parts), at)

    def _narrowed(self, node: Node, above: Node) -> _Made:
        """An input without columns that are not needed, where keeping them would cost: of what holds rows."""
        made = self.rebuilt(node)
        need = sorted(self.needed[id(node)])
        if not isinstance(above, _HOLDS) or len(made.at) == len(need) or set(made.at) == set(need):
            return made
        at = {k: place for place, k in enumerate(need)}
        key = node.key if node.key is not None and all(k in at for k in node.key) else None
        calc = n.CalcNode(
            uid="",
            inputs=(made.node,),
            columns=tuple(made.node.columns[made.at[k]] for k in need),
            mode=made.node.mode,
            key=None if key is None else tuple(at[k] for k in key),
            items=tuple(f"i.c{made.at[k]}" for k in need),
        )
        return _Made(calc, at)


_HOLDS = (
    n.JoinNode,
    n.IntervalJoinNode,
    n.TemporalJoinNode,
    n.LookupJoinNode,
    n.RankNode,
    n.OverNode,
    n.SortNode,
    n.UnionNode,
    n.NormalizeNode,
    n.UpsertMaterializeNode,
)


def _asked(node: Node, need: set[int]) -> list[set[int]]:
    """What a node reads of each input, so that it can give the columns ``need``."""
    width = len(node.inputs[0].columns) if node.inputs else 0
    own = {k for k in need if k < width}
    match node:
        case n.CalcNode():
            return [places([*(node.items[k] for k in need), node.condition or "", node.joined])]
        case n.WatermarkNode():
            return [own | {node.time} | places(node.sql)]
        case n.AggregateNode():
            return [set(node.keys) | _of_calls(node.calls)]
        case n.WindowAggregateNode():
            bounds = {p for p in (node.time, node.start, node.end) if p is not None}
            return [set(node.keys) | _of_calls(node.calls) | bounds]
        case n.RankNode():
            return [own | set(node.partition) | {k.position for k in node.order}]
        case n.OverNode():
            return [own | set(node.partition) | {node.time} | places(c.sql for c in node.calls)]
        case n.SortNode():
            return [own | {node.time} | {k.position for k in node.order}]
        case n.JoinNode() | n.IntervalJoinNode() | n.TemporalJoinNode():
            return _of_join(node, own, {k - width for k in need if k >= width})
        case n.LookupJoinNode():
            return [own | set(node.left_keys) | places(node.condition or "", "l")]
        case n.NormalizeNode():
            return [own | set(node.key or ())]
        case n.SinkNode() | n.CollectNode():
            return [set(range(width))]
        case n.UnionNode() | n.LimitNode():
            return [set(need) for _ in node.inputs]
    return [set(range(len(each.columns))) for each in node.inputs]


def _of_calls(calls: Iterable[n.AggregateCall]) -> set[int]:
    return {
        place
        for call in calls
        for place in (*call.arguments, *(p for p, _ in call.order), *(() if call.filter is None else (call.filter,)))
    }


def _of_join(
    node: n.JoinNode | n.IntervalJoinNode | n.TemporalJoinNode, left: set[int], right: set[int]
) -> list[set[int]]:
    condition = node.condition or ""
    first = left | set(node.left_keys) | places(condition, "l")
    second = right | set(node.right_keys) | places(condition, "r")
    if isinstance(node, n.IntervalJoinNode | n.TemporalJoinNode):
        first.add(node.left_time)
        second.add(node.right_time)
    return [first, second]


def _calc(node: n.CalcNode, need: list[int], below: _Made) -> _Made:
    at = {k: place for place, k in enumerate(need)}

    def new(sql: str) -> str:
        return moved(sql, dict(below.at))

    key = node.key if node.key is not None and all(k in at for k in node.key) else None
    made = replace(
        node,
        inputs=(below.node,),
        columns=tuple(node.columns[k] for k in need),
        key=None if key is None else tuple(at[k] for k in key),
        items=tuple(new(node.items[k]) for k in need),
        joined=new(node.joined),
        condition=None if node.condition is None else new(node.condition),
    )
    return _Made(made, at)


def _outputs(node: Node, below: list[_Made]) -> tuple[Places, tuple[StreamColumn, ...]]:
    """Where the columns of a node are that is made over narrowed inputs, and these columns."""
    passing = (
        n.WatermarkNode,
        n.NormalizeNode,
        n.UpsertMaterializeNode,
        n.LimitNode,
        n.SortNode,
        n.UnionNode,
        n.SinkNode,
        n.CollectNode,
    )
    width = len(node.inputs[0].columns)
    at: dict[int, int]
    if isinstance(node, passing):
        at = dict(below[0].at)
    elif isinstance(node, n.RankNode | n.OverNode | n.LookupJoinNode):
        first = len(below[0].node.columns)
        at = dict(below[0].at) | {k: first + k - width for k in range(width, len(node.columns))}
    elif isinstance(node, n.JoinNode | n.IntervalJoinNode | n.TemporalJoinNode):
        at = dict(below[0].at)
        if node.kind not in (n.JoinKind.SEMI, n.JoinKind.ANTI):
            first = len(below[0].node.columns)
            at |= {width + k: first + place for k, place in below[1].at.items()}
    else:
        at = {k: k for k in range(len(node.columns))}
    return at, tuple(node.columns[k] for k in sorted(at, key=at.__getitem__))


def _moved_parts(node: Node, below: list[_Made]) -> dict[str, Any]:
    """The positions and the SQL of a node over narrowed inputs."""
    if not below:
        return {}
    left = below[0].at
    right = below[1].at if len(below) > 1 else {}

    def order(keys: tuple[n.SortKey, ...]) -> tuple[n.SortKey, ...]:
        return tuple(replace(k, position=left[k.position]) for k in keys)

    def calls(given: tuple[n.AggregateCall, ...]) -> tuple[n.AggregateCall, ...]:
        from bergsql.engine.streaming.planner.aggregates import moved_call

        return tuple(moved_call(c, dict(left)) for c in given)

    match node:
        case n.WatermarkNode():
            return {"time": left[node.time], "sql": moved(node.sql, dict(left))}
        case n.AggregateNode():
            return {"keys": tuple(left[k] for k in node.keys), "calls": calls(node.calls)}
        case n.WindowAggregateNode():
            return {
                "keys": tuple(left[k] for k in node.keys),
                "calls": calls(node.calls),
                "time": left[node.time],
                "start": None if node.start is None else left[node.start],
                "end": None if node.end is None else left[node.end],
            }
        case n.RankNode():
            return {"partition": tuple(left[k] for k in node.partition), "order": order(node.order)}
        case n.OverNode():
            given = tuple(replace(c, sql=moved(c.sql, dict(left))) for c in node.calls)
            return {"partition": tuple(left[k] for k in node.partition), "time": left[node.time], "calls": given}
        case n.SortNode():
            return {"time": left[node.time], "order": order(node.order)}
        case n.JoinNode() | n.IntervalJoinNode() | n.TemporalJoinNode() | n.LookupJoinNode():
            return _join_parts(node, left, right)
    return {}


def _join_parts(
    node: n.JoinNode | n.IntervalJoinNode | n.TemporalJoinNode | n.LookupJoinNode, left: Places, right: Places
) -> dict[str, Any]:
    other = {k: k for k in range(len(node.table.columns))} if isinstance(node, n.LookupJoinNode) else right
    parts: dict[str, Any] = {
        "left_keys": tuple(left[k] for k in node.left_keys),
        "right_keys": tuple(other[k] for k in node.right_keys),
    }
    if node.condition is not None:
        sides = {"l": left, "r": other}
        parts["condition"] = rewritten(node.condition, lambda s, k: f"{s}.c{sides[s][k]}")
    if isinstance(node, n.IntervalJoinNode | n.TemporalJoinNode):
        parts |= {"left_time": left[node.left_time], "right_time": right[node.right_time]}
    return parts
