"""Applying changes to table metadata: the next version as a pure function of the last one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import (
    LAST_ADDED,
    AddPartitionSpec,
    AddSchema,
    AddSnapshot,
    AddSortOrder,
    AssignUUID,
    RemovePartitionStatistics,
    RemoveProperties,
    RemoveSnapshotRef,
    RemoveSnapshots,
    RemoveStatistics,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetPartitionStatistics,
    SetProperties,
    SetSnapshotRef,
    SetStatistics,
    TableUpdate,
    UpgradeFormatVersion,
)
from bergsql.catalog.metadata.new_table import (
    FORMAT_VERSION,
    check_format_version,
    check_not_reserved,
    parse_format_version,
)
from bergsql.catalog.metadata.partition import FIRST_PARTITION_ID, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.schema_rules import check_schema
from bergsql.catalog.metadata.snapshots import MAIN_BRANCH, MetadataLogEntry, Snapshot, SnapshotLogEntry, SnapshotRef
from bergsql.catalog.metadata.sort import SortOrder
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import TransformKind

PREVIOUS_VERSIONS_MAX = "write.metadata.previous-versions-max"
PREVIOUS_VERSIONS_MAX_DEFAULT = 100


def apply_updates(metadata: TableMetadata, updates: Sequence[TableUpdate], now_ms: int) -> TableMetadata:
    """The metadata after ``updates``, in order, at ``now_ms``; the same object when they change nothing.

    Logs of snapshots, references, sequence numbers and row ids are kept right. INVALID errors say what does not fit.
    """
    draft = _Draft(metadata, now_ms)
    for update in updates:
        draft.apply(update)
    return draft.finish()


def log_previous(metadata: TableMetadata, previous: TableMetadata, previous_location: str) -> TableMetadata:
    """``metadata`` with the file of the version before it at the end of its log.

    The log is cut to ``write.metadata.previous-versions-max`` entries (at least one).
    """
    text = metadata.properties.get(PREVIOUS_VERSIONS_MAX, "")
    try:
        most = int(text) if text else PREVIOUS_VERSIONS_MAX_DEFAULT
    except ValueError:
        raise BergError(
            ErrorCode.OPTION, f"The table property '{PREVIOUS_VERSIONS_MAX}' is '{text}', not a number."
        ) from None
    entry = MetadataLogEntry(previous.last_updated_ms, previous_location)
    return metadata.changed(metadata_log=(*previous.metadata_log, entry)[-max(most, 1) :])


class _Draft:
    """A metadata version in the making."""

    def __init__(self, base: TableMetadata, now_ms: int) -> None:
        self.base = base
        self.m = base
        self.now_ms = max(now_ms, base.last_updated_ms)
        self.updated_ms: int | None = None
        self.added_schema: int | None = None
        self.added_spec: int | None = None
        self.added_order: int | None = None
        self.added_snapshots: set[int] = set()
        self.heads: list[int] = []
        self.removed_snapshots = False

    def set(self, **fields: Any) -> None:
        self.m = self.m.changed(**fields)

    def apply(self, update: TableUpdate) -> None:
        match update:
            case AddSnapshot(snapshot):
                self.add_snapshot(snapshot)
            case SetSnapshotRef(name, ref):
                self.set_ref(name, ref)
            case RemoveSnapshotRef(name):
                self.remove_ref(name)
            case RemoveSnapshots(ids):
                self.remove_snapshots(frozenset(ids))
            case AddSchema(schema):
                self.add_schema(schema)
            case SetCurrentSchema(schema_id):
                self.set(current_schema_id=_chosen(schema_id, self.added_schema, self.m._schemas_by_id, "schema"))
            case AddPartitionSpec(spec):
                self.add_spec(spec)
            case SetDefaultSpec(spec_id):
                self.set(default_spec_id=_chosen(spec_id, self.added_spec, self.m._specs_by_id, "partition spec"))
            case AddSortOrder(order):
                self.add_order(order)
            case SetDefaultSortOrder(order_id):
                orders = {o.order_id: o for o in self.m.sort_orders}
                self.set(default_sort_order_id=_chosen(order_id, self.added_order, orders, "sort order"))
            case SetProperties(properties):
                self.set_properties(properties)
            case RemoveProperties(keys):
                check_not_reserved(keys)
                self.set(properties={k: v for k, v in self.m.properties.items() if k not in keys})
            case SetLocation(location):
                self.set(location=location)
            case UpgradeFormatVersion(version):
                self.upgrade(version)
            case AssignUUID(uuid):
                self.assign_uuid(uuid)
            case SetStatistics(statistics):
                self.set(statistics=_with(self.m.statistics, statistics))
            case RemoveStatistics(snapshot_id):
                self.set(statistics=_without(self.m.statistics, {snapshot_id}))
            case SetPartitionStatistics(statistics):
                self.set(partition_statistics=_with(self.m.partition_statistics, statistics))
            case RemovePartitionStatistics(snapshot_id):
                self.set(partition_statistics=_without(self.m.partition_statistics, {snapshot_id}))
            case _:
                raise BergError(ErrorCode.INTERNAL, f"There is no way to apply {type(update).__name__}.")

    # --- snapshots ---------------------------------------------------------------------------------------------------

    def add_snapshot(self, snapshot: Snapshot) -> None:
        m = self.m
        if m.snapshot(snapshot.snapshot_id) is not None:
            raise BergError(ErrorCode.INVALID, f"The snapshot {snapshot.snapshot_id} exists already.")
        if m.format_version > 1 and snapshot.sequence_number <= m.last_sequence_number:
            raise BergError(
                ErrorCode.INVALID,
                f"The snapshot {snapshot.snapshot_id} has the sequence number {snapshot.sequence_number}, "
                f"but the table is at {m.last_sequence_number} already.",
            )
        next_row_id = m.next_row_id
        if m.format_version >= 3:
            if snapshot.first_row_id is None or snapshot.added_rows is None or snapshot.first_row_id < next_row_id:
                raise BergError(
                    ErrorCode.INVALID,
                    f"The snapshot {snapshot.snapshot_id} does not number its rows from {next_row_id} on.",
                )
            next_row_id = snapshot.first_row_id + snapshot.added_rows
        self.updated_ms = snapshot.timestamp_ms
        self.added_snapshots.add(snapshot.snapshot_id)
        self.set(
            snapshots=(*m.snapshots, snapshot),
            last_sequence_number=snapshot.sequence_number if m.format_version > 1 else 0,
            next_row_id=next_row_id,
        )

    def set_ref(self, name: str, ref: SnapshotRef) -> None:
        if self.m.refs.get(name) == ref:
            return
        snapshot = self.m.snapshot(ref.snapshot_id)
        if snapshot is None:
            raise BergError(ErrorCode.NOT_FOUND, f"The snapshot {ref.snapshot_id} was not found.")
        if name == MAIN_BRANCH and not ref.is_branch:
            raise BergError(ErrorCode.INVALID, "The branch main cannot be a tag.")
        moved = name == MAIN_BRANCH and self.m.current_snapshot_id != ref.snapshot_id
        self.set(refs={**self.m.refs, name: ref})
        if ref.snapshot_id in self.added_snapshots:
            self.updated_ms = snapshot.timestamp_ms
        if not moved:
            return
        if self.updated_ms is None:
            self.updated_ms = self.now_ms
        self.heads.append(ref.snapshot_id)
        entry = SnapshotLogEntry(self.updated_ms, ref.snapshot_id)
        self.set(current_snapshot_id=ref.snapshot_id, snapshot_log=(*self.m.snapshot_log, entry))

    def remove_ref(self, name: str) -> None:
        self.set(refs={n: r for n, r in self.m.refs.items() if n != name})
        if name == MAIN_BRANCH:
            self.set(current_snapshot_id=None)

    def remove_snapshots(self, ids: frozenset[int]) -> None:
        for name, ref in list(self.m.refs.items()):
            if ref.snapshot_id in ids:
                self.remove_ref(name)
        self.removed_snapshots = True
        self.set(
            snapshots=tuple(s for s in self.m.snapshots if s.snapshot_id not in ids),
            statistics=_without(self.m.statistics, ids),
            partition_statistics=_without(self.m.partition_statistics, ids),
        )

    # --- schema, partitions, order -----------------------------------------------------------------------------------

    def add_schema(self, schema: Schema) -> None:
        check_schema(schema, self.m.format_version)
        for known in self.m.schemas:
            if known.same_columns(schema):
                self.added_schema = known.schema_id
                return
        self.added_schema = max(s.schema_id for s in self.m.schemas) + 1
        self.set(
            schemas=(*self.m.schemas, schema.with_id(self.added_schema)),
            last_column_id=max(self.m.last_column_id, schema.highest_field_id),
        )

    def add_spec(self, spec: PartitionSpec) -> None:
        for known in self.m.specs:
            if known.compatible_with(spec):
                self.added_spec = known.spec_id
                return
        sequential = [f.field_id for f in spec.fields] == [FIRST_PARTITION_ID + i for i in range(len(spec.fields))]
        if self.m.format_version == 1 and not sequential:
            raise BergError(ErrorCode.INVALID, "The partition field ids of a v1 table must count up from 1000.")
        self.added_spec = max(s.spec_id for s in self.m.specs) + 1
        self.set(
            specs=(*self.m.specs, replace(spec, spec_id=self.added_spec)),
            last_partition_id=max(self.m.last_partition_id, spec.last_field_id),
        )

    def add_order(self, order: SortOrder) -> None:
        for known in self.m.sort_orders:
            if known.fields == order.fields:
                self.added_order = known.order_id
                return
        self.added_order = 0 if order.is_unsorted else max(1, max(o.order_id for o in self.m.sort_orders) + 1)
        self.set(sort_orders=(*self.m.sort_orders, replace(order, order_id=self.added_order)))

    # --- the rest ----------------------------------------------------------------------------------------------------

    def set_properties(self, properties: Mapping[str, str]) -> None:
        given = dict(properties)
        version = given.pop(FORMAT_VERSION, None)
        check_not_reserved(given)
        self.set(properties={**self.m.properties, **given})
        if version is not None:
            self.upgrade(parse_format_version(version))

    def upgrade(self, version: int) -> None:
        check_format_version(version)
        if version < self.m.format_version:
            raise BergError(
                ErrorCode.INVALID,
                f"Cannot downgrade the table from format version {self.m.format_version} to {version}.",
            )
        self.set(format_version=version)
        if version > 1 and self.m.table_uuid is None:
            from uuid import uuid4

            self.set(table_uuid=str(uuid4()))

    def assign_uuid(self, uuid: str) -> None:
        if self.m.table_uuid is not None and self.m.table_uuid != uuid:
            raise BergError(ErrorCode.INVALID, "Cannot give the table another UUID.")
        self.set(table_uuid=uuid)

    def finish(self) -> TableMetadata:
        if self.m == self.base:
            return self.base
        _check_sources(self.m, self.base)
        self.set(
            last_updated_ms=self.now_ms if self.updated_ms is None else self.updated_ms,
            snapshot_log=self.snapshot_log(),
        )
        return self.m

    def snapshot_log(self) -> tuple[SnapshotLogEntry, ...]:
        # A snapshot that was current only inside this commit never was for a reader.
        passing = (set(self.heads) & self.added_snapshots) - {self.m.current_snapshot_id}
        if not passing and not self.removed_snapshots:
            return self.m.snapshot_log
        log: list[SnapshotLogEntry] = []
        for entry in self.m.snapshot_log:
            if entry.snapshot_id in passing:
                continue
            if self.m.snapshot(entry.snapshot_id) is not None:
                log.append(entry)
            elif self.removed_snapshots:
                # With a gap, the entry before it would seem to have been current for longer than it was.
                log.clear()
        return tuple(log)


def _chosen(wanted: int, added: int | None, known: Mapping[int, object], what: str) -> int:
    chosen = added if wanted == LAST_ADDED else wanted
    if chosen is None:
        raise BergError(ErrorCode.INVALID, f"No {what} was added that could become the current one.")
    if chosen not in known:
        raise BergError(ErrorCode.NOT_FOUND, f"The table has no {what} {chosen}.")
    return chosen


def _with(statistics: tuple[Mapping[str, Any], ...], new: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    return (*_without(statistics, {new.get("snapshot-id")}), new)


def _without(
    statistics: tuple[Mapping[str, Any], ...], ids: set[Any] | frozenset[int]
) -> tuple[Mapping[str, Any], ...]:
    return tuple(s for s in statistics if s.get("snapshot-id") not in ids)


def _check_sources(m: TableMetadata, base: TableMetadata) -> None:
    """The columns that the default spec and order are made of must be there, and of a type that they take."""
    schema = m.schema
    uses = [
        (f.source_id, f.transform, f"the partition field '{f.name}' is made from it")
        for f in m.spec.fields
        if f.transform.kind not in (TransformKind.VOID, TransformKind.UNKNOWN)
    ]
    uses += [(f.source_id, f.transform, "the table is sorted by it") for f in m.sort_order.fields]
    for source_id, transform, reason in uses:
        source = schema.field(source_id)
        if source is None:
            name = base.schema.name_of(source_id) or str(source_id)
            raise BergError(ErrorCode.INVALID, f"Column '{name}' cannot be dropped: {reason}.")
        transform.check(source.type)
