"""Scans give each field of the table by its id, whatever the files are called, hold, or lack."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.partition import PartitionField, PartitionSpec
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.transforms import Transform
from bergsql.catalog.metadata.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    UUIDType,
)
from bergsql.engine.duck import set_variables
from bergsql.engine.table.datafile import DataFile
from bergsql.engine.table.file_columns import NAME_MAPPING
from bergsql.engine.table.predicate import Compare, Op
from bergsql.engine.table.read_point import at_snapshot
from bergsql.engine.table.scan import build_scan
from tests.support.foreign import STORAGE, Table, numbered, opt

LONG, TEXT = LongType(), StringType()


def test_renamed_reordered_promoted_added(tmp_path: Path) -> None:
    fields = (
        opt(2, "b", TEXT),
        opt(1, "n", LONG),
        opt(3, "d", DoubleType()),
        opt(4, "p", DecimalType(12, 2)),
        opt(5, "new", IntegerType(), 7),
        opt(6, "bytes", BinaryType(), "00ff41"),
        opt(7, "a", DateType()),
    )
    table = Table(tmp_path, Schema(0, fields))
    old = [
        numbered("a", pa.int32(), 1),
        numbered("c", pa.string(), 2),
        numbered("d", pa.float32(), 3),
        numbered("p", pa.decimal128(9, 2), 4),
    ]
    table.add(old, [(1, "x", 0.5, Decimal("1.50")), (None, None, None, None)])
    table.add([numbered("new", pa.int32(), 5), numbered("a", pa.date32(), 7)], [(None, date(2024, 2, 29))])
    default = b"\0\xffA"
    assert table.rows() == [
        ("x", 1, 0.5, Decimal("1.50"), 7, default, None),
        (None, None, None, None, 7, default, None),
        (None, None, None, None, None, default, date(2024, 2, 29)),
    ]
    assert table.rows(columns=frozenset({"n", "a"})) == [(1, None), (None, None), (None, date(2024, 2, 29))]


def test_parts_of_structs_lists_and_maps_go_by_id(tmp_path: Path) -> None:
    """Renamed, swapped, dropped and added again under the old name: at every depth."""
    item = StructType((opt(12, "y", LONG), opt(13, "x", TEXT), opt(14, "new", IntegerType(), 5)))
    fields = (
        opt(1, "st", StructType((opt(11, "renamed", LONG), opt(15, "old", TEXT)))),
        opt(2, "li", ListType(20, item, False)),
        opt(3, "mp", MapType(30, TEXT, 31, StructType((opt(32, "w", LONG),)), False)),
    )
    table = Table(tmp_path, Schema(0, fields))
    st = pa.struct([numbered("old", pa.int32(), 11), numbered("gone", pa.int32(), 16)])
    inner = pa.struct([numbered("x", pa.int32(), 12), numbered("y", pa.string(), 13)])
    old = [
        numbered("st", st, 1),
        numbered("li", pa.list_(numbered("element", inner, 20)), 2),
        numbered(
            "mp",
            pa.map_(
                pa.field("key", pa.string(), False, {"PARQUET:field_id": "30"}),
                numbered("value", pa.struct([numbered("v", pa.int32(), 32)]), 31),
            ),
            3,
        ),
    ]
    table.add(
        old,
        [
            ({"old": 1, "gone": 2}, [{"x": 3, "y": "four"}, None], [("k", {"v": 5}), ("n", None)]),
            (None, None, None),
            ({"old": None, "gone": 1}, [], []),
        ],
    )
    now = pa.struct([numbered("old", pa.string(), 15), numbered("renamed", pa.int64(), 11)])
    table.add([numbered("st", now, 1)], [({"old": "text", "renamed": 9},)])
    assert table.rows() == [
        (
            {"renamed": 1, "old": None},
            [{"y": 3, "x": "four", "new": 5}, None],
            {"k": {"w": 5}, "n": None},
        ),
        (None, None, None),
        ({"renamed": None, "old": None}, [], {}),
        ({"renamed": 9, "old": "text"}, None, None),
    ]


def test_files_without_ids_go_by_the_name_mapping(tmp_path: Path) -> None:
    fields = (
        opt(1, "id", LONG),
        opt(2, "st", StructType((opt(3, "a", LONG), opt(4, "b", TEXT)))),
        opt(5, "li", ListType(6, StructType((opt(7, "x", LONG),)), False)),
        opt(8, "unmapped", TEXT),
    )
    mapping = [
        {"field-id": 1, "names": ["ID", "key"]},
        {
            "field-id": 2,
            "names": ["st"],
            "fields": [{"field-id": 4, "names": ["bee"]}, {"field-id": 3, "names": ["a"]}],
        },
        {
            "field-id": 5,
            "names": ["li"],
            "fields": [{"field-id": 6, "names": ["element"], "fields": [{"field-id": 7, "names": ["ex"]}]}],
        },
        {"names": ["nothing"]},
    ]
    table = Table(tmp_path, Schema(0, fields), properties={NAME_MAPPING: json.dumps(mapping)})
    st = pa.struct([pa.field("bee", pa.string()), pa.field("a", pa.int32())])
    li = pa.list_(pa.struct([pa.field("ex", pa.int32())]))
    columns = [pa.field("unmapped", pa.string()), pa.field("st", st), pa.field("key", pa.int32()), pa.field("li", li)]
    table.add(columns, [("no", {"bee": "x", "a": 2}, 1, [{"ex": 3}, None])])
    table.add([numbered("other", pa.int64(), 1)], [(4,)])
    assert table.rows() == [(1, {"a": 2, "b": "x"}, [{"x": 3}, None], None), (4, None, None, None)]


def test_a_name_mapping_that_is_none(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG),)), properties={NAME_MAPPING: "[{}]"})
    table.add([pa.field("id", pa.int64())], [(1,)])
    with pytest.raises(BergError, match="not a name mapping") as caught:
        table.scan()
    assert caught.value.code is ErrorCode.CORRUPT


def test_files_without_ids_or_mapping_go_by_position(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(2, "second", TEXT), opt(1, "first", LONG), opt(3, "third", LONG))))
    table.add([pa.field("x", pa.int32()), pa.field("y", pa.string())], [(1, "a")])
    assert table.rows() == [("a", 1, None)]


def test_one_file_without_ids_among_many(tmp_path: Path) -> None:
    """Not all files are looked into when there are many: those that Iceberg did not name are."""
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG),)))
    for i in range(200):
        table.add([numbered("id", pa.int64(), 1)], [(i,)])
    table.add([pa.field("id", pa.int64())], [(200,)], name="part-00000.parquet")
    assert sorted(table.rows()) == [(i,) for i in range(201)]


def test_what_only_the_partition_knows(tmp_path: Path) -> None:
    """Files of a migrated Hive table lack their partition columns: the manifest has the values."""
    fields = (
        opt(1, "id", LONG),
        opt(2, "dt", DateType()),
        opt(3, "name", TEXT),
        opt(4, "ts", TimestamptzType()),
        opt(5, "dec", DecimalType(9, 2)),
    )
    parts = [PartitionField(i, 998 + i, f.name, Transform.parse("identity")) for i, f in enumerate(fields, 1) if i > 1]
    table = Table(tmp_path, Schema(0, fields), PartitionSpec(0, tuple(parts)))
    values = [
        (-1, "it's", -1, Decimal("-1.50")),
        (None, None, None, None),
        (19782, "北京", 10**15, Decimal("0.00")),
    ]
    for i, partition in enumerate(values):
        # The path says something else, and DuckDB must not believe it.
        name = f"dt=2000-01-01/name=wrong/id=77/part-{i}.parquet"
        table.add([numbered("id", pa.int64(), 1)], [(i,), (i + 10,)], name=name, partition=partition)
    scan = table.scan()
    assert len(scan.variables) == 1
    at = datetime(1970, 1, 1, tzinfo=UTC)
    expected = [
        (date(1969, 12, 31), "it's", datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), Decimal("-1.50")),
        (None, None, None, None),
        (
            date(2024, 2, 29),
            "北京",
            at.replace(year=2001, month=9, day=9, hour=1, minute=46, second=40),
            Decimal("0.00"),
        ),
    ]
    assert table.rows() == [(i + d, *expected[i]) for i in range(3) for d in (0, 10)]
    wanted = Compare("name", Op.EQ, "北京")
    assert table.rows(columns=frozenset({"id"}), predicate=wanted) == [(2,), (12,)]


@pytest.mark.parametrize("character", ["*", "?", "[ab]", "[", "{a,b}", "%2F", " ", "'", '"', "\\", "北", "#", "$"])
def test_paths_are_not_patterns(character: str, tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "p", TEXT),)))
    column = [numbered("p", pa.string(), 1)]
    table.add(column, [("right",)], name=f"p=x{character}y/00000-0-same.parquet")
    others = Table(tmp_path, table.schema)
    for other in ("xay", "xby", "x*y", "xaay", "xy"):
        if other != f"x{character}y":
            others.add(column, [("wrong",)], name=f"p={other}/00000-0-same.parquet")
    assert table.rows() == [("right",)]


def test_types_that_a_file_does_not_spell_out(tmp_path: Path) -> None:
    """As Hive, Impala and old Iceberg wrote them: INT96 times, texts and UUIDs without an annotation."""
    fields = (
        opt(1, "tz", TimestamptzType()),
        opt(2, "ts", TimestampType()),
        opt(3, "s", TEXT),
        opt(4, "u", UUIDType()),
        opt(5, "st", StructType((opt(6, "tz", TimestamptzType()),))),
    )
    table = Table(tmp_path, Schema(0, fields))
    stamp = pa.timestamp("us")
    columns = [
        numbered("tz", stamp, 1),
        numbered("ts", stamp, 2),
        numbered("s", pa.binary(), 3),
        numbered("u", pa.binary(16), 4),
        numbered("st", pa.struct([numbered("tz", stamp, 6)]), 5),
    ]
    moment = datetime(2024, 2, 29, 12, 34, 56, 123456)
    number = UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")
    row = (moment, moment, "北京".encode(), number.bytes, {"tz": moment})
    path = table.add(columns, [row, (None,) * 5])
    instant = moment.replace(tzinfo=UTC)
    expected = [(instant, moment, "北京", number, {"tz": instant}), (None,) * 5]
    assert table.rows() == expected
    pq.write_table(pq.read_table(path), path, use_deprecated_int96_timestamps=True)
    table.files[0] = replace(table.files[0], file_size=path.stat().st_size)
    assert table.rows() == expected


def test_an_instant_where_the_table_has_none(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "ts", TimestampType()),)))
    moment = datetime(2024, 2, 29, 12)
    table.add([numbered("ts", pa.timestamp("us", tz="UTC"), 1)], [(moment.replace(tzinfo=UTC),)])
    assert table.rows() == [(moment,)]


def test_nothing_to_read(tmp_path: Path) -> None:
    nested = StructType((opt(3, 'a "b"', ListType(4, LONG, False)),))
    table = Table(tmp_path, Schema(0, (opt(1, 'x"y', DecimalType(9, 2)), opt(2, "st", nested))))
    scan = table.scan()
    assert (scan.variables, scan.plan.files_kept) == ({}, 0)
    found = duckdb.execute(scan.sql)
    assert [(d[0], str(d[1])) for d in found.description or ()] == [
        ('x"y', "DECIMAL(9,2)"),
        ("st", 'STRUCT("a ""b""" BIGINT[])'),
    ]
    assert found.fetchall() == []


