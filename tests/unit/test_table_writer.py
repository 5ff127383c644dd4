"""Writing rows as data files: where they go, what is in them, and that a failed statement leaves nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pytest

from bergsql.catalog.errors import BergError, ErrorCode
from bergsql.catalog.metadata.transforms import DAY, HOUR, IDENTITY, MONTH, YEAR, Transform, bucket, truncate
from bergsql.catalog.metadata.type_json import parse_type
from bergsql.engine.table import many_partitions
from bergsql.engine.table.append import Append
from tests.support.tables import Columns, Tables

USERS: Columns = {"user_id": "long", "user_name": "string", "birthday": "date", "country": "string"}


def parquet_schema(path: str) -> dict[str, tuple[Any, ...]]:
    """Physical type, length, logical type and field id of a file's columns, by name."""
    rows = duckdb.execute(
        "SELECT name, type, type_length, logical_type, field_id FROM parquet_schema(?)", [path]
    ).fetchall()
    return {r[0]: r[1:] for r in rows[1:]}


def codecs(path: str) -> set[str]:
    return {r[0] for r in duckdb.execute("SELECT DISTINCT compression FROM parquet_metadata(?)", [path]).fetchall()}


# --- layout -------------------------------------------------------------------------------------------------------------


def test_partitions_are_laid_out_as_java_lays_them_out(tables: Tables) -> None:
    tables.create(USERS, [("birthday", IDENTITY), ("country", IDENTITY)])
    tables.insert(
        "SELECT * FROM (VALUES (1, 'zhang', DATE '2022-02-01', 'china'), (2, 'li', DATE '1969-02-02', NULL)) v"
    )
    paths = {p.rpartition("/")[0] for p in tables.on_disk() if p.startswith("data/")}
    assert paths == {"data/birthday=2022-02-01/country=china", "data/birthday=1969-02-02/country=null"}
    assert {f.partition for f in tables.files()} == {(19024, "china"), (-333, None)}
    assert tables.rows()[0] == (1, "zhang", date(2022, 2, 1), "china")


@pytest.mark.parametrize("transform", [IDENTITY, bucket(4), truncate(2)], ids=str)
@pytest.mark.parametrize("name", ["p0", "p1", "a p0 b", "p0.p1", "pp0"])
def test_columns_may_be_called_like_what_keys_are_computed_from(
    tables: Tables, name: str, transform: Transform
) -> None:
    fields = [{"id": 90 + i, "name": n, "type": "int", "required": False} for i, n in enumerate(("x", name))]
    tables.create(
        {"c1": "int", "c0": "int", name: "int", "s": {"type": "struct", "fields": fields}},
        [(name, transform), (f"s.{name}", transform), ("c0", IDENTITY)],
    )
    inner = f'struct_pack(x := 3, "{name}" := 4)'
    tables.insert(f"SELECT 1, 2, 5, {inner}")
    (file,) = tables.files()
    t = parse_type("int")
    assert file.partition == (transform.apply(5, t), transform.apply(4, t), 2)
    assert tables.rows() == [(1, 2, 5, {"x": 3, name: 4})]


AWKWARD = [
    "a/b",
    "a=b",
    "100%",
    "上海",
    " ",
    "",
    "null",
    "NULL",
    "__HIVE_DEFAULT_PARTITION__",
    "a+b",
    "..",
    "nl\nx",
    None,
]


def test_awkward_partition_values_are_exact(tables: Tables) -> None:
    tables.create({"i": "int", "p": "string"}, [("p", IDENTITY)])
    table = tables.load()
    cursor = tables.duck.cursor()
    cursor.execute(
        "CREATE OR REPLACE TABLE awkward AS SELECT CAST(0 AS INTEGER) AS i, CAST('' AS VARCHAR) AS p LIMIT 0"
    )
    cursor.executemany("INSERT INTO awkward VALUES (?, ?)", [[i, v] for i, v in enumerate(AWKWARD)])
    tables.commit(table, Append(tables.write(table, "SELECT * FROM awkward").files))
    found = {}
    for f in tables.files():
        ((i, value),) = duckdb.execute(
            "SELECT i, p FROM read_parquet(?, hive_partitioning = false)", [f.path]
        ).fetchall()
        assert f.partition == (value,)
        found[i] = value
    assert found == dict(enumerate(AWKWARD))
    directories = {p.split("/")[1] for p in tables.on_disk() if p.startswith("data/")}
    assert {"p=a%2Fb", "p=a%3Db", "p=100%25", "p=%E4%B8%8A%E6%B5%B7", "p=+", "p=", "p=null", "p=NULL"} <= directories


