"""Partition specs: the ids and names that Spark gave in the same steps (recorded from Spark 3.5 with Iceberg 1.10)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import AddPartitionSpec, SetDefaultSpec
from bergsql.catalog.metadata.new_table import new_table_metadata, replacement_updates
from bergsql.catalog.metadata.partition import (
    UNPARTITIONED,
    PartitionBy,
    PartitionField,
    PartitionSpec,
    build_spec,
)
from bergsql.catalog.metadata.partition_evolve import AddField, DropField, SpecChange, evolve_spec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import UNSORTED
from bergsql.catalog.metadata.table_metadata import TableMetadata
from bergsql.catalog.metadata.transforms import (
    DAY,
    HOUR,
    IDENTITY,
    MONTH,
    VOID,
    YEAR,
    Transform,
    bucket,
    truncate,
)
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import ListType, NestedField, StructType
from bergsql.catalog.metadata.updates import apply_updates


def column(field_id: int, name: str, type_: str) -> NestedField:
    return NestedField(field_id, name, parse_type(type_), required=False)


SCHEMA = Schema(
    0,
    (
        column(1, "id", "int"),
        column(2, "name", "string"),
        column(3, "loc", "string"),
        column(4, "ts", "timestamptz"),
        NestedField(5, "s", StructType((column(6, "a", "int"), column(7, "b", "timestamptz"))), required=False),
        NestedField(8, "l", ListType(9, StructType((column(10, "x", "int"),)), False), required=False),
        column(11, "f", "float"),
    ),
)


def described(spec: PartitionSpec) -> list[str]:
    return [f"{f.field_id} {f.name} {f.transform}({f.source_id})" for f in spec.fields]


def test_names_of_create() -> None:
    spec = build_spec(
        SCHEMA,
        [
            PartitionBy("loc", IDENTITY),
            PartitionBy("id", bucket(4)),
            PartitionBy("name", truncate(2)),
            PartitionBy("ts", HOUR),
            PartitionBy("s.a", IDENTITY),
            PartitionBy("s.b", DAY),
            PartitionBy("id", IDENTITY, "other"),
        ],
    )
    assert described(spec) == [
        "1000 loc identity(3)",
        "1001 id_bucket bucket[4](1)",
        "1002 name_trunc truncate[2](2)",
        "1003 ts_hour hour(4)",
        "1004 s.a identity(6)",
        "1005 s.b_day day(7)",
        "1006 other identity(1)",
    ]
    assert build_spec(SCHEMA, [PartitionBy("LOC", IDENTITY)], case_sensitive=False).fields[0].name == "loc"
    assert build_spec(SCHEMA, []) == UNPARTITIONED


@pytest.mark.parametrize(
    ("items", "says"),
    [
        ([PartitionBy("lok", IDENTITY)], "Cannot find the partition column 'lok'"),
        ([PartitionBy("id", DAY)], "Invalid source type int for transform: day"),
        ([PartitionBy("s", IDENTITY)], "is not a primitive type"),
        ([PartitionBy("l.x", IDENTITY)], "inside a list or map"),
        ([PartitionBy("ts", DAY), PartitionBy("ts", HOUR)], "redundant partition field 'ts_hour' (hour)"),
        ([PartitionBy("loc", IDENTITY), PartitionBy("loc", IDENTITY)], "redundant"),
        ([PartitionBy("id", bucket(4)), PartitionBy("id", bucket(8))], "'id_bucket' more than once"),
        ([PartitionBy("id", bucket(4), "name")], "the name of another column"),
        ([PartitionBy("ts", DAY, "ts")], "the name of another column"),
    ],
)
def test_what_no_table_can_be_partitioned_by(items: Sequence[PartitionBy], says: str) -> None:
    with pytest.raises(BergError) as caught:
        build_spec(SCHEMA, items)
    assert says in caught.value.message


def table(version: int, *by: PartitionBy) -> TableMetadata:
    return new_table_metadata(SCHEMA, build_spec(SCHEMA, by), UNSORTED, "/t", {}, version, now_ms=1)


def after(metadata: TableMetadata, *changes: SpecChange) -> TableMetadata:
    spec = evolve_spec(metadata, changes, case_sensitive=False)
    return apply_updates(metadata, [AddPartitionSpec(spec), SetDefaultSpec()], 2)


def test_evolution_as_in_spark() -> None:
    t = after(table(2), AddField("loc", IDENTITY))
    t = after(t, AddField("ts", YEAR))
    assert described(t.spec) == ["1000 loc identity(3)", "1001 ts_year year(4)"]
    t = after(t, DropField("loc"))
    assert described(t.spec) == ["1001 ts_year year(4)"]
    t = after(t, DropField("ts_year"), AddField("ts", MONTH, "m"))
    t = after(t, AddField("id", bucket(4), "idb"))
    t = after(t, AddField("loc", truncate(3)))
    t = after(t, AddField("loc", IDENTITY))
    assert described(t.spec) == [
        "1002 m month(4)",
        "1003 idb bucket[4](1)",
        "1004 loc_trunc_3 truncate[3](3)",
        "1000 loc identity(3)",
    ]
    assert [s.spec_id for s in t.specs] == list(range(8))
    assert (t.default_spec_id, t.last_partition_id) == (7, 1004)


def test_names_of_add_say_the_width() -> None:
    t = after(table(2), AddField("id", bucket(4)))
    t = after(t, AddField("ID", bucket(8)))
    t = after(t, AddField("ts", DAY))
    t = after(t, AddField("ts", HOUR))
    assert [f.name for f in t.spec.fields] == ["id_bucket_4", "id_bucket_8", "ts_day", "ts_hour"]
    t = after(t, DropField("ts", DAY))
    t = after(t, AddField("ts", DAY, "dd"))
    assert described(t.spec)[-1] == "1004 dd day(4)"
    assert [f.name for f in after(t, DropField("dd"), AddField("ts", DAY)).spec.fields][-1] == "dd"


def test_a_spec_that_was_there_before_is_used_again() -> None:
    one = after(table(2), AddField("loc", IDENTITY))
    back = after(after(one, DropField("loc")), AddField("loc", IDENTITY))
    assert (back.default_spec_id, len(back.specs)) == (1, 2)
    assert after(one, DropField("loc")).default_spec_id == 0


def test_v1_keeps_dropped_fields_as_void() -> None:
    t = after(table(1, PartitionBy("name", IDENTITY)), AddField("id", bucket(4)))
    t = after(t, DropField("name"))
    assert described(t.spec) == ["1000 name void(2)", "1001 id_bucket_4 bucket[4](1)"]
    t = after(t, AddField("name", IDENTITY))
    assert described(t.spec) == [
        "1000 name_1000 void(2)",
        "1001 id_bucket_4 bucket[4](1)",
        "1002 name identity(2)",
    ]
    assert not t.spec.is_unpartitioned
    gone = after(t, DropField("name"), DropField("id_bucket_4"))
    assert gone.spec.is_unpartitioned
    assert all(f.transform == VOID for f in gone.spec.fields)


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ([DropField("nope")], "NOT_FOUND", "no partition field 'nope'"),
        ([DropField("ts", HOUR)], "NOT_FOUND", "no partition field 'hour(ts)'"),
        ([DropField("id", bucket(8))], "NOT_FOUND", "no partition field 'bucket(8, id)'"),
        ([DropField("loc"), DropField("loc")], "NOT_FOUND", "no partition field 'loc'"),
        ([AddField("loc", IDENTITY)], "ALREADY_EXISTS", "field loc: 'loc' is the same"),
        ([AddField("ts", DAY, "x")], "ALREADY_EXISTS", "day(ts): 'ts_day' is the same"),
        ([AddField("id", bucket(2), "loc")], "INVALID", "'loc' more than once"),
        ([AddField("id", bucket(2), "name")], "INVALID", "the name of another column"),
        ([AddField("s.b", DAY), AddField("s.b", HOUR)], "INVALID", "more than one of year, month, day and hour"),
        ([AddField("id", MONTH)], "INVALID", "Invalid source type int for transform: month"),
    ],
)
def test_changes_that_cannot_be(changes: Sequence[SpecChange], code: str, says: str) -> None:
    t = table(2, PartitionBy("loc", IDENTITY), PartitionBy("ts", DAY))
    with pytest.raises(BergError) as caught:
        evolve_spec(t, changes)
    assert caught.value.code is ErrorCode(code)
    assert says in caught.value.message


def test_the_partition_tuple_has_a_type() -> None:
    spec = PartitionSpec(
        0,
        (
            PartitionField(4, 1000, "d", DAY),
            PartitionField(1, 1001, "b", bucket(4)),
            PartitionField(2, 1002, "t", truncate(2)),
            PartitionField(99, 1003, "gone", IDENTITY),
        ),
    )
    kinds = [(f.field_id, f.name, str(f.type), f.required) for f in spec.partition_type(SCHEMA).fields]
    assert kinds == [
        (1000, "d", "date", False),
        (1001, "b", "int", False),
        (1002, "t", "string", False),
        (1003, "gone", "unknown", False),
    ]


def replaced(base: TableMetadata, *by: tuple[str, Transform]) -> TableMetadata:
    spec = build_spec(SCHEMA, [PartitionBy(name, t) for name, t in by])
    return apply_updates(base, replacement_updates(base, SCHEMA, spec, UNSORTED, None, {}), 3)


def test_replacing_gives_new_fields_new_ids_and_known_ones_their_own() -> None:
    base = table(2, PartitionBy("name", IDENTITY))
    t = replaced(base, ("id", bucket(2)))
    assert described(t.spec) == ["1001 id_bucket bucket[2](1)"]
    assert described(replaced(t, ("name", IDENTITY), ("ts", DAY)).spec) == [
        "1000 name identity(2)",
        "1002 ts_day day(4)",
    ]


def test_replacing_a_v1_table_keeps_the_places_of_fields() -> None:
    base = table(1, PartitionBy("name", IDENTITY), PartitionBy("id", bucket(2)))
    t = replaced(base, ("id", bucket(2)), ("ts", DAY))
    assert described(t.spec) == ["1000 name void(2)", "1001 id_bucket bucket[2](1)", "1002 ts_day day(4)"]


def test_a_field_that_is_dropped_and_added_at_once_stays_where_it_is() -> None:
    t = after(table(2), AddField("id", bucket(4)), AddField("ts", HOUR))
    renamed = after(t, DropField("id_bucket_4"), AddField("id", bucket(4), "b"))
    assert described(renamed.spec) == ["1000 b bucket[4](1)", "1001 ts_hour hour(4)"]
    assert after(t, DropField("ts_hour"), AddField("ts", HOUR)).spec == t.spec
    with pytest.raises(BergError, match="Cannot use the partition name 'ts_hour' more than once"):
        after(t, DropField("id_bucket_4"), AddField("id", bucket(4), "ts_hour"))