def test_an_old_snapshot_reads_with_its_own_schema(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "old", LONG), opt(2, "s", TEXT))))
    table.add([numbered("old", pa.int32(), 1), numbered("s", pa.string(), 2)], [(1, "a")])
    loaded = table.loaded()
    now = Schema(1, (opt(3, "added", TEXT), opt(1, "new", LONG)))
    metadata = replace(loaded.metadata, schemas=(table.schema, now), current_schema_id=1)
    evolved = replace(loaded, metadata=metadata)
    then = build_scan(evolved, STORAGE, point=at_snapshot(evolved.metadata, 1), predicate=Compare("s", Op.EQ, "b"))
    assert ([f.name for f in then.fields], then.schema.schema_id) == (["old", "s"], 0)
    assert then.plan.files_total == 1
    assert [f.name for f in build_scan(evolved, STORAGE, predicate=Compare("new", Op.EQ, 1)).fields] == ["added", "new"]
    with pytest.raises(BergError, match="'s' was not found"):
        build_scan(evolved, STORAGE, predicate=Compare("s", Op.EQ, "b"))


def test_files_are_left_out(tmp_path: Path) -> None:
    spec = PartitionSpec(0, (PartitionField(1, 1000, "id_bucket", Transform.parse("bucket[8]")),))
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG),)), spec)
    for i in range(8):
        value = spec.fields[0].transform.apply(i, LONG)
        table.add([numbered("id", pa.int64(), 1)], [(i,)], partition=(value,))
    scan = table.scan(predicate=Compare("id", Op.EQ, 3), name_prefix="s7")
    assert list(scan.variables) == ["s7_files"]
    kept = [f for f in table.files if f.partition == (spec.fields[0].transform.apply(3, LONG),)]
    assert sorted(t.data_file.path for t in scan.plan.tasks) == sorted(f.path for f in kept)
    assert (scan.plan.files_total, scan.plan.files_kept) == (8, len(kept))
    assert scan.plan.bytes_kept == sum(f.file_size for f in kept)


