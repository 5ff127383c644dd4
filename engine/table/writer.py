"""Rows to data files: a query streams through DuckDB into partitioned, rolled files with exact statistics.

DuckDB writes Parquet. Avro and ORC files are made of smaller Parquet files, which bring statistics along
(conversion.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.partition_text import partition_path
from bergsql.engine.duck import CHUNK_ROWS, duckdb, fetch_chunks, set_variables
from bergsql.engine.sql.quoting import string_literal
from bergsql.engine.table.conversion import Conversion
from bergsql.engine.table.copy_sql import NULL_MARK, Rows, copy_statement, prepare_rows
from bergsql.engine.table.datafile import DataFile
from bergsql.engine.table.exact_bounds import Bounds, read_bounds
from bergsql.engine.table.file_list import FileList
from bergsql.engine.table.many_partitions import TooManyPartitions, copy_in_portions, copy_watched
from bergsql.engine.table.metadata_columns import LINEAGE
from bergsql.engine.table.parquet_footer import PlainIntegers
from bergsql.engine.table.properties import CommitProperties, WriteProperties
from bergsql.engine.table.staging import Staging
from bergsql.engine.table.statistics import DuckStatistics, FileStatistics, StatisticsReader
from bergsql.engine.table.transcode import INTERIM_CODEC, Transcoder

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.duck import Duck

_FIRST_ROW_GROUP = 4
"""Where the first row group of every Parquet file begins: behind the magic."""


@dataclass(frozen=True, slots=True)
class Written:
    """Data files that no snapshot holds yet, and how many rows are in them."""

    files: Sequence[DataFile]
    rows: int


@dataclass(frozen=True, slots=True)
class _Copied:
    """A file as DuckDB says that it wrote it. ``path`` is local, ``keys`` the partition keys' texts by column."""

    path: str
    rows: int
    size: int
    statistics: DuckStatistics
    keys: Mapping[str, str | None]
    row_groups: int


def write_rows(
    duck: Duck,
    select_sql: str,
    variables: Mapping[str, object],
    *,
    metadata: TableMetadata,
    storage: Storage,
    properties: Mapping[str, str] | None = None,
) -> Written:
    """Write the rows of a query as data files of a table, without committing them or making them durable.

    ``select_sql`` gives the table's columns in order, in DuckDB's types for them; ``variables`` are what it reads with
    ``getvariable``. ``properties`` go before the table's own. On any failure, an interruption too, no file stays.

    :raises BergError: INVALID for NULL in a column that is NOT NULL, OPTION for properties that make no sense,
        UNSUPPORTED for formats, types and transforms that cannot be written; duckdb.Error for what the query raises.
    """
    settings = write_settings(metadata, properties)
    cursor = duck.cursor()
    try:
        with Staging(storage, settings) as staging:
            return write_into(staging, cursor, select_sql, variables, metadata, storage, settings)
    finally:
        duck.done(cursor)


def write_settings(metadata: TableMetadata, properties: Mapping[str, str] | None) -> WriteProperties:
    """How the files of a table are written; ``properties`` go before its own. Those of commits are checked too.

    :raises BergError: OPTION for properties that make no sense.
    """
    settings = WriteProperties.of({**metadata.properties, **(properties or {})}, metadata.location)
    CommitProperties.of(metadata.properties, metadata.location)  # refused now rather than behind all the work
    return settings


def write_into(
    staging: Staging,
    cursor: duckdb.DuckDBPyConnection,
    select_sql: str,
    variables: Mapping[str, object],
    metadata: TableMetadata,
    storage: Storage,
    settings: WriteProperties,
    *,
    lineage: bool = False,
    ending: str = "",
) -> Written:
    """As :func:`write_rows`, with an open staging directory without files in the making, and by a cursor.

    With ``lineage``, ``select_sql`` gives ``_row_id`` and ``_last_updated_sequence_number`` behind the columns.
    ``ending`` ends the names of files, before the format.
    """
    more = LINEAGE if lineage else ()
    rows = prepare_rows(select_sql, metadata.schema, metadata.spec, metadata.sort_order, more)
    try:
        set_variables(cursor, variables)
        return _Writer(cursor, staging, storage, metadata, settings, rows, ending).write()
    except duckdb.Error as error:
        raise null_error(error) or error from None


