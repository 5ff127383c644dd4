"""Every type as other writers put it into files: variants, geometries, what old Parquet files leave unsaid."""

from __future__ import annotations

import struct
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import uuid4

import duckdb
import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import (
    BinaryType,
    DateType,
    DecimalType,
    GeographyType,
    GeometryType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampNsType,
    TimestampType,
    TimestamptzType,
    TimeType,
    UnknownType,
    UUIDType,
    VariantType,
)
from bergsql.engine.table.file_streams import FileStream
from tests.support.foreign import Table, numbered, opt
from tests.support.parquet_edit import VARIANT, annotate, geometry

LONG, TEXT = LongType(), StringType()
POINT = struct.pack("<BIdd", 1, 1, 1.0, -2.5)


def encoded(sql: str) -> dict[str, bytes]:
    """The two parts of a variant."""
    select = f"SELECT variant_to_parquet_variant(({sql})::VARIANT)"
    found: dict[str, bytes] = duckdb.execute(select).fetchall()[0][0]
    return found


OBJECT, WORD, NUMBER, NOTHING = (encoded(sql) for sql in ("{'a': 1, 'b': ['x', NULL]}", "'txt'", "1.50", "NULL"))
"""Spark puts the value first."""
PARTS = pa.struct([pa.field("value", pa.binary(), False), pa.field("metadata", pa.binary(), False)])


def as_json(table: Table, column: str = "v", order: str = "id") -> list[Any]:
    """A column's variants as JSON texts."""
    return [row[0] for row in table.selected(f"SELECT CAST({column} AS JSON) FROM %s ORDER BY {order}")]


def variants(folder: Path) -> Table:
    return Table(folder, Schema(0, (opt(1, "id", LONG), opt(2, "v", VariantType()))))


def test_variants_that_parquet_files_call_so(tmp_path: Path) -> None:
    """As Iceberg's Java writes them, under another name of the column, beside files without it and such as say nothing."""
    table = variants(tmp_path)
    rows = [(1, OBJECT), (2, WORD), (3, None), (4, NOTHING), (5, NUMBER)]
    path = table.add([numbered("id", pa.int64(), 1), numbered("w", PARTS, 2)], rows)
    annotate(path, "w", VARIANT)
    table.refresh(path)
    expected = ['{"a":1,"b":["x",null]}', '"txt"', None, "null", "1.50"]
    assert as_json(table) == expected
    table.add([numbered("id", pa.int64(), 1)], [(6,)])
    table.add([numbered("v", PARTS, 2), numbered("id", pa.int64(), 1)], [(v, i + 10) for i, v in rows])
    assert as_json(table) == [*expected, None, *expected]
    assert table.selected("SELECT id FROM %s WHERE v IS NULL ORDER BY 1") == [(3,), (6,), (13,)]
    assert table.selected("SELECT COUNT(v), COUNT(*) FROM %s") == [(8, 11)]


@pytest.mark.parametrize("statistics", [True, False])
def test_a_variants_own_null(statistics: bool, tmp_path: Path) -> None:
    """It is no NULL. DuckDB's reader takes it for one, so that a file that may hold such is read through Arrow."""
    table = variants(tmp_path)
    columns = [numbered("id", pa.int64(), 1), numbered("v", PARTS, 2)]
    for first, values in ((0, [OBJECT, None]), (10, [NOTHING, None]), (20, [None, None])):
        path = table.add(columns, [(first + i, v) for i, v in enumerate(values)])
        pq.write_table(pq.read_table(path), path, write_statistics=statistics)
        annotate(path, "v", VARIANT)
        table.refresh(path)
    assert as_json(table) == ['{"a":1,"b":["x",null]}', None, "null", None, None, None]
    assert table.selected("SELECT id FROM %s WHERE v IS NOT NULL ORDER BY id") == [(0,), (10,)]
    assert table.selected("SELECT COUNT(*), SUM(id) FROM %s", columns=frozenset({"id"})) == [(6, 63)]
    by_arrow = [v for v in table.scan().variables.values() if isinstance(v, FileStream)]
    assert sum(len(v.paths) for v in by_arrow) == (1 if statistics else 3)
    assert not [v for v in table.scan(columns=frozenset({"id"})).variables.values() if isinstance(v, FileStream)]


