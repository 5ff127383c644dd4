"""The join of rows with a table as it is when they are processed.

A table that can be asked for keys is asked for those that come. Others are read whole, and again when they change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bergsql.engine.sql.quoting import identifier
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import OP, Batch, column
from bergsql.engine.streaming.nodes import JoinKind, LookupJoinNode
from bergsql.engine.streaming.operators.base import Flow, Operator, OperatorContext
from bergsql.engine.streaming.operators.changes import held, names
from bergsql.engine.streaming.operators.join_keys import equal_columns
from bergsql.engine.streaming.state.rows import Rows

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from bergsql.engine.streaming.sources.base import Json


class _ReaderContext:
    """What a reader asks of the runtime, from what an operator has."""

    max_rows = 1 << 62
    max_bytes = 1 << 62

    def __init__(self, context: OperatorContext) -> None:
        self._context = context

    @property
    def cursor(self) -> duckdb.DuckDBPyConnection:
        return self._context.cursor

    def relation(self, rows: pa.Table) -> str:
        return self._context.relation(rows)

    def note(self, message: str) -> None:
        """What a reader has to say it says when it is read as a stream."""


class LookupJoin(Operator):
    """It keeps no state: a row that came out stays as it is, whatever becomes of the table."""

    def __init__(self, node: LookupJoinNode) -> None:
        self._node = node
        self._name = identifier(f"lookup {node.uid}")
        self._read: tuple[Json] | None = None
        """The fingerprint of what the table holds, once it has been read."""
        self._loads = 0

    def open(self, context: OperatorContext) -> None:
        self._context = context
        self._rows = Rows(context, self._node.table.columns)
        equal = equal_columns(self._node.left_keys, self._node.right_keys)
        condition = self._node.condition
        self._lookup = self._node.table.lookup(self._node.right_keys)
        self._on = " AND ".join([*equal, *([f"({condition})"] if condition else [])]) or "true"

    def process(self, inputs: Sequence[Flow], now: int) -> Flow:  # noqa: ARG002
        (flow,) = inputs
        if flow.batch is None:
            return flow
        left = self._context.table(flow.batch)
        node = self._node
        if self._lookup is None:
            self._load()
            right, order = self._name, "l.rowid, r.rowid"
        else:
            right, order = self._rows.relation(self._lookup.rows(self._keys(left.sql))), "l.rowid"
        width = len(node.inputs[0].columns)
        theirs = ", ".join(f"r.{name} AS {column(width + at)}" for at, name in enumerate(self._rows.names))
        join = "LEFT JOIN" if node.kind is JoinKind.LEFT else "JOIN"
        sql = (
            f"(SELECT {names(width, 'l')}, {theirs}, l.{OP} FROM {left.sql} AS l {join} {right} AS r"
            f" ON {self._on} ORDER BY {order})"
        )
        return Flow(held(self._context, sql), flow.watermark)

    def _keys(self, left: str) -> pa.Table:
        """The keys that are asked for: each once, in the types of the table's columns. A NULL equals nothing."""
        node = self._node
        types = [duckdb_name(node.table.columns[p].type) for p in node.right_keys]
        items = [f"TRY_CAST({column(k)} AS {type_})" for k, type_ in zip(node.left_keys, types, strict=True)]
        there = " AND ".join(f"{item} IS NOT NULL" for item in items)
        return self._context.query(f"SELECT DISTINCT {', '.join(items)} FROM {left} AS l WHERE {there}")

    def _load(self) -> None:
        """Read the table, unless it is the same as when it was read last."""
        source = self._node.table
        known = source.fingerprint()
        if known is not None and self._read == (known,):
            return
        cursor = self._context.cursor
        columns = ", ".join(f"{name} {type_}" for name, type_ in zip(self._rows.names, self._rows.types, strict=True))
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE {self._name} ({columns})")
        reader = source.reader(_ReaderContext(self._context), None)
        try:
            while not reader.finished and (batch := reader.poll()) is not None:
                self._add(batch)
        finally:
            reader.close()
        self._read = (known,)
        self._loads += 1

    def _add(self, batch: Batch) -> None:
        self._context.cursor.execute(f"INSERT INTO {self._name} SELECT {names(len(self._rows.names))} FROM {batch.sql}")

    def close(self) -> None:
        if self._lookup is not None:
            self._lookup.close()
        if self._read is not None:
            self._context.cursor.execute(f"DROP TABLE IF EXISTS {self._name}")

    def figures(self) -> dict[str, int]:
        return {"table reads": self._loads} if self._lookup is None else self._lookup.figures()
