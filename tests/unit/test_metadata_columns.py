"""What metadata columns a table has, and of which types."""

from __future__ import annotations

from dataclasses import replace

from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import Transform
from bergsql.catalog.metadata.types import LongType, NestedField, StringType, TimestampType
from bergsql.engine.table.metadata_columns import METADATA_COLUMNS, metadata_fields, partition_type

SCHEMA = Schema(
    0,
    (
        NestedField(1, "id", LongType(), False),
        NestedField(2, "ts", TimestampType(), False),
        NestedField(3, "s", StringType(), False),
    ),
)


def metadata(*specs: PartitionSpec, version: int = 2, schema: Schema = SCHEMA) -> TableMetadata:
    return TableMetadata(
        format_version=version,
        table_uuid="u",
        location="/t",
        last_sequence_number=0,
        last_updated_ms=0,
        last_column_id=9,
        schemas=(schema,),
        current_schema_id=0,
        specs=specs or (PartitionSpec(0, ()),),
        default_spec_id=0,
        last_partition_id=1009,
        sort_orders=(),
        default_sort_order_id=0,
        properties={},
        current_snapshot_id=None,
        snapshots=(),
        snapshot_log=(),
        metadata_log=(),
        refs={},
    )


def part(source: int, number: int, name: str, transform: str) -> PartitionField:
    return PartitionField(source, number, name, Transform.parse(transform))


def test_ids_are_the_reserved_ones() -> None:
    assert {f.name: f.field_id for f in METADATA_COLUMNS.values()} == {
        "_file": 2147483646,
        "_pos": 2147483645,
        "_deleted": 2147483644,
        "_spec_id": 2147483643,
        "_partition": 2147483642,
        "_row_id": 2147483540,
        "_last_updated_sequence_number": 2147483539,
    }


def test_row_lineage_begins_with_version_3() -> None:
    assert "_row_id" not in metadata_fields(metadata())
    assert set(metadata_fields(metadata(version=3))) == set(METADATA_COLUMNS)


def test_the_partition_is_the_union_of_all_specs() -> None:
    first = PartitionSpec(0, (part(2, 1000, "ts_day", "day"), part(3, 1001, "s", "identity")))
    second = PartitionSpec(1, (part(1, 1002, "id_bucket", "bucket[4]"), part(3, 1001, "renamed", "identity")))
    union = partition_type(metadata(first, second))
    assert (
        str(union)
        == "struct<1000: ts_day: optional date, 1001: renamed: optional string, 1002: id_bucket: optional int>"
    )
    assert metadata_fields(metadata(first, second))["_partition"].type == union
    assert partition_type(metadata()).fields == ()


def test_a_field_that_a_v1_table_dropped_keeps_its_type() -> None:
    first = PartitionSpec(0, (part(2, 1000, "ts_day", "day"),))
    second = PartitionSpec(1, (part(2, 1000, "ts_gone", "void"),))
    assert str(partition_type(metadata(first, second))) == "struct<1000: ts_gone: optional date>"


def test_a_field_of_a_dropped_column_is_left_out() -> None:
    spec = PartitionSpec(0, (part(2, 1000, "ts_day", "day"), part(1, 1001, "id", "identity")))
    gone = replace(SCHEMA, fields=SCHEMA.fields[:1])
    assert [f.name for f in partition_type(metadata(spec, schema=gone)).fields] == ["id"]
