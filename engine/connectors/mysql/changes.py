"""Rows of the driver, from a snapshot or the binlog, as a batch of the source's columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.sql.types import LTZ3, STRING
from bergsql.engine.streaming.changelog import OP, RowKind, column

if TYPE_CHECKING:
    import pyarrow as pa

    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.connectors.mysql.handover import Name
    from bergsql.engine.connectors.mysql.known import KnownTable
    from bergsql.engine.sql.types import DataType

METADATA: Final[Mapping[str, DataType]] = {
    "table_name": STRING,
    "database_name": STRING,
    "op_ts": LTZ3,
    "row_kind": STRING,
}
"""What is known of a row beside its columns. ``op_ts`` is when it was changed, the start of 1970 in a snapshot."""
_TIME: Final = "changed_at"
_PLACE: Final = "place"
_KIND: Final = "kind"


class Shape:
    """The columns of the source: how rows of a table become rows of a batch."""

    def __init__(self, columns: Sequence[TableColumn], *, append_only: bool) -> None:
        self._columns, self._append_only = columns, append_only

    def snapshot(self, stored: pa.Table) -> pa.Table:
        """Rows that are there, of the columns that are no metadata."""
        import pyarrow as pa

        kinds = pa.repeat(pa.scalar(int(RowKind.INSERT), pa.int8()), stored.num_rows)
        times = pa.repeat(pa.scalar(0, pa.int64()), stored.num_rows)
        return stored.append_column(_KIND, kinds).append_column(_TIME, times)

    def sql(self, relation: str, table: KnownTable, *more: str) -> str:
        """A query of the source's columns over such rows, with others of theirs."""
        given = [_KIND, _TIME, *more]
        stored = f"SELECT {', '.join([*table.columns.items('r'), *given])} FROM {relation} AS r"
        items, place = [], 0
        for at, each in enumerate(self._columns):
            if each.metadata is None:
                value, place = f"s.{column(place)}", place + 1
            else:
                value = self._metadata(each.metadata, table.name)
            items.append(f"{value} AS {column(at)}")
        items.append("0::TINYINT AS op" if self._append_only else f"s.{_KIND} AS {OP}")
        return f"SELECT {', '.join([*items, *more])} FROM ({stored}) AS s"

    @staticmethod
    def _metadata(key: str, table: Name) -> str:
        symbols = ", ".join(f"'{kind.symbol}'" for kind in RowKind)
        return {
            "database_name": string_literal(table[0]),
            "table_name": string_literal(table[1]),
            "row_kind": f"[{symbols}][s.{_KIND} + 1]",
            "op_ts": f"make_timestamptz(s.{_TIME} * 1000)",
        }[key]


class _Rows:
    def __init__(self, table: KnownTable, names: tuple[str, ...]) -> None:
        self.table, self.names = table, names
        self.rows: list[Sequence[Any]] = []
        self.kinds: list[int] = []
        self.times: list[int] = []
        self.places: list[int] = []


class Changes:
    """Changes of some tables in their order, being gathered for a batch."""

    def __init__(self) -> None:
        self._of: dict[tuple[Name, tuple[str, ...]], _Rows] = {}
        self.count = 0

    def add(self, table: KnownTable, names: tuple[str, ...], kind: RowKind, row: Sequence[Any], time: int) -> None:
        """``names`` are those of the row's columns."""
        rows = self._of.get((table.name, names))
        if rows is None:
            rows = self._of[table.name, names] = _Rows(table, names)
        rows.rows.append(row)
        rows.kinds.append(int(kind))
        rows.times.append(time)
        rows.places.append(self.count)
        self.count += 1

    def sql(self, shape: Shape, relation: Callable[[pa.Table], str]) -> str:
        """A query of all of them. There must be one at least."""
        import pyarrow as pa

        parts = []
        for rows in self._of.values():
            stored = rows.table.columns.from_binlog(rows.rows, rows.names)
            made = stored.append_column(_KIND, pa.array(rows.kinds, pa.int8()))
            made = made.append_column(_TIME, pa.array(rows.times, pa.int64()))
            made = made.append_column(_PLACE, pa.array(rows.places, pa.int64()))
            parts.append(shape.sql(relation(made), rows.table, _PLACE))
        if len(parts) == 1:
            return f"({parts[0]})"
        return f"(SELECT * FROM ({' UNION ALL '.join(parts)}) ORDER BY {_PLACE})"
