"""The plan of a stream: a graph of nodes, each with its columns and what changes it gives.

Nodes say what is to be done, in positions of columns and DuckDB's SQL; the operator of the same name says how, in
:mod:`bergsql.engine.streaming.operators`. SQL of a node reads its input's columns as ``i.c0`` (``l.c0`` and ``r.c0`` of
a join's two inputs).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn

if TYPE_CHECKING:
    from bergsql.engine.sql.types import DataType
    from bergsql.engine.streaming.sinks.base import Sink
    from bergsql.engine.streaming.sources.base import Source


@dataclass(frozen=True, eq=False, kw_only=True)
class Node:
    """A part of a plan.

    uid
        Its name in the plan, by which its state is found again: the kind and a number, the same while the query is.
    key
        Positions of columns that tell the rows of the result apart at any time, None where nothing does; an empty tuple
        where there is one row at most.
    """

    uid: str
    inputs: tuple[Node, ...]
    columns: tuple[StreamColumn, ...]
    mode: ChangelogMode
    key: tuple[int, ...] | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class SourceNode(Node):
    """Reads a source. No inputs."""

    source: Source


@dataclass(frozen=True, eq=False, kw_only=True)
class CalcNode(Node):
    """``SELECT items FROM input AS i joined WHERE condition``: row by row. ``joined`` is lateral (UNNEST, windows)."""

    items: tuple[str, ...]
    joined: str = ""
    condition: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class WatermarkNode(Node):
    """WATERMARK FOR column ``time`` AS ``sql``: rows pass, and the watermark is the greatest value so far."""

    time: int
    sql: str


@dataclass(frozen=True, eq=False, kw_only=True)
class UnionNode(Node):
    """UNION ALL of its inputs."""


@dataclass(frozen=True)
class AggregateCall:
    """One aggregate over columns of the input.

    function
        In lower case, without DISTINCT: count, sum, min, max, avg, listagg, first_value, last_value, array_agg, …
    arguments
        Positions; none for COUNT(*). ``filter``: the position of a BOOLEAN.
    type
        Of the result: what is computed is cast to it.
    order
        Of LISTAGG … WITHIN GROUP and the like: positions, and whether descending.
    """

    function: str
    arguments: tuple[int, ...]
    type: DataType
    distinct: bool = False
    filter: int | None = None
    separator: str | None = None
    order: tuple[tuple[int, bool], ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class AggregateNode(Node):
    """GROUP BY: the columns are the keys, in order, and the calls'. Without keys there is one row, always."""

    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]


class WindowKind(Enum):
    """How rows come into windows."""

    ASSIGNED = "assigned"  # TUMBLE, HOP, CUMULATE: a row stands once for each window it is in
    SESSION = "session"


@dataclass(frozen=True, eq=False, kw_only=True)
class WindowAggregateNode(Node):
    """GROUP BY of windows: a window's rows come out once, when the watermark passes its end. Input is insert-only.

    ASSIGNED: ``start`` and ``end`` are the positions of the window's bounds (TIMESTAMP(3), wall clock). SESSION:
    ``time`` is the position of the time, ``gap`` in microseconds; ``partition`` are positions within the keys, by which
    sessions are made. The columns are the keys, the calls', then window_start, window_end and window_time.
    """

    kind: WindowKind
    keys: tuple[int, ...]
    calls: tuple[AggregateCall, ...]
    time: int
    start: int | None = None
    end: int | None = None
    gap: int | None = None
    partition: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class NormalizeNode(Node):
    """From UPSERT to RETRACT: the last row of each key is kept. ``key`` of the node is the key."""


@dataclass(frozen=True, eq=False, kw_only=True)
class UpsertMaterializeNode(Node):
    """Changes of rows that a sink's key does not tell apart, as changes by that key, which is the ``key`` of the node.

    Of each key the rows are kept in the order in which they came. The last one is given; when it goes, the one before
    it comes back (Flink's SinkUpsertMaterializer).
    """


