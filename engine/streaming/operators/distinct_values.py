"""DISTINCT in an aggregate: how often each value of a group is there, and which are new or gone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import StreamColumn, column
from bergsql.engine.streaming.operators.accumulators.layout import MINUS, PLUS, DistinctValues
from bergsql.engine.streaming.operators.group_state import GroupState, hash_sql, numbers, pair_sql, same_sql

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext
    from bergsql.engine.streaming.state.base import StateScope
    from bergsql.engine.streaming.state.keyed import Fetched


class DistinctCounts:
    """The values of one DISTINCT, by group.

    A group's values lie together, and go with it.
    """

    def __init__(
        self,
        context: OperatorContext,
        scope: StateScope,
        keys: Sequence[int],
        values: DistinctValues,
        columns: Sequence[StreamColumn],
        *,
        retracts: bool,
    ) -> None:
        self._context = context
        self._retracts = retracts
        self._keys = [column(k) for k in keys]
        others = [a for a in dict.fromkeys(values.arguments) if a not in keys]
        self._values = [column(a) for a in others]
        self._filter = values.filter
        types = {column(p): duckdb_name(columns[p].type) for p in (*keys, *others)}
        self._place = pair_sql(self._keys, self._values)
        self._state = GroupState(context, scope, types | ({"n": "BIGINT"} if retracts else {}), self._place)

    def changed(self, table: str) -> str:
        """Bring the changes of a table in; a relation of the values that are there now, or no more, as changed rows."""
        fetched, rows = self._counted(table)
        name = self._context.relation(rows)
        listed = ", ".join([*self._keys, *self._values, "op"])
        changes = f"(SELECT {listed}, row_number() OVER () AS rowid FROM {name} WHERE op IS NOT NULL ORDER BY seen)"
        if not self._retracts:
            rows = rows.filter(rows.column("op").is_valid())
            self._state.replace(fetched, numbers(rows, "place")[:0].astype("int64"), numbers(rows, "place"), rows)
            return changes
        import pyarrow.compute as pc

        gone = rows.column("row").drop_null().to_numpy()
        stay = rows.filter(pc.greater(rows.column("n"), 0))
        self._state.replace(fetched, gone, numbers(stay, "place"), stay)
        return changes

    def _counted(self, table: str) -> tuple[Fetched, pa.Table]:
        columns = [*self._keys, *self._values]
        where = f" WHERE i.{column(self._filter)}" if self._filter is not None else ""
        count = f"count(*) FILTER (WHERE {PLUS}) - count(*) FILTER (WHERE {MINUS})" if self._retracts else "count(*)"
        groups = f" GROUP BY {', '.join(f'i.{c}' for c in columns)}" if columns else ""
        inner = ", ".join(f"i.{c}" for c in columns)
        changes = self._context.query(
            f"SELECT {self._place} AS place, * FROM (SELECT {inner}, {count} AS more, min(i.rowid) AS seen"
            f" FROM {table} AS i{where}{groups})" + (" WHERE more <> 0" if self._retracts else "")
        )
        fetched, old = self._state.fetch(numbers(changes, "place"))
        was = "coalesce(o.n, 0)" if self._retracts else "CASE WHEN o.row IS NULL THEN 0 ELSE 1 END"
        op = f"CASE WHEN {was} <= 0 AND {was} + d.more > 0 THEN 0 WHEN {was} > 0 AND {was} + d.more <= 0 THEN 3 END"
        kept = f", {was} + d.more AS n" if self._retracts else ""
        rows = self._context.query(
            f"SELECT d.place, {', '.join(f'd.{c}' for c in columns)}, d.seen, o.row, {op} AS op{kept}"
            f" FROM {self._context.relation(changes)} AS d LEFT JOIN {old} AS o ON {same_sql('d', 'o', columns)}"
        )
        return fetched, rows

    def drop(self, groups: str, key_names: Sequence[str]) -> None:
        """Forget the values of the groups in a relation, whose key's columns are ``key_names``."""
        import numpy as np

        half = np.uint64(0xFFFFFFFF)
        place = hash_sql(key_names)
        low = self._context.query(f"SELECT DISTINCT ({place} >> 32) << 32 AS low FROM {groups} ORDER BY low")
        start = numbers(low, "low").astype(np.uint64)
        fetched = self._state.rows.fetch(start, start | half)
        name = self._context.relation(fetched.rows)
        same = " AND ".join(
            f"o.{mine} IS NOT DISTINCT FROM g.{theirs}" for mine, theirs in zip(self._keys, key_names, strict=True)
        )
        found = self._context.query(f"SELECT o.row FROM {name} AS o SEMI JOIN {groups} AS g ON {same or 'TRUE'}")
        rows = numbers(found, "row")
        self._state.replace(fetched, rows, start[:0], fetched.rows.slice(0, 0))