def test_shredded_variants(tmp_path: Path) -> None:
    """Parquet's "Variant Shredding": a part of its own for the values of one type, the rest as they are."""
    table = variants(tmp_path)
    leaf = pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.int64())])
    shredded = pa.struct(
        [
            pa.field("metadata", pa.binary(), False),
            pa.field("value", pa.binary()),
            pa.field("typed_value", pa.struct([pa.field("a", leaf, False)])),
        ]
    )
    rest = encoded("{'b': 1}")
    partly = {**rest, "typed_value": {"a": {"typed_value": 8}}}
    whole = {"metadata": b"\x01\x00\x00", "typed_value": {"a": {"typed_value": 7}}}
    other = {"metadata": b"\x01\x00\x00", "typed_value": {"a": {"value": WORD["value"]}}}
    # Of a shredded variant DuckDB does not tell its own null from NULL.
    rows = [(1, partly), (2, whole), (3, other), (4, None), (5, WORD), (6, NOTHING)]
    path = table.add([numbered("id", pa.int64(), 1), numbered("v", shredded, 2)], rows)
    with pytest.raises(BergError, match="variant 'v' in parts that no annotation explains is not supported"):
        table.rows()
    annotate(path, "v", VARIANT)
    table.refresh(path, renamed=True)
    assert as_json(table) == ['{"a":8,"b":1}', '{"a":7}', '{"a":"txt"}', None, '"txt"', None]


@pytest.mark.parametrize("told", [True, False])
def test_variants_inside(told: bool, tmp_path: Path) -> None:
    fields = (
        opt(1, "s", StructType((opt(2, "new", VariantType()), opt(8, "later", VariantType())))),
        opt(3, "l", ListType(4, VariantType(), False)),
        opt(5, "m", MapType(6, TEXT, 7, VariantType(), False)),
    )
    table = Table(tmp_path, Schema(0, fields))
    columns = [
        numbered("s", pa.struct([numbered("old", PARTS, 2)]), 1),
        numbered("l", pa.list_(numbered("element", PARTS, 4)), 3),
        numbered("m", pa.map_(numbered("key", pa.string(), 6).with_nullable(False), numbered("of_map", PARTS, 7)), 5),
    ]
    path = table.add(columns, [({"old": OBJECT}, [OBJECT, None, WORD], [("k", WORD)]), (None, [], None)])
    if told:
        for name in ("old", "element", "of_map"):
            annotate(path, name, VARIANT)
        table.refresh(path)
    found = table.selected("SELECT s IS NULL, s.new::JSON, s.later, l::JSON, m::JSON FROM %s ORDER BY 1")
    text = '{"a":1,"b":["x",null]}'
    assert found == [(False, text, None, f'[{text},null,"txt"]', '{"k":"txt"}'), (True, None, None, "[]", None)]


def test_variants_in_avro_and_orc(tmp_path: Path) -> None:
    """Spec, Appendix A: a record, or a struct, of metadata and value."""
    table = variants(tmp_path)
    parts = [{"name": "metadata", "type": "bytes"}, {"name": "value", "type": "bytes"}]
    schema = {
        "type": "record",
        "name": "t",
        "fields": [
            {"name": "id", "type": "long", "field-id": 1},
            {
                "name": "v",
                "type": ["null", {"type": "record", "name": "r2", "logicalType": "variant", "fields": parts}],
                "field-id": 2,
            },
        ],
    }
    path = tmp_path / "00000-0-v.avro"
    with path.open("wb") as file:
        fastavro.writer(file, schema, [{"id": 1, "v": OBJECT}, {"id": 2, "v": None}])
    table.listed(path, 2, format="AVRO")
    held = pa.struct([pa.field("metadata", pa.binary()), pa.field("value", pa.binary())])
    columns = pa.schema(
        [pa.field("id", pa.int64(), metadata={"iceberg.id": "1"}), pa.field("v", held, metadata={"iceberg.id": "2"})]
    )
    path = tmp_path / "00000-0-v.orc"
    orc.write_table(pa.table([[3, 4, 5], [WORD, None, NOTHING]], schema=columns), str(path))
    table.listed(path, 3, format="ORC")
    assert as_json(table) == ['{"a":1,"b":["x",null]}', None, '"txt"', None, "null"]


# --- geometries -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [GeometryType(), GeometryType("srid:3857"), GeographyType("srid:4326", "karney")])
def test_geometries_in_every_format(kind: IcebergType, tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG), opt(2, "g", kind), opt(3, "l", ListType(4, kind, False)))))
    columns = [
        numbered("id", pa.int64(), 1),
        numbered("g", pa.binary(), 2),
        numbered("l", pa.list_(numbered("element", pa.binary(), 4)), 3),
    ]
    rows = [(1, POINT, [POINT, None]), (2, None, None)]
    for said in (None, geometry(), geometry("srid:3857"), geometry("x", globe=True)):
        path = table.add(columns, rows)
        if said is not None:
            annotate(path, "g", said)
            annotate(path, "element", said)
            table.refresh(path)
    binary = (opt(1, "id", LONG), opt(2, "g", BinaryType()), opt(3, "l", ListType(4, BinaryType(), False)))
    for file_format in ("avro", "orc"):
        table.write(binary, rows, file_format)
    found = table.selected("SELECT id, CAST(g AS VARCHAR), ST_AsWKB(g), CAST(l AS VARCHAR[]) FROM %s ORDER BY 1")
    assert found == [(1, "POINT (1 -2.5)", POINT, ["POINT (1 -2.5)", None])] * 6 + [(2, None, None, None)] * 6


