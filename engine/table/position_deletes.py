"""Position delete files (spec, "Position Delete Files"): Parquet, Avro or ORC, read as data files are, all at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.types import LongType, NestedField, StringType
from bergsql.engine.duck import arrow_rows, set_variables
from bergsql.engine.table.datafile import FileContent
from bergsql.engine.table.delete_index import DELETE_FILE_PATH_ID, referenced_path
from bergsql.engine.table.file_groups import FILE_INDEX, FileGroup, Grouping, column_name
from bergsql.engine.table.parquet_schema import read_columns
from bergsql.engine.table.planning import FileTask
from bergsql.engine.table.position_runs import MOST_POSITIONS, runs

if TYPE_CHECKING:
    import duckdb
    from pyroaring import BitMap

    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import ManifestEntry

FILE_PATH = NestedField(DELETE_FILE_PATH_ID, "file_path", StringType(), True)
POS = NestedField(2147483545, "pos", LongType(), True)
_SCHEMA = Schema(0, (FILE_PATH, POS))


def read_position_deletes(
    cursor: duckdb.DuckDBPyConnection,
    storage: Storage,
    metadata: TableMetadata,
    entries: Sequence[ManifestEntry],
    paths: Mapping[str, int],
    name: str,
) -> dict[tuple[int, int], BitMap]:
    """The positions below 2³² that each of ``entries`` deletes of each of ``paths``, by the numbers of both.

    A data file's path is compared as text; of a delete file that the manifest says to be of one of them, not at all.
    The query's own names begin with ``name``.
    """
    import pyarrow as pa

    # Neither the table's name mapping nor its partitions say anything of delete files.
    grouping = Grouping(replace(metadata, properties={}, specs=()), storage, _SCHEMA.fields, _SCHEMA)
    found: dict[tuple[int, int], BitMap] = {}
    numbers = {e.data_file.path: i for i, e in enumerate(entries)}
    only = [paths.get(referenced_path(e.data_file) or "") for e in entries]
    wanted = pa.table({"path": pa.array(paths, pa.string()), "number": pa.array(paths.values(), pa.int64())})
    with _named(cursor, f"{name}_wanted", wanted) as known:
        for of_one in (True, False):
            those = [e for e, file in zip(entries, only, strict=True) if (file is not None) == of_one]
            tasks = [FileTask(replace(e.data_file, content=FileContent.DATA, partition=()), 0) for e in those]
            for group in grouping.groups(tasks):
                own = [numbers[task.data_file.path] for task in group.tasks]
                for i in own:
                    _check_columns(storage, group, entries[i])
                fields = (POS,) if of_one else _SCHEMA.fields
                with _named(cursor, f"{name}_deletes", group.source(storage, fields)) as source:
                    rows = arrow_rows(cursor, _query(group, source, None if of_one else known))
                for (entry, file), positions in runs(rows):
                    number = own[entry]
                    key = (number, file if (one := only[number]) is None else one)
                    found[key] = found[key] | positions if key in found else positions
    return found


@contextmanager
def _named(cursor: duckdb.DuckDBPyConnection, name: str, value: object) -> Iterator[str]:
    """The name under which DuckDB knows ``value`` inside."""
    set_variables(cursor, {name: value})
    try:
        yield name
    finally:
        if isinstance(value, list):
            cursor.execute(f"RESET VARIABLE {name}")
        else:
            cursor.unregister(name)


def _query(group: FileGroup, source: str, known: str | None) -> str:
    """The positions of the files in the table ``known``; None: those of delete files that are of one file each."""
    path, pos = column_name(FILE_PATH), column_name(POS)
    fields = (POS,) if known is None else _SCHEMA.fields
    join = "" if known is None else f" JOIN temp.main.{known} AS w ON w.path = d.{path}"
    file = "CAST(0 AS BIGINT)" if known is None else "w.number"
    return (
        f"SELECT d.{FILE_INDEX} AS entry, {file} AS file, CAST(d.{pos} AS UINTEGER) AS pos"
        f" FROM ({group.rows(source, fields, index=True)}) AS d{join}"
        f" WHERE d.{pos} BETWEEN 0 AND {MOST_POSITIONS - 1}"
    )


def _check_columns(storage: Storage, group: FileGroup, entry: ManifestEntry) -> None:
    """Refuse a file that lacks a column: it would delete nothing."""
    file = entry.data_file
    columns = group.columns
    if columns is None:
        columns = read_columns(storage, file.path, file.file_size)
    if not {FILE_PATH.field_id, POS.field_id} <= {c.field_id for c in columns}:
        message = f"Delete file {file.path} of snapshot {entry.snapshot_id} has no columns 'file_path' and 'pos'."
        raise BergError(ErrorCode.CORRUPT, message)
