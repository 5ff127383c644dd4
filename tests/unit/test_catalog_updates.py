"""Applying updates: what a new version says, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import (
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
from bergsql.catalog.metadata.new_table import new_table_metadata, replacement_updates
from bergsql.catalog.metadata.partition import PartitionBy, PartitionSpec, build_spec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.snapshots import Snapshot, SnapshotRef
from bergsql.catalog.metadata.sort import DESC, NULLS_LAST, UNSORTED, SortField, SortOrder
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import IDENTITY, bucket
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import NestedField
from bergsql.catalog.metadata.updates import apply_updates, log_previous

SCHEMA = Schema(
    0,
    (
        NestedField(7, "id", parse_type("int"), required=True),
        NestedField(9, "name", parse_type("string"), required=False),
    ),
    (7,),
)
BY_NAME = build_spec(SCHEMA, [PartitionBy("name", IDENTITY)])


def table(
    version: int = 2, spec: PartitionSpec = BY_NAME, properties: Mapping[str, str] | None = None
) -> TableMetadata:
    return new_table_metadata(SCHEMA, spec, UNSORTED, "/wh/t/", properties or {}, version, now_ms=1000)


def snapshot(
    snapshot_id: int, sequence: int, parent: int | None = None, *, at: int = 2000, rows: tuple[int, int] | None = None
) -> Snapshot:
    first, added = rows or (None, None)
    return Snapshot(
        snapshot_id,
        parent,
        sequence,
        at,
        f"/wh/t/metadata/snap-{snapshot_id}.avro",
        {"operation": "append"},
        0,
        first_row_id=first,
        added_rows=added,
    )


def appended(metadata: TableMetadata, *snapshots: Snapshot) -> TableMetadata:
    for s in snapshots:
        updates = [AddSnapshot(s), SetSnapshotRef("main", SnapshotRef(s.snapshot_id))]
        metadata = apply_updates(metadata, updates, s.timestamp_ms + 1)
    return metadata


# --- new tables ------------------------------------------------------------------------------------------------------


def test_a_new_table_is_as_java_makes_it() -> None:
    metadata = table(properties={"owner": "me"})
    told = metadata.to_json()
    assert told.pop("table-uuid") == metadata.table_uuid
    assert told == {
        "format-version": 2,
        "location": "/wh/t",
        "last-sequence-number": 0,
        "last-updated-ms": 1000,
        "last-column-id": 2,
        "current-schema-id": 0,
        "schemas": [
            {
                "type": "struct",
                "schema-id": 0,
                "identifier-field-ids": [1],
                "fields": [
                    {"id": 1, "name": "id", "required": True, "type": "int"},
                    {"id": 2, "name": "name", "required": False, "type": "string"},
                ],
            }
        ],
        "default-spec-id": 0,
        "partition-specs": [
            {
                "spec-id": 0,
                "fields": [{"name": "name", "transform": "identity", "source-id": 2, "field-id": 1000}],
            }
        ],
        "last-partition-id": 1000,
        "default-sort-order-id": 0,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "properties": {"owner": "me", "write.parquet.compression-codec": "zstd"},
        "current-snapshot-id": -1,
        "refs": {},
        "snapshots": [],
        "statistics": [],
        "partition-statistics": [],
        "snapshot-log": [],
        "metadata-log": [],
    }
    assert TableMetadata.from_json(metadata.to_json()) == metadata
    assert table().table_uuid != table().table_uuid


def test_properties_of_a_new_table() -> None:
    metadata = table(properties={"format-version": "3", "write.parquet.compression-codec": "gzip"})
    assert metadata.format_version == 3
    assert metadata.properties == {"write.parquet.compression-codec": "gzip"}
    for properties, says in [
        ({"format-version": "4"}, "no format version 4"),
        ({"format-version": "two"}, "'two' is not a value of 'format-version'"),
        ({"current-snapshot-id": "5"}, "'current-snapshot-id' is not a property"),
    ]:
        with pytest.raises(BergError) as caught:
            table(properties=properties)
        assert caught.value.code is ErrorCode.OPTION
        assert says in caught.value.message


def test_a_sort_order_of_a_new_table_refers_to_the_new_ids() -> None:
    order = SortOrder(5, (SortField(bucket(2), 7, DESC, NULLS_LAST),))
    metadata = new_table_metadata(SCHEMA, PartitionSpec(0, ()), order, "/t", {})
    assert metadata.sort_order == SortOrder(1, (SortField(bucket(2), 1, DESC, NULLS_LAST),))
    assert metadata.last_partition_id == 999


# --- snapshots -------------------------------------------------------------------------------------------------------


def test_a_snapshot_becomes_the_head() -> None:
    metadata = appended(table(), snapshot(10, 1), snapshot(20, 2, 10, at=3000))
    assert metadata.current_snapshot_id == 20
    assert metadata.last_sequence_number == 2
    assert metadata.last_updated_ms == 3000
    assert metadata.refs == {"main": SnapshotRef(20)}
    assert [(e.timestamp_ms, e.snapshot_id) for e in metadata.snapshot_log] == [(2000, 10), (3000, 20)]


def test_the_text_of_what_stays_is_made_once_and_is_right() -> None:
    metadata = log_previous(appended(table(), snapshot(10, 1), snapshot(20, 2, 10, at=3000)), table(), "/m/v1.json")
    metadata.serialize()
    versions = [
        appended(metadata, snapshot(30, 3, 20, at=4000)),
        apply_updates(metadata, [RemoveSnapshots((10,))], 5000),
        replace(metadata, snapshots=tuple(replace(s, summary={"é": '"\n'}) for s in metadata.snapshots)),
    ]
    for version in versions:
        assert (
            version.serialize() == json.dumps(version.to_json(), ensure_ascii=False, separators=(",", ":")).encode()
        ), version
        assert {s.snapshot_id: s for s in version.snapshots} == {i: version.snapshot(i) for i in version.snapshot_ids()}
    assert versions[0].snapshots[1].kept_text is metadata.snapshots[1].kept_text is not None
    assert metadata == TableMetadata.parse(metadata.serialize(), "v1")


def test_a_snapshot_on_a_branch_leaves_main_alone() -> None:
    base = appended(table(), snapshot(10, 1))
    updates = [AddSnapshot(snapshot(20, 2, 10, at=4000)), SetSnapshotRef("audit", SnapshotRef(20))]
    metadata = apply_updates(base, updates, 5000)
    assert metadata.current_snapshot_id == 10
    assert metadata.snapshot_log == base.snapshot_log
    assert metadata.last_updated_ms == 4000


def test_going_back_is_logged_at_the_time_it_happens() -> None:
    base = appended(table(), snapshot(10, 1), snapshot(20, 2, 10, at=3000))
    metadata = apply_updates(base, [SetSnapshotRef("main", SnapshotRef(10))], 9000)
    assert metadata.current_snapshot_id == 10
    assert [(e.timestamp_ms, e.snapshot_id) for e in metadata.snapshot_log][-1] == (9000, 10)
    assert metadata.last_updated_ms == 9000


def test_a_head_that_only_passed_is_not_logged() -> None:
    updates = [
        AddSnapshot(snapshot(10, 1)),
        SetSnapshotRef("main", SnapshotRef(10)),
        AddSnapshot(snapshot(20, 2, 10, at=2500)),
        SetSnapshotRef("main", SnapshotRef(20)),
    ]
    metadata = apply_updates(table(), updates, 5000)
    assert [e.snapshot_id for e in metadata.snapshot_log] == [20]
    assert len(metadata.snapshots) == 2


def test_row_ids_of_v3_count_up() -> None:
    base = table(3)
    metadata = appended(base, snapshot(10, 1, rows=(0, 5)), snapshot(20, 2, 10, rows=(5, 2)))
    assert metadata.next_row_id == 7
    for bad in (snapshot(30, 3, 20), snapshot(30, 3, 20, rows=(6, 1))):
        with pytest.raises(BergError, match="does not number its rows from 7 on"):
            apply_updates(metadata, [AddSnapshot(bad)], 9000)


def test_v1_has_no_sequence_numbers() -> None:
    metadata = appended(table(1), snapshot(10, 0), snapshot(20, 0, 10))
    assert metadata.last_sequence_number == 0
    assert "sequence-number" not in metadata.to_json()["snapshots"][0]


def test_removing_snapshots_takes_refs_statistics_and_history_along() -> None:
    base = appended(table(), snapshot(10, 1), snapshot(20, 2, 10), snapshot(30, 3, 20))
    base = apply_updates(
        base,
        [
            SetSnapshotRef("old", SnapshotRef(10, "tag")),
            SetStatistics({"snapshot-id": 20, "statistics-path": "a"}),
            SetStatistics({"snapshot-id": 30, "statistics-path": "b"}),
            SetPartitionStatistics({"snapshot-id": 20, "statistics-path": "c"}),
        ],
        4000,
    )
    metadata = apply_updates(base, [RemoveSnapshots((20,))], 5000)
    assert [s.snapshot_id for s in metadata.snapshots] == [10, 30]
    assert [e.snapshot_id for e in metadata.snapshot_log] == [30]
    assert [s["statistics-path"] for s in metadata.statistics] == ["b"]
    assert metadata.partition_statistics == ()
    assert "old" in metadata.refs
    assert "old" not in apply_updates(base, [RemoveSnapshots((10,))], 5000).refs
    emptied = apply_updates(base, [RemoveSnapshots((30,))], 5000)
    assert emptied.current_snapshot_id is None
    assert TableMetadata.from_json(emptied.to_json()) == emptied


def test_statistics_replace_those_of_their_snapshot() -> None:
    base = appended(table(), snapshot(10, 1))
    one = apply_updates(base, [SetStatistics({"snapshot-id": 10, "statistics-path": "a"})], 1)
    two = apply_updates(one, [SetStatistics({"snapshot-id": 10, "statistics-path": "b"})], 1)
    assert [s["statistics-path"] for s in two.statistics] == ["b"]
    assert apply_updates(two, [RemoveStatistics(10)], 1).statistics == ()
    parts = apply_updates(two, [SetPartitionStatistics({"snapshot-id": 10})], 1)
    assert apply_updates(parts, [RemovePartitionStatistics(10)], 1).partition_statistics == ()


def test_removing_main_empties_the_table_and_keeps_its_history() -> None:
    base = appended(table(), snapshot(10, 1))
    metadata = apply_updates(base, [RemoveSnapshotRef("main")], 5000)
    assert metadata.current_snapshot_id is None
    assert metadata.snapshots == base.snapshots
    assert metadata.snapshot_log == base.snapshot_log


# --- definition ------------------------------------------------------------------------------------------------------


def test_schemas_get_the_next_id_and_equal_ones_are_used_again() -> None:
    wider = Schema(99, (*table().schema.fields, NestedField(3, "x", parse_type("int"), required=False)), (1,))
    metadata = apply_updates(table(), [AddSchema(wider), SetCurrentSchema()], 2000)
    assert (metadata.current_schema_id, metadata.last_column_id) == (1, 3)
    assert metadata.schema == replace(wider, schema_id=1)
    back = apply_updates(metadata, [AddSchema(table().schema), SetCurrentSchema()], 3000)
    assert (back.current_schema_id, len(back.schemas), back.last_column_id) == (0, 2, 3)


def test_orders_get_ids_from_1() -> None:
    order = SortOrder(0, (SortField(IDENTITY, 1),))
    metadata = apply_updates(table(), [AddSortOrder(order), SetDefaultSortOrder()], 2000)
    assert metadata.sort_order == SortOrder(1, order.fields)
    unsorted = apply_updates(metadata, [AddSortOrder(UNSORTED), SetDefaultSortOrder()], 3000)
    assert unsorted.default_sort_order_id == 0
    assert len(unsorted.sort_orders) == 2


def test_properties_location_uuid_and_version() -> None:
    base = table(1)
    updates: list[TableUpdate] = [
        SetProperties({"a": "1", "b": "2", "format-version": "2"}),
        RemoveProperties(("a", "unknown")),
        SetLocation("/elsewhere"),
        UpgradeFormatVersion(3),
    ]
    metadata = apply_updates(base, updates, 2000)
    assert metadata.properties == {**base.properties, "b": "2"}
    assert (metadata.location, metadata.format_version, metadata.next_row_id) == ("/elsewhere", 3, 0)
    assert TableMetadata.from_json(metadata.to_json()) == metadata


def test_a_v1_table_without_uuid_gets_one_when_upgraded() -> None:
    old = replace(table(1), table_uuid=None)
    assert apply_updates(old, [UpgradeFormatVersion(2)], 2000).table_uuid
    assert apply_updates(old, [AssignUUID("u")], 2000).table_uuid == "u"


@pytest.mark.parametrize(
    "updates",
    [
        [],
        [SetProperties({"write.parquet.compression-codec": "zstd"})],
        [RemoveProperties(("unknown",))],
        [AddSchema(table().schema), SetCurrentSchema()],
        [AddPartitionSpec(table().spec), SetDefaultSpec()],
        [UpgradeFormatVersion(2)],
        [RemoveSnapshotRef("main")],
    ],
)
def test_updates_that_change_nothing_give_the_same_object(updates: Sequence[TableUpdate]) -> None:
    base = table()
    assert apply_updates(base, updates, 9000) is base


def test_time_does_not_run_backwards() -> None:
    base = table()
    assert apply_updates(base, [SetProperties({"a": "b"})], 5).last_updated_ms == 1000


@pytest.mark.parametrize(
    ("updates", "says"),
    [
        ([AddSnapshot(snapshot(10, 2, 10))], "10 exists already"),
        ([AddSnapshot(snapshot(20, 1, 10))], "the table is at 1 already"),
        ([SetSnapshotRef("main", SnapshotRef(99))], "The snapshot 99 was not found"),
        ([SetSnapshotRef("main", SnapshotRef(10, "tag"))], "main cannot be a tag"),
        ([SetCurrentSchema()], "No schema was added"),
        ([SetCurrentSchema(9)], "no schema 9"),
        ([SetDefaultSpec(9)], "no partition spec 9"),
        ([SetDefaultSortOrder(9)], "no sort order 9"),
        ([UpgradeFormatVersion(1)], "Cannot downgrade the table from format version 2 to 1"),
        ([UpgradeFormatVersion(4)], "There is no format version 4"),
        ([SetProperties({"uuid": "x"})], "'uuid' is not a property"),
        ([RemoveProperties(("format-version",))], "'format-version' is not a property"),
        ([AssignUUID("other")], "another UUID"),
        (
            [AddSchema(Schema(0, table().schema.fields[:1], (1,))), SetCurrentSchema()],
            "Column 'name' cannot be dropped: the partition field 'name' is made from it.",
        ),
    ],
)
def test_what_does_not_fit_is_refused(updates: Sequence[TableUpdate], says: str) -> None:
    base = appended(table(), snapshot(10, 1))
    with pytest.raises(BergError) as caught:
        apply_updates(base, updates, 9000)
    assert says in caught.value.message


def test_a_sorted_column_cannot_be_dropped() -> None:
    plain = table(spec=PartitionSpec(0, ()))
    order = SortOrder(1, (SortField(IDENTITY, 2),))
    base = apply_updates(plain, [AddSortOrder(order), SetDefaultSortOrder()], 2000)
    with pytest.raises(BergError, match="'name' cannot be dropped: the table is sorted by it"):
        apply_updates(base, [AddSchema(Schema(0, base.schema.fields[:1])), SetCurrentSchema()], 3000)


def test_v1_specs_must_count_up() -> None:
    spec = PartitionSpec(0, (replace(table().spec.fields[0], field_id=1005, name="n", transform=bucket(2)),))
    with pytest.raises(BergError, match="must count up from 1000"):
        apply_updates(table(1), [AddPartitionSpec(spec)], 2000)


# --- replacing -------------------------------------------------------------------------------------------------------


def test_replacing_a_table_keeps_ids_of_names_and_its_history() -> None:
    base = appended(table(properties={"x": "1", "y": "2"}), snapshot(10, 1))
    new = Schema(
        0,
        (
            NestedField(1, "name", parse_type("string"), required=False),
            NestedField(2, "id", parse_type("long"), required=False),
            NestedField(3, "z", parse_type("int"), required=False),
        ),
    )
    spec = build_spec(new, [PartitionBy("id", bucket(2))])
    updates = replacement_updates(base, new, spec, UNSORTED, None, {"y": "3"})
    metadata = apply_updates(base, updates, 3000)
    assert [(f.field_id, f.name) for f in metadata.schema.fields] == [(2, "name"), (1, "id"), (3, "z")]
    assert [(f.field_id, f.source_id) for f in metadata.spec.fields] == [(1001, 1)]
    assert metadata.current_snapshot_id is None
    assert metadata.refs == {}
    assert [e.snapshot_id for e in metadata.snapshot_log] == [10]
    assert metadata.properties == {**base.properties, "y": "3"}
    filled = [*updates, AddSnapshot(snapshot(20, 2)), SetSnapshotRef("main", SnapshotRef(20))]
    refilled = apply_updates(base, filled, 4000)
    assert [e.snapshot_id for e in refilled.snapshot_log] == [10, 20]
    assert refilled.table_uuid == base.table_uuid


# --- the metadata log ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("most", "kept"), [(None, 5), ("3", 3), ("1", 1), ("0", 1), ("-4", 1)])
def test_the_log_is_cut(most: str | None, kept: int) -> None:
    metadata = table(properties={"write.metadata.previous-versions-max": most} if most else {})
    for version in range(1, 6):
        changed = apply_updates(metadata, [SetProperties({"v": str(version)})], 1000 + version)
        metadata = log_previous(changed, metadata, f"v{version}.metadata.json")
    assert [e.metadata_file for e in metadata.metadata_log] == [f"v{n}.metadata.json" for n in range(6 - kept, 6)]
    assert metadata.metadata_log[-1].timestamp_ms == 1004


def test_a_log_length_that_is_no_number() -> None:
    metadata = table(properties={"write.metadata.previous-versions-max": "many"})
    with pytest.raises(BergError, match=r"'write\.metadata\.previous-versions-max' is 'many'"):
        log_previous(metadata, metadata, "v1.metadata.json")