def null_error(error: Exception) -> BergError | None:
    """The error of ours that a failed NOT NULL check stands for."""
    _, mark, name = str(error).partition(NULL_MARK)
    if not mark:
        return None
    message = f"Column '{name.splitlines()[0]}' is NOT NULL, and a row has NULL in it."
    return BergError(ErrorCode.INVALID, message, hint="COALESCE(value, …) stores another value in the place of NULL.")


class _Writer:
    """One write: runs the COPY and turns what it returns into placed files."""

    def __init__(
        self,
        cursor: duckdb.DuckDBPyConnection,
        staging: Staging,
        storage: Storage,
        metadata: TableMetadata,
        settings: WriteProperties,
        rows: Rows,
        ending: str,
    ) -> None:
        self._ending = f"{ending}.{settings.file_format.lower()}"
        self._cursor = cursor
        self._staging = staging
        self._storage = storage
        self._metadata = metadata
        self._settings = settings
        self._rows = rows
        lineage = {f.field_id for f in LINEAGE}
        self._statistics = StatisticsReader([c for c in rows.columns if c.field.field_id not in lineage], settings)
        self._conversion = Conversion.needed(metadata, settings, rows.columns)
        self._transcoder = None if self._conversion else Transcoder.needed(metadata.schema, settings)
        self._integers = PlainIntegers()
        self._files = FileList()
        self._count = 0

    def write(self) -> Written:
        directory = self._staging.directory
        if not self._rows.key_columns:
            self._copy(self._rows.source, directory)
            return Written(self._files, self._count)
        local = self._storage.local_path(directory)
        try:
            copy_watched(self._cursor, local, lambda: self._run(self._rows.source, local))
        except TooManyPartitions:
            portions = copy_in_portions(self._cursor, self._rows, self._storage, self._staging)
            for n, portion in enumerate(portions):
                self._copy(portion, self._staging.subdirectory(f"portion-{n}"))
        else:
            self._take_results()
        return Written(self._files, self._count)

    def _copy(self, source: str, directory: str) -> None:
        self._run(source, self._storage.local_path(directory))
        self._take_results()

    def _run(self, source: str, local: str) -> None:
        if self._conversion is not None:
            statement = copy_statement(self._rows, source, local, self._conversion.interim, INTERIM_CODEC, interim=True)
        else:
            codec = self._settings.codec if self._transcoder is None else INTERIM_CODEC
            statement = copy_statement(self._rows, source, local, self._settings, codec)
        self._cursor.execute(statement)

    def _take_results(self) -> None:
        """Place the files of the COPY that just ran, some at a time."""
        position = {d[0]: i for i, d in enumerate(self._cursor.description or ())}
        results = [_copied(row, position) for chunk in fetch_chunks(self._cursor) for row in chunk]
        for at in range(0, len(results), CHUNK_ROWS):
            some = [c for c in results[at : at + CHUNK_ROWS] if c.rows]
            if self._conversion is None:
                self._take(some)
            else:
                self._convert(some, self._conversion)

    def _convert(self, copied: Sequence[_Copied], conversion: Conversion) -> None:
        """Make the files that are wanted of interim ones, and place them."""
        bounds = self._missing_bounds(copied)
        partitions: dict[tuple[str | None, ...], list[_Copied]] = {}
        for c in sorted(copied, key=lambda c: (len(c.path), c.path)):  # by their numbers: rows may be in order
            partitions.setdefault(tuple(c.keys.values()), []).append(c)
        for files in partitions.values():
            at = 0
            for made in conversion.convert([c.path for c in files]):
                parts = files[at : at + made.parts]
                at += made.parts
                statistics = []
                for c in parts:
                    figures = self._statistics.read(c.statistics)
                    if c.path in bounds:
                        _complete(figures, bounds[c.path])
                    statistics.append(figures)
                whole = replace(parts[0], path=made.path, rows=sum(c.rows for c in parts))
                self._place(whole, made.size, conversion.merged(statistics), None)

    def _take(self, copied: Sequence[_Copied]) -> None:
        offsets = self._split_offsets([c.path for c in copied if c.row_groups != 1])
        bounds = self._missing_bounds(copied)
        for c in copied:
            statistics = self._statistics.read(c.statistics)
            if c.path in bounds:
                _complete(statistics, bounds[c.path])
            size, split_offsets = c.size, offsets.get(c.path, (_FIRST_ROW_GROUP,))
            if self._transcoder is not None:
                again = self._transcoder.rewrite(c.path)
                size, split_offsets = again.size, again.split_offsets
                statistics.column_sizes.update(again.column_sizes)
            else:
                size = self._integers.restore(c.path, size)
            self._place(c, size, statistics, split_offsets)

    def _place(self, c: _Copied, size: int, statistics: FileStatistics, split_offsets: tuple[int, ...] | None) -> None:
        partition = tuple(
            None if key is None or (value := c.keys[key.column]) is None else key.decode(value)
            for key in self._rows.keys
        )
        spec = self._metadata.spec
        path = self._staging.place(c.path, partition_path(spec, self._metadata.schema, partition), self._ending)
        self._count += c.rows
        self._files.append(
            DataFile(
                path,
                c.rows,
                size,
                self._settings.file_format,
                partition=partition,
                spec_id=spec.spec_id,
                column_sizes=statistics.column_sizes,
                value_counts=statistics.value_counts,
                null_counts=statistics.null_counts,
                nan_counts=statistics.nan_counts,
                lower_bounds=statistics.lower_bounds,
                upper_bounds=statistics.upper_bounds,
                split_offsets=split_offsets,
                sort_order_id=self._metadata.default_sort_order_id if self._rows.order else 0,
            )
        )

    def _split_offsets(self, paths: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Where the row groups of files begin that have several."""
        if not paths:
            return {}
        files = ", ".join(string_literal(p) for p in paths)
        found: dict[str, list[int]] = {}
        for name, offset in self._cursor.execute(
            "SELECT file_name, min(least(coalesce(dictionary_page_offset, data_page_offset), data_page_offset)) "
            f"FROM parquet_metadata([{files}]) GROUP BY file_name, row_group_id ORDER BY file_name, row_group_id"
        ).fetchall():
            found.setdefault(name, []).append(offset)
        return {name: tuple(offsets) for name, offsets in found.items()}

    def _missing_bounds(self, copied: Sequence[_Copied]) -> dict[str, Bounds]:
        """The bounds that DuckDB left out, of the files that lack some."""
        lacking = {c.path: fields for c in copied if (fields := self._statistics.unbounded(c.statistics))}
        if not lacking:
            return {}
        wanted = {leaf.field_id: (leaf, mode) for fields in lacking.values() for leaf, mode in fields}
        return read_bounds(self._cursor, list(lacking), list(wanted.values()))


def _copied(row: tuple[Any, ...], position: Mapping[str, int]) -> _Copied:
    return _Copied(
        row[position["filename"]],
        row[position["count"]],
        row[position["file_size_bytes"]],
        row[position["column_statistics"]],
        row[position["partition_keys"]] or {},
        int(row[position["extra_info"]]["row_group_count"]),
    )


def _complete(statistics: FileStatistics, bounds: Bounds) -> None:
    for known, exact in ((statistics.lower_bounds, bounds.lower), (statistics.upper_bounds, bounds.upper)):
        for field_id, bound in exact.items():
            if bound is None:
                known.pop(field_id, None)
            else:
                known[field_id] = bound