def test_floats_that_differ_only_for_iceberg_are_different_partitions(tables: Tables) -> None:
    tables.create({"d": "double", "f": "float"}, [("d", IDENTITY), ("f", IDENTITY)])
    tables.insert(
        "SELECT CAST(x AS DOUBLE), CAST(x AS FLOAT) FROM (VALUES ('0.0'), ('-0.0'), ('nan'), ('nan'), ('0.1'), ('-inf')) v(x)"
    )
    assert sorted(str(f.partition) for f in tables.files()) == [
        "(-0.0, -0.0)",
        "(-inf, -inf)",
        "(0.0, 0.0)",
        "(0.1, 0.10000000149011612)",
        "(nan, nan)",
    ]
    assert sorted(f.record_count for f in tables.files()) == [1, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("column", "transform", "directory", "value"),
    [
        ("ts", YEAR, "ts_year=1969", -1),
        ("ts", MONTH, "ts_month=1969-12", -1),
        ("ts", DAY, "ts_day=1969-12-31", -1),
        ("ts", HOUR, "ts_hour=1969-12-31-23", -1),
        ("i", truncate(10), "i_trunc=-10", -10),
        ("i", bucket(16), "i_bucket=14", 14),
        ("s", truncate(1), "s_trunc=%E4%B8%8A", "上"),
        ("u", IDENTITY, "u=f79c3e09-677c-4bbd-a479-3f349cb785e7", UUID("f79c3e09-677c-4bbd-a479-3f349cb785e7")),
    ],
)
def test_each_transform(tables: Tables, column: str, transform: Transform, directory: str, value: object) -> None:
    tables.create({"i": "int", "s": "string", "ts": "timestamptz", "u": "uuid"}, [(column, transform)])
    tables.insert(
        "SELECT -5, '上海', TIMESTAMPTZ '1969-12-31 23:59:59.5+00', CAST('f79c3e09-677c-4bbd-a479-3f349cb785e7' AS UUID)"
    )
    (file,) = tables.files()
    assert file.path.split("/")[-2] == directory
    assert file.partition == (value,)


def test_a_partition_name_too_long_for_a_file_system_is_cut(tables: Tables) -> None:
    tables.create({"s": "string"}, [("s", IDENTITY)])
    long = "长" * 200
    tables.insert(f"SELECT '{long}' UNION ALL SELECT '{long}x'")
    assert {f.partition for f in tables.files()} == {(long,), (long + "x",)}
    assert len({f.path.rpartition("/")[0] for f in tables.files()}) == 2


def test_write_data_path_is_obeyed(tables: Tables, tmp_path: Path) -> None:
    tables.create({"i": "int"}, (), {"write.data.path": f"{tmp_path}/elsewhere"})
    tables.insert("SELECT 1")
    (file,) = tables.files()
    assert file.path.startswith(f"{tmp_path}/elsewhere/00000-0-")
    assert tables.rows() == [(1,)]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("write.data.path", "", "'write.data.path' is '': it takes an absolute path"),
        ("write.data.path", "data", "'write.data.path' is 'data': it takes an absolute path"),
        ("write.data.path", "file:data", "'write.data.path' is 'file:data': it takes an absolute path"),
        ("write.data.path", "/a\\b", "it takes a path without a backslash"),
        ("write.data.path", "s3://bucket/data", "'write.data.path' on s3"),
        ("write.folder-storage.path", "x", "'write.folder-storage.path' is 'x': it takes an absolute path"),
    ],
)
def test_paths_that_nothing_can_be_written_to(tables: Tables, key: str, value: str, told: str) -> None:
    tables.create({"i": "int"}, (), {key: value})
    with pytest.raises(BergError) as caught:
        tables.insert("SELECT 1")
    assert told in caught.value.message
    assert tables.on_disk() == {"metadata/v1.metadata.json", "metadata/version-hint.text"}


# --- contents -----------------------------------------------------------------------------------------------------------


