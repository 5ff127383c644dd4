"""From messages of Kafka to rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.engine.connectors.messages.base import BROKEN, DATA, NUMBER, PLACE
from bergsql.engine.plan.sql_text import failure
from bergsql.engine.sql.type_names import duckdb_name
from bergsql.engine.streaming.changelog import OP, RowKind

if TYPE_CHECKING:
    import pyarrow as pa
    from confluent_kafka import Message

    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.connectors.messages.base import MessageFormat
    from bergsql.engine.streaming.sources.base import ReaderContext

_TIMESTAMP_TYPES = ("NoTimestampType", "CreateTime", "LogAppendTime")
"""What Flink calls them."""
_KEY: Final = "key"
"""The column of the keys of messages."""


class Layout(NamedTuple):
    """Which columns of a table come from values, keys, and what is known of a message beside them.

    in_value, in_key
        Positions among the stored columns; where both have a column, it is the value's.
    """

    columns: tuple[TableColumn, ...]
    value: MessageFormat
    in_value: tuple[int, ...]
    key: MessageFormat | None
    in_key: tuple[int, ...]
    upserts: bool

    @property
    def lenient(self) -> bool:
        return self.value.lenient or (self.key is not None and self.key.lenient)

    @property
    def _from_key(self) -> dict[int, int]:
        """Positions among the stored columns, and where they are in keys, of those that are not in values."""
        return {n: at for at, n in enumerate(self.in_key) if n not in self.in_value or self.upserts}

    @property
    def _keyed(self) -> MessageFormat | None:
        """How keys are read, if they are."""
        return self.key if self._from_key else None

    def gathered(self, messages: list[Message]) -> pa.RecordBatch:
        """What is needed of messages: values, keys, and what METADATA columns ask for, by the columns' positions."""
        import pyarrow as pa
        from confluent_kafka import Message

        made = {DATA: pa.array(list(map(Message.value, messages)), pa.binary())}
        if self._keyed is not None:
            made[_KEY] = pa.array(list(map(Message.key, messages)), pa.binary())
        for i, column in enumerate(self.columns):
            if column.metadata is not None and not column.metadata.startswith("value."):
                made[f"m{i}"] = _metadata(column.metadata, messages)
        return pa.RecordBatch.from_pydict(made)

    def rows(self, context: ReaderContext, messages: pa.Table) -> str:
        """SQL of the rows of what was gathered, in order: the columns c0 and on, ``op`` and ``broken``."""
        import numpy as np
        import pyarrow as pa

        number = pa.array(np.arange(len(messages), dtype=np.int64))
        table = messages.append_column(NUMBER, number)
        if (key := self._keyed) is not None:
            keys = table.select([NUMBER, _KEY]).rename_columns([NUMBER, DATA])
            table = table.drop_columns([_KEY])
        relation = context.relation(table)
        valued = f"(FROM {relation} WHERE {DATA} IS NOT NULL)" if self.upserts else relation
        rows = self.value.decode(context, valued)
        if key is None:
            order = "" if self.value.columns and not _reorders(self) else f" ORDER BY v.{NUMBER}, v.{PLACE}"
            items = ", ".join([*self._items({}, "v", "v"), f"v.{OP}", f"v.{BROKEN}"])
            return f"(SELECT {items} FROM {rows} AS v{order})"
        from_key = self._from_key
        decoded = key.decode(context, context.relation(keys))
        items = ", ".join([*self._items(from_key, "v", "v"), *self._ends(f"v.{OP}", f"v.{BROKEN}", from_key)])
        inner = f"SELECT {items}, v.{NUMBER} AS n, v.{PLACE} AS k FROM {rows} AS v LEFT JOIN {decoded} AS k USING (n)"
        if self.upserts:
            gone = ", ".join(
                [
                    *self._items(from_key, "NULL", "t"),
                    *self._ends(f"{RowKind.DELETE.value}::TINYINT", "false", from_key),
                ]
            )
            inner += (
                f" UNION ALL SELECT {gone}, t.{NUMBER} AS n, 0 AS k FROM {relation} AS t LEFT JOIN {decoded} AS k"
                f" USING (n) WHERE t.{DATA} IS NULL"
            )
        names = ", ".join([*(f"c{i}" for i in range(len(self.columns))), OP, BROKEN])
        return f"(SELECT {names} FROM ({inner}) ORDER BY n, k)"

    def _ends(self, op: str, broken: str, from_key: dict[int, int]) -> list[str]:
        """SQL of ``op`` and ``broken``, with what keys say of the latter. Upserts have whole keys."""
        if not self.upserts:
            return [f"{op} AS {OP}", f"({broken} OR coalesce(k.{BROKEN}, false)) AS {BROKEN}"]
        lacks = " OR ".join([f"k.{BROKEN} IS NULL", f"k.{BROKEN}", *(f"k.c{at} IS NULL" for at in from_key.values())])
        if not self.lenient:
            refused = failure("A message lacks its key, or a value of the PRIMARY KEY in it: it replaces nothing.")
            op = f"CASE WHEN {lacks} THEN {refused} ELSE {op} END"
        return [f"{op} AS {OP}", f"({broken} OR {lacks}) AS {BROKEN}"]

    def _items(self, from_key: dict[int, int], value: str, told: str) -> list[str]:
        """SQL of all columns; ``value`` and ``told`` are the relations of values and of what is known beside them."""
        items = []
        stored = wanted = 0
        for i, column in enumerate(self.columns):
            type_ = duckdb_name(column.type)
            if column.metadata is None:
                if stored in from_key:
                    sql = f"k.c{from_key[stored]}"
                elif value == "NULL":
                    sql = f"NULL::{type_}"
                else:
                    sql = f"{value}.c{self.in_value.index(stored)}"
                stored += 1
            elif column.metadata.startswith("value."):
                sql = f"NULL::{type_}" if value == "NULL" else f"{value}.v{wanted}"
                wanted += 1
            else:
                sql = f"CAST({told}.m{i} AS {type_})"
            items.append(f"{sql} AS c{i}")
        return items


def _reorders(layout: Layout) -> bool:
    """Whether a message may give several rows, whose order counts."""
    from bergsql.engine.streaming.changelog import ChangelogMode

    return layout.value.mode is not ChangelogMode.INSERT_ONLY


def _metadata(key: str, messages: Sequence[Message]) -> pa.Array:
    import pyarrow as pa

    match key:
        case "topic":
            return pa.array([m.topic() for m in messages], pa.string())
        case "partition":
            return pa.array([m.partition() for m in messages], pa.int32())
        case "offset":
            return pa.array([m.offset() for m in messages], pa.int64())
        case "leader-epoch":
            return pa.array([m.leader_epoch() for m in messages], pa.int32())
        case "timestamp":
            return pa.array([_time(m) for m in messages], pa.timestamp("ms", tz="UTC"))
        case "timestamp-type":
            return pa.array([_TIMESTAMP_TYPES[m.timestamp()[0]] for m in messages], pa.string())
    headers: list[list[tuple[str, Any]]] = [_headers(m) for m in messages]
    return pa.array(headers, pa.map_(pa.string(), pa.binary()))


def _time(message: Message) -> int | None:
    kind, time = message.timestamp()
    return time if kind else None


def _headers(message: Message) -> list[tuple[str, Any]]:
    """Headers by name: of several with one name the last, as a map has it."""
    return list(dict(message.headers() or []).items())
