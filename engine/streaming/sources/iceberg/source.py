"""An Iceberg table as a source, as planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.types import walk
from bergsql.engine.sql.type_names import from_iceberg
from bergsql.engine.streaming.changelog import ChangelogMode, StreamColumn
from bergsql.engine.streaming.sources.base import Json, Reader, ReaderContext, Source
from bergsql.engine.streaming.sources.iceberg.rows import Projection

if TYPE_CHECKING:
    from bergsql.catalog.base import Catalog, LoadedTable, TableIdent
    from bergsql.catalog.metadata.schema import Schema
    from bergsql.catalog.metadata.snapshots import Snapshot
    from bergsql.catalog.metadata.table_metadata import TableMetadata
    from bergsql.catalog.metadata.types import NestedField
    from bergsql.catalog.storage.base import Storage
    from bergsql.engine.plan.streaming_options import StreamingOptions
    from bergsql.engine.streaming.sources.iceberg.changes import ChangeReading
    from bergsql.engine.streaming.sources.iceberg.rows import RowReading, WatermarkColumn
    from bergsql.engine.table.read_point import ReadPoint


@dataclass(frozen=True)
class IcebergTable:
    """Where a table is found again."""

    name: str
    ident: TableIdent
    catalog: Catalog
    storage: Storage
    uuid: str | None


@dataclass(frozen=True)
class IcebergSource(Source):
    """A table read as a stream.

    last
        The snapshot at which a stream ends.
    used
        The positions of the columns that are read; the others are NULL.
    """

    table: IcebergTable
    schema: Schema
    options: StreamingOptions
    branch: str
    limit: int | None
    used: frozenset[int]
    last: int | None = None
    watermarks: WatermarkColumn | None = None

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.table.name

    @property
    def storage(self) -> Storage:
        return self.table.storage

    @property
    def projection(self) -> Projection:
        return Projection(self.schema, self.used)

    @property
    def bounded(self) -> bool:  # type: ignore[override]
        return self.last is not None

    @property
    def columns(self) -> tuple[StreamColumn, ...]:  # type: ignore[override]
        time = None if self.watermarks is None else self.watermarks.field.field_id
        return tuple(
            StreamColumn(f.name, from_iceberg(f.type), not f.required, rowtime=f.field_id == time)
            for f in self.schema.fields
        )

    @property
    def mode(self) -> ChangelogMode:  # type: ignore[override]
        return ChangelogMode.RETRACT if self.options.changelog else ChangelogMode.INSERT_ONLY

    @property
    def key(self) -> tuple[int, ...]:  # type: ignore[override]
        """Of a changelog: the key of the table, if it has one of whole columns."""
        ids = self.schema.identifier_field_ids if self.options.changelog else ()
        found = tuple(i for i, f in enumerate(self.schema.fields) if f.field_id in ids)
        return found if len(found) == len(set(ids)) else ()

    @property
    def signature(self) -> Mapping[str, Json]:
        order = None if self.watermarks is None else self.watermarks.field.field_id
        return {
            "table-uuid": self.table.uuid,
            "branch": self.branch,
            "changelog": self.options.changelog,
            "order": order,
        }

    def reader(self, context: ReaderContext, offset: Json) -> Reader:
        from bergsql.engine.streaming.sources.iceberg.reader import IcebergReader

        return IcebergReader(self, context, offset)

    def explain(self) -> str:
        what = f"Iceberg table {self.name}"
        if self.branch != "main":
            what += f", branch {self.branch}"
        changes = ", its changes" if self.options.changelog else ""
        where = self.options.strategy + (f" {self.options.start.value}" if self.options.start is not None else "")
        interval = self.options.monitor_interval_ms
        often = f"{interval} ms" if interval % 1000 else f"{interval // 1000} s"
        return f"{what}{changes}, {where}, every {often}"

    def reading(self, positions: frozenset[int]) -> IcebergSource:
        return replace(self, used=positions | frozenset(self.key))

    # --- what readers need -------------------------------------------------------------------------------------------

    def load(self) -> LoadedTable:
        """The table as it is now.

        :raises BergError: NOT_FOUND when it is gone, CONFLICT when another one has its place.
        """
        known = self.table
        try:
            table = known.catalog.load_table(known.ident)
        except BergError as error:
            if error.code is ErrorCode.NOT_FOUND:
                message = f"Table {known.name} is not there any more: it was dropped or renamed."
                raise BergError(ErrorCode.NOT_FOUND, message, hint="What reads it cannot go on.") from None
            raise
        if known.uuid is not None and table.metadata.table_uuid != known.uuid:
            message = f"Table {known.name} is another one than the one that was read: it was dropped and made anew."
            hint = "Start the query again without its saved state, to read the new table."
            raise BergError(ErrorCode.CONFLICT, message, hint=hint)
        return table

    def point_of(self, snapshot: Snapshot) -> ReadPoint:
        """The state that is scanned, at ``snapshot``."""
        from bergsql.engine.table.read_point import ReadPoint

        return ReadPoint(snapshot, self.schema)

    def changes_of(self, reading: RowReading) -> ChangeReading:
        from bergsql.engine.streaming.sources.iceberg.changes import ChangeReading

        return ChangeReading(reading, self.key)

    def check_columns(self, metadata: TableMetadata, snapshot: Snapshot) -> None:
        """Refuse rows that do not fit the columns of the plan: columns are the same by their ids.

        :raises BergError: CONFLICT naming the column.
        """
        then = metadata.schema_for(snapshot)
        for planned in walk(self.projection.fields):
            if metadata.schema.field(planned.field_id) is None:
                raise self._changed(planned, snapshot, "was dropped")
            written = then.field(planned.field_id)
            if written is None:
                continue  # it was added later: it has its default
            if not _fits(written, planned, metadata.format_version):
                raise self._changed(planned, snapshot, f"became {written.type}")
            if planned.required and not written.required:
                raise self._changed(planned, snapshot, "may be NULL since")

    def _changed(self, planned: NestedField, snapshot: Snapshot, how: str) -> BergError:
        name = self.schema.name_of(planned.field_id) or planned.name
        message = (
            f"Column '{name}' of table {self.name} {how}: snapshot {snapshot.snapshot_id} does not fit the query, which"
            " was planned before."
        )
        hint = "Start the query again: it is planned with the columns that the table has now."
        return BergError(ErrorCode.CONFLICT, message, hint=hint)


def _fits(written: NestedField, planned: NestedField, format_version: int) -> bool:
    from bergsql.catalog.metadata.evolve import can_promote

    if not written.type.is_primitive or not planned.type.is_primitive:
        return type(written.type) is type(planned.type)  # what is inside is walked too
    return written.type == planned.type or can_promote(written.type, planned.type, format_version)
