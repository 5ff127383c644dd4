"""GROUP BY over changes: each batch changes the groups of its rows, and what is told are the groups that changed.

One query reduces a batch to a row a key; the states of these keys are fetched, brought up to date in one query, and
written back. What is held beside them costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import END_OF_TIME, OP, Batch, ChangelogMode, column
from bergsql.engine.streaming.nodes import AggregateNode
from bergsql.engine.streaming.operators.accumulators.layout import MINUS, PLUS
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.group_state import hash_sql, numbers
from bergsql.engine.streaming.operators.groups import Groups
from bergsql.engine.streaming.operators.idle_groups import ENDS, IdleGroups

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.state.keyed import Fetched


class Aggregate(Operator):
    """See :class:`AggregateNode`.

    A group is there while it has rows: it comes with +I, changes with -U and +U, and goes with -D. Without keys the row
    of no rows takes the place of -D, and comes at the end of an input without rows, as in a batch.
    """

    def __init__(self, node: AggregateNode) -> None:
        (source,) = node.inputs
        self._retracts = source.mode is not ChangelogMode.INSERT_ONLY
        self._groups = Groups(source.columns, node.keys, node.calls, retracts=self._retracts)
        self._alive = "TRUE"
        if self._retracts:
            layout = self._groups.layout
            delta = layout.rows.delta(f"count(*) FILTER (WHERE {PLUS}) - count(*) FILTER (WHERE {MINUS})")
            count = layout.state("BIGINT", f"coalesce(OLD, 0) + {delta}")
            if node.keys:
                self._alive = f"m.{count} > 0"
        self._now = 0

    def open(self, context: OperatorContext) -> None:
        self._context = context
        self._idle = IdleGroups.of(context)
        self._groups.open(context, hash_sql(self._groups.names), {ENDS: "BIGINT"} if self._idle else {})

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:
        (flow,) = inputs
        batch = None
        self._now = now
        if self._idle is not None:
            for rows in self._idle.expired(self._groups.state, now):
                self._groups.drop(rows)
        if flow.batch is not None:
            table = self._context.table(flow.batch)
            if table.rows:
                batch = self._changed(table.sql)
        if batch is None and flow.watermark == END_OF_TIME and not self._groups.keys:
            batch = self._row_of_nothing()
        return Flow(batch, flow.watermark)

    def _row_of_nothing(self) -> Batch | None:
        """The one row of an aggregation without keys over no rows, unless there was one."""
        columns = [f"CAST(NULL AS {duckdb_name(c.type)}) AS {column(i)}" for i, c in enumerate(self._groups.columns)]
        columns += [f"CAST(0 AS TINYINT) AS {OP}", "CAST(0 AS BIGINT) AS rowid"]
        return self._changed(f"(SELECT {', '.join(columns)} WHERE FALSE)")

    def _changed(self, table: str) -> Batch | None:
        changed = self._groups.bring_in(table, self._alive)
        if changed is None:
            return None
        self._keep(*changed)
        return self._told(changed[1])

    def _keep(self, fetched: Fetched, merged: pa.Table) -> None:
        state = self._groups.state
        gone, alive = numbers(merged, "row"), merged
        if self._retracts:
            alive = merged.filter(merged.column("alive"))
        elif not self._groups.layout.states and self._idle is None:
            # SELECT DISTINCT: what is there already stays as it is.
            gone, alive = gone[:0], merged.filter(merged.column("row").is_null())
        if self._idle is None:
            state.replace(fetched, gone, numbers(alive, "place"), alive)
            return
        alive = alive.drop_columns([ENDS]).append_column(ENDS, _constant(self._idle.end(self._now), alive.num_rows))
        blocks = state.replace(fetched, gone, numbers(alive, "place"), alive)
        self._idle.touch(state, blocks, self._now)

    def _told(self, merged: pa.Table) -> Batch | None:
        had = "r.row IS NOT NULL"
        sides = (
            f"CASE WHEN r.alive AND {had} THEN CASE WHEN {self._groups.differ_sql('r')} THEN [0, 1] ELSE [] END"
            f" WHEN r.alive THEN [1] WHEN {had} THEN [0] ELSE [] END"
        )
        op = f"CASE WHEN r.side = 1 THEN CASE WHEN {had} THEN 2 ELSE 0 END WHEN r.alive THEN 1 ELSE 3 END"
        keys, results = self._groups.names, range(len(self._groups.results))
        items = [
            f"CAST(r.{k} AS {t}) AS {column(i)}"
            for i, (k, t) in enumerate(zip(keys, self._groups.key_types, strict=True))
        ]
        items += [f"CASE WHEN r.side = 1 THEN r.n{i} ELSE r.q{i} END AS {column(len(keys) + i)}" for i in results]
        both = f"SELECT *, unnest({sides}) AS side FROM {self._context.relation(merged)} AS r"
        items.append(f"CAST({op} AS TINYINT) AS {OP}")
        batch = self._context.table(Batch(f"(SELECT {', '.join(items)} FROM ({both}) AS r)"))
        return batch if batch.rows else None


def _constant(value: int, count: int) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, pa.int64()), count)