def test_field_ids_and_physical_types(tables: Tables) -> None:
    struct_type = {"type": "struct", "fields": [{"id": 90, "name": "a b", "type": "int", "required": False}]}
    list_type = {"type": "list", "element-id": 91, "element": struct_type, "element-required": False}
    map_type = {
        "type": "map",
        "key-id": 92,
        "key": "string",
        "value-id": 93,
        "value": "double",
        "value-required": False,
    }
    tables.create({"l": list_type, "m": map_type, "u": "uuid", "t": "time", "tz": "timestamptz", "ts": "timestamp"})
    tables.insert(
        "SELECT [{'a b': 1}], MAP {'k': 1.5}, uuid(), TIME '10:00', TIMESTAMPTZ '2020-01-01 00:00:00+00', TIMESTAMP '2020-01-01'"
    )
    (file,) = tables.files()
    schema = parquet_schema(file.path)
    ids = {name: figures[3] for name, figures in schema.items() if figures[3] is not None}
    assert ids == {"l": 1, "m": 2, "u": 3, "t": 4, "tz": 5, "ts": 6, "element": 7, "a b": 8, "key": 9, "value": 10}
    assert schema["u"][:2] == ("FIXED_LEN_BYTE_ARRAY", "16")
    assert "isAdjustedToUTC=1" in schema["tz"][2]
    assert "isAdjustedToUTC=0" in schema["ts"][2]


def test_fixed_is_of_fixed_length_also_inside_lists_and_maps(tables: Tables) -> None:
    map_type = {
        "type": "map",
        "key-id": 92,
        "key": "fixed[2]",
        "value-id": 93,
        "value": "fixed[3]",
        "value-required": False,
    }
    tables.create({"f": "fixed[4]", "m": map_type, "d": "decimal(9, 2)"})
    tables.insert(
        "SELECT CAST('abcd' AS BLOB), MAP {CAST('ab' AS BLOB): CAST('abc' AS BLOB)}, 1.25 UNION ALL SELECT NULL, NULL, NULL"
    )
    (file,) = tables.files()
    schema = parquet_schema(file.path)
    assert schema["f"][:2] == ("FIXED_LEN_BYTE_ARRAY", "4")
    assert (schema["key"][1], schema["value"][1]) == ("2", "3")
    assert schema["d"][0] == "INT32"
    assert {name: s[3] for name, s in schema.items()} == {
        "f": 1,
        "m": 2,
        "d": 3,
        "key_value": None,
        "key": 4,
        "value": 5,
    }
    assert file.file_size == Path(file.path).stat().st_size
    assert file.lower_bounds[1] == b"abcd"
    with pytest.raises(BergError, match="length"):
        tables.insert("SELECT CAST('abc' AS BLOB), NULL, NULL")
    assert len(tables.files()) == 1


def test_names_that_differ_in_case(tables: Tables) -> None:
    tables.create({"a": "int", "A": "string", "a_1": "long"})
    tables.insert("SELECT 1, 'x', 2")
    (file,) = tables.files()
    by_id = {figures[3]: name for name, figures in parquet_schema(file.path).items()}
    ((row),) = duckdb.execute(
        f'SELECT "{by_id[1]}", "{by_id[2]}", "{by_id[3]}" FROM read_parquet(?)', [file.path]
    ).fetchall()
    assert row == (1, "x", 2)


@pytest.mark.parametrize(
    ("properties", "codec"),
    [
        ({}, "ZSTD"),
        ({"write.parquet.compression-codec": "gzip"}, "GZIP"),
        ({"write.parquet.compression-codec": "GZIP", "write.parquet.compression-level": "1"}, "GZIP"),
        ({"write.parquet.compression-codec": "zstd", "write.parquet.compression-level": "9"}, "ZSTD"),
        ({"write.parquet.compression-codec": "snappy"}, "SNAPPY"),
        ({"write.parquet.compression-codec": "lz4"}, "LZ4_RAW"),
        ({"write.parquet.compression-codec": "brotli"}, "BROTLI"),
        ({"write.parquet.compression-codec": "uncompressed"}, "UNCOMPRESSED"),
    ],
)
def test_codecs(tables: Tables, properties: dict[str, str], codec: str) -> None:
    tables.create({"i": "long", "s": "string"}, (), properties)
    tables.insert("SELECT i, 'x' FROM range(1000) t(i)")
    (file,) = tables.files()
    assert codecs(file.path) == {codec}
    assert tables.rows(select="count(*), sum(i)") == [(1000, 499500)]


