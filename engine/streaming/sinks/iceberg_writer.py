"""A job writes to an Iceberg table: rows go into files while a checkpoint lasts, and become its one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import uuid4

from bergsql.engine.duck import duckdb
from bergsql.engine.streaming.changelog import Batch
from bergsql.engine.streaming.sinks.base import SinkContext, Writer
from bergsql.engine.streaming.sinks.iceberg_buffer import RowBuffer
from bergsql.engine.streaming.sinks.iceberg_changes import KeyedChanges, partition_columns
from bergsql.engine.streaming.sinks.iceberg_commit import Committable, JobTable
from bergsql.engine.streaming.sinks.iceberg_schema import FOLLOW, POLICY, check_key, columns_for
from bergsql.engine.table.checkpoint_staging import CheckpointStaging, remove_unprepared
from bergsql.engine.table.equality_delete_writing import (
    check_partitioned_by_key,
    key_of,
    reaching_specs,
    write_equality_deletes,
)
from bergsql.engine.table.properties import WriteProperties, data_location
from bergsql.engine.table.snapshot_writer import new_snapshot_id
from bergsql.engine.table.writer import write_into, write_settings

if TYPE_CHECKING:
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.engine.streaming.sinks.iceberg import IcebergSink
    from bergsql.engine.streaming.sources.base import Json
    from bergsql.engine.table.datafile import DataFile

WORTH_A_FILE = 256 << 20
"""Bytes of rows, as text, that are not kept in memory for the end of their checkpoint any more."""


@dataclass(slots=True)
class _Checkpoint:
    """What is written for the next checkpoint: for the table as it was when its first rows came.

    ``items``: SQL of the table's columns over those of the rows.
    """

    metadata: TableMetadata
    settings: WriteProperties
    items: list[str]
    staging: CheckpointStaging
    files: list[DataFile] = field(default_factory=list)


class IcebergWriter(Writer):
    """See :class:`~bergsql.engine.streaming.sinks.base.Writer`."""

    def __init__(self, sink: IcebergSink, context: SinkContext, restored: int) -> None:
        self._sink = sink
        self._context = context
        self._cursor = context.cursor
        self._changes = sink.changes
        self._job = JobTable(sink.target, context.job_id, context.sink_id)
        metadata = self._job.register(restored).metadata
        location = data_location({**metadata.properties, **sink.properties}, metadata.location)
        committed = self._job.committed
        remove_unprepared(self._job.storage, location, self._job.owner, restored, committed, metadata)
        name = f"rows of {context.sink_id}"
        self._buffer = RowBuffer(self._cursor, name, len(sink.columns), changes=self._changes is not None)
        self._open: _Checkpoint | None = None

    # --- rows ---------------------------------------------------------------------------------------------------------

    def write(self, batch: Batch) -> int:
        with _told():
            return self._write(batch)

    def _write(self, batch: Batch) -> int:
        if self._changes is None and batch.rows and not self._buffer.rows and self._is_worth_files(batch):
            self._write_files(self._checkpoint(), batch.sql)
            return batch.rows
        count = self._buffer.add(batch)
        if count and self._changes is None and self._buffer.bytes >= WORTH_A_FILE:
            self._write_files(self._checkpoint(), self._buffer.table)
            self._buffer.clear()
        return count

    def _is_worth_files(self, batch: Batch) -> bool:
        return (batch.rows or 0) * self._buffer.width(batch.sql) >= WORTH_A_FILE

    def _checkpoint(self) -> _Checkpoint:
        """What is open, or is begun now, with the table as it is."""
        if self._open is None:
            table = self._job.load()
            metadata, sink = table.metadata, self._sink
            policy = self._context.setting(POLICY) or FOLLOW
            items = columns_for(sink.schema, metadata.schema, sink.name, policy)
            if self._changes is not None:
                check_key(sink.schema, metadata.schema, sink.name)
            sink.target.name.catalog.check_writable(table)
            settings = write_settings(metadata, sink.properties)
            staging = CheckpointStaging(self._job.storage, settings, self._job.owner, uuid4().hex[:8])
            self._open = _Checkpoint(metadata, settings, items, staging)
            staging.open()
        return self._open

    def _write_files(self, at: _Checkpoint, source: str, condition: str = "TRUE") -> None:
        sql = f"SELECT {', '.join(at.items)} FROM {source} AS q WHERE {condition}"
        written = write_into(at.staging, self._cursor, sql, {}, at.metadata, self._job.storage, at.settings)
        at.files += written.files
        at.staging.clear()

    def _write_changes(self, at: _Checkpoint, changes: KeyedChanges) -> None:
        """Data files of the rows that are there behind the checkpoint, delete files of what was there before."""
        metadata, storage = at.metadata, self._job.storage
        key = key_of(metadata.schema)
        if not changes.whole:
            check_partitioned_by_key(metadata.schema, metadata.spec)
        specs = reaching_specs(metadata, self._job.head(metadata), storage, whole=changes.whole)
        others = partition_columns(metadata.schema, specs, key)
        table = self._buffer.table
        self._write_files(at, table, changes.last_rows(table))
        settings = WriteProperties.of_deletes({**metadata.properties, **self._sink.properties}, metadata.location)
        items = dict(zip((f.field_id for f in metadata.schema.fields), at.items, strict=True))
        gone = changes.gone(table, [items[f.field_id] for f in (*key, *others)])
        at.files += write_equality_deletes(
            at.staging, self._cursor, gone, key, specs, metadata, storage, settings, others=others
        )

    # --- checkpoints --------------------------------------------------------------------------------------------------

    def prepare(self, checkpoint: int) -> Json:
        try:
            with _told():
                return self._prepare(checkpoint)
        except BaseException:
            self.discard()
            raise

    def _prepare(self, checkpoint: int) -> Json:
        if self._buffer.rows:
            at = self._checkpoint()
            if self._changes is None:
                self._write_files(at, self._buffer.table)
            else:
                self._write_changes(at, self._changes)
            self._buffer.clear()
        if self._open is None or not self._open.files:
            self.discard()
            return None
        at = self._open
        directory = at.staging.prepare(checkpoint, at.files, at.metadata)
        self._open = None
        metadata = at.metadata
        return Committable(
            directory, new_snapshot_id(), metadata.table_uuid, metadata.schema.schema_id, self._job.committed
        ).to_json()

    def commit(self, checkpoint: int, committable: Json) -> None:
        self._job.commit(checkpoint, Committable.from_json(committable))

    def discard(self) -> None:
        self._buffer.clear()
        if self._open is not None:
            at, self._open = self._open, None
            at.staging.discard()

    def close(self) -> None:
        self.discard()


@contextmanager
def _told() -> Iterator[None]:
    """What DuckDB says of rows that it cannot make or write, as it is to be told."""
    try:
        yield
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        from bergsql.engine.plan.duck_errors import from_duckdb_error

        raise from_duckdb_error(error) from error