def test_geometries_are_named_as_writers_name_them() -> None:
    """With and without a system, in any case of letters."""
    assert parse_type("geometry") == GeometryType()
    assert parse_type("geometry(srid:4326)") == GeometryType("srid:4326")
    assert parse_type("Geometry( projjson:my.key )") == GeometryType("projjson:my.key")
    assert parse_type("geography(OGC:CRS84, vincenty)") == GeographyType("OGC:CRS84", "vincenty")
    assert parse_type("geography(srid:4326)") == GeographyType("srid:4326")


# --- unknown, promotions ----------------------------------------------------------------------------------------------


def test_unknown_is_null_whatever_a_file_holds(tmp_path: Path) -> None:
    inside = StructType((opt(3, "n", UnknownType()), opt(4, "x", LONG)))
    table = Table(tmp_path, Schema(0, (opt(1, "u", UnknownType()), opt(2, "s", inside))))
    held = pa.struct([numbered("n", pa.string(), 3), numbered("x", pa.int64(), 4)])
    table.add([numbered("u", pa.int32(), 1), numbered("s", held, 2)], [(7, {"n": "x", "x": 1})])
    table.add([numbered("s", pa.struct([numbered("x", pa.int64(), 4)]), 2)], [({"x": 2},)])
    table.add([numbered("u", pa.null(), 1)], [(None,)])
    expected = [(None, {"n": None, "x": 1}), (None, {"n": None, "x": 2}), (None, None)]
    assert sorted(table.rows(), key=str) == sorted(expected, key=str)
    table.schema = Schema(0, (opt(1, "u", DateType()), opt(2, "s", StructType((opt(3, "n", LONG),)))))
    table.files = table.files[1:]
    assert table.rows() == [(None, {"n": None}), (None, None)]


@pytest.mark.parametrize("file_format", ["parquet", "avro", "orc"])
def test_days_become_times(file_format: str, tmp_path: Path) -> None:
    """Version 3's promotion of date; what nanoseconds cannot count is an error."""
    then = (opt(1, "a", DateType()), opt(2, "b", DateType()), opt(3, "l", ListType(4, DateType(), False)))
    table = Table(tmp_path, Schema(0, then))
    day = date(2024, 2, 29)
    table.write(then, [(day, day, [day, None]), (date(1, 1, 1), None, None)], file_format)
    now = (
        opt(1, "a", TimestampType()),
        opt(2, "b", TimestampNsType()),
        opt(3, "l", ListType(4, TimestampType(), False)),
    )
    table.schema = Schema(0, now)
    moment = datetime(2024, 2, 29)
    assert table.rows(columns=frozenset({"a", "l"})) == [(moment, [moment, None]), (datetime(1, 1, 1), None)]
    assert table.selected("SELECT CAST(b AS VARCHAR) FROM %s") == [("2024-02-29 00:00:00",), (None,)]
    table.schema = Schema(0, (opt(1, "a", TimestampNsType()),))
    with pytest.raises(duckdb.ConversionException):
        table.rows()


# --- what old Parquet files leave unsaid ------------------------------------------------------------------------------