def test_a_higher_level_makes_smaller_files(tables: Tables) -> None:
    sizes = []
    for level in ("1", "9"):
        tables.create(
            {"s": "string"},
            (),
            {"write.parquet.compression-codec": "gzip", "write.parquet.compression-level": level},
            name=f"t{level}",
        )
        tables.insert("SELECT 'some text ' || (i * i % 977) FROM range(50000) t(i)", f"t{level}")
        sizes.append(tables.files(f"t{level}")[0].file_size)
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(
    ("properties", "message"),
    [
        ({"write.parquet.compression-codec": "zstdd"}, "compression-codec"),
        ({"write.parquet.compression-level": "99"}, "compression-level"),
        ({"write.target-file-size-bytes": "big"}, "target-file-size"),
        ({"write.format.default": "cvs"}, "write.format.default"),
        ({"write.format.default": "avro", "write.avro.compression-codec": "zlib"}, "write.avro.compression-codec"),
        ({"write.format.default": "avro", "write.avro.compression-level": "10"}, "write.avro.compression-level"),
        ({"write.format.default": "orc", "write.orc.compression-codec": "gzip"}, "write.orc.compression-codec"),
        ({"write.format.default": "orc", "write.orc.compression-strategy": "fast"}, "write.orc.compression-strategy"),
        ({"write.format.default": "orc", "write.orc.stripe-size-bytes": "0"}, "write.orc.stripe-size-bytes"),
        ({"write.metadata.metrics.default": "some"}, "metrics.default"),
    ],
)
def test_properties_that_make_no_sense(tables: Tables, properties: dict[str, str], message: str) -> None:
    tables.create({"i": "int"}, (), properties)
    with pytest.raises(BergError, match=message) as caught:
        tables.insert("SELECT 1")
    assert caught.value.code is ErrorCode.OPTION


@pytest.mark.parametrize("by", [(), [("k", IDENTITY)]], ids=["unpartitioned", "partitioned"])
def test_files_are_rolled_at_the_target_size(tables: Tables, by: Any) -> None:
    tables.create({"i": "long", "v": "double", "k": "long"}, by, {"write.target-file-size-bytes": "1000000"})
    tables.insert("SELECT i, random(), i % 2 FROM range(600000) t(i)")
    files = tables.files()
    assert len(files) > 4
    assert all(f.file_size < 2_000_000 for f in files)
    assert sum(f.record_count for f in files) == 600_000
    assert len({f.path for f in files}) == len(files)


def test_no_rows_are_no_files(tables: Tables) -> None:
    for name, by in (("a", []), ("b", [("i", IDENTITY)])):
        tables.create({"i": "int"}, by, name=name)
        written = tables.write(tables.load(name), "SELECT 1 WHERE false")
        assert (len(written.files), written.rows) == (0, 0)
        assert not any(p.startswith("data") for p in tables.on_disk(name))


def test_more_partitions_than_one_copy_takes(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many_partitions, "MOST_FILES", 20)
    monkeypatch.setattr(many_partitions, "_LOOK_EVERY", 0.01)
    types = {
        "i": "long",
        "u": "uuid",
        "ts": "timestamptz",
        "l": {"type": "list", "element-id": 9, "element": "string", "element-required": False},
    }
    tables.create(types, [("i", truncate(3)), ("u", bucket(7))])
    written = tables.insert(
        "SELECT i, CASE WHEN i % 5 > 0 THEN md5(CAST(i AS VARCHAR))::UUID END, make_timestamptz(i), ['x', NULL] FROM range(6000) t(i)"
    )
    assert written.snapshot.summary["added-records"] == "6000"
    files = tables.files()
    assert len({f.partition for f in files}) == len(files) > 2000
    assert tables.rows(select="count(*), sum(i), count(u), max(ts), count(l[1])") == [
        (6000, 17997000, 4800, tables.duck.execute("SELECT make_timestamptz(5999)").fetchall()[0][0], 6000)
    ]
    for f in files[::500]:
        values = duckdb.execute("SELECT i FROM read_parquet(?, hive_partitioning = false)", [f.path]).fetchall()
        assert {i - i % 3 for (i,) in values} == {f.partition[0]}
    assert not any("staging" in p for p in tables.on_disk())


# --- NOT NULL -----------------------------------------------------------------------------------------------------------

