"""Avro and ORC data files: what is written is read again, with the statistics that Parquet files of the rows have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc

from bergsql.catalog.base import LoadedTable
from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.changes import AddSchema, SetCurrentSchema, SetProperties
from bergsql.catalog.metadata.evolve import add_column, change_type, drop_column, rename_column
from bergsql.catalog.metadata.new_table import new_table_metadata
from bergsql.catalog.metadata.schema import Schema
from bergsql.catalog.metadata.sort import DESC, NULLS_LAST, SortField, SortOrder
from bergsql.catalog.metadata.transforms import IDENTITY, bucket
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.catalog.metadata.types import NestedField
from bergsql.engine.duck import stream_failure
from bergsql.engine.plan.duck_errors import from_duckdb_error
from bergsql.engine.table import avro_data
from bergsql.engine.table.append import Append
from bergsql.engine.table.datafile import DataFile
from bergsql.engine.table.scan import build_scan
from tests.support.tables import Columns, Tables

FORMATS = ["avro", "orc"]
CODECS = [
    *({"write.format.default": "avro", "write.avro.compression-codec": c} for c in ("gzip", "zstd", "snappy", "uncompressed")),
    {"write.format.default": "avro", "write.avro.compression-codec": "zstd", "write.avro.compression-level": "19"},
    {"write.format.default": "avro", "write.avro.compression-level": "0"},
    *({"write.format.default": "orc", "write.orc.compression-codec": c} for c in ("zlib", "zstd", "snappy", "lz4", "none")),
    {"write.format.default": "orc", "write.orc.compression-strategy": "compression"},
]  # fmt: skip


def list_of(element: Any) -> Any:
    return {"type": "list", "element-id": 0, "element": element, "element-required": False}


def map_of(key: Any, value: Any) -> Any:
    return {"type": "map", "key-id": 0, "key": key, "value-id": 0, "value": value, "value-required": False}


def struct(**fields: Any) -> Any:
    made = [{"id": i, "name": n, "required": False, "type": t} for i, (n, t) in enumerate(fields.items(), 1)]
    return {"type": "struct", "fields": made}


EVERY: Columns = {
    "id!": "long",
    "bo": "boolean",
    "i": "int",
    "f": "float",
    "d": "double",
    "d5": "decimal(5, 1)",
    "d18": "decimal(18, 6)",
    "d38": "decimal(38, 10)",
    "again": "decimal(5, 1)",
    "dt": "date",
    "t": "time",
    "ts": "timestamp",
    "tz": "timestamptz",
    "s": "string",
    "u": "uuid",
    "fx": "fixed[3]",
    "b": "binary",
    "数 量-1": "int",
    "l": list_of("string"),
    "ll": list_of(list_of("uuid")),
    "m": map_of("string", "decimal(5, 1)"),
    "mi": map_of("date", struct(a="time", b=list_of("fixed[3]"))),
    "st": struct(x="int", y=struct(z="timestamptz", w="uuid")),
}
ROWS = """SELECT * FROM (VALUES
 (1, true, 2147483647, 1.5::FLOAT, 'NaN'::DOUBLE, 9999.9, -999999999999.999999, 9999999999999999999999999999.9999999999, 0.1,
  DATE '9999-12-31', TIME '23:59:59.999999', TIMESTAMP '2262-01-01 00:00:00.000001', TIMESTAMPTZ '1960-01-01 00:00:00.5+00',
  'héllo 😀', UUID '12345678-90ab-cdef-1234-567890abcdef', '\\x00\\x01\\xFF'::BLOB, '\\xDE\\xAD'::BLOB, 7, ['a', NULL, ''],
  [[UUID '00000000-0000-0000-0000-000000000001', NULL], [], NULL], MAP {'k': 1.5, 'n': NULL},
  MAP {DATE '2024-02-29': {'a': TIME '00:00:01', 'b': ['abc'::BLOB, NULL]}, DATE '0001-01-01': NULL},
  {'x': 1, 'y': {'z': TIMESTAMPTZ '2024-01-01 00:00:00+00', 'w': UUID 'ffffffff-ffff-ffff-ffff-ffffffffffff'}}),
 (2, false, -2147483648, '-Infinity', -0.0, -0.1, 0, -0.0000000001, NULL, DATE '0001-01-01', TIME '00:00:00',
  TIMESTAMP '1700-01-01 00:00:00.123456', TIMESTAMPTZ '2199-12-31 23:59:59.999999+00', '', NULL, NULL, '', -7, [], [], MAP {},
  MAP {}, {'x': NULL, 'y': NULL}),
 (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
  NULL, NULL)) v"""


def scanned(tables: Tables, name: str = "t", columns: frozenset[str] | None = None, order: str = "1") -> list[Any]:
    scan = build_scan(tables.load(name), tables.storage, columns=columns)
    return tables.duck.execute(f"SELECT * FROM ({scan.sql}) ORDER BY {order}", scan.variables).fetchall()


def statistics(file: DataFile) -> tuple[Any, ...]:
    return tuple(
        dict(figures)
        for figures in (file.value_counts, file.null_counts, file.nan_counts, file.lower_bounds, file.upper_bounds)
    )


def change(tables: Tables, table: LoadedTable, schema: Schema) -> LoadedTable:
    return tables.catalog.commit(table, [AddSchema(schema), SetCurrentSchema()])


def switch(tables: Tables, file_format: str) -> None:
    tables.catalog.commit(tables.load(), [SetProperties({"write.format.default": file_format})])


# --- types and codecs -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("properties", CODECS, ids=lambda p: "-".join(p.values()))
def test_every_type_comes_back_with_parquets_statistics(tables: Tables, properties: Mapping[str, str]) -> None:
    tables.create(EVERY, name="p")
    tables.create(EVERY, (), properties)
    for name in ("p", "t"):
        tables.insert(ROWS, name)
    (parquet,), (made,) = tables.files("p"), tables.files()
    ending = properties["write.format.default"]
    assert made.format == ending.upper()
    assert made.path.endswith(f"-00001.{ending}")
    assert made.file_size == Path(made.path).stat().st_size
    assert (made.record_count, made.split_offsets, dict(made.column_sizes)) == (3, None, {})
    assert statistics(made) == statistics(parquet)
    assert repr(scanned(tables)) == repr(scanned(tables, "p"))
    for column in EVERY:
        chosen = frozenset({column.rstrip("!")})
        assert repr(scanned(tables, "t", chosen)) == repr(scanned(tables, "p", chosen))


@pytest.mark.parametrize("file_format", FORMATS)
def test_nanoseconds(tables: Tables, file_format: str) -> None:
    columns = {"id": "int", "a": "timestamp_ns", "b": "timestamptz_ns"}
    rows = "SELECT 1, TIMESTAMP_NS '2024-01-01 00:00:00.123456789', TIMESTAMP_NS '1960-01-01 00:00:00.000000001'"
    tables.create(columns, (), {"write.format.default": file_format}, version=3)
    tables.create(columns, version=3, name="p")
    for name in ("p", "t"):
        tables.insert(rows, name)
    assert scanned(tables) == scanned(tables, "p")


@pytest.mark.parametrize("file_format", FORMATS)
def test_many_nested_rows(tables: Tables, file_format: str) -> None:
    """More than go into one batch."""
    columns = {
        "id": "long",
        "l": list_of("int"),
        "m": map_of("string", "long"),
        "mi": map_of("int", list_of("string")),
        "st": struct(a=list_of("decimal(9, 2)"), b=map_of("string", "date")),
    }
    rows = """SELECT i, CASE WHEN i % 3 > 0 THEN range(i % 5) END, MAP {'k' || i: i, 'n': NULL},
        CASE WHEN i % 7 = 0 THEN MAP {} ELSE MAP {i: ['x' || i, NULL]} END,
        CASE WHEN i % 4 > 0 THEN {'a': [i / 4.0], 'b': MAP {'d': DATE '2024-01-01' + (i % 9)::INT}} END
        FROM range(20000) t(i)"""
    tables.create(columns, name="p")
    tables.create(columns, (), {"write.format.default": file_format})
    for name in ("p", "t"):
        tables.insert(rows, name)
    assert scanned(tables) == scanned(tables, "p")


def test_the_avro_schema_is_icebergs(tables: Tables) -> None:
    """Spec, Appendix A: field ids everywhere, logical types, adjust-to-utc, maps as arrays of pairs."""
    tables.create(EVERY, (), {"write.format.default": "avro"})
    tables.insert(ROWS)
    with open(tables.files()[0].path, "rb") as file:  # noqa: PTH123
        reader = fastavro.reader(file)
        schema = json.loads(reader.metadata["avro.schema"])
        assert json.loads(reader.metadata["iceberg.schema"]) == tables.load().metadata.schema.to_json()
    fields = {f["name"]: f for f in schema["fields"]}
    ids = {f.name: f.field_id for f in tables.load().metadata.schema.fields}
    assert fields["id"] == {"name": "id", "type": "long", "field-id": 1}
    assert fields["i"] == {"name": "i", "type": ["null", "int"], "default": None, "field-id": 3}
    assert fields["d5"]["type"][1] == {
        "type": "fixed", "name": "decimal_5_1", "size": 3, "logicalType": "decimal", "precision": 5, "scale": 1,
    }  # fmt: skip
    assert fields["again"]["type"] == ["null", "decimal_5_1"]
    assert fields["d38"]["type"][1]["size"] == 16
    assert fields["dt"]["type"][1] == {"type": "int", "logicalType": "date"}
    assert fields["t"]["type"][1] == {"type": "long", "logicalType": "time-micros"}
    assert fields["ts"]["type"][1] == {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": False}
    assert fields["tz"]["type"][1] == {"type": "long", "logicalType": "timestamp-micros", "adjust-to-utc": True}
    assert fields["u"]["type"][1] == {"type": "fixed", "name": "uuid_fixed", "size": 16, "logicalType": "uuid"}
    assert fields["fx"]["type"][1] == {"type": "fixed", "name": "fixed_3", "size": 3}
    assert fields["数_x20量_x2D1"]["iceberg-field-name"] == "数 量-1"
    lists = fields["l"]["type"][1]
    assert (lists["type"], lists["items"], type(lists["element-id"])) == ("array", ["null", "string"], int)
    pairs = fields["mi"]["type"][1]
    assert (pairs["type"], pairs["logicalType"]) == ("array", "map")
    key, value = pairs["items"]["fields"]
    assert (key["name"], key["type"], value["name"]) == ("key", {"type": "int", "logicalType": "date"}, "value")
    assert pairs["items"]["name"] == f"k{key['field-id']}_v{value['field-id']}"
    assert set(fields["m"]["type"][1]) == {"type", "values", "key-id", "value-id"}
    assert fields["st"]["type"][1]["name"] == f"r{ids['st']}"


def test_the_orc_attributes_are_icebergs(tables: Tables) -> None:
    tables.create(EVERY, (), {"write.format.default": "orc"})
    tables.insert(ROWS)
    schema = orc.ORCFile(tables.files()[0].path).schema
    told = {f.name: {k.decode(): v.decode() for k, v in f.metadata.items()} for f in schema}
    assert told["id"] == {"iceberg.id": "1", "iceberg.required": "true"}
    assert told["u"]["iceberg.binary-type"] == "UUID"
    assert (told["fx"]["iceberg.binary-type"], told["fx"]["iceberg.length"]) == ("FIXED", "3")
    assert told["t"]["iceberg.long-type"] == "TIME"
    assert b"iceberg.id" in schema.field("l").type.value_field.metadata
    assert b"iceberg.id" in schema.field("mi").type.key_field.metadata
    assert schema.field("tz").type.tz == "UTC"
    assert orc.ORCFile(tables.files()[0].path).compression == "ZLIB"


# --- sizes, partitions, failures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("file_format", FORMATS)
@pytest.mark.parametrize("by", [(), [("k", IDENTITY)]], ids=["unpartitioned", "partitioned"])
def test_files_are_rolled_at_the_target_size(tables: Tables, by: Any, file_format: str) -> None:
    properties = {"write.target-file-size-bytes": "1000000", "write.format.default": file_format}
    tables.create({"i": "long", "v": "double", "k": "long", "n": "float"}, by, properties)
    tables.insert(
        "SELECT i, random(), i % 2, CASE WHEN i % 10 = 0 THEN NULL WHEN i % 7 = 0 THEN 'NaN'::FLOAT ELSE i END"
        " FROM range(300000) t(i)"
    )
    files = tables.files()
    assert len(files) > 2
    assert all(f.file_size < 1_700_000 for f in files)
    assert sum(f.record_count for f in files) == 300_000
    assert scanned(tables, "t", frozenset({"i"})) == [(i,) for i in range(300_000)]
    for f in files:
        reader = pa_rows(f)
        i, n = reader["i"].to_pylist(), reader["n"].to_pylist()
        assert (min(i), max(i)) == tuple(int.from_bytes(b[1], "little") for b in (f.lower_bounds, f.upper_bounds))
        assert f.value_counts[4] == f.record_count == len(i)
        assert f.null_counts[4] == sum(v is None for v in n)
        assert f.nan_counts[4] == sum(v is not None and v != v for v in n)


@pytest.mark.parametrize("file_format", FORMATS)
def test_rows_are_in_the_tables_order(tables: Tables, file_format: str) -> None:
    properties = {"write.target-file-size-bytes": "1000000", "write.format.default": file_format}
    unsorted = tables.metadata({"i": "long", "v": "double"}, (), properties)
    order = SortOrder(1, (SortField(IDENTITY, 1, DESC, NULLS_LAST),))
    metadata = new_table_metadata(unsorted.schema, unsorted.spec, order, unsorted.location, properties)
    tables.catalog.create_table(tables.ident("t"), metadata)
    tables.insert("SELECT hash(i) % 1000000, random() FROM range(300000) t(i)")
    assert len(tables.files()) > 1
    for f in tables.files():
        values = pa_rows(f)["i"].to_pylist()
        assert values == sorted(values, reverse=True)
        assert f.sort_order_id == 1


def pa_rows(file: DataFile) -> pa.Table:
    if file.format == "ORC":
        return orc.read_table(file.path)
    with open(file.path, "rb") as data:  # noqa: PTH123
        return pa.Table.from_pylist(list(fastavro.reader(data)))


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_struct_that_is_null_inside_another(tables: Tables, file_format: str) -> None:
    """Arrow's ORC writer alone would move the values of the rows that follow."""
    inner = struct(x="int", s="string", deep=struct(y="int"))
    columns: Columns = {"i": "int", "st": struct(c=inner, a="int"), "l": list_of(struct(c=inner))}
    tables.create(columns, (), {"write.format.default": file_format})
    rows = """VALUES (1, {'c': NULL, 'a': 1}, [{'c': NULL}, {'c': {'x': 1, 's': 'one', 'deep': NULL}}]),
      (2, {'c': {'x': 7, 's': 'seven', 'deep': {'y': 70}}, 'a': 2}, [{'c': {'x': 2, 's': NULL, 'deep': {'y': 20}}}]),
      (3, {'c': {'x': 8, 's': 'eight', 'deep': {'y': 80}}, 'a': 3}, NULL)"""
    tables.insert(rows)
    assert scanned(tables) == tables.duck.execute(rows).fetchall()


