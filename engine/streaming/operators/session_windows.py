"""SESSION: windows that rows make themselves, by coming within a gap of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bergsql.engine.streaming.changelog import OP, column
from bergsql.engine.streaming.nodes import WindowAggregateNode
from bergsql.engine.streaming.operators.group_state import hash_sql, numbers, pair_sql, same_sql
from bergsql.engine.streaming.operators.groups import Groups
from bergsql.engine.streaming.operators.session_merge import SessionMerge

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext
    from bergsql.engine.streaming.operators.window_times import WindowTimes
    from bergsql.engine.streaming.state.keyed import Fetched, Places

_HALF: Final = 0xFFFFFFFF
_SHIFT: Final = 1 << 63
_BOUNDS: Final = {"ss": "BIGINT", "se": "BIGINT"}
"""State columns: a session's first time, and the gap behind its last one, in microseconds."""


class SessionWindows:
    """A row for each session and key, with the session's bounds. The sessions of a partition lie together.

    What a batch costs follows the open sessions of the partitions that its rows are of; what closing costs, the
    partitions in which a session closes.
    """

    def __init__(self, node: WindowAggregateNode) -> None:
        (source,) = node.inputs
        assert node.gap is not None
        self._node = node
        self._groups = Groups(source.columns, node.keys, node.calls, retracts=False, merges=True)
        self._partition = [self._groups.names[p] for p in node.partition]

    def open(self, context: OperatorContext, times: WindowTimes) -> None:
        self._context = context
        self._times = times
        groups = self._groups
        groups.open(context, pair_sql(self._partition, groups.names), _BOUNDS)
        self._merge = SessionMerge(context, groups, self._partition)
        self._timers = context.state.part("timers")

    def change(self, table: str) -> tuple[int, list[str]]:
        """Take rows. Gives how many were late, and queries of changes to sessions that have closed."""
        columns = [f"i.{column(k)} AS {name}" for k, name in zip(self._groups.keys, self._groups.names, strict=True)]
        at = self._times.micros_sql(f"i.{column(self._node.time)}")
        place = f"(({hash_sql(self._partition)} >> 32) << 32)"
        found = self._context.query(
            f"SELECT *, {place} AS place FROM (SELECT {', '.join([*columns, f'{at} AS t', 'i.rowid AS id'])}"
            f" FROM {table} AS i) WHERE t IS NOT NULL"
        )
        if found.num_rows == 0:
            return 0, []
        fetched, old = self._of_partitions(numbers(found, "place"))
        rows = self._context.relation(found)
        placed = self._placed(rows, old)
        late = self._late(placed)
        merged = self._merge.merged(table, placed, old)
        if merged.num_rows == 0:
            return late, []
        gone = self._context.query(f"SELECT p.id FROM {placed} AS p WHERE p.old AND p.alive")
        self._groups.state.replace(fetched, numbers(gone, "id"), numbers(merged, "place"), merged)
        self._set_timers(merged)
        return late, self._changes(old, placed, merged) if self._times.lateness else []

    def _of_partitions(self, places: Places) -> tuple[Fetched, str]:
        """The sessions of partitions, by the beginnings of their places; a relation of them."""
        import numpy as np

        low: Places = np.unique(places)
        fetched = self._groups.state.rows.fetch(low, low | np.uint64(_HALF))
        return fetched, self._context.relation(fetched.rows)

    def _placed(self, rows: str, old: str) -> str:
        """Each new row and old session with the session that it is in now, ``ss`` to ``se``.

        A session goes on while a row comes no later than the gap behind the one before. ``alive``: it has new rows, and
        not only late ones.
        """
        gap = self._node.gap
        keys = "".join(f"{key}, " for key in self._partition)
        by = f"PARTITION BY {', '.join(self._partition)} " if self._partition else ""
        united = (
            f"SELECT {keys}FALSE AS old, id, t AS a, t + {gap} AS b FROM {rows} UNION ALL"
            f" SELECT {keys}TRUE AS old, row AS id, ss AS a, se AS b FROM {old}"
        )
        order = f"{by}ORDER BY a, b, old, id"  # the same one in both, of rows of one time too
        before = "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
        opens = f"coalesce(a > max(b) OVER ({order} {before}), TRUE)"
        numbered = f"SELECT *, sum(CAST(opens AS INT)) OVER ({order} ROWS UNBOUNDED PRECEDING) AS n"
        each = f"PARTITION BY {keys}n"
        sql = (
            f"SELECT {keys}old, id, a, n, min(a) OVER ({each}) AS ss, max(b) OVER ({each}) AS se,"
            f" bool_or(NOT old) OVER ({each}) AS fresh, bool_or(old) OVER ({each}) AS had"
            f" FROM ({numbered} FROM (SELECT *, {opens} AS opens FROM ({united})))"
        )
        over = self._times.over_sql("(se - 1000)")
        return self._context.relation(
            self._context.query(f"SELECT *, fresh AND (had OR NOT ({over})) AS alive FROM ({sql})")
        )

    def _late(self, placed: str) -> int:
        ((late,),) = self._context.cursor.execute(
            f"SELECT count(*) FROM {placed} WHERE NOT old AND NOT alive"
        ).fetchall()
        return int(late)

    # --- time -----------------------------------------------------------------------------------------------------

    def _set_timers(self, merged: pa.Table) -> None:
        """Note when to look at the partitions of sessions: when they are due, and when they are over."""
        name = self._context.relation(merged.select(["place", "se"]))
        found = self._context.query(f"SELECT DISTINCT (place >> 32) << 32 AS place, se - 1000 AS due FROM {name}")
        entries: set[bytes] = set()
        for place, due in zip(found.column("place").to_pylist(), found.column("due").to_pylist(), strict=True):
            for at in {due, due + self._times.lateness}:
                entries.add((at + _SHIFT).to_bytes(8, "big") + place.to_bytes(8, "big"))
        self._timers.put_many([(entry, b"") for entry in sorted(entries)])

    def close(self, watermark: int) -> list[str]:
        """Give the sessions that are due by now, and forget those that are over. Gives queries of rows."""
        import numpy as np

        stop = min(watermark + _SHIFT + 1, 2 * _SHIFT - 1).to_bytes(8, "big")
        timers = [key for key, _ in self._timers.scan(stop=stop)]
        if not timers:
            return []
        self._timers.delete_many(timers)
        fetched, name = self._of_partitions(np.array([int.from_bytes(key[8:], "big") for key in timers], np.uint64))
        due = f"r.se - 1000 > {self._times.watermark} AND r.se - 1000 <= {watermark}"
        order = ", ".join(["r.se", "r.ss", *(f"r.{key}" for key in self._groups.names)])
        over = self._context.query(f"SELECT row FROM {name} WHERE se - 1000 + {self._times.lateness} <= {watermark}")
        self._groups.state.remove(fetched, numbers(over, "row"))
        return [f"(SELECT {self._items('r', '0')} FROM {self._with_results(name)} AS r WHERE {due} ORDER BY {order})"]

    def _changes(self, old: str, placed: str, merged: pa.Table) -> list[str]:
        """What becomes of sessions that came out already, and of new ones that are due by now."""
        keys = [*self._groups.names, *_BOUNDS]
        name = self._context.relation(merged)
        passed = f"se - 1000 <= {self._times.watermark}"
        moved = f"(FROM {placed} WHERE old AND alive)"
        gone = f"(SELECT o.* FROM {old} AS o SEMI JOIN {moved} AS p ON o.row = p.id WHERE {passed})"
        before, after = self._with_results(gone), self._with_results(f"(FROM {name} WHERE {passed})")
        same = [f"a.n{i} IS NOT DISTINCT FROM b.n{i}" for i in range(len(self._groups.results))]
        match = same_sql("a", "b", keys)
        equal = " AND ".join([match, *same])
        sides = []
        for a, b, updated, plain in ((before, after, 1, 3), (after, before, 2, 0)):
            op = f"CASE WHEN EXISTS (FROM {b} AS b WHERE {match}) THEN {updated} ELSE {plain} END"
            sides.append(f"SELECT {self._items('a', op)} FROM {a} AS a WHERE NOT EXISTS (FROM {b} AS b WHERE {equal})")
        return sides

    def _with_results(self, relation: str) -> str:
        return f"(SELECT {', '.join(['r.*', *self._groups.results_sql('r', 'n')])} FROM {relation} AS r)"

    def _items(self, alias: str, op: str) -> str:
        """The columns of the node, of rows with keys, bounds and results."""
        groups, times = self._groups, self._times
        items = [f"CAST({alias}.{k} AS {t})" for k, t in zip(groups.names, groups.key_types, strict=True)]
        items += [f"{alias}.n{i}" for i in range(len(groups.results))]
        items += [
            times.clock_sql(f"{alias}.ss"),
            times.clock_sql(f"{alias}.se"),
            times.time_sql(f"({alias}.se - 1000)"),
        ]
        return ", ".join([*(f"{sql} AS {column(i)}" for i, sql in enumerate(items)), f"CAST({op} AS TINYINT) AS {OP}"])
