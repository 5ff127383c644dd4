"""From row changes to files: the other rows of the touched data files anew, or delete files; and the rows that come.

What is written so is not durable, and no snapshot holds it: a :class:`~bergsql.engine.table.row_delta.RowDelta` commits
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bergsql.engine.table.deleted_positions import remember_positions
from bergsql.engine.table.metadata_columns import PLACE_ROW_ID, PLACE_UPDATED
from bergsql.engine.table.position_delete_writing import FileDeletes, write_position_deletes
from bergsql.engine.table.projection import duckdb_type
from bergsql.engine.table.row_level_properties import DeleteFileProperties, Granularity, Mode, check_mode
from bergsql.engine.table.scan import scan_of_tasks
from bergsql.engine.table.staging import Staging
from bergsql.engine.table.touched_files import deleted_by_own, own_deletes, touched_files
from bergsql.engine.table.vector_writing import write_vectors
from bergsql.engine.table.writer import Written, write_into, write_settings

if TYPE_CHECKING:
    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.table.datafile import DataFile
    from bergsql.engine.table.planning import FileTask
    from bergsql.engine.table.properties import WriteProperties
    from bergsql.engine.table.row_changes import RowChanges
    from bergsql.engine.table.touched_files import Touched

_PREFIX = "kept"
"""Begins what the scan of the rows that stay reads by name: the statement's query has other names."""


@dataclass(frozen=True, slots=True)
class ChangedFiles:
    """What is to be committed: data files and delete files that are added, and those that go.

    ``rows_written`` counts the rows in the files added, those that stay as they were too; ``rows_deleted`` the rows of
    ``changes`` that go, updated ones too.
    """

    added: Sequence[DataFile]
    deletes: Sequence[DataFile]
    removed: Sequence[DataFile]
    removed_deletes: Sequence[DataFile]
    rows_written: int
    rows_deleted: int

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to commit."""
        return not (self.added or self.deletes or self.removed or self.removed_deletes)


def write_changes(
    changes: RowChanges,
    *,
    whole: Sequence[FileTask],
    table: LoadedTable,
    schema: Schema,
    storage: Storage,
    mode: Mode,
    properties: Mapping[str, str] | None = None,
) -> ChangedFiles:
    """Write what a statement does to a table, whose rows get ``schema``.

    ``whole`` are data files that go with all their rows, beside those of ``changes``. ``properties`` go before the
    table's own. On any failure, an interruption too, no file stays.

    :raises BergError: what :func:`~bergsql.engine.table.writer.write_rows` raises; OPTION for merge-on-read in format
        version 1; NOT_FOUND or CORRUPT naming a delete file.
    """
    metadata = with_schema(table.metadata, schema)
    given = {**metadata.properties, **(properties or {})}
    settings = write_settings(metadata, properties)
    deleting = None
    if mode is Mode.MERGE_ON_READ:
        check_mode(mode, metadata.format_version)
        deleting = DeleteFileProperties.of(given, metadata.location)
    touched = touched_files(changes.cursor, changes.tasks, changes.gone, metadata, storage)
    removed = [*whole, *(t.task for t in touched if t.whole)]
    partly = [t for t in touched if not t.whole]
    gone_with = [d for task in removed for d in own_deletes(task)]
    with Staging(storage, settings) as staging:
        if deleting is None:
            removed += [t.task for t in partly]
            gone_with += [d for t in partly for d in own_deletes(t.task)]
            deletes: list[DataFile] = []
        else:
            deletes, replaced = _write_deletes(partly, changes, metadata, storage, staging, deleting)
            gone_with += replaced
            partly = []
        written = _write_rows(partly, changes, replace(table, metadata=metadata), storage, staging, settings)
    return ChangedFiles(
        written.files,
        deletes,
        [t.data_file for t in removed],
        gone_with,
        written.rows,
        sum(map(len, changes.gone.values())),
    )


def _write_deletes(
    partly: Sequence[Touched],
    changes: RowChanges,
    metadata: TableMetadata,
    storage: Storage,
    staging: Staging,
    properties: DeleteFileProperties,
) -> tuple[list[DataFile], list[DataFile]]:
    """Delete files for the positions that go of data files, and the delete files whose place they take.

    A vector says all that is deleted of its data file: beside it, no position delete file counts. Where position delete
    files are of one data file each, one takes the place of all that there are, or every statement would add another.
    """
    if not partly:
        return [], []
    if metadata.format_version >= 3:
        wanted = [FileDeletes(t.task.data_file, t.dead) for t in partly]
        made = write_vectors(wanted, storage=storage, staging=staging)
        _remember(made, wanted)
        return made, [d for t in partly for d in own_deletes(t.task)]
    if properties.granularity is Granularity.PARTITION:
        wanted, replaced = [FileDeletes(t.task.data_file, t.gone) for t in partly], []
    else:
        wanted = [FileDeletes(t.task.data_file, deleted_by_own(changes.cursor, t, metadata, storage)) for t in partly]
        replaced = [d for t in partly for d in own_deletes(t.task)]
    made = write_position_deletes(wanted, metadata=metadata, storage=storage, staging=staging, properties=properties)
    _remember(made, wanted)
    return made, replaced


def _remember(made: Sequence[DataFile], written: Sequence[FileDeletes]) -> None:
    """Let the next statement know what is in the delete files that are of one data file each."""
    by_path = {w.file.path: w for w in written}
    for delete in made:
        of = by_path.get(delete.referenced_data_file or "")
        if of is not None:
            remember_positions(of.file, delete, of.positions)


def _write_rows(
    kept: Sequence[Touched],
    changes: RowChanges,
    table: LoadedTable,
    storage: Storage,
    staging: Staging,
    settings: WriteProperties,
) -> Written:
    """The rows that stay of data files, and those that come, as new data files."""
    metadata, coming = table.metadata, changes.rows
    lineage = metadata.format_version >= 3 and (bool(kept) or (coming is not None and coming.lineage))
    selects: list[str] = []
    variables: dict[str, object] = {}
    if kept:
        tasks = [t.rest for t in kept]
        places = frozenset({PLACE_ROW_ID, PLACE_UPDATED}) if lineage else frozenset()
        scan = scan_of_tasks(table, storage, metadata.schema, tasks, places, _PREFIX)
        selects.append(scan.sql)
        variables = scan.variables
    if coming is not None:
        columns = [f"c{i}" for i in range(len(metadata.schema.fields))]
        items = [f"CAST({c} AS {duckdb_type(f.type)})" for c, f in zip(columns, metadata.schema.fields, strict=True)]
        if lineage:
            items += ["row_id", "CAST(NULL AS BIGINT)"]
        selects.append(f"SELECT {', '.join(items)} FROM ({coming.sql}) AS q({', '.join(columns)}, row_id)")
    if not selects:
        return Written((), 0)
    if metadata.sort_order.fields:
        changes.cursor.execute("RESET SESSION preserve_insertion_order")
    sql = " UNION ALL ".join(selects)
    return write_into(staging, changes.cursor, sql, variables, metadata, storage, settings, lineage=lineage)


def with_schema(metadata: TableMetadata, schema: Schema) -> TableMetadata:
    """The metadata as it will be once ``schema`` is the table's."""
    if schema is metadata.schema:
        return metadata
    others = tuple(s for s in metadata.schemas if s.schema_id != schema.schema_id)
    return replace(metadata, schemas=(*others, schema), current_schema_id=schema.schema_id)
