"""Drive an operator of a stream by hand: batches in, changelogs out, its state in a store that may be opened again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from bergsql.engine.duck import Duck
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.sql.types import DataType, Kind
from bergsql.engine.streaming.changelog import (
    END_OF_TIME,
    NO_WATERMARK,
    OP,
    Batch,
    ChangelogMode,
    RowKind,
    StreamColumn,
    column,
)
from bergsql.engine.streaming.nodes import Node
from bergsql.engine.streaming.operators import make_operator
from bergsql.engine.streaming.operators.base import Flow
from bergsql.engine.streaming.state.base import StateScope
from bergsql.engine.streaming.state.store import Store

INT = DataType(Kind.INT)
BIGINT = DataType(Kind.BIGINT)
STRING = DataType(Kind.STRING)
DOUBLE = DataType(Kind.DOUBLE)
TIMESTAMP = DataType(Kind.TIMESTAMP, 3)

Change = tuple[Any, ...]
"""What a row does and its values: ``("+I", 1, "a")``."""

_KINDS = {kind.symbol: kind for kind in RowKind}


def stream(
    *columns: DataType | StreamColumn,
    mode: ChangelogMode = ChangelogMode.INSERT_ONLY,
    key: tuple[int, ...] | None = None,
) -> Node:
    """An input of an operator: columns c0, c1, … of these types."""
    made = (c if isinstance(c, StreamColumn) else StreamColumn(column(at), c) for at, c in enumerate(columns))
    return Node(uid="input", inputs=(), columns=tuple(made), mode=mode, key=key)


def rowtime(type_: DataType = TIMESTAMP) -> StreamColumn:
    return StreamColumn("t", type_, rowtime=True)


def proctime() -> StreamColumn:
    return StreamColumn("p", DataType(Kind.TIMESTAMP_LTZ, 3), proctime=True)


class Accesses:
    """How often state was asked for, changed and read on."""

    def __init__(self) -> None:
        self.got = self.put = self.deleted = self.scans = self.scanned = 0

    @property
    def all(self) -> int:
        return self.got + self.put + self.deleted + self.scans + self.scanned


class CountedScope:
    """A scope whose accesses are counted."""

    def __init__(self, scope: StateScope, accesses: Accesses) -> None:
        self._scope, self._accesses = scope, accesses

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._accesses.got += len(keys)
        return self._scope.get_many(keys)

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        self._accesses.put += len(items)
        self._scope.put_many(items)

    def delete_many(self, keys: Sequence[bytes]) -> None:
        self._accesses.deleted += len(keys)
        self._scope.delete_many(keys)

    def scan(self, prefix: bytes = b"", start: bytes = b"", stop: bytes | None = None) -> Iterator[tuple[bytes, bytes]]:
        self._accesses.scans += 1
        for entry in self._scope.scan(prefix, start, stop):
            self._accesses.scanned += 1
            yield entry

    def scan_many(self, prefixes: Sequence[bytes], limit: int | None = None) -> list[tuple[bytes, bytes, bytes]]:
        found = self._scope.scan_many(prefixes, limit)
        self._accesses.scans += len(prefixes)
        self._accesses.scanned += len(found)
        return found

    def last(self, prefix: bytes = b"") -> tuple[bytes, bytes] | None:
        self._accesses.got += 1
        return self._scope.last(prefix)

    def part(self, name: str) -> CountedScope:
        return CountedScope(self._scope.part(name), self._accesses)

    def count(self) -> int:
        return self._scope.count()


class Context:
    """What the runtime gives an operator."""

    def __init__(self, duck: Duck, scope: StateScope, settings: Mapping[str, str], time_zone: str = "UTC") -> None:
        self._duck = duck
        self.cursor = duck.cursor()
        self.state = scope
        self.time_zone = time_zone
        self._settings = settings
        self._made = 0
        self._dropped: list[Callable[[], object]] = []

    def setting(self, key: str) -> str | None:
        return self._settings.get(key)

    def table(self, batch: Batch) -> Batch:
        if batch.is_table:
            return batch
        name = self._name()
        self.cursor.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM {batch.sql}")
        self._dropped.append(lambda: self.cursor.execute(f"DROP TABLE {name}"))
        ((count,),) = self.cursor.execute(f"SELECT count(*) FROM {name}").fetchall()
        return Batch(name, count)

    def query(self, sql: str) -> pa.Table:
        return self.cursor.sql(sql).to_arrow_table()

    def batch_of(self, rows: pa.Table) -> Batch:
        return self.table(Batch(self.relation(rows)))

    def relation(self, rows: pa.Table) -> str:
        name = self._name()
        self.cursor.register(name, rows)
        self._dropped.append(lambda: self.cursor.unregister(name))
        return name

    def end_round(self) -> None:
        """Drop what the round made."""
        for drop in self._dropped:
            drop()
        self._dropped.clear()

    def close(self) -> None:
        self.end_round()
        self._duck.done(self.cursor)

    def _name(self) -> str:
        self._made += 1
        return f"round_{self._made}"


class Output(NamedTuple):
    """What a round gave."""

    changes: list[Change]
    watermark: int


class Driver:
    """An operator at work, with its state in ``path``."""

    def __init__(self, node: Node, path: Path, settings: Mapping[str, str] | None = None) -> None:
        self.node = node
        self.accesses = Accesses()
        self._path = path
        self._settings = settings or {}
        self._duck = Duck(threads=1)
        self._open()

    def round(
        self,
        *inputs: Iterable[Change] | None,
        watermark: int | Sequence[int] = NO_WATERMARK,
        now: int = 1_000_000,
    ) -> Output:
        """One round: the changes of each input (None or nothing for none), and the watermark of all or of each."""
        marks = [watermark] * len(self.node.inputs) if isinstance(watermark, int) else list(watermark)
        flows = []
        for at, (node, mark) in enumerate(zip(self.node.inputs, marks, strict=True)):
            changes = list(inputs[at] or ()) if at < len(inputs) else []
            flows.append(Flow(self._batch(changes, node.columns) if changes else None, mark))
        flow = self.operator.process(flows, now)
        result: list[Change] = []
        if flow.batch is not None:
            columns = ", ".join(column(at) for at in range(len(self.node.columns)))
            rows = self.context.cursor.execute(f"SELECT {OP}, {columns} FROM {flow.batch.sql}").fetchall()
            result = [(RowKind(kind).symbol, *values) for kind, *values in rows]
        self.context.end_round()
        return Output(result, flow.watermark)

    def end(self, *inputs: Iterable[Change] | None) -> Output:
        """The last round of a bounded input."""
        return self.round(*inputs, watermark=END_OF_TIME)

    def checkpoint(self) -> None:
        self._store.commit()

    def restart(self) -> None:
        """Throw away what was done since the last checkpoint, and open the operator again."""
        self._close()
        self._open()

    def entries(self) -> int:
        """How many entries the state has."""
        return sum(self._store.entries(name) for name in self._store.scopes())

    def close(self) -> None:
        self._close()
        self._duck.close()

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> None:
        self._store = Store.open(self._path, durable=False)
        scope = CountedScope(self._store.scope(self.node.uid or "operator"), self.accesses)
        self.context = Context(self._duck, scope, self._settings)
        self.operator = make_operator(self.node)
        self.operator.open(self.context)
        self.context.end_round()

    def _close(self) -> None:
        self.operator.close()
        self.context.close()
        self._store.close()

    def _batch(self, changes: Sequence[Change], columns: Sequence[StreamColumn]) -> Batch:
        types = [duckdb_name(each.type) for each in columns]
        nothing = ", ".join(f"NULL::{type_} AS {column(at)}" for at, type_ in enumerate(types))
        name = self.context.table(Batch(f"(SELECT {nothing}, 0::TINYINT AS {OP} LIMIT 0)")).sql
        values = [(*values, _KINDS[kind].value) for kind, *values in changes]
        marks = ", ".join("?" * (len(types) + 1))
        self.context.cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", values)
        return Batch(name, len(values))


def fold(changes: Iterable[Change], into: Counter[Change] | None = None) -> Counter[Change]:
    """The rows that there are after these changes, with how often.

    :raises AssertionError: when a row goes that is not there.
    """
    rows = into if into is not None else Counter()
    for kind, *values in changes:
        row = _frozen(values)
        if kind in ("+I", "+U"):
            rows[row] += 1
        else:
            assert rows[row] > 0, f"{kind} of {row}, which is not there"
            rows[row] -= 1
            if not rows[row]:
                del rows[row]
    return rows


def _frozen(values: Iterable[Any]) -> Change:
    """A row that can be counted: lists are tuples."""
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def answer(sql: str, tables: Mapping[str, tuple[Sequence[StreamColumn], Iterable[Change]]]) -> Counter[Change]:
    """What DuckDB says of whole tables: the rows of a query with how often. A table's rows are without their kind."""
    connection = _connection()
    for name, (columns, rows) in tables.items():
        items = ", ".join(f"{column(at)} {duckdb_name(each.type)}" for at, each in enumerate(columns))
        connection.execute(f"CREATE OR REPLACE TABLE {name} ({items})")
        listed = [list(row) for row in rows]
        if listed:
            connection.executemany(f"INSERT INTO {name} VALUES ({', '.join('?' * len(columns))})", listed)
    return Counter(map(_frozen, connection.execute(sql).fetchall()))


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    config: dict[str, str | bool | int | float | list[str]] = {
        "default_null_order": "nulls_first_on_asc_last_on_desc",
        "threads": 1,
    }
    return duckdb.connect(config=config)
