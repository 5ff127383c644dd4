"""TUMBLE, HOP and CUMULATE: rows come with the bounds of their windows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from bergsql.engine.streaming.changelog import OP, column
from bergsql.engine.streaming.nodes import WindowAggregateNode
from bergsql.engine.streaming.operators.group_state import hash_sql, numbers
from bergsql.engine.streaming.operators.groups import Groups

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.streaming.operators.base import OperatorContext
    from bergsql.engine.streaming.operators.window_times import WindowTimes
    from bergsql.engine.streaming.state.keyed import Fetched

_HALF: Final = 0xFFFFFFFF
_START, _END = "k0", "k1"


class AssignedWindows:
    """Groups by window and key. The groups of a window lie together, so that it is closed by reading just them."""

    def __init__(self, node: WindowAggregateNode) -> None:
        (source,) = node.inputs
        assert node.start is not None
        assert node.end is not None
        self._node = node
        self._end = column(node.end)
        self._groups = Groups(source.columns, (node.start, node.end, *node.keys), node.calls, retracts=False)

    def open(self, context: OperatorContext, times: WindowTimes) -> None:
        self._context = context
        self._times = times
        window = f"(CAST(epoch_ms({_END}) & {_HALF} AS UBIGINT) << 32)"
        self._groups.open(context, f"({window} | ({hash_sql(self._groups.names[2:])} >> 32))", {})
        self._ends = context.state.part("ends")
        self._open = {_number(key): _number(value) for key, value in self._ends.scan()}
        """By the ends of windows, in microseconds: when each is due."""

    def change(self, table: str) -> tuple[int, list[str]]:
        """Take rows. Gives how many were late, and queries of changes to windows that have closed."""
        over = self._times.over_sql(self._times.due_sql(f"t.{self._end}"))
        late = 0
        if over != "FALSE":
            ((late,),) = self._context.cursor.execute(
                f"SELECT count(*) FILTER (WHERE {over}) FROM {table} AS t"
            ).fetchall()
            table = f"(SELECT *, rowid FROM {table} AS t WHERE NOT ({over}))" if late else table
        changed = self._groups.bring_in(table)
        if changed is None:
            return late, []
        fetched, merged = changed
        self._groups.state.replace(fetched, numbers(merged, "row"), numbers(merged, "place"), merged)
        self._note_ends(merged)
        if not self._times.lateness:
            return late, []
        return late, [self._changes_sql(self._context.relation(merged))]

    def _note_ends(self, merged: pa.Table) -> None:
        name = self._context.relation(merged.select([_END]))
        due = self._times.due_sql("w.e")
        found = self._context.query(
            f"SELECT epoch_us(e) AS e, {due} AS due FROM (SELECT DISTINCT {_END} AS e FROM {name}) AS w"
        )
        pairs = zip(found.column("e").to_pylist(), found.column("due").to_pylist(), strict=True)
        new = {end: due for end, due in pairs if end not in self._open}
        self._open.update(new)
        self._ends.put_many([(_bytes(end), _bytes(due)) for end, due in new.items()])

    def _changes_sql(self, merged: str) -> str:
        """The changes of groups in windows that have come out already."""
        had = "r.row IS NOT NULL"
        sides = f"CASE WHEN {had} THEN CASE WHEN {self._groups.differ_sql('r')} THEN [0, 1] ELSE [] END ELSE [1] END"
        op = f"CASE WHEN NOT ({had}) THEN 0 WHEN r.side = 1 THEN 2 ELSE 1 END"
        results = [f"CASE WHEN r.side = 1 THEN r.n{i} ELSE r.q{i} END" for i in range(len(self._groups.results))]
        passed = f"{self._times.due_sql(f'm.{_END}')} <= {self._times.watermark}"
        both = f"SELECT *, unnest({sides}) AS side FROM (FROM {merged} AS m WHERE {passed}) AS r"
        return f"SELECT {self._items('r', results, op)} FROM ({both}) AS r"

    def close(self, watermark: int) -> list[str]:
        """Give the windows that are due by now, and forget those that are over. Gives queries of rows."""
        due = [end for end, at in self._open.items() if self._times.watermark < at <= watermark]
        over = [end for end, at in self._open.items() if self._times.is_over(at, watermark)]
        told: list[str] = []
        if due:
            fetched, rows = self._rows(due)
            told.append(self._closed_sql(rows))
            if not self._times.lateness:  # those that are due are those that are over
                self._forget(over, fetched, rows)
                return told
        if over:
            self._forget(over, *self._rows(over))
        return told

    def _rows(self, ends: list[int]) -> tuple[Fetched, pa.Table]:
        """The groups of windows."""
        import numpy as np
        import pyarrow as pa

        low = np.unique(np.array([(end // 1000 & _HALF) << 32 for end in ends], np.uint64))
        fetched = self._groups.state.rows.fetch(low, low | np.uint64(_HALF))
        wanted = self._context.relation(pa.table({"e": pa.array(ends, pa.int64())}))
        name = self._context.relation(fetched.rows)
        return fetched, self._context.query(
            f"SELECT r.* FROM {name} AS r SEMI JOIN {wanted} AS w ON epoch_us(r.{_END}) = w.e"
        )

    def _closed_sql(self, rows: pa.Table) -> str:
        name = self._context.relation(rows)
        results = self._groups.results_sql("r", "n")
        inner = f"SELECT *, {', '.join(results)} FROM {name} AS r" if results else f"FROM {name}"
        items = self._items("r", [f"r.n{i}" for i in range(len(results))], "0")
        order = ", ".join(f"r.{k}" for k in (_END, _START, *self._groups.names[2:]))
        return f"(SELECT {items} FROM ({inner}) AS r ORDER BY {order})"

    def _items(self, alias: str, results: list[str], op: str) -> str:
        """The columns of the node, of rows with the groups' keys."""
        groups = self._groups
        types = groups.key_types[2:]
        items = [f"CAST({alias}.{k} AS {t})" for k, t in zip(groups.names[2:], types, strict=True)]
        items += results
        due = self._times.due_sql(f"{alias}.{_END}")
        items += [f"{alias}.{_START}", f"{alias}.{_END}", self._times.time_sql(due)]
        return ", ".join([*(f"{sql} AS {column(i)}" for i, sql in enumerate(items)), f"CAST({op} AS TINYINT) AS {OP}"])

    def _forget(self, ends: list[int], fetched: Fetched, rows: pa.Table) -> None:
        self._groups.drop(rows)
        self._groups.state.remove(fetched, numbers(rows, "row"))
        self._ends.delete_many([_bytes(end) for end in ends])
        for end in ends:
            del self._open[end]


_SHIFT: Final = 1 << 63


def _bytes(micros: int) -> bytes:
    """Eight bytes in the order of times."""
    return (micros + _SHIFT).to_bytes(8, "big")


def _number(key: bytes) -> int:
    return int.from_bytes(key, "big") - _SHIFT
