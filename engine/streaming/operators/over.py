"""OVER windows in the order of time: rows come out, with their calls, when the watermark passes them.

Of what came before a row, the state holds what its frame needs: so many rows of a partition, those of a span of time,
or, where the frame begins with the first row, the running values of COUNT, SUM, MIN, MAX and AVG. Other functions over
all rows need the rows: they are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import OP, Batch, RowKind, column
from bergsql.engine.streaming.nodes import OverNode
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import held, names, with_columns
from bergsql.engine.streaming.operators.over_calls import WINDOW_ONLY, Call, Primitive, taken_apart
from bergsql.engine.streaming.operators.over_history import History
from bergsql.engine.streaming.operators.waiting import Waiting
from bergsql.engine.streaming.state.codec import decode_rows, encode_rows
from bergsql.engine.streaming.state.rows import Rows, prefixes
from bergsql.engine.streaming.state.ttl import retention_of

if TYPE_CHECKING:
    import pyarrow as pa


class Over(Operator):
    """Late rows are dropped, as Flink drops them: the rows behind them have gone out."""

    _schema: pa.Schema
    _types: list[str]

    def __init__(self, node: OverNode) -> None:
        self._node = node
        self._width = len(node.inputs[0].columns)
        self._proctime = node.inputs[0].columns[node.time].proctime
        self._partition = [column(position) for position in node.partition]

    def open(self, context: OperatorContext) -> None:
        node = self._node
        self._context = context
        columns = node.inputs[0].columns
        self._rows = Rows(context, columns)
        self._waiting = None if self._proctime else Waiting(context, "rows", columns, node.time)
        known = context.query(
            "SELECT DISTINCT function_name AS f FROM duckdb_functions() WHERE function_type = 'aggregate'"
        )
        aggregates = frozenset(known["f"].to_pylist()) | WINDOW_ONLY
        self._windows: list[tuple[Primitive, str]] = []
        self._calls: list[tuple[Call, list[int]]] = []
        for call in node.calls:
            found: list[Primitive] = []
            parts = taken_apart(call.sql, aggregates, found)
            windows = [(primitive, call.frame) for primitive in found]
            self._windows += [each for each in windows if each not in self._windows]
            self._calls.append((parts, [self._windows.index(each) for each in windows]))
        running = node.preceding is None and all(
            primitive.continued("", "") is not None and ("UNBOUNDED PRECEDING" in frame.upper() or not frame)
            for primitive, frame in self._windows
        )
        self._history = None if running else History(context, columns, node)
        if running:
            self._look_at_values()
        self._values = context.state.part("values")
        self._retention = retention_of(context.setting, self._values) if running else None

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:
        (flow,) = inputs
        self._now = now
        if self._retention is not None:
            for keys in self._retention.expired(now):
                self._values.delete_many(keys)
        rows = self._passed(flow)
        batch = None
        if rows is not None:
            first = prefixes(rows, self._partition)
            if self._history is None:
                batch = self._result(self._running(rows, first), "v")
            else:
                earlier = self._history.take(rows, first)
                older = f" UNION ALL SELECT * FROM {self._rows.relation(earlier)}" if earlier is not None else ""
                batch = self._result(self._windowed(f"(SELECT * FROM {self._rows.relation(rows)}{older})"), "p")
        if self._history is not None:
            self._history.forget(now * 1000 if self._proctime else flow.watermark)
        return Flow(batch, flow.watermark)

    def figures(self) -> dict[str, int]:
        return {"late rows dropped": self._waiting.late} if self._waiting is not None else {}

    def _passed(self, flow: Flow) -> pa.Table | None:
        """The rows whose turn it is, with ``place``, their order."""
        if self._waiting is not None:
            self._waiting.take(flow.batch, drop_late=True)
            passed = self._waiting.release(flow.watermark)
            return passed.drop_columns([OP]) if passed is not None else None
        if flow.batch is None:
            return None
        batch = self._context.table(flow.batch)
        return self._context.query(f"SELECT {names(self._width)}, rowid AS place FROM {batch.sql} ORDER BY rowid")

    def _window(self, primitive: Primitive, frame: str) -> str:
        partition = f"PARTITION BY {', '.join(self._partition)} " if self._partition else ""
        ranged = frame.upper().startswith("RANGE") or not frame
        if self._proctime and ranged and (not frame or "UNBOUNDED PRECEDING" in frame.upper()):
            # Rows of a round are processed one by one, though at one time.
            ranged = False
            frame = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        order = column(self._node.time) + ("" if ranged and not primitive.by_place else ", place")
        if primitive.function in WINDOW_ONLY and primitive.function not in ("first_value", "last_value", "nth_value"):
            frame = ""
        return f"{primitive.sql} OVER ({partition}ORDER BY {order} {frame})"

    def _windowed(self, relation: str) -> str:
        """A relation with the value of each window, p0, p1, …, behind its columns."""
        windows = "".join(f", {self._window(*each)} AS p{at}" for at, each in enumerate(self._windows))
        return f"(SELECT *{windows} FROM {relation} AS i)"

    def _result(self, relation: str, name: str) -> Batch | None:
        """The new rows of a relation with their calls; what the windows give is called by ``name`` and their number."""
        calls = ""
        for number, ((parts, places), call) in enumerate(zip(self._calls, self._node.calls, strict=True)):
            sql = parts.sql([f"{name}{place}" for place in places])
            calls += f", CAST({sql} AS {duckdb_name(call.type)}) AS {column(self._width + number)}"
        return held(
            self._context,
            f"(SELECT {names(self._width)}{calls}, {RowKind.INSERT.value}::TINYINT AS {OP}"
            f" FROM {relation} AS i WHERE place >= 0 ORDER BY place)",
        )

    # --- running values -----------------------------------------------------------------------------------------------

    def _look_at_values(self) -> None:
        """The types of what the windows give, in DuckDB and in Arrow."""
        nulls = ", ".join(f"{null} AS {name}" for null, name in zip(self._rows.nulls(), self._rows.names, strict=True))
        windowed = self._windowed(f"(SELECT {nulls}, 0 AS place)")
        names = [f"p{at}" for at in range(len(self._windows))]
        self._schema = self._context.query(f"SELECT {', '.join(names)} FROM {windowed} LIMIT 0").schema
        types = self._context.query(
            f"SELECT {', '.join(f'typeof({name}) AS {name}' for name in names)} FROM {windowed}"
        )
        self._types = [types[name][0].as_py() for name in names]

    def _running(self, rows: pa.Table, first: Sequence[bytes]) -> str:
        """The rows with values, v0, v1, …, that go on from those of each partition's last row; these are noted."""
        numbers: dict[bytes, int] = {}
        parts = [numbers.setdefault(prefix, len(numbers)) for prefix in first]
        keys = list(numbers)
        known = [(value, at) for at, value in enumerate(self._values.get_many(keys)) if value is not None]
        bases = with_columns(decode_rows([value for value, _ in known], self._schema), part=[at for _, at in known])
        renamed = ", ".join(f"p{at}::{type_} AS b{at}" for at, type_ in enumerate(self._types))
        going_on = ", ".join(
            f"{primitive.continued(f'b{at}', f'p{at}')} AS v{at}" for at, (primitive, _) in enumerate(self._windows)
        )
        windowed = self._windowed(self._rows.relation(with_columns(rows, part=parts)))
        table = self._context.table(
            Batch(
                f"(SELECT {names(self._width)}, place, part, {going_on} FROM {windowed}"
                f" LEFT JOIN (SELECT part, {renamed} FROM {self._context.relation(bases)}) USING (part))"
            )
        ).sql
        values = ", ".join(f"v{at} AS p{at}" for at in range(len(self._windows)))
        last = self._context.query(
            f"SELECT part, {values} FROM {table}"
            f" QUALIFY row_number() OVER (PARTITION BY part ORDER BY {column(self._node.time)} DESC, place DESC) = 1"
        )
        encoded = encode_rows(last.select(self._schema.names).cast(self._schema), self._schema.names)
        if self._retention is not None:
            self._retention.touch(keys, self._now)
        self._values.put_many([(keys[at], value) for at, value in zip(last["part"].to_pylist(), encoded, strict=True)])
        return table