def test_filters_and_projections_reach_the_files(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG), opt(2, "s", TEXT))))
    table.add([numbered("id", pa.int64(), 1), numbered("s", pa.string(), 2)], [(1, "a")])
    scan = table.scan()
    connection = duckdb.connect()
    set_variables(connection, scan.variables)
    plan = connection.execute(f"EXPLAIN SELECT s FROM ({scan.sql}) t WHERE id > 5").fetchall()[0][1]
    assert "Read Parquet" in plan
    assert "Filters: id > 5" in plan
    assert "Filter " not in plan.replace("Filters:", "")


@pytest.mark.parametrize("with_ids", [True, False])
def test_where_rows_lie(with_ids: bool, tmp_path: Path) -> None:
    """Metadata columns, behind the table's own and in their own order, whatever way the files are read."""
    spec = PartitionSpec(0, (PartitionField(1, 1000, "id_bucket", Transform.parse("bucket[8]")),))
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG), opt(2, "_pos", TEXT))), spec)
    columns = [
        numbered("id", pa.int64(), 1 if with_ids else None),
        numbered("_pos", pa.string(), 2 if with_ids else None),
    ]
    for i in range(2):
        table.add(columns, [(10 * i, "a"), (10 * i + 1, "b")], partition=(i,))
    names = frozenset({"_partition", "_file", "_spec_id", "_deleted", "_pos", "_row_id"})
    scan = table.scan(columns=names | {"id"})
    assert [f.name for f in scan.fields] == ["id", "_pos", "_file", "_deleted", "_spec_id", "_partition"]
    paths = [f.path for f in table.files]
    assert sorted(table.rows(columns=names | {"id"}), key=str) == [
        (10 * i + d, "ab"[d], paths[i], False, 0, {"id_bucket": i}) for i in (0, 1) for d in (0, 1)
    ]
    assert table.rows(columns=frozenset({"_deleted"})) == [(False,)] * 4
    table.schema = Schema(0, (opt(1, "id", LONG),))
    assert sorted(table.rows(columns=frozenset({"_pos", "_row_id"}))) == [(0,), (0,), (1,), (1,)]
    table.files.clear()
    assert table.rows(columns=names) == []
    unpartitioned = Table(tmp_path, table.schema)
    assert unpartitioned.rows(columns=names) == []
    unpartitioned.add(columns[:1], [(1,)])
    assert unpartitioned.rows(columns=frozenset({"_partition", "_pos"})) == [(0, None)]


