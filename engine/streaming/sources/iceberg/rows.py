"""The rows of data files as batches of a stream, and how far they bring its watermark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata import types as iceberg
from bergsql.catalog.metadata.values import from_bytes
from bergsql.engine.duck import set_variables
from bergsql.engine.sql.quoting import identifier
from bergsql.engine.streaming.changelog import OP, RowKind, column
from bergsql.engine.table.column_names import scanned_names
from bergsql.engine.table.projection import duckdb_type
from bergsql.engine.table.scan import scan_of_tasks

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.duck import duckdb
    from bergsql.engine.table.datafile import DataFile
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.scan import TableScan

_numbers = count()

_UNITS = {
    **{"DAYS": 86_400_000_000, "HOURS": 3_600_000_000, "MINUTES": 60_000_000, "SECONDS": 1_000_000},
    **{"MILLISECONDS": 1000, "MICROSECONDS": 1},
}
_MICROS = (iceberg.TimestampType, iceberg.TimestamptzType)
_NANOS = (iceberg.TimestampNsType, iceberg.TimestamptzNsType)


@dataclass(frozen=True, slots=True)
class Projection:
    """The columns that a stream gives: those of ``schema``, in order, and NULL for all but ``used`` (positions)."""

    schema: Schema
    used: frozenset[int]

    @property
    def fields(self) -> tuple[NestedField, ...]:
        """What is read: a column at least, for the rows' number."""
        read = tuple(f for i, f in enumerate(self.schema.fields) if i in self.used)
        return read or self.schema.fields[:1]

    @property
    def names(self) -> frozenset[str]:
        return frozenset(f.name for f in self.fields)

    def items(self, source: str) -> list[str]:
        """The columns under the names of a batch, from ``source``, a scan."""
        names = scanned_names(self.schema)
        return [
            (f"{source}.{identifier(names[f.name])}" if i in self.used else f"CAST(NULL AS {duckdb_type(f.type)})")
            + f" AS {column(i)}"
            for i, f in enumerate(self.schema.fields)
        ]


class RowReading:
    """SQL of the rows of some files. What it reads by name is the reader's own, and replaced by the next batch's."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, storage: Storage, projection: Projection) -> None:
        self.cursor, self.storage, self.projection = cursor, storage, projection
        self.name = f"stream{next(_numbers)}"

    def inserts(self, table: LoadedTable, tasks: Sequence[FileTask], limit: int | None = None) -> str:
        """The rows that the tasks hold, at most ``limit``, as insertions."""
        rows = self.scanned(table, tasks, frozenset(), "a")
        items = [*self.projection.items("r"), f"CAST({RowKind.INSERT.value} AS TINYINT) AS {OP}"]
        cut = "" if limit is None else f" LIMIT {limit}"
        return f"SELECT {', '.join(items)} FROM ({rows}) AS r{cut}"

    def scanned(self, table: LoadedTable, tasks: Sequence[FileTask], places: frozenset[str], part: str) -> str:
        """SQL of the tasks' rows, ready to be run, in the columns that are read and ``places``."""
        return self.scan(table, tasks, places, part, self.projection.names).sql

    def scan(
        self,
        table: LoadedTable,
        tasks: Sequence[FileTask],
        places: frozenset[str],
        part: str,
        columns: frozenset[str],
    ) -> TableScan:
        """A scan of tasks whose variables are set. ``part`` tells apart what is read at one time."""
        name = f"{self.name}{part}"
        scan = scan_of_tasks(table, self.storage, self.projection.schema, tasks, places, name, columns)
        set_variables(self.cursor, scan.variables)
        return scan

    def count(self, sql: str) -> int:
        """How many rows a query gives."""
        ((rows,),) = self.cursor.execute(f"SELECT count(*) FROM ({sql})").fetchall()
        return int(rows)


@dataclass(frozen=True, slots=True)
class WatermarkColumn:
    """The column whose least values are watermarks, and how many microseconds one of it is (0: it is nanoseconds)."""

    field: NestedField
    micros: int

    def least(self, reading: RowReading, table: LoadedTable, task: FileTask) -> int | None:
        """The least time in a file, in microseconds since 1970: by its statistics, else by its rows; None for none."""
        lower = self._lower(task.data_file)
        if lower is not None:
            return lower
        field = self.field
        rows = reading.scan(table, [task], frozenset(), "w", frozenset({field.name})).sql
        name = identifier(scanned_names(reading.projection.schema)[field.name])
        value = f"min({name})"
        if isinstance(field.type, _MICROS):
            value = f"epoch_us({value})"
        elif isinstance(field.type, _NANOS):
            value = f"epoch_ns({value})"
        ((found,),) = reading.cursor.execute(f"SELECT {value} FROM ({rows})").fetchall()
        return None if found is None else self._in_micros(int(found))

    def _lower(self, file: DataFile) -> int | None:
        bound = file.lower_bounds.get(self.field.field_id)
        return None if bound is None else self._in_micros(int(from_bytes(self.field.type, bound)))

    def _in_micros(self, value: int) -> int:
        return value * self.micros if self.micros else value // 1000


def watermark_column(schema: Schema, name: str, unit: str, *, case_sensitive: bool) -> WatermarkColumn:
    """The column that a stream's watermarks are read from. Raises NOT_FOUND, or TYPE for one that is no time."""
    field = schema.find(name, case_sensitive)
    if field is None or field not in schema.fields:
        from bergsql.catalog.errors import did_you_mean

        message = f"The table has no column '{name}' to take watermarks from."
        raise BergError(ErrorCode.NOT_FOUND, message, hint=did_you_mean(name, schema.names))
    if isinstance(field.type, _MICROS):
        return WatermarkColumn(field, 1)
    if isinstance(field.type, _NANOS):
        return WatermarkColumn(field, 0)
    if isinstance(field.type, iceberg.LongType):
        return WatermarkColumn(field, _UNITS.get(unit, 0))
    message = f"Watermarks are taken from a TIMESTAMP or a BIGINT, and '{name}' is {field.type}."
    raise BergError(ErrorCode.TYPE, message)
