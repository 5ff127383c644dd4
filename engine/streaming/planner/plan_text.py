"""EXPLAIN of a stream: each node above its inputs, with the changes it gives, its key and what it keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from bergsql.engine.streaming import nodes as n
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.nodes import Node, StreamPlan
from bergsql.engine.streaming.planner.sql_columns import rewritten

_MODES = {ChangelogMode.INSERT_ONLY: "[I]", ChangelogMode.RETRACT: "[I,UB,UA,D]", ChangelogMode.UPSERT: "[I,UA,D]"}


def lines(plan: StreamPlan, details: Sequence[str], settings: Mapping[str, str]) -> list[str]:
    """As :func:`bergsql.engine.streaming.planner.explain`. A node that several read is told once."""
    found: list[str] = []
    told: set[int] = set()
    ttl = settings.get("table.exec.state.ttl", "")

    def tell(node: Node, depth: int) -> None:
        pad = "  " * depth
        if id(node) in told:
            found.append(f"{pad}{node.uid} (as above)")
            return
        told.add(id(node))
        found.append(f"{pad}{_head(node)}  changelogMode={_MODES[node.mode]}{_key(node)}")
        state = _state(node)
        if state:
            kept = f", for {ttl}" if ttl.lstrip("0 ")[:1].isdigit() and _expires(node) else ""
            found.append(f"{pad}  state: {state}{kept}")
        if "ESTIMATED_COST" in details or "COST" in details:
            found.append(f"{pad}  estimated cost: of each batch, {_cost(node)}")
        for each in node.inputs:
            tell(each, depth + 1)

    for end in plan.ends:
        tell(end, 0)
    return found


def json_plan(plan: StreamPlan) -> str:
    """The plan in the form of Flink's JSON: nodes, each with those that it reads from."""
    import json

    nodes = plan.nodes()
    numbers = {id(node): number for number, node in enumerate(nodes, 1)}
    told = [
        {
            "id": numbers[id(node)],
            "type": node.uid,
            "pact": "Data Source" if not node.inputs else "Data Sink" if isinstance(node, n.SinkNode) else "Operator",
            "contents": _head(node),
            "changelogMode": _MODES[node.mode],
            "state": _state(node),
            "predecessors": [{"id": numbers[id(each)]} for each in node.inputs],
        }
        for node in nodes
    ]
    return json.dumps({"nodes": told}, indent=2, ensure_ascii=False)


def _key(node: Node) -> str:
    if node.key is None:
        return ""
    return f", upsertKey=[{', '.join(_name(node.columns, k) for k in node.key)}]"


def _name(columns: Sequence[StreamColumn], place: int) -> str:
    return columns[place].name or f"${place}"


def _names(node: Node, places: Sequence[int]) -> str:
    return ", ".join(_name(node.columns, p) for p in places)


def _shown(sql: str, node: Node) -> str:
    """SQL with the names of columns."""
    sides = {"i": 0, "l": 0, "r": 1}

    def name(side: str, place: int) -> str:
        columns = node.inputs[min(sides.get(side, 0), len(node.inputs) - 1)].columns
        prefix = f"{side}." if side in "lr" else ""
        return prefix + _name(columns, place)

    text = rewritten(sql, name)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _head(node: Node) -> str:
    told = _HEADS.get(type(node).__name__)
    return told(node) if told is not None else type(node).__name__.removesuffix("Node")


def _source(node: Node) -> str:
    assert isinstance(node, n.SourceNode)
    return f"Source {node.source.explain()}: {', '.join(c.name for c in node.columns)}"


def _calc(node: Node) -> str:
    assert isinstance(node, n.CalcNode)
    below = node.inputs[0]
    items = []
    for sql, column in zip(node.items, node.columns, strict=True):
        shown = _shown(sql, node)
        items.append(shown if shown == column.name or not column.name else f"{shown} AS {column.name}")
    text = f"Calc {', '.join(items)}"
    if list(node.items) == [f"i.c{k}" for k in range(len(below.columns))] and node.condition:
        text = "Calc *"
    if node.joined:
        text += f", joined with{_shown(node.joined, node)}"
    return text + (f" WHERE {_shown(node.condition, node)}" if node.condition else "")


def _call(call: n.AggregateCall, below: Node) -> str:
    inner = _names(below, call.arguments) or "*"
    text = f"{call.function.upper()}({'DISTINCT ' if call.distinct else ''}{inner})"
    return text + (f" FILTER {_name(below.columns, call.filter)}" if call.filter is not None else "")


def _aggregate(node: Node) -> str:
    assert isinstance(node, n.AggregateNode | n.WindowAggregateNode)
    below = node.inputs[0]
    parts = [_names(below, node.keys), *(_call(c, below) for c in node.calls)]
    word = "Distinct" if not node.calls else "Aggregate"
    if isinstance(node, n.WindowAggregateNode):
        word = f"WindowAggregate ({node.kind.value}, {_name(below.columns, node.time)})"
    return f"{word} {', '.join(p for p in parts if p)}"