@dataclass(frozen=True)
class SortKey:
    """One column of ORDER BY."""

    position: int
    descending: bool = False
    nulls_first: bool = True


@dataclass(frozen=True, eq=False, kw_only=True)
class RankNode(Node):
    """ROW_NUMBER() OVER (PARTITION BY … ORDER BY …) BETWEEN ``first`` AND ``last``: Top-N, and with 1 deduplication.

    The columns are the input's, and the number as a BIGINT if ``numbered``. ORDER BY … LIMIT is one without partition.
    """

    partition: tuple[int, ...]
    order: tuple[SortKey, ...]
    first: int
    last: int
    numbered: bool


@dataclass(frozen=True)
class OverCall:
    """An aggregate or ROW_NUMBER, RANK, LAG … over a frame: ``sql`` is the function's call over ``i``, without OVER."""

    sql: str
    frame: str
    type: DataType


@dataclass(frozen=True, eq=False, kw_only=True)
class OverNode(Node):
    """OVER windows by time, ascending, over an insert-only input: the columns are the input's, then the calls'.

    ``preceding`` is how far frames look back: so many rows, or microseconds with ``ranged``; None for all.
    """

    partition: tuple[int, ...]
    time: int
    calls: tuple[OverCall, ...]
    ranged: bool
    preceding: int | None


class JoinKind(Enum):
    """Which rows without a partner stay."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"  # the columns are the left's only; as are those of ANTI
    ANTI = "anti"


@dataclass(frozen=True, eq=False, kw_only=True)
class JoinNode(Node):
    """A join of two streams by equal columns, and by ``condition`` over ``l`` and ``r`` beside them.

    ``null_safe``: for each pair of keys, whether NULL equals NULL.
    """

    kind: JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    null_safe: tuple[bool, ...]
    condition: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class IntervalJoinNode(Node):
    """A join where also ``right time`` is from ``left time + lower`` to ``left time + upper`` (microseconds)."""

    kind: JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_time: int
    right_time: int
    lower: int
    upper: int
    condition: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class TemporalJoinNode(Node):
    """``l JOIN r FOR SYSTEM_TIME AS OF l.rowtime``: with the version of ``r`` (by its key) of that time. INNER or LEFT.

    ``right_time`` is the rowtime of the right side's changes.
    """

    kind: JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    left_time: int
    right_time: int
    condition: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class LookupJoinNode(Node):
    """``l JOIN t FOR SYSTEM_TIME AS OF l.proctime``: with the rows of ``t`` as they are when the left row is processed.

    ``table`` gives a Batch of a whole bounded source whenever it has changed. One input, the left.
    """

    kind: JoinKind
    left_keys: tuple[int, ...]
    right_keys: tuple[int, ...]
    table: Source
    condition: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True)
class LimitNode(Node):
    """LIMIT without ORDER BY: the first ``count`` rows behind ``offset`` that come."""

    count: int
    offset: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class SortNode(Node):
    """ORDER BY time ascending first: rows come out in order as the watermark passes them."""

    time: int
    order: tuple[SortKey, ...]


@dataclass(frozen=True, eq=False, kw_only=True)
class SinkNode(Node):
    """Writes its input to a sink."""

    sink: Sink


@dataclass(frozen=True, eq=False, kw_only=True)
class CollectNode(Node):
    """Hands its input to whoever runs the plan: a SELECT."""


@dataclass(frozen=True)
class StreamPlan:
    """A plan that can run: its ends, in the order in which sinks commit. A node may be an input of several others."""

    ends: tuple[SinkNode | CollectNode, ...]
    name: str = ""
    settings: dict[str, str] = field(default_factory=dict)

    def nodes(self) -> list[Node]:
        """All nodes, each behind its inputs."""
        found: dict[int, Node] = {}

        def visit(node: Node) -> None:
            if id(node) not in found:
                for each in node.inputs:
                    visit(each)
                found[id(node)] = node

        for end in self.ends:
            visit(end)
        return list(found.values())