def test_numbers_and_times_of_other_writers(tmp_path: Path) -> None:
    """Unsigned and narrow integers, milliseconds and nanoseconds, decimals in every physical type."""
    kinds: list[tuple[IcebergType, pa.DataType, Any, Any]] = [
        (IntegerType(), pa.uint8(), 255, 255),
        (IntegerType(), pa.int16(), -300, -300),
        (LONG, pa.uint32(), 2**32 - 1, 2**32 - 1),
        (
            TimestampType(),
            pa.timestamp("ms"),
            datetime(2024, 2, 29, 1, 2, 3, 4000),
            datetime(2024, 2, 29, 1, 2, 3, 4000),
        ),
        (TimestampType(), pa.timestamp("ns"), datetime(1960, 1, 1, 0, 0, 0, 7), datetime(1960, 1, 1, 0, 0, 0, 7)),
        (
            TimestamptzType(),
            pa.timestamp("ms", "UTC"),
            datetime(2024, 1, 1, tzinfo=UTC),
            datetime(2024, 1, 1, tzinfo=UTC),
        ),
        (TimeType(), pa.time32("ms"), 3_723_004, "01:02:03.004000"),
        (DecimalType(12, 2), pa.decimal128(9, 2), Decimal("-1234567.89"), Decimal("-1234567.89")),
        (DecimalType(38, 2), pa.decimal128(18, 2), Decimal("1.50"), Decimal("1.50")),
        (TEXT, pa.large_string(), "x", "x"),
        (TEXT, pa.dictionary(pa.int32(), pa.string()), "y", "y"),
        (BinaryType(), pa.string(), "z", b"z"),
    ]
    fields = tuple(opt(i, f"c{i}", kind) for i, (kind, *_) in enumerate(kinds, 1))
    table = Table(tmp_path, Schema(0, fields))
    columns = [numbered(f"c{i}", held, i) for i, (_, held, *_) in enumerate(kinds, 1)]
    table.add(columns, [tuple(value for *_, value, _ in kinds), (None,) * len(kinds)])
    for path in [Path(f.path.removeprefix("file:")) for f in table.files]:
        read = pq.read_table(path)
        for how in ({"store_decimal_as_integer": True}, {"data_page_version": "2.0"}, {"version": "1.0"}):
            other = path.with_name(f"00000-0-{len(table.files)}.parquet")
            pq.write_table(read, other, coerce_timestamps="us" if "version" in how else None, **how)
            table.listed(other, 2)
    row = tuple(value for *_, value in kinds)
    found = [
        tuple(str(v) if isinstance(k[0], TimeType) else v for v, k in zip(r, kinds, strict=True)) for r in table.rows()
    ]
    assert [r for r in found if r[0] is not None] == [row] * 4


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
def test_every_codec_and_page(codec: str, tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG), opt(2, "s", TEXT))))
    path = table.add(
        [numbered("id", pa.int64(), 1), numbered("s", pa.string(), 2)], [(i, f"v{i % 7}") for i in range(5000)]
    )
    expected = table.rows()
    for how in (
        {"data_page_version": "2.0"},
        {"use_dictionary": False},
        {"row_group_size": 100, "write_page_index": True},
    ):
        other = path.with_name(f"00000-0-{uuid4()}.parquet")
        pq.write_table(pq.read_table(path), other, compression=codec, **how)
        table.files.clear()
        table.listed(other, 5000)
        assert table.rows() == expected


def test_files_without_rows(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG), opt(2, "s", StructType((opt(3, "x", LONG),))))))
    columns = [numbered("id", pa.int64(), 1), numbered("s", pa.struct([numbered("y", pa.int64(), 3)]), 2)]
    path = table.add(columns, [])
    with pq.ParquetWriter(path.with_name("00000-0-empty.parquet"), pa.schema(columns)):
        pass
    table.listed(path.with_name("00000-0-empty.parquet"), 0)
    for file_format in ("avro", "orc"):
        table.write(table.schema.fields, [], file_format)
    assert table.rows() == []
    table.add(columns, [(1, {"y": 2})])
    assert table.rows() == [(1, {"x": 2})]


def test_an_encrypted_file_is_refused_by_name(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG),)))
    path = table.add([numbered("id", pa.int64(), 1)], [(1,)])
    path.write_bytes(path.read_bytes()[:-4] + b"PARE")
    table.refresh(path)
    with pytest.raises(
        BergError, match=f"the encrypted data file .*{path.name} of snapshot 1 is not supported yet"
    ) as caught:
        table.rows()
    assert caught.value.code is ErrorCode.UNSUPPORTED


def test_uuids_that_no_sample_meets(tmp_path: Path) -> None:
    """Of many files only some are looked into, unless a column needs each to be."""
    table = Table(tmp_path, Schema(0, (opt(1, "id", LONG), opt(2, "u", UUIDType()))))
    columns = [numbered("id", pa.int64(), 1), numbered("u", pa.binary(16), 2)]
    for i in range(70):
        table.add(columns, [(i, bytes([i]) * 16)])
    assert [str(row[1]) for row in sorted(table.rows())][69] == "45454545-4545-4545-4545-454545454545"


def test_another_kind_under_the_fields_id(tmp_path: Path) -> None:
    table = Table(tmp_path, Schema(0, (opt(1, "s", StructType((opt(2, "x", LONG),))),)))
    table.add([numbered("s", pa.list_(numbered("element", pa.int64(), 2)), 1)], [([1],)])
    with pytest.raises(BergError, match="holds 's' as a list, but the table says struct") as caught:
        table.rows()
    assert caught.value.code is ErrorCode.CORRUPT