def _order(keys: Sequence[n.SortKey], node: Node) -> str:
    return ", ".join(f"{_name(node.columns, k.position)} {'DESC' if k.descending else 'ASC'}" for k in keys)


def _rank(node: Node) -> str:
    assert isinstance(node, n.RankNode)
    below = node.inputs[0]
    by = f" partitioned by {_names(below, node.partition)}" if node.partition else ""
    order = f" ordered by {_order(node.order, below)}" if node.order else ""
    return f"Rank {node.first} to {node.last}{by}{order}"


def _over(node: Node) -> str:
    assert isinstance(node, n.OverNode)
    below = node.inputs[0]
    by = f" partitioned by {_names(below, node.partition)}" if node.partition else ""
    calls = ", ".join(f"{_shown(c.sql, node)} {c.frame}".strip() for c in node.calls)
    return f"Over {calls}{by} ordered by {_name(below.columns, node.time)}"


def _join(node: Node) -> str:
    assert isinstance(node, n.JoinNode | n.IntervalJoinNode | n.TemporalJoinNode)
    left, right = node.inputs
    pairs = [
        f"{_name(left.columns, a)} = {_name(right.columns, b)}"
        for a, b in zip(node.left_keys, node.right_keys, strict=True)
    ]
    if isinstance(node, n.IntervalJoinNode):
        a, b = _name(left.columns, node.left_time), _name(right.columns, node.right_time)
        pairs.append(f"{b} - {a} between {node.lower} and {node.upper} µs")
    if isinstance(node, n.TemporalJoinNode):
        pairs.append(f"as of {_name(left.columns, node.left_time)}")
    if node.condition:
        pairs.append(_shown(node.condition, node))
    return f"{type(node).__name__.removesuffix('Node')} {node.kind.value} on {' AND '.join(pairs) or 'TRUE'}"


def _lookup(node: Node) -> str:
    assert isinstance(node, n.LookupJoinNode)
    keys = ", ".join(
        f"{_name(node.inputs[0].columns, a)} = {_name(node.table.columns, b)}"
        for a, b in zip(node.left_keys, node.right_keys, strict=True)
    )
    return f"LookupJoin {node.kind.value} {node.table.explain()} on {keys or 'TRUE'}"


_HEADS: dict[str, Callable[[Node], str]] = {
    "SourceNode": _source,
    "CalcNode": _calc,
    "AggregateNode": _aggregate,
    "WindowAggregateNode": _aggregate,
    "RankNode": _rank,
    "OverNode": _over,
    "JoinNode": _join,
    "IntervalJoinNode": _join,
    "TemporalJoinNode": _join,
    "LookupJoinNode": _lookup,
    "WatermarkNode": lambda node: (
        f"Watermark for {_name(node.columns, node.time)} as {_shown(node.sql, node)}"
        if isinstance(node, n.WatermarkNode)
        else ""
    ),
    "NormalizeNode": lambda node: f"Normalize by {_names(node, node.key or ())}",
    "UpsertMaterializeNode": lambda node: f"UpsertMaterialize by {_names(node, node.key or ())}",
    "LimitNode": lambda node: f"Limit {node.count} offset {node.offset}" if isinstance(node, n.LimitNode) else "",
    "SortNode": lambda node: f"Sort by {_name(node.columns, node.time)}" if isinstance(node, n.SortNode) else "",
    "SinkNode": lambda node: f"Sink {node.sink.explain()}" if isinstance(node, n.SinkNode) else "",
    "CollectNode": lambda node: f"Collect {', '.join(c.name for c in node.columns)}",
}


def _state(node: Node) -> str:
    """What an operator keeps: rows per what, and until when."""
    match node:
        case n.AggregateNode():
            return f"one row per ({_names(node.inputs[0], node.keys)})" if node.keys else "one row"
        case n.WindowAggregateNode():
            return "one row per window and key, until the watermark passes its end"
        case n.NormalizeNode():
            return f"one row per ({_names(node, node.key or ())})"
        case n.UpsertMaterializeNode():
            return f"all rows, per ({_names(node, node.key or ())}) in the order in which they came"
        case n.RankNode():
            kept = "the input" if node.inputs[0].mode is not ChangelogMode.INSERT_ONLY else f"{node.last} rows"
            return f"{kept} per ({_names(node.inputs[0], node.partition)})" if node.partition else kept
        case n.OverNode():
            return "the rows that frames look back on"
        case n.JoinNode():
            return "all rows of both inputs, by key"
        case n.IntervalJoinNode():
            return "rows of both inputs, until the watermark passes the interval"
        case n.TemporalJoinNode():
            return "left rows until the watermark passes them, versions of the right side"
        case n.SortNode():
            return "rows, until the watermark passes them"
        case n.LimitNode():
            return "how many rows have passed"
        case n.WatermarkNode():
            return "the last watermark"
    return ""


def _expires(node: Node) -> bool:
    return isinstance(node, n.AggregateNode | n.NormalizeNode | n.UpsertMaterializeNode | n.RankNode | n.JoinNode)


def _cost(node: Node) -> str:
    return "its changes" if not _state(node) else "the keys that changed"
