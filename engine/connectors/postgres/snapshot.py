"""The rows of a table as of a snapshot, a piece at a time: by its primary key, or else by its pages."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from bergsql.engine.connectors.postgres.client import telling
from bergsql.engine.connectors.postgres.texts import Conversions, text_array, text_name, with_place
from bergsql.engine.sql.quoting import identifier

if TYPE_CHECKING:
    import pyarrow as pa
    from psycopg import Connection

    from bergsql.engine.connectors.base import TableColumn
    from bergsql.engine.connectors.postgres.options import Settings
    from bergsql.engine.connectors.postgres.tables import StoredTable

Key = list[str]
"""The texts of a key's values."""
_FIRST_ROWS: Final = 256
_FIRST_PAGES: Final = 8
"""What is read at first, before it is known how large rows are: large values are not in the pages, either."""
_MOST_PAGES: Final = 1024


class Piece(NamedTuple):
    """Some rows. ``last``: the key of the last one, None where nothing comes behind it."""

    rows: pa.Table
    last: Key | None


class Limits(NamedTuple):
    """What a piece holds at most, about."""

    rows: int
    bytes: int


class TableSnapshot:
    """Reads one table on a connection that sees a snapshot."""

    def __init__(
        self,
        connection: Connection[Any],
        settings: Settings,
        table: StoredTable,
        columns: Sequence[TableColumn],
        conversions: Conversions,
    ) -> None:
        self._connection, self._settings, self._table = connection, settings, table
        self._columns, self._conversions = tuple(columns), conversions

    def pieces(self, after: Key | None, limits: Limits) -> Iterator[Piece]:
        """The rows behind a key, in the key's order; of a table without a key all, in no order.

        :raises BergError: where they cannot be read.
        """
        if not self._table.key or not self._settings.chunked:
            yield from self._by_pages(limits)
            return
        most = min(limits.rows, self._settings.chunk_rows)
        size = min(most, _FIRST_ROWS)
        while True:
            found, used = self._copy(self._behind(after, size))
            rows = found.num_rows
            last = self._key_of_last(found) if rows == size else None
            yield Piece(self._placed(found), last)
            if last is None:
                return
            after = last
            size = _next_size(size, most, used, limits)

    def _by_pages(self, limits: Limits) -> Iterator[Piece]:
        """No row moves meanwhile, as the snapshot sees it: its transaction holds a lock that keeps rewrites away."""
        first, pages = 0, _FIRST_PAGES
        while True:
            behind = first + pages
            ends = behind >= self._table.pages
            upper = "" if ends else f" AND ctid < '({behind},0)'::tid"
            found, used = self._copy(f"WHERE ctid >= '({first},0)'::tid{upper}")
            yield Piece(self._placed(found), None if ends else [])
            if ends:
                return
            first, pages = behind, _next_size(pages, _MOST_PAGES, used, limits)

    def _behind(self, after: Key | None, size: int) -> str:
        names = ", ".join(identifier(k) for k in self._table.key)
        where = ""
        if after is not None:
            bound = ", ".join(literal(v, self._table, k) for v, k in zip(after, self._table.key, strict=True))
            where = f"WHERE ({names}) > ({bound}) "
        return f"{where}ORDER BY {names} LIMIT {size}"

    def _copy(self, which: str) -> tuple[pa.Table, int]:
        """The texts of rows, with those of the key behind them, and their bytes."""
        from pyarrow import csv, string

        wanted = [c.name for c in self._columns] + list(self._table.key)
        names = [text_name(i) for i in range(len(wanted))]
        items = ", ".join(identifier(n) for n in wanted)
        of = f"{identifier(self._table.schema)}.{identifier(self._table.name)}"
        buffer = io.BytesIO()
        # A last column that is never NULL: a line of nothing but NULL would be empty.
        sql = f"COPY (SELECT {items}, 1 FROM ONLY {of} {which}) TO STDOUT (FORMAT csv, FORCE_QUOTE *)"
        with telling(self._settings), self._connection.cursor() as cursor, cursor.copy(sql.encode()) as copy:
            buffer.writelines(copy)
        size = buffer.tell()
        names.append("end")
        if not size:
            import pyarrow as pa

            return pa.table({n: pa.array([], pa.string()) for n in names}), 0
        buffer.seek(0)
        found = csv.read_csv(
            buffer,
            csv.ReadOptions(column_names=names, block_size=size + 1, use_threads=False),
            csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, string()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        return found.combine_chunks(), size

    def _key_of_last(self, found: pa.Table) -> Key:
        first = len(self._columns)
        at = found.num_rows - 1
        return [found.column(first + n)[at].as_py() for n in range(len(self._table.key))]

    def _placed(self, found: pa.Table) -> pa.Table:
        texts = {}
        for n, (each, how) in enumerate(zip(self._columns, self._conversions, strict=True)):
            values = found.column(n)
            one = values.chunk(0) if values.num_chunks else values.combine_chunks()
            texts[text_name(n)] = text_array(one, how, each.name)
        return with_place(texts, self._table.schema, self._table.name, found.num_rows)


def _next_size(size: int, most: int, used: int, limits: Limits) -> int:
    """How much is read next, where ``size`` took ``used`` bytes. What a row takes may change from place to place: twice
    as much as before at most."""
    return max(1, min(most, size * 2, limits.bytes * size // max(used, 1)))


def literal(value: str, table: StoredTable, key: str) -> str:
    """A value of a key's column in a statement."""
    escaped = value.replace("'", "''").replace("\\", "\\\\")
    mark = "E" if "\\" in value else ""
    return f"{mark}'{escaped}'::{table.columns[key].sql}"