def test_what_is_refused_by_name(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG),)))
    table.add([numbered("id", pa.int64(), 1)], [(1,)])
    table.deletes = [DataFile("/d.parquet", 1, 1, content=1, key_metadata=b"k")]
    with pytest.raises(BergError, match=r"encrypted delete files of table c\.db\.t is not supported yet"):
        table.scan()
    table.deletes = [DataFile("/d.parquet", 1, 1, content=1, referenced_data_file="/another.parquet")]
    assert table.rows() == [(1,)]
    table.files = [replace(table.files[0], key_metadata=b"k")]
    with pytest.raises(BergError, match=r"encrypted data files of table c\.db\.t"):
        table.scan()
    with pytest.raises(BergError, match=r"The table has no snapshot 5\."):
        at_snapshot(table.loaded().metadata, 5)


def test_a_data_file_that_is_none(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG),)))
    path = table.add([numbered("id", pa.int64(), 1)], [(1,)])
    good = path.read_bytes()
    schema_at = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
    garbled = good[: schema_at + 3] + b"\xff" * 12 + good[schema_at + 15 :]
    for bad in (b"", b"PAR1", good[:-1], garbled, b"x" * 100):
        path.write_bytes(bad)
        table.files = [replace(table.files[0], file_size=len(bad))]
        with pytest.raises(BergError, match="damaged or not a Parquet file") as caught:
            table.scan()
        assert caught.value.code is ErrorCode.CORRUPT
    path.unlink()
    table.files = [replace(table.files[0], file_size=1)]
    with pytest.raises(BergError, match="of snapshot 1 is missing") as caught:
        table.scan()
    assert str(path) in caught.value.message