@pytest.mark.parametrize("file_format", FORMATS)
def test_many_partitions(tables: Tables, file_format: str) -> None:
    tables.create(
        {"i": "long", "s": "string"}, [("i", bucket(16)), ("s", IDENTITY)], {"write.format.default": file_format}
    )
    tables.insert("SELECT i, CASE WHEN i % 5 = 0 THEN NULL ELSE 's ' || (i % 5) END FROM range(1000) t(i)")
    files = tables.files()
    assert len({f.partition for f in files}) == len(files) == 80
    assert scanned(tables, "t", frozenset({"i"})) == [(i,) for i in range(1000)]
    assert all(p.endswith(f".{file_format}") for p in tables.on_disk() if p.startswith("data/"))


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_failure_leaves_nothing(tables: Tables, file_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tables.create({"i!": "long", "fx": "fixed[2]"}, (), {"write.format.default": file_format})
    before = tables.on_disk()
    with pytest.raises(BergError, match=r"the length of its column .fx. \(of 2 bytes\)") as caught:
        tables.write(table, "SELECT i, 'abc'::BLOB FROM range(10) t(i)")
    assert caught.value.code is ErrorCode.INVALID
    with pytest.raises(BergError, match="'i' is NOT NULL"):
        tables.write(table, "SELECT NULL::BIGINT, NULL::BLOB")
    from bergsql.engine.table import conversion

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(conversion.Conversion, "_append", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tables.write(table, "SELECT i, NULL::BLOB FROM range(10) t(i)")
    assert tables.on_disk() == before
    assert not (tables.warehouse / "db" / "t" / "data").exists()


# --- reading ----------------------------------------------------------------------------------------------------------


def test_formats_are_mixed_and_schemas_evolve(tables: Tables) -> None:
    """Renamed, promoted, moved, added with and without default, dropped and added again; nested ones too."""
    tables.create(
        {"id": "int", "f": "float", "name": "string", "st": struct(a="int", b="string"), "gone": "int"}, version=3
    )
    row = "SELECT {0}, {0} + 0.5, 'n{0}', {{'a': {0}, 'b': 'b{0}'}}, 99"
    for n, file_format in enumerate(("parquet", "avro", "orc")):
        switch(tables, file_format)
        tables.insert(row.format(n))
    table = tables.load()
    schema = table.metadata.schema
    schema = rename_column(schema, ("name",), "Name2")
    schema = rename_column(schema, ("st", "a"), "aa")
    schema = change_type(schema, ("id",), parse_type("long"), 3)
    schema = change_type(schema, ("f",), parse_type("double"), 3)
    schema = drop_column(schema, ("gone",))
    last = table.metadata.last_column_id
    schema = add_column(schema, NestedField(0, "gone", parse_type("string"), required=False), last)
    new = NestedField(0, "extra", parse_type("int"), required=False, initial_default=42, write_default=42)
    schema = add_column(schema, new, schema.highest_field_id, after="id")
    inner = NestedField(0, "c", parse_type("double"), required=False)
    schema = add_column(schema, inner, schema.highest_field_id, parent=("st",), after="")
    change(tables, table, schema)
    expected = [(n, 42, n + 0.5, f"n{n}", {"c": None, "aa": n, "b": f"b{n}"}, None) for n in range(3)]
    assert scanned(tables) == expected
    assert scanned(tables, "t", frozenset({"gone", "extra"})) == [(42, None)] * 3
    switch(tables, "avro")
    tables.insert("SELECT 3, 4, 3.5, 'n3', {'c': 1.0, 'aa': 3, 'b': 'b3'}, 'g'")
    assert scanned(tables) == [*expected, (3, 4, 3.5, "n3", {"c": 1.0, "aa": 3, "b": "b3"}, "g")]
    assert {f.format for f in tables.files()} == {"PARQUET", "AVRO", "ORC"}


def without_ids(tables: Tables, file_format: str) -> DataFile:
    """A file of another program, with a column for each of two partitions' values missing."""
    path = tables.warehouse / f"foreign.{file_format}"
    rows = [{"Id": 1, "nested": {"x": "a"}}, {"Id": 2, "nested": None}]
    if file_format == "avro":
        nested = {"type": "record", "name": "N", "fields": [{"name": "x", "type": ["null", "string"]}]}
        schema = {
            "type": "record", "name": "R",
            "fields": [{"name": "Id", "type": "int"}, {"name": "nested", "type": ["null", nested]}],
        }  # fmt: skip
        with path.open("wb") as out:
            fastavro.writer(out, fastavro.parse_schema(schema), rows, codec="deflate")
    else:
        nested_type = pa.struct([pa.field("x", pa.string())])
        made = pa.Table.from_pylist(rows, schema=pa.schema([("Id", pa.int32()), ("nested", nested_type)]))
        orc.write_table(made, path)
    return DataFile(str(path), 2, path.stat().st_size, file_format.upper(), partition=("p",))


@pytest.mark.parametrize("file_format", FORMATS)
def test_files_without_ids_are_read_by_name(tables: Tables, file_format: str) -> None:
    """By the name mapping; without one by the table's names. The partition fills in what only it knows."""
    table = tables.create({"Id": "long", "nested": struct(x="string"), "part": "string"}, [("part", IDENTITY)])
    tables.commit(table, Append([without_ids(tables, file_format)]))
    assert scanned(tables) == [(1, {"x": "a"}, "p"), (2, None, "p")]
    assert scanned(tables, "t", frozenset({"part"})) == [("p",)] * 2
    mapping = [
        {"field-id": 1, "names": ["other"]},
        {"field-id": 2, "names": ["nested"], "fields": [{"field-id": 4, "names": ["x"]}]},
    ]
    tables.catalog.commit(tables.load(), [SetProperties({"schema.name-mapping.default": json.dumps(mapping)})])
    assert scanned(tables, order="2 DESC") == [(None, {"x": "a"}, "p"), (None, None, "p")]


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_stream_is_read_as_often_as_the_query_names_it(tables: Tables, file_format: str) -> None:
    tables.create({"i": "long"}, (), {"write.format.default": file_format})
    for _ in range(2):
        tables.insert("SELECT i FROM range(20000) t(i)")
    scan = build_scan(tables.load(), tables.storage)
    # A query's own names hide nothing of a scan's.
    twice = f"WITH s0_files AS (SELECT 1 AS c0), a AS ({scan.sql}) SELECT count(*) FROM a JOIN a AS b ON a.i = b.i"
    assert tables.duck.execute(twice, scan.variables).fetchall() == [(80_000,)]
    assert tables.duck.execute(f"{scan.sql} LIMIT 1", scan.variables).fetchall() == [(0,)]


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_damaged_file_is_told_of(tables: Tables, file_format: str) -> None:
    tables.create({"i": "long", "s": "string"}, (), {"write.format.default": file_format})
    tables.insert("SELECT i, 'text ' || i FROM range(50000) t(i)")
    path = Path(tables.files()[0].path)
    good = path.read_bytes()
    cut = len(good) // 2
    for bad in (b"", b"Obj\x01", b"ORC", good[:cut], b"x" * 100, good[:cut] + bytes(64) + good[cut + 64 :]):
        path.write_bytes(bad)
        with pytest.raises((BergError, duckdb.Error)) as caught:
            scanned(tables)
        error = caught.value if isinstance(caught.value, BergError) else stream_failure(str(caught.value))
        assert error is not None, caught.value
        assert error.code is ErrorCode.CORRUPT
        assert str(path) in error.message


def test_an_interruption_while_reading_stays_one(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB makes an error of its own of what Ctrl-C raises in a stream."""
    tables.create({"i": "long"}, (), {"write.format.default": "avro"})
    tables.insert("SELECT 1")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(avro_data, "batch_of", interrupted)
    with pytest.raises(duckdb.Error) as caught:
        scanned(tables)
    with pytest.raises(KeyboardInterrupt):
        from_duckdb_error(caught.value)


def test_timestamps_that_arrow_cannot_read_from_orc(tables: Tables) -> None:
    """Neither written nor read: other programs' files may hold them."""
    table = tables.create({"l": list_of("timestamptz"), "ts": "timestamp"}, (), {"write.format.default": "orc"})
    before = tables.on_disk()
    for row in ("[], TIMESTAMP '9999-12-31 00:00:00'", "[TIMESTAMPTZ '0001-01-01 00:00:00+00'], NULL"):
        with pytest.raises(BergError, match="Writing a timestamp before 1677 or after 2262") as refused:
            tables.insert(f"SELECT {row}")
        assert refused.value.code is ErrorCode.UNSUPPORTED
    assert tables.on_disk() == before
    path = tables.warehouse / "foreign.orc"
    orc.write_table(pa.table({"ts": pa.array([253_402_214_400_000_000], pa.timestamp("us"))}), path)
    tables.commit(table, Append([DataFile(str(path), 1, path.stat().st_size, "ORC")]))
    assert scanned(tables, "t", frozenset({"l"})) == [(None,)]
    with pytest.raises(duckdb.Error) as caught:
        scanned(tables)
    error = stream_failure(str(caught.value))
    assert error is not None
    assert "Reading a timestamp before 1677 or after 2262 in an ORC file" in error.message


@pytest.mark.parametrize("file_format", FORMATS)
def test_null_structs_inside_structs(tables: Tables, file_format: str) -> None:
    """What lies under a struct that is NULL is no value, and does not move the values behind it."""
    inner = struct(p="int", q=struct(r="int", s=list_of("int")))
    columns = {"id": "long", "a": struct(x="boolean", y=inner, z=inner), "l": list_of(inner), "m": map_of("int", inner)}
    tables.create(columns, name="p")
    tables.create(columns, (), {"write.format.default": file_format})
    value = "CASE WHEN (i * {0}) % 5 > 1 THEN {{'p': i, 'q': CASE WHEN (i * {0}) % 7 > 2 THEN {{'r': i, 's': [i, NULL]}} END}} END"
    a, b, c, d = (value.format(n) for n in (1, 3, 11, 13))
    rows = f"""SELECT i, CASE WHEN i % 3 > 0 THEN {{'x': i % 2 = 0, 'y': {a}, 'z': {b}}} END,
        CASE WHEN i % 4 > 0 THEN [{c}, NULL, {d}] END, MAP {{i: {a}, i + 1: {c}}} FROM range(3000) t(i)"""
    for name in ("p", "t"):
        tables.insert(rows, name)
    assert scanned(tables) == scanned(tables, "p")