NESTED = {
    "type": "struct",
    "fields": [
        {"id": 50, "name": "must", "type": "int", "required": True},
        {"id": 51, "name": "may", "type": "int", "required": False},
    ],
}
LIST = {"type": "list", "element-id": 52, "element": NESTED, "element-required": True}
MAP = {"type": "map", "key-id": 53, "key": "string", "value-id": 54, "value": "int", "value-required": True}


@pytest.mark.parametrize(
    ("row", "column"),
    [
        ("NULL, {'must': 1, 'may': 2}, [], MAP {}", "id"),
        ("1, {'must': NULL, 'may': 2}, NULL, NULL", "st.must"),
        ("1, NULL, [NULL], NULL", "l.element"),
        ("1, NULL, [{'must': NULL, 'may': 2}], NULL", "l.element.must"),
        ("1, NULL, NULL, MAP {'k': NULL}", "m.value"),
    ],
)
def test_null_in_a_not_null_column(tables: Tables, row: str, column: str) -> None:
    tables.create({"id!": "int", "st": NESTED, "l": LIST, "m": MAP})
    tables.insert(
        "SELECT 1, NULL, NULL, NULL UNION ALL SELECT 2, {'must': 1, 'may': NULL}, [{'must': 1, 'may': NULL}], MAP {'k': 1}"
    )
    before = tables.on_disk()
    with pytest.raises(BergError, match=f"Column '{column}' is NOT NULL") as caught:
        tables.insert(f"SELECT * FROM (SELECT 3, NULL, NULL, NULL UNION ALL SELECT {row})")
    assert caught.value.code is ErrorCode.INVALID
    assert tables.on_disk() == before


# --- failures -----------------------------------------------------------------------------------------------------------


def test_a_failing_query_leaves_nothing(tables: Tables) -> None:
    tables.create({"i": "long", "k": "long"}, [("k", IDENTITY)])
    before = tables.on_disk()
    with pytest.raises(duckdb.Error):
        tables.insert("SELECT CASE WHEN i = 900000 THEN error('no') ELSE i END, i % 50 FROM range(1000000) t(i)")
    assert tables.on_disk() == before
    assert not (tables.warehouse / "db" / "t" / "data").exists()


@pytest.mark.parametrize("by", [(), [("k", IDENTITY)]], ids=["unpartitioned", "partitioned"])
def test_an_interrupted_write_leaves_nothing(tables: Tables, by: Any) -> None:
    tables.create({"i": "long", "k": "long"}, by)
    before = tables.on_disk()
    seen_staged: list[bool] = []

    def interrupt() -> None:
        data = tables.warehouse / "db" / "t" / "data"
        until(lambda: data.exists() and any(p.is_file() for p in data.rglob("*")))
        seen_staged.append(True)
        tables.duck.interrupt()

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(duckdb.InterruptException):
        tables.insert("SELECT i, i % 7 FROM range(2000000000) t(i)")
    interrupter.join()
    assert seen_staged
    assert tables.on_disk() == before


def until(holds: Callable[[], bool]) -> None:
    """Wait for what another thread is sure to bring about."""
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline


def test_column_types_that_cannot_be_written(tables: Tables) -> None:
    tables.create({"v": "variant"}, version=3)
    with pytest.raises(BergError, match="Writing a column of type variant"):
        tables.insert("SELECT 1")


def test_a_column_of_unknown_type_is_left_out(tables: Tables) -> None:
    tables.create({"i": "int", "n": "unknown", "j": "int"}, version=3)
    tables.insert("SELECT 1, NULL, 2")
    assert tables.rows() == [(1, 2)]


def test_nanoseconds(tables: Tables) -> None:
    tables.create({"a": "timestamp_ns", "b": "timestamptz_ns"}, [("a", HOUR)], version=3)
    tables.insert(
        "SELECT TIMESTAMP_NS '1969-12-31 23:59:59.999999999', TIMESTAMPTZ_NS '2020-01-01 00:00:00.000000001+00'"
    )
    (file,) = tables.files()
    assert file.partition == (-1,)
    assert int.from_bytes(file.lower_bounds[1], "little", signed=True) == -1
    nanos = (datetime(2020, 1, 1) - datetime(1970, 1, 1)).days * 86_400 * 10**9 + 1
    assert int.from_bytes(file.upper_bounds[2], "little", signed=True) == nanos
