"""The calls of a SELECT that nodes of their own compute: what stands for them, and what the nodes need."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from bergsql.catalog.errors import BergError, ErrorCode, not_supported
from bergsql.engine.plan.aggregate_calls import order_key, window_parts
from bergsql.engine.plan.calls_taken import TakenCall
from bergsql.engine.plan.records import replace
from bergsql.engine.sql.parser.query import span_of

if TYPE_CHECKING:
    from sqlglot import exp

    from bergsql.engine.plan.bound import Bound
    from bergsql.engine.plan.context import BoundQuery, Context
    from bergsql.engine.streaming.planner.build import Building, Stream
    from bergsql.engine.streaming.planner.queries import Ctes


class OverWindow(NamedTuple):
    """A window: SQL of what it is partitioned by, its keys of ORDER BY, and its frame in SQL ("" for none)."""

    partition: tuple[str, ...]
    order: tuple[str, ...]
    frame: str


class OverUse(NamedTuple):
    """A window function: its call, and its window."""

    call: TakenCall
    window: OverWindow


class ScalarQuery(NamedTuple):
    """A subquery that is a value: a stream of one row at most, and where it stands."""

    stream: Stream
    node: exp.Expr


class Calls:
    """Takes the calls of one SELECT.

    SQL above them reads ``g.c0`` …: the group keys, then the aggregates; ``s.c0`` …: the window functions; ``r.c0`` …:
    the subqueries that are values.
    """

    def __init__(self, building: Building, ctes: Ctes) -> None:
        self._building = building
        self._ctes = ctes
        self.keys: list[Bound] = []
        self.aggregates: list[TakenCall] = []
        self.overs: list[OverUse] = []
        self.queries: list[ScalarQuery] = []
        self.sets: list[frozenset[int]] = []
        """Of GROUPING SETS: which of the keys each set has; the last key is then the number of the set."""

    def group(self, keys: list[Bound]) -> None:
        """The keys, before any aggregate is taken."""
        self.keys = keys

    def call(self, call: TakenCall, context: Context) -> str:
        if call.over is not None:
            return self._over(call, call.over, context)
        same = next((n for n, a in enumerate(self.aggregates) if a[:6] == call[:6]), None)
        if same is None:
            same = len(self.aggregates)
            self.aggregates.append(call)
        return f"g.c{len(self.keys) + same}"

    def _over(self, call: TakenCall, over: exp.Expr, context: Context) -> str:
        inner = replace(context, windows_allowed=False, clause="OVER")
        from bergsql.engine.plan.expressions import bind

        partition, order, spec = window_parts(over, context)
        frame = ""
        if spec is not None:
            from bergsql.engine.plan.window_frame import frame_sql

            frame = frame_sql(spec, order, inner, span_of(over))
        window = OverWindow(
            tuple(bind(p, inner).sql for p in partition), tuple(order_key(o, inner)[0] for o in order), frame
        )
        use = OverUse(call, window)
        same = next((n for n, o in enumerate(self.overs) if (o.call[:6], o.window) == (call[:6], window)), None)
        if same is None:
            same = len(self.overs)
            self.overs.append(use)
        return f"s.c{same}"

    def query(self, node: exp.Expr, context: Context) -> BoundQuery:
        from sqlglot import exp as nodes

        from bergsql.engine.plan.context import BoundQuery, OutputColumn
        from bergsql.engine.streaming.planner.queries import plan_query
        from bergsql.engine.streaming.planner.ranks import settle

        if isinstance(node.parent, nodes.In | nodes.Exists | nodes.Any | nodes.All) or context.inside_aggregate:
            raise not_supported("A subquery there, in a stream", span_of(node))
        if context.clause not in ("SELECT", "WHERE"):
            raise not_supported(f"A subquery in {context.clause} of a stream", span_of(node))
        before, self._building.planner.calls = self._building.planner.calls, None
        try:
            stream = settle(plan_query(node, self._building, self._ctes), self._building)
        except BergError as error:
            if error.code is ErrorCode.NOT_FOUND:
                hint = "A subquery of a stream cannot read columns of the query around it: write a join."
                error.hint = error.hint or hint
            raise
        finally:
            self._building.planner.calls = before
        if stream.node.key != ():
            raise BergError(
                ErrorCode.UNSUPPORTED,
                "A subquery that is a value must give one row at any time: an aggregate without GROUP BY.",
                span=span_of(node),
                hint="Join the two tables instead.",
            )
        self.queries.append(ScalarQuery(stream, node))
        column = stream.columns[0]
        sql = f"r.c{len(self.queries) - 1}"
        return BoundQuery(sql, [OutputColumn(c.name, c.type) for c in (column, *stream.columns[1:])])
