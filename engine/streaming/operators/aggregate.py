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
from bergsql.engine.streaming.operators.accumulators.layout import MINUS, PLUS, Layout, Result, Stage
from bergsql.engine.streaming.operators.aggregate_rules import lay_out
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.group_state import GroupState, hash_sql, numbers, same_sql
from bergsql.engine.streaming.operators.idle_groups import ENDS, IdleGroups

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.distinct_values import DistinctCounts
    from bergsql.engine.streaming.operators.kept_values import KeptValues
    from bergsql.engine.streaming.state.keyed import Fetched

_ORDERED = 50_000
"""Groups of a batch up to which they come out in the order in which their first rows came."""


class Aggregate(Operator):
    """See :class:`AggregateNode`.

    A group is there while it has rows: it comes with +I, changes with -U and +U, and goes with -D. Without keys the row
    of no rows takes the place of -D, and comes at the end of an input without rows, as in a batch.
    """

    def __init__(self, node: AggregateNode) -> None:
        self._node = node
        (source,) = node.inputs
        self._retracts = source.mode is not ChangelogMode.INSERT_ONLY
        self._layout = Layout(source.columns, retracts=self._retracts)
        self._results: list[Result] = [lay_out(self._layout, call) for call in node.calls]
        if self._retracts:
            counted = f"count(*) FILTER (WHERE {PLUS}) - count(*) FILTER (WHERE {MINUS})"
            delta = self._layout.rows.delta(counted)
            self._count = self._layout.state("BIGINT", f"coalesce(OLD, 0) + {delta}")
        self._keys = [f"k{i}" for i in range(len(node.keys))]
        self._types = [duckdb_name(c.type) for c in node.columns]

    def open(self, context: OperatorContext) -> None:
        from bergsql.engine.streaming.operators.distinct_values import DistinctCounts
        from bergsql.engine.streaming.operators.kept_values import kept_values

        self._context = context
        node, scope = self._node, context.state
        (source,) = node.inputs
        columns = dict(zip(self._keys, self._types, strict=False))
        columns |= {name: type_ for name, (type_, _) in self._layout.states.items()}
        self._idle = IdleGroups.of(context)
        if self._idle is not None:
            columns[ENDS] = "BIGINT"
        self._state = GroupState(context, scope, columns, hash_sql(self._keys))
        self._distinct: dict[str, DistinctCounts] = {
            stage.alias: DistinctCounts(
                context, scope.part(stage.alias), node.keys, values, source.columns, retracts=self._retracts
            )
            for values, stage in self._layout.distinct.items()
        }
        self._kept: dict[str, KeptValues] = {
            kept.alias: kept_values(context, scope.part(kept.alias), node.keys, kept) for kept in self._layout.kept
        }

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:
        (flow,) = inputs
        batch = None
        if self._idle is not None:
            for rows in self._idle.expired(self._state, now):
                self._drop(rows)
        self._now = now
        if flow.batch is not None:
            table = self._context.table(flow.batch)
            if table.rows:
                batch = self._changed(table.sql)
        if batch is None and flow.watermark == END_OF_TIME and not self._keys:
            batch = self._row_of_nothing()
        return Flow(batch, flow.watermark)

    def _row_of_nothing(self) -> Batch | None:
        """The one row of an aggregation without keys over no rows, unless there was one."""
        (source,) = self._node.inputs
        columns = [f"CAST(NULL AS {duckdb_name(c.type)}) AS {column(i)}" for i, c in enumerate(source.columns)]
        columns += [f"CAST(0 AS TINYINT) AS {OP}", "CAST(0 AS BIGINT) AS rowid"]
        return self._changed(f"(SELECT {', '.join(columns)} WHERE FALSE)")

    # --- one batch ------------------------------------------------------------------------------------------------

    def _changed(self, table: str) -> Batch | None:
        deltas = self._context.query(self._deltas_sql(self._layout.rows, table, ordered=True))
        if deltas.num_rows == 0:
            return None
        fetched, old = self._state.fetch(numbers(deltas, "place"))
        merged = self._context.query(self._merged_sql(deltas, old, self._stages(table)))
        self._keep(fetched, merged)
        return self._told(merged)

    def _deltas_sql(self, stage: Stage, source: str, *, ordered: bool = False) -> str:
        keys = [f"i.{column(k)}" for k in self._node.keys]
        items = [f"{sql} AS {name}" for sql, name in zip(keys, self._keys, strict=True)]
        items += [f"{sql} AS {name}" for sql, name in stage.deltas.items()]
        if not ordered:
            groups = f" GROUP BY {', '.join(keys)}" if keys else " HAVING count(*) > 0"
            return f"SELECT {', '.join(items or ['TRUE AS there'])} FROM {source} AS i{groups}"
        groups = f" GROUP BY {', '.join(keys)}" if keys else ""
        items.append("min(i.rowid) AS seen")
        return f"SELECT {hash_sql(self._keys)} AS place, * FROM (SELECT {', '.join(items)} FROM {source} AS i{groups})"

    def _stages(self, table: str) -> dict[str, str]:
        """Relations of what else is told of groups, by their aliases: of distinct values, and of kept ones."""
        sources = {self._layout.rows.alias: table}
        found: dict[str, str] = {}
        for stage in self._layout.distinct.values():
            sources[stage.alias] = self._distinct[stage.alias].changed(table)
            if stage.deltas:
                found[stage.alias] = f"({self._deltas_sql(stage, sources[stage.alias])})"
        for kept in self._layout.kept:
            found[kept.alias] = self._kept[kept.alias].told(sources[kept.source])
        return found

    def _merged_sql(self, deltas: pa.Table, old: str, stages: dict[str, str]) -> str:
        """A row a changed key: its old state (p…), its new one (s…) and both results (q…, n…)."""
        keys, states = self._keys, self._layout.states
        joins = [f"LEFT JOIN {sql} AS {alias} ON {same_sql('d', alias, keys)}" for alias, sql in stages.items()]
        joins.append(f"LEFT JOIN {old} AS o ON {same_sql('d', 'o', keys)}")
        items = ["d.place", "d.seen", "o.row", *(f"d.{key}" for key in keys)]
        items += [f"{sql} AS {name}, o.{name} AS p_{name}" for name, (_, sql) in states.items()]
        inner = f"SELECT {', '.join(items)} FROM {self._context.relation(deltas)} AS d {' '.join(joins)}"
        results = []
        for i, (result, type_) in enumerate(zip(self._results, self._types[len(keys) :], strict=True)):
            results.append(f"CAST({result(lambda s: f'm.{s}')} AS {type_}) AS n{i}")
            results.append(f"CAST({result(lambda s: f'm.p_{s}')} AS {type_}) AS q{i}")
        alive = f"m.{self._count} > 0" if self._retracts and keys else "TRUE"
        items = [f"m.{name}" for name in ("place", "row", *keys, *states)] + [f"{alive} AS alive", *results]
        order = " ORDER BY m.seen" if deltas.num_rows <= _ORDERED else ""
        return f"SELECT {', '.join(items)} FROM ({inner}) AS m{order}"

    def _keep(self, fetched: Fetched, merged: pa.Table) -> None:
        gone, alive = numbers(merged, "row"), merged
        if self._retracts:
            alive = merged.filter(merged.column("alive"))
        elif not self._layout.states and self._idle is None:
            # SELECT DISTINCT: what is there already stays as it is.
            gone, alive = gone[:0], merged.filter(merged.column("row").is_null())
        if self._idle is not None:
            alive = alive.append_column(ENDS, _constant(self._idle.end(self._now), alive.num_rows))
        blocks = self._state.replace(fetched, gone, numbers(alive, "place"), alive)
        if self._idle is not None:
            self._idle.touch(self._state, blocks, self._now)

    def _drop(self, groups: pa.Table) -> None:
        """Forget what is kept of groups beside their states."""
        for distinct in self._distinct.values():
            distinct.drop(self._context.relation(groups), self._keys)
        for kept in self._kept.values():
            kept.drop(groups, self._keys)

    # --- what is told ---------------------------------------------------------------------------------------------

    def _told(self, merged: pa.Table) -> Batch | None:
        had = "r.row IS NOT NULL"
        changed = " OR ".join(f"r.n{i} IS DISTINCT FROM r.q{i}" for i in range(len(self._results))) or "FALSE"
        sides = (
            f"CASE WHEN r.alive AND {had} THEN CASE WHEN {changed} THEN [0, 1] ELSE [] END"
            f" WHEN r.alive THEN [1] WHEN {had} THEN [0] ELSE [] END"
        )
        op = f"CASE WHEN r.side = 1 THEN CASE WHEN {had} THEN 2 ELSE 0 END WHEN r.alive THEN 1 ELSE 3 END"
        return self._batch(merged, sides, f"CAST({op} AS TINYINT)")

    def _batch(self, merged: pa.Table, sides: str, op: str) -> Batch | None:
        keys, count = len(self._keys), len(self._results)
        items = [f"CAST(r.k{i} AS {self._types[i]}) AS {column(i)}" for i in range(keys)]
        items += [f"CASE WHEN r.side = 1 THEN r.n{i} ELSE r.q{i} END AS {column(keys + i)}" for i in range(count)]
        relation = self._context.relation(merged)
        both = f"SELECT *, unnest({sides}) AS side FROM {relation} AS r"
        batch = self._context.table(Batch(f"(SELECT {', '.join([*items, f'{op} AS {OP}'])} FROM ({both}) AS r)"))
        return batch if batch.rows else None


def _constant(value: int, count: int) -> pa.Array:
    import pyarrow as pa

    return pa.repeat(pa.scalar(value, pa.int64()), count)
