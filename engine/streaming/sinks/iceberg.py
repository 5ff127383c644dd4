"""Iceberg tables as sinks of streams: rows are appended, or changes go by a table's key; one snapshot a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.engine.sql.type_names import from_iceberg
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.sinks.base import Sink, SinkContext, Writer
from bergsql.engine.streaming.sinks.iceberg_changes import KeyedChanges
from bergsql.engine.table.equality_delete_writing import check_partitioned_by_key, key_of, reaching_specs
from bergsql.engine.table.writer import write_settings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bergsql.catalog.base import LoadedTable
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.engine.streaming.sinks.iceberg_commit import SinkTarget

NO_KEY = "ALTER TABLE {} ADD PRIMARY KEY (…) NOT ENFORCED; declares one, of columns that are NOT NULL."


def iceberg_sink(
    target: SinkTarget,
    *,
    properties: Mapping[str, str] | None = None,
    upserts: bool = False,
    schema_id: int | None = None,
) -> IcebergSink:
    """The table, or the branch of one, as a sink.

    ``properties``: what hints ask for, before the table's own (``InsertHints.properties``). ``upserts``: rows take the
    place of those with their keys (``write.upsert.enabled`` or the hint ``upsert-enabled``). ``schema_id``: of the
    columns that a job was planned for when it was submitted, which may be fewer than the table has now.

    :raises BergError: OPTION for properties that make no sense; INVALID where a snapshot would only be staged.
    """
    schema = target.table.metadata.schema
    return IcebergSink(target, properties or {}, schema_of(target.table, schema_id) or schema, upserts=upserts)


def schema_of(table: LoadedTable, schema_id: int | None) -> Schema | None:
    """A schema that a table has, or had."""
    return next((s for s in table.metadata.schemas if s.schema_id == schema_id), None)


class IcebergSink(Sink):
    """See :func:`iceberg_sink`."""

    def __init__(self, target: SinkTarget, properties: Mapping[str, str], schema: Schema, *, upserts: bool) -> None:
        self.target = target
        self.schema = schema
        """What it was planned for."""
        self.properties = properties
        self._upserts = upserts
        self.name = str(target.name)
        self.columns = tuple(StreamColumn(f.name, from_iceberg(f.type), not f.required) for f in schema.fields)
        self.key = tuple(i for i, f in enumerate(schema.fields) if f.field_id in schema.identifier_field_ids)
        self._mode = ChangelogMode.UPSERT if upserts else ChangelogMode.INSERT_ONLY
        if target.to.staged:
            raise BergError(
                ErrorCode.INVALID,
                "A job cannot stage its snapshots for a later publication.",
                hint="RESET 'spark.wap.id'; or write to a branch.",
            )
        write_settings(target.table.metadata, properties)

    def check(self, mode: ChangelogMode, key: tuple[int, ...] | None) -> None:
        """Refuse changes of a table without a key, or whose key does not tell the query's rows apart.

        :raises BergError: INVALID; OPTION in format version 1.
        """
        changing = mode is not ChangelogMode.INSERT_ONLY
        if self._upserts:
            mode = ChangelogMode.UPSERT
        self._mode = mode
        if mode is ChangelogMode.INSERT_ONLY:
            return
        metadata, name = self.target.table.metadata, self.name
        if metadata.format_version < 2:
            raise BergError(
                ErrorCode.OPTION,
                f"Rows are changed by delete files, which tables of format version 1 as {name} do not have.",
                hint=f"ALTER TABLE {name} SET ('format-version'='2'); changes it.",
            )
        if not key_of(metadata.schema):
            raise BergError(
                ErrorCode.INVALID,
                f"The query gives changes of rows, not only new ones, and {name} has no primary key by which they are "
                "told.",
                hint=NO_KEY.format(name),
            )
        if changing and (key is None or not set(key) <= set(self.key)):
            said, own = (", ".join(self.columns[i].name for i in k) for k in (key or (), self.key))
            raise BergError(
                ErrorCode.INVALID,
                f"The rows of the query are told apart by {'nothing' if key is None else f'({said})'}, and those of "
                f"{name} by ({own}): several rows would be one.",
                hint="Make the primary key of the table the columns by which the query's rows are told apart.",
            )
        whole = mode is ChangelogMode.RETRACT
        if not whole:
            check_partitioned_by_key(metadata.schema, metadata.spec)
        reaching_specs(metadata, self.target.to.head(metadata), self.target.name.catalog.storage(), whole=whole)

    @property
    def changes(self) -> KeyedChanges | None:
        """How changes are taken, as :meth:`check` found out; None where rows only come."""
        return None if self._mode is ChangelogMode.INSERT_ONLY else KeyedChanges(self.key, self._mode)

    def writer(self, context: SinkContext, restored: int) -> Writer:
        from bergsql.engine.streaming.sinks.iceberg_writer import IcebergWriter

        return IcebergWriter(self, context, restored)

    def explain(self) -> str:
        changes = self.changes
        if changes is None:
            return f"Append to {self.name}{self.target.place}"
        does = "Change" if changes.whole else "Upsert"
        by = ", ".join(self.columns[i].name for i in self.key)
        return f"{does} {self.name} by key ({by}){self.target.place}"
